package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"yquota.io/kubernetes/database"
	"yquota.io/kubernetes/event"
	"yquota.io/kubernetes/monitor"
	"yquota.io/kubernetes/sender"
	"yquota.io/kubernetes/settings"
	"yquota.io/kubernetes/spool"
)

const (
	podsInPage = 500
	// annotation of the Lease by which a person allows a comparison to finish so many pods
	allowance = "yquota.io/finish-pods"
	// SQLSTATE of the problem that a comparison waits for a person
	waitsForPerson = "55000"
)

const reconcile = `SELECT action, container_id, project, occurred_at, detail FROM yquota.reconcile($1::jsonb, $2, dry_run => $3)`

// Reconciler compares the books with the cluster.
type Reconciler struct {
	Client   kubernetes.Interface
	Pods     *Pods
	Spool    *spool.Spool
	Session  *database.Session
	Settings settings.Settings
	Metrics  *monitor.Metrics
	// time at which pods that have vanished ended; zero: the time of the comparison
	AsOf time.Time
	// whether the last comparison waits for a person, and why
	waits   bool
	problem string
}

// A difference is a row of reconcile().
type difference struct {
	Action      string
	ContainerID string
	Project     string
	OccurredAt  time.Time
	Detail      string
}

// Waits returns whether a comparison waits for a person.
func (r *Reconciler) Waits() bool { return r.waits }

// Compare finishes the pods that have vanished, and starts those that the books lack. It waits for a person if it would
// finish too many pods.
func (r *Reconciler) Compare(ctx context.Context) error {
	before := event.Now()
	asOf := r.AsOf
	if asOf.IsZero() || asOf.After(before) {
		asOf = before
	}
	list, running, err := r.list(ctx)
	if err != nil {
		return fmt.Errorf("the pods cannot be listed: %w", err)
	}
	if err := sender.WaitUntilSent(ctx, r.Spool); err != nil {
		return err
	}
	differences, err := r.call(ctx, list, asOf, true)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, d := range differences {
		count[d.Action]++
		slog.Debug("the books differ", "difference", d)
	}
	r.Metrics.Conflicts(count["conflict"])
	mayFinish, err := r.mayFinish(ctx, asOf, count["finish"], running-count["start"]+count["finish"])
	if err != nil || !mayFinish {
		return err
	}
	if len(differences) > count["conflict"]+count["ending"]+count["waiting"] {
		if _, err := r.call(ctx, list, asOf, false); err != nil {
			return err
		}
	}
	r.AsOf = time.Time{}
	slog.Info("the books are compared with the cluster", "as of", asOf, "running pods", running, "differences", count)
	return nil
}

// mayFinish returns whether a comparison may finish so many of the running pods. If not, the comparison waits.
func (r *Reconciler) mayFinish(ctx context.Context, asOf time.Time, finishing, running int) (bool, error) {
	if isTooMany(finishing, running, r.Settings.Reconcile.MostFinishedPercent) {
		isAllowed, err := r.useAllowance(ctx, finishing)
		if err != nil {
			return false, err
		}
		if !isAllowed {
			r.wait(ctx, asOf, finishing, running)
			return false, nil
		}
	}
	if r.waits {
		r.waits = false
		r.report(ctx, "", "")
	}
	r.Metrics.ReconcileWaits(0)
	return true, nil
}

// isTooMany returns whether a person must allow to finish so many of the running pods.
func isTooMany(finishing, running, mostPercent int) bool { return finishing*100 > running*mostPercent }

func (r *Reconciler) wait(ctx context.Context, asOf time.Time, finishing, running int) {
	r.problem = fmt.Sprintf("reconcile() would finish %d of %d pods, and waits: to allow it, set the annotation %s of Lease %s/%s to %d",
		finishing, running, allowance, r.Settings.Lease.Namespace, r.Settings.Lease.Name, finishing)
	r.waits = true
	r.AsOf = asOf
	r.Metrics.ReconcileWaits(finishing)
	slog.Error(r.problem)
	r.report(ctx, waitsForPerson, r.problem)
}

