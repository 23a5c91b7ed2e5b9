// Package sender sends the records of a spool to the database.
package sender

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"yquota.io/kubernetes/database"
	"yquota.io/kubernetes/event"
	"yquota.io/kubernetes/spool"
)

// Each parameter except the last has the values of one column of the batch.
const insert = `
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type,
		 exit_status, source)
	SELECT event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type,
		   exit_status, $12
	FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
				$9::text[], $10::text[], $11::integer[])
		AS e (event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
			  execution_type, exit_status)`

// SQLSTATE of set_application_tags() if the tags of the application are fixed.
const tagsAreFixed = "55000"

// Observer is told what became of records.
type Observer interface {
	Sent(records int)
	Refused()
}

// Sender sends the records of a spool in order.
type Sender struct {
	source   string
	spool    *spool.Spool
	session  *database.Session
	batch    int
	observer Observer
}

// New returns a sender.
func New(source string, s *spool.Spool, session *database.Session, batch int, observer Observer) *Sender {
	return &Sender{source: source, spool: s, session: session, batch: batch, observer: observer}
}

// Run sends records until the context ends, which closes the spool.
func (s *Sender) Run(ctx context.Context) error {
	defer s.session.Close()
	for {
		records, next, err := s.spool.Read(s.batch)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return s.spool.Failure()
		}
		if err := s.sendAll(ctx, records); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := s.spool.Advance(next); err != nil {
			return err
		}
	}
}

// sendAll sends tags, which may come before the events of their application, then events in batches, and lost nodes
// between them.
func (s *Sender) sendAll(ctx context.Context, records []spool.Record) error {
	var events []event.Event
	for _, record := range records {
		if err := s.sendTags(ctx, record.Tags); err != nil {
			return err
		}
	}
	for _, record := range records {
		if record.Event != nil {
			events = append(events, *record.Event)
		}
		if record.Lost == nil {
			continue
		}
		if err := s.send(ctx, events); err != nil {
			return err
		}
		events = nil
		if err := s.sendLost(ctx, record.Lost); err != nil {
			return err
		}
	}
	return s.send(ctx, events)
}

// send sends events in one statement. If the server refuses it, send halves the batch until the bad event is alone.
func (s *Sender) send(ctx context.Context, events []event.Event) error {
	if len(events) == 0 {
		return nil
	}
	err := s.session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		return s.insert(ctx, connection, events)
	})
	refusal := database.Refusal(err)
	if refusal == nil {
		if err == nil {
			s.observer.Sent(len(events))
		}
		return err
	}
	if len(events) == 1 {
		return s.reject(ctx, map[string]any{"table": "yquota.container_event", "row": events[0]}, err)
	}
	middle := len(events) / 2
	if err := s.send(ctx, events[:middle]); err != nil {
		return err
	}
	return s.send(ctx, events[middle:])
}

func (s *Sender) insert(ctx context.Context, connection *pgx.Conn, events []event.Event) error {
	var texts [11][]*string
	var times []time.Time
	var exits []*int32
	for i := range events {
		e := &events[i]
		allocation := string(e.Allocation)
		for column, text := range []*string{0: &e.Kind, 1: &e.ContainerID, 3: &e.Project, 4: &e.ApplicationID, 5: &e.Username,
			6: &e.Queue, 7: &e.Node, 8: &allocation, 9: &e.ExecutionType} {
			if text != nil && *text == "" {
				text = nil
			}
			texts[column] = append(texts[column], text)
		}
		times = append(times, e.OccurredAt)
		exits = append(exits, e.ExitStatus)
	}
	_, err := connection.Exec(ctx, insert, texts[0], texts[1], times, texts[3], texts[4], texts[5], texts[6], texts[7],
		texts[8], texts[9], exits, s.source)
	return err
}

func (s *Sender) sendTags(ctx context.Context, tags *spool.Tags) error {
	if tags == nil {
		return nil
	}
	err := s.session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		_, err := connection.Exec(ctx, "SELECT yquota.set_application_tags($1, $2)", tags.ApplicationID, tags.Tags)
		return err
	})
	switch refusal := database.Refusal(err); {
	case refusal == nil:
		return err
	case refusal.Code == tagsAreFixed:
		slog.Info("the application has its tags already", "tags", tags, "detail", refusal.Detail)
		return nil
	}
	return s.reject(ctx, map[string]any{"function": "set_application_tags", "arguments": tags}, err)
}

func (s *Sender) sendLost(ctx context.Context, lost *spool.LostNode) error {
	err := s.session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		_, err := connection.Exec(ctx, "SELECT yquota.node_lost($1, $2)", lost.Node, lost.At)
		return err
	})
	if database.Refusal(err) != nil {
		return s.reject(ctx, map[string]any{"function": "node_lost", "arguments": lost}, err)
	}
	return err
}

// reject sets aside a row or call that the server refuses.
func (s *Sender) reject(ctx context.Context, call map[string]any, reason error) error {
	refusal := database.Refusal(reason)
	slog.Error("the database refused a record", "sqlstate", refusal.Code, "message", refusal.Message, "record", call)
	s.observer.Refused()
	text, err := json.Marshal(call)
	if err != nil {
		return err
	}
	err = s.session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		_, err := connection.Exec(ctx, "SELECT yquota.reject_call($1, $2, $3, $4, nullif($5, ''))", s.source, string(text),
			refusal.Code, refusal.Message, refusal.Detail)
		return err
	})
	if database.Refusal(err) != nil {
		slog.Error("the record cannot be set aside", "error", err)
		return nil
	}
	return err
}

// Compute sends a QUOTA_COMPUTE for the present instant by a session.
func Compute(ctx context.Context, session *database.Session, source string) error {
	at := event.Now()
	return session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		_, err := connection.Exec(ctx, "INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', $1, $2)",
			at, source)
		return err
	})
}

// WaitUntilSent waits until the spool has no record.
func WaitUntilSent(ctx context.Context, s *spool.Spool) error {
	for !s.IsSent() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if failure := s.Failure(); failure != nil {
			return failure
		}
	}
	return nil
}
