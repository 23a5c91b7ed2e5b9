// Package credit tells which projects have no credit left, by one query for all that act on it.
package credit

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"yquota.io/kubernetes/database"
)

// Action is what yquota.project_balance.action demands.
type Action string

// The actions of a project without credit. A project whose on_exhausted is allow needs none.
const (
	RefuseApplications Action = "refuse_submission" // start no other application
	Drain              Action = "drain"             // start no other container, either
	Stop               Action = "stop"              // and end those that run
)

// Exhausted is a project without credit.
type Exhausted struct {
	Project   string
	Action    Action
	Available string // credits, exactly; at most 0
}

// available has holds and credit limits, action has the time of grace, and both have the budgets of ancestors.
const query = `
	SELECT project, action::text, trim_scale(available)::text FROM yquota.project_balance
	WHERE action IN ('refuse_submission', 'drain', 'stop')`

// Read returns the projects without credit, by their names.
func Read(ctx context.Context, session *database.Session) (map[string]Exhausted, error) {
	var projects map[string]Exhausted
	err := session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		projects = map[string]Exhausted{}
		rows, err := connection.Query(ctx, query)
		if err != nil {
			return err
		}
		var project Exhausted
		_, err = pgx.ForEachRow(rows, []any{&project.Project, &project.Action, &project.Available}, func() error {
			projects[project.Project] = project
			return nil
		})
		return err
	})
	return projects, err
}

// Follow reads the projects without credit at an interval until the context ends, and calls each function with them, in
// order. A function that fails is called again with the next projects. While the database is away, nothing is called.
func Follow(ctx context.Context, session *database.Session, interval time.Duration, act ...func(context.Context, map[string]Exhausted) error) {
	defer session.Close()
	for ctx.Err() == nil {
		projects, err := Read(ctx, session)
		if err != nil {
			if ctx.Err() == nil {
				slog.Error("projects without credit cannot be read; trying again", "error", err)
			}
		} else {
			for _, do := range act {
				if err := do(ctx, projects); err != nil && ctx.Err() == nil {
					slog.Error("the end of credit cannot be acted on; trying again", "error", err)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}