// report reports a problem, or without a code that the feed goes on.
func (r *Reconciler) report(ctx context.Context, code, message string) {
	if err := r.Session.ReportProblem(ctx, code, message); err != nil {
		slog.Error("a problem cannot be reported to the database", "code", code, "error", err)
	}
}

// CompareWaiting repeats a comparison that waits, if a person has allowed it. Otherwise it reports the problem again,
// because the sender reports that it goes on when the database has answered it.
func (r *Reconciler) CompareWaiting(ctx context.Context) error {
	allowed, err := r.allowed(ctx)
	if err != nil {
		return err
	}
	if allowed == 0 {
		r.report(ctx, waitsForPerson, r.problem)
		return nil
	}
	return r.Compare(ctx)
}

// allowed returns how many pods a person allows to finish.
func (r *Reconciler) allowed(ctx context.Context) (int, error) {
	lease, err := r.Client.CoordinationV1().Leases(r.Settings.Lease.Namespace).Get(ctx, r.Settings.Lease.Name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	text := lease.Annotations[allowance]
	if text == "" {
		return 0, nil
	}
	allowed, err := strconv.Atoi(text)
	if err != nil || allowed < 0 {
		slog.Error("the annotation is no number of pods", "annotation", allowance, "text", text)
		return 0, nil
	}
	return allowed, nil
}

// useAllowance returns whether a person allows to finish so many pods. It removes the annotation, which counts once.
func (r *Reconciler) useAllowance(ctx context.Context, finishing int) (bool, error) {
	allowed, err := r.allowed(ctx)
	if err != nil || allowed < finishing {
		return false, err
	}
	leases := r.Client.CoordinationV1().Leases(r.Settings.Lease.Namespace)
	for {
		lease, err := leases.Get(ctx, r.Settings.Lease.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		delete(lease.Annotations, allowance)
		if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err == nil || !apierrors.IsConflict(err) {
			return err == nil, err
		}
	}
}

// list returns a JSON array of the running pods of one resourceVersion, which the API server reads from a quorum, and
// their number.
func (r *Reconciler) list(ctx context.Context) (string, int, error) {
	var list strings.Builder
	list.WriteByte('[')
	running := 0
	options := metav1.ListOptions{Limit: podsInPage}
	for {
		page, err := r.Client.CoreV1().Pods("").List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			// The other pages are no longer kept.
			list.Reset()
			list.WriteByte('[')
			running = 0
			options.Continue = ""
			continue
		}
		if err != nil {
			return "", 0, err
		}
		for i := range page.Items {
			listed, err := r.Pods.List(ctx, &page.Items[i])
			if err != nil {
				return "", 0, err
			}
			if listed == nil {
				continue
			}
			text, err := json.Marshal(listed)
			if err != nil {
				return "", 0, err
			}
			if running > 0 {
				list.WriteByte(',')
			}
			list.Write(text)
			running++
		}
		if options.Continue = page.Continue; options.Continue == "" {
			list.WriteByte(']')
			return list.String(), running, nil
		}
	}
}

func (r *Reconciler) call(ctx context.Context, list string, asOf time.Time, isDryRun bool) ([]difference, error) {
	var differences []difference
	err := r.Session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		rows, err := connection.Query(ctx, reconcile, list, asOf, isDryRun)
		if err != nil {
			return err
		}
		differences, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (difference, error) {
			var d difference
			var project, detail *string
			var at *time.Time
			err := row.Scan(&d.Action, &d.ContainerID, &project, &at, &detail)
			if project != nil {
				d.Project = *project
			}
			if detail != nil {
				d.Detail = *detail
			}
			if at != nil {
				d.OccurredAt = *at
			}
			return d, err
		})
		return err
	})
	return differences, err
}

// SendNodes sends changed nodes.
func SendNodes(ctx context.Context, session *database.Session, nodes *Nodes) error {
	changes := nodes.Changes()
	if changes == nil {
		return nil
	}
	err := session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		_, err := connection.Exec(ctx, "SELECT yquota.import_nodes($1::jsonb, missing_are_lost => $2)", string(changes.Answer), changes.IsAll)
		return err
	})
	if err != nil {
		nodes.Failed(changes)
	}
	return err
}
