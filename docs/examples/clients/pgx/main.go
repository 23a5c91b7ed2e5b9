// Container_feed sends a file of container events to yquota with pgx. Each batch is one INSERT with an array for each
// column.
//
//	container_feed SOURCE FILE
//
// SOURCE is the name of the feed. Each line of FILE is one event: the values of insert's columns except the source,
// separated by tabs. An empty value means unknown. libpq's variables (PGHOST, PGDATABASE, PGUSER, ...) say where the
// database is.
//
// If the answer to a batch is lost, the program sends the batch again. You may also send the whole file again, because
// events that yquota already knows change nothing. The exit status is 0 when all events are sent. Events that the
// server will never accept are printed, and set aside in yquota.feed_reject.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Each parameter except the last has the values of one column of the batch.
const insert = `
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type,
		 exit_status, source)
	SELECT event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type,
		   exit_status::integer, $12
	FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
				$9::text[], $10::text[], $11::text[])
		AS e (event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
			  execution_type, exit_status)`

const reject = `
	SELECT yquota.reject_call($1, jsonb_build_object('table', 'yquota.container_event',
		'row', jsonb_strip_nulls(jsonb_object($2::text[], $3::text[]))), $4, $5, nullif($6, ''))`

var columnNames = []string{"event", "container_id", "occurred_at", "project", "application_id", "username", "queue", "node",
	"allocation", "execution_type", "exit_status"}

const (
	columns      = 11
	occurredAt   = 2 // its place among them
	batchEvents  = 500
	timeout      = 60 * time.Second
	longestPause = 10 * time.Second
)

// Classes and codes of SQLSTATE: first those after which the program retries (except 53400), then those that need an
// administrator. After any other error, the program sets the row aside.
var (
	mayPass    = regexp.MustCompile(`^(08|40|53[0-35-9A-Z]|57|58|25006|55P03)`)
	toBeMended = regexp.MustCompile(`^(28|3D|3F|XX|42501|42883|42P01)`)
)

type event struct {
	values     []string
	occurredAt time.Time
}

type feed struct {
	source     string
	config     *pgx.ConnConfig
	connection *pgx.Conn
	// whether an earlier run of the program may have reported a problem
	mayHaveProblem bool
}

func newFeed(source string) (*feed, error) {
	config, err := pgx.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = 10 * time.Second
	config.RuntimeParams["application_name"] = "container_feed"
	// Leave nothing in the session, because PgBouncer may use another session for the next statement.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		log.Printf("%s: %s", notice.Severity, notice.Message)
	}
	return &feed{source: source, config: config, mayHaveProblem: true}, nil
}

func (f *feed) disconnect() {
	if f.connection != nil {
		f.connection.Close(context.Background())
		f.connection = nil
	}
}

// untilDone does the work, and repeats it after errors that a retry or an administrator may solve.
func (f *feed) untilDone(work func(context.Context) error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, longestPause) {
		err := f.try(work)
		if err == nil {
			if f.mayHaveProblem {
				f.mayHaveProblem = false
				f.reportProblem("", "")
			}
			return nil
		}
		// An error that the server has not reported is pgx's own: there is no connection, or it broke.
		var refusal *pgconn.PgError
		isRefusal := errors.As(err, &refusal)
		isToBeMended := isRefusal && toBeMended.MatchString(refusal.Code)
		if isRefusal && !isToBeMended && !mayPass.MatchString(refusal.Code) {
			return err
		}
		log.Printf("trying again: %v", err)
		f.disconnect()
		if isToBeMended {
			f.mayHaveProblem = true
			f.reportProblem(refusal.Code, refusal.Message)
		}
		time.Sleep(pause)
	}
}

// reportProblem reports the problem that makes the feed wait. Without a code, it reports that the feed continues.
func (f *feed) reportProblem(code, message string) {
	err := f.try(func(ctx context.Context) error {
		_, err := f.connection.Exec(ctx, "SELECT yquota.report_feed_problem($1, nullif($2, ''), $3)", f.source, code, message)
		return err
	})
	if err != nil {
		log.Printf("the problem cannot be reported: %v", err)
		f.disconnect()
	}
}

