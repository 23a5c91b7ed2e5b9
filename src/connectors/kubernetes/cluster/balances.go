package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"yquota.io/kubernetes/database"
)

// balancesResource is the resource of the objects that show balances (deploy/crd.yaml).
var balancesResource = schema.GroupVersionResource{Group: "yquota.io", Version: "v1alpha1", Resource: "yquotas"}

const readBalances = `
	SELECT project, trim_scale(granted)::text, trim_scale(charged + accrued)::text, trim_scale(remaining)::text,
		   trim_scale(burn_rate)::text,
		   CASE WHEN isfinite(exhausted_at) THEN to_char(exhausted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') END
	FROM yquota.project_balance`

// Balances writes the balance of each project to an object of the cluster.
type Balances struct {
	Client  dynamic.Interface
	Session *database.Session
	// whether the missing definition of the objects is logged
	isMissing bool
}

// Write writes the balances that have changed, and removes the objects of projects that are gone. Without the
// definition of the objects, it does nothing.
func (b *Balances) Write(ctx context.Context) error {
	resource := b.Client.Resource(balancesResource)
	list, err := resource.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		if !b.isMissing {
			slog.Warn("balances are not written", "error", err)
		}
		b.isMissing = true
		return nil
	}
	if err != nil {
		return err
	}
	b.isMissing = false
	balances, err := b.read(ctx)
	if err != nil {
		return err
	}
	objects := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		objects[list.Items[i].GetName()] = &list.Items[i]
	}
	var failures []error
	for name, status := range balances {
		failures = append(failures, write(ctx, resource, name, objects[name], status))
		delete(objects, name)
	}
	for name := range objects {
		if err := resource.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// write creates the object if it is nil, and writes its status if that has changed.
func write(ctx context.Context, resource dynamic.NamespaceableResourceInterface, name string, object *unstructured.Unstructured,
	status map[string]any) (err error) {
	if object == nil {
		object = &unstructured.Unstructured{Object: map[string]any{"apiVersion": balancesResource.GroupVersion().String(), "kind": "Yquota",
			"metadata": map[string]any{"name": name}}}
		if object, err = resource.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("the balance %s cannot be created: %w", name, err)
		}
	}
	if old, _, _ := unstructured.NestedMap(object.Object, "status"); maps.Equal(old, status) {
		return nil
	}
	object.Object["status"] = status
	if _, err := resource.UpdateStatus(ctx, object, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("the balance %s cannot be written: %w", name, err)
	}
	return nil
}

// read returns the status of each object, by its name.
func (b *Balances) read(ctx context.Context) (map[string]map[string]any, error) {
	var balances map[string]map[string]any
	err := b.Session.Do(ctx, func(ctx context.Context, connection *pgx.Conn) error {
		balances = map[string]map[string]any{}
		rows, err := connection.Query(ctx, readBalances)
		if err != nil {
			return err
		}
		var project, granted, spent, remaining, burnRate string
		var lastsUntil *string
		_, err = pgx.ForEachRow(rows, []any{&project, &granted, &spent, &remaining, &burnRate, &lastsUntil}, func() error {
			status := map[string]any{"project": project, "granted": granted, "spent": spent, "remaining": remaining, "burnRate": burnRate}
			if lastsUntil != nil {
				status["lastsUntil"] = *lastsUntil
			}
			balances[objectName(project)] = status
			return nil
		})
		return err
	})
	return balances, err
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// objectName returns the name of the object of a project: the name of the project if objects may have it, or else one
// that resembles it and that no other project has.
func objectName(project string) string {
	if len(validation.IsDNS1123Subdomain(project)) == 0 {
		return project
	}
	sum := sha256.Sum256([]byte(project))
	similar := notInNames.ReplaceAllString(strings.ToLower(project), "-")
	return strings.Trim("project-"+similar[:min(len(similar), 60)], "-") + "." + hex.EncodeToString(sum[:8])
}
