package cluster

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"yquota.io/kubernetes/mapping"
)

// Facts finds what the mapping needs beside a pod: its application, and the labels of its namespace.
type Facts struct {
	client     kubernetes.Interface
	namespaces cache.Store
	owners     *Owners
}

// NewFacts returns a Facts that reads namespaces from the store of a reflector.
func NewFacts(client kubernetes.Interface, namespaces cache.Store, owners *Owners) *Facts {
	return &Facts{client, namespaces, owners}
}

// Of returns the facts of a pod. It repeats failed reads until the context ends.
func (f *Facts) Of(ctx context.Context, pod *corev1.Pod) (mapping.Facts, error) {
	var facts mapping.Facts
	namespace, err := f.namespace(ctx, pod.Namespace)
	if err != nil {
		return facts, err
	}
	if namespace != nil {
		facts.NamespaceLabels = namespace.Labels
		facts.NamespaceAnnotations = namespace.Annotations
	}
	facts.Application, err = f.owners.Application(ctx, pod)
	return facts, err
}

// namespace returns a namespace, or nil if it is gone. The reflector may not have seen a new namespace yet.
func (f *Facts) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	for {
		if object, exists, err := f.namespaces.GetByKey(name); err == nil && exists {
			return object.(*corev1.Namespace), nil
		}
		namespace, err := f.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return namespace, nil
		}
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		slog.Warn("a namespace cannot be read now; trying again", "namespace", name, "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(ownerPause):
		}
	}
}
