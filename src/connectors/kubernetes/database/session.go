// Package database has a session that lasts: it connects again when the connection breaks, and repeats work after
// errors that pass or that an administrator repairs.
package database

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	timeout      = 60 * time.Second
	longestPause = 10 * time.Second
)

// Classes and codes of SQLSTATE after which work is repeated (except 53400), and of those that an administrator must
// repair. Any other error is final.
var (
	mayPass    = regexp.MustCompile(`^(08|40|53[0-35-9A-Z]|57|58|25006|55P03)`)
	toBeMended = regexp.MustCompile(`^(28|3D|3F|XX|42501|42883|42P01)`)
)

// Session is a session of the database.
type Session struct {
	source     string
	config     *pgx.ConnConfig
	connection *pgx.Conn
	// whether this feed may have reported a problem
	mayHaveProblem bool
	// whether the last statement was answered
	onState func(isUp bool)
}

// New returns a session for a connection string. It calls onState after each attempt.
func New(source, text, purpose string, onState func(isUp bool)) (*Session, error) {
	config, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = 10 * time.Second
	config.RuntimeParams["application_name"] = "yquota-kubernetes " + purpose
	if config.RuntimeParams["options"] == "" {
		config.RuntimeParams["options"] = "-c yquota.on_bad_event=set_aside"
	}
	// Leave nothing in the session, because PgBouncer may use another session for the next statement.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		slog.Warn("the database sent a notice", "severity", notice.Severity, "message", notice.Message, "detail", notice.Detail)
	}
	return &Session{source: source, config: config, mayHaveProblem: true, onState: onState}, nil
}

// Close ends the session.
func (s *Session) Close() {
	if s.connection != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.connection.Close(ctx)
		s.connection = nil
	}
}

// Refusal returns the error of the server if it is final, or nil.
func Refusal(err error) *pgconn.PgError {
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && !toBeMended.MatchString(refusal.Code) && !mayPass.MatchString(refusal.Code) {
		return refusal
	}
	return nil
}

// Do does the work, and repeats it until it succeeds, is refused, or the context ends.
func (s *Session) Do(ctx context.Context, work func(context.Context, *pgx.Conn) error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, longestPause) {
		err := s.try(ctx, work)
		s.onState(err == nil || Refusal(err) != nil)
		if err == nil {
			if s.mayHaveProblem {
				s.mayHaveProblem = s.ReportProblem(ctx, "", "") != nil
			}
			return nil
		}
		if Refusal(err) != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		slog.Warn("the database does not accept a statement now; trying again", "error", err, "pause", pause)
		s.Close()
		// An error without an SQLSTATE is pgx's own: there is no connection, or it broke.
		var failure *pgconn.PgError
		if errors.As(err, &failure) && toBeMended.MatchString(failure.Code) {
			s.mayHaveProblem = true
			if err := s.ReportProblem(ctx, failure.Code, failure.Message); err != nil {
				slog.Error("the problem cannot be reported to the database", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// ReportProblem reports the problem for which the feed waits, once. Without a code, it reports that the feed goes on.
func (s *Session) ReportProblem(ctx context.Context, code, message string) error {
	err := s.try(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		_, err := connection.Exec(ctx, "SELECT yquota.report_feed_problem($1, nullif($2, ''), $3)", s.source, code, message)
		return err
	})
	if err != nil {
		s.Close()
	}
	return err
}

func (s *Session) try(ctx context.Context, work func(context.Context, *pgx.Conn) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if s.connection == nil || s.connection.IsClosed() {
		if s.connection, err = pgx.ConnectConfig(ctx, s.config); err != nil {
			s.connection = nil
			return err
		}
	}
	return work(ctx, s.connection)
}
