package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"yquota.io/kubernetes/settings"
)

func reference(version, kind, name string, isController bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &isController}
}

func object(version, kind, name string, owners ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners}}
}

func newOwners(objects ...runtime.Object) (*Owners, *fake.FakeMetadataClient) {
	scheme := fake.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	client := fake.NewSimpleMetadataClient(scheme, objects...)
	return NewOwners(client, settings.Defaults().Mapping), client
}

func applicationOf(t *testing.T, o *Owners, owners ...metav1.OwnerReference) string {
	t.Helper()
	application, err := o.Application(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "p", UID: "u", OwnerReferences: owners}})
	if err != nil {
		t.Fatal(err)
	}
	return application.ID()
}

func TestChainsOfOwners(t *testing.T) {
	o, _ := newOwners(
		object("apps/v1", "ReplicaSet", "rs", reference("apps/v1", "Deployment", "web", true)),
		object("batch/v1", "Job", "nightly-1", reference("batch/v1", "CronJob", "nightly", true)),
		object("batch/v1", "Job", "worker", reference("jobset.x-k8s.io/v1alpha2", "JobSet", "train", true)),
		object("jobset.x-k8s.io/v1alpha2", "JobSet", "train"),
		object("v1", "Pod", "driver", reference("sparkoperator.k8s.io/v1beta2", "SparkApplication", "pi", true)),
		object("apps/v1", "ReplicaSet", "reused"))
	other := reference("apps/v1", "ReplicaSet", "reused", true)
	other.UID = "uid-of-an-earlier-one"
	for _, test := range []struct {
		owners []metav1.OwnerReference
		want   string
	}{
		{nil, "Pod/lab/p/u"},
		{[]metav1.OwnerReference{reference("apps/v1", "ReplicaSet", "rs", true)}, "Deployment/lab/web/uid-web"},
		{[]metav1.OwnerReference{reference("batch/v1", "Job", "nightly-1", true)}, "Job/lab/nightly-1/uid-nightly-1"},
		{[]metav1.OwnerReference{reference("batch/v1", "Job", "worker", true)}, "JobSet/lab/train/uid-train"},
		{[]metav1.OwnerReference{reference("v1", "Pod", "driver", true)}, "SparkApplication/lab/pi/uid-pi"},
		{[]metav1.OwnerReference{reference("v1", "ConfigMap", "first", false), reference("apps/v1", "ReplicaSet", "rs", true)}, "Deployment/lab/web/uid-web"},
		{[]metav1.OwnerReference{reference("example.org/v1", "Thing", "t", false)}, "Thing/lab/t/uid-t"},
		{[]metav1.OwnerReference{reference("apps/v1", "ReplicaSet", "gone", true)}, "ReplicaSet/lab/gone/uid-gone"},
		{[]metav1.OwnerReference{other}, "ReplicaSet/lab/reused/uid-of-an-earlier-one"},
	} {
		for range 2 { // the second time from the cache
			if got := applicationOf(t, o, test.owners...); got != test.want {
				t.Errorf("%s, but should be %s", got, test.want)
			}
		}
	}
}

func TestAChainHasAtMostEightSteps(t *testing.T) {
	var objects []runtime.Object
	for i := range 20 {
		objects = append(objects, object("apps/v1", "ReplicaSet", fmt.Sprint("rs", i), reference("apps/v1", "ReplicaSet", fmt.Sprint("rs", i+1), true)))
	}
	o, client := newOwners(objects...)
	if got := applicationOf(t, o, reference("apps/v1", "ReplicaSet", "rs0", true)); got != "ReplicaSet/lab/rs7/uid-rs7" {
		t.Errorf("the application is %s", got)
	}
	if n := len(client.Actions()); n > 8 {
		t.Errorf("%d reads", n)
	}
}

func TestAReadThatFails(t *testing.T) {
	o, client := newOwners(object("apps/v1", "ReplicaSet", "rs", reference("apps/v1", "Deployment", "web", true)))
	attempts := 0
	client.PrependReactor("get", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) {
		attempts++
		return attempts == 1, nil, errors.New("the API server is away")
	})
	client.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "j", nil)
	})
	if got := applicationOf(t, o, reference("apps/v1", "ReplicaSet", "rs", true)); got != "Deployment/lab/web/uid-web" || attempts != 2 {
		t.Errorf("the application is %s after %d attempts", got, attempts)
	}
	if got := applicationOf(t, o, reference("batch/v1", "Job", "j", true)); got != "Job/lab/j/uid-j" {
		t.Errorf("the application is %s although the Job may not be read", got)
	}
}