// refuse sets aside a row that the server refuses, or that cannot even be sent.
func (f *feed) refuse(names, values []string, code, message, detail string) {
	texts := make([]*string, len(values))

	log.Printf("refused: SQLSTATE %s: %s: %q", code, message, values)
	for i := range values {
		if values[i] != "" {
			texts[i] = &values[i]
		}
	}
	err := f.untilDone(func(ctx context.Context) error {
		_, err := f.connection.Exec(ctx, reject, f.source, names, texts, code, message, detail)
		return err
	})
	if err != nil {
		log.Printf("it cannot be set aside: %v", err)
	}
}

func (f *feed) try(work func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if f.connection == nil {
		if f.connection, err = pgx.ConnectConfig(ctx, f.config); err != nil {
			return err
		}
	}
	return work(ctx)
}

func (f *feed) insert(ctx context.Context, events []event) error {
	var texts [columns][]*string
	var times []time.Time

	for i := range events {
		for column := range texts {
			text := &events[i].values[column]
			if *text == "" {
				text = nil
			}
			texts[column] = append(texts[column], text)
		}
		times = append(times, events[i].occurredAt)
	}
	parameters := make([]any, 0, columns+1)
	for _, column := range texts {
		parameters = append(parameters, column)
	}
	parameters[occurredAt] = times
	_, err := f.connection.Exec(ctx, insert, append(parameters, f.source)...)
	return err
}

// send sends events in one statement. If it fails, send halves the batch until the bad event is alone.
func (f *feed) send(events []event) error {
	err := f.untilDone(func(ctx context.Context) error { return f.insert(ctx, events) })
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		return err
	}
	if len(events) == 1 {
		f.refuse(columnNames, events[0].values, refusal.Code, refusal.Message, refusal.Detail)
		return nil
	}
	middle := len(events) / 2
	if err := f.send(events[:middle]); err != nil {
		return err
	}
	return f.send(events[middle:])
}

func (f *feed) sendFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()

	began := time.Now()
	count := 0
	var batch []event
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		event, err := readEvent(lines.Text())
		if err != nil {
			f.refuse([]string{"line"}, []string{lines.Text()}, "22P02", err.Error(), "")
			continue
		}
		batch = append(batch, event)
		count++
		if len(batch) == batchEvents {
			if err := f.send(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(batch) > 0 {
		if err := f.send(batch); err != nil {
			return err
		}
	}
	log.Printf("sent %d events in %.1f s", count, time.Since(began).Seconds())
	return nil
}

func readEvent(line string) (event, error) {
	values := strings.Split(line, "\t")
	if len(values) != columns {
		return event{}, fmt.Errorf("%d values", len(values))
	}
	at, err := time.Parse(time.RFC3339, values[occurredAt])
	return event{values, at}, err
}

// report prints the progress of the feed, and the rows that were set aside.
func (f *feed) report(ctx context.Context) error {
	var events, waiting, rejected, setAside int64
	var what, state, reason string

	rows, err := f.connection.Query(ctx, `SELECT events, waiting, rejected, rejected_calls FROM yquota.feed_status
		WHERE source = $1`, f.source)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{&events, &waiting, &rejected, &setAside}, func() error {
		fmt.Printf("%d events received, %d waiting, %d rejected, %d set aside\n", events, waiting, rejected, setAside)
		return nil
	})
	if err != nil {
		return err
	}
	rows, err = f.connection.Query(ctx, `SELECT coalesce(container_id || ' ' || event, call ->> 'row'), sqlstate, reason
		FROM yquota.my_rejects WHERE source = $1 AND NOT waiting ORDER BY 1`, f.source)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{&what, &state, &reason}, func() error {
		fmt.Println("rejected:", what, state, reason)
		return nil
	})
	return err
}

func run(source, path string) error {
	f, err := newFeed(source)
	if err != nil {
		return err
	}
	defer f.disconnect()
	if err := f.sendFile(path); err != nil {
		return err
	}
	return f.untilDone(f.report)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: container_feed SOURCE FILE")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
