package cluster

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"yquota.io/kubernetes/mapping"
	"yquota.io/kubernetes/settings"
)

const (
	mostSteps  = 8
	mostCached = 100000
	// time between two attempts to read an owner
	ownerPause = time.Second
)

// Owners finds the application of a pod: the last owner in its chain of owners. It reads the metadata of owners only.
type Owners struct {
	client    metadata.Interface
	resources map[schema.GroupKind]schema.GroupVersionResource
	endBefore []string

	mutex sync.Mutex
	// owner of each object that was read; nil if the object has none, or is gone
	cache map[types.UID]*metav1.OwnerReference
}

// NewOwners returns an Owners for the kinds of the settings.
func NewOwners(client metadata.Interface, s settings.Mapping) *Owners {
	o := &Owners{client: client, resources: map[schema.GroupKind]schema.GroupVersionResource{}, endBefore: s.OwnersEndBefore,
		cache: map[types.UID]*metav1.OwnerReference{}}
	for _, owner := range s.Owners {
		o.resources[schema.GroupKind{Group: owner.Group, Kind: owner.Kind}] =
			schema.GroupVersionResource{Group: owner.Group, Version: owner.Version, Resource: owner.Resource}
	}
	return o
}

// Application returns the application of a pod. It repeats failed reads until the context ends.
func (o *Owners) Application(ctx context.Context, pod *corev1.Pod) (mapping.Application, error) {
	application := mapping.Application{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	reference := ownerOf(pod.OwnerReferences)
	for step := 0; step < mostSteps && reference != nil && !slices.Contains(o.endBefore, reference.Kind); step++ {
		application.Kind = reference.Kind
		application.Name = reference.Name
		application.UID = string(reference.UID)
		var err error
		if reference, err = o.next(ctx, pod.Namespace, reference); err != nil {
			return application, err
		}
	}
	return application, nil
}

// ownerOf returns the controller of an object, or else its first owner.
func ownerOf(references []metav1.OwnerReference) *metav1.OwnerReference {
	for i := range references {
		if references[i].Controller != nil && *references[i].Controller {
			return &references[i]
		}
	}
	if len(references) > 0 {
		return &references[0]
	}
	return nil
}

// next returns the owner of an owner, or nil.
func (o *Owners) next(ctx context.Context, namespace string, of *metav1.OwnerReference) (*metav1.OwnerReference, error) {
	version, err := schema.ParseGroupVersion(of.APIVersion)
	if err != nil {
		return nil, nil
	}
	resource, known := o.resources[schema.GroupKind{Group: version.Group, Kind: of.Kind}]
	if !known {
		return nil, nil
	}
	o.mutex.Lock()
	owner, cached := o.cache[of.UID]
	o.mutex.Unlock()
	if cached {
		return owner, nil
	}
	for {
		object, err := o.client.Resource(resource).Namespace(namespace).Get(ctx, of.Name, metav1.GetOptions{})
		switch {
		case err == nil && object.UID == of.UID:
			return o.keep(of.UID, ownerOf(object.OwnerReferences)), nil
		case err == nil || apierrors.IsNotFound(err):
			return o.keep(of.UID, nil), nil
		case apierrors.IsForbidden(err):
			slog.Warn("an owner may not be read, so the chain of owners ends here", "kind", of.Kind, "error", err)
			return o.keep(of.UID, nil), nil
		}
		slog.Warn("an owner cannot be read now; trying again", "kind", of.Kind, "namespace", namespace, "name", of.Name, "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(ownerPause):
		}
	}
}

func (o *Owners) keep(uid types.UID, owner *metav1.OwnerReference) *metav1.OwnerReference {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.cache) >= mostCached {
		clear(o.cache)
	}
	o.cache[uid] = owner
	return owner
}
