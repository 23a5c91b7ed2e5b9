package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"yquota.io/kubernetes/mapping"
	"yquota.io/kubernetes/monitor"
	"yquota.io/kubernetes/settings"
	"yquota.io/kubernetes/spool"
)

// A followed cluster has a clock of its own, and keeps the rows in short form.
type followed struct {
	*testing.T
	pods *Pods
	now  time.Time
	rows []string
}

var epoch = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

func second(s int) metav1.Time { return metav1.NewTime(epoch.Add(time.Duration(s) * time.Second)) }

func newFollowed(t *testing.T) *followed {
	s := settings.Defaults()
	s.Mapping.ExcludeNamespaces = []string{"hidden"}
	s.Mapping.Project = []settings.Rule{{Value: "{namespace}", Match: "lab"}}
	s.Mapping.Queue = []settings.Rule{{Value: "{label:queue}"}}
	mapper, err := mapping.New(s.Mapping, s.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	f := &followed{T: t, now: epoch}
	metrics := monitor.New(func() float64 { return 0 }, func() bool { return false })
	f.pods = NewPods(context.Background(), mapper, func(context.Context, *corev1.Pod) (mapping.Facts, error) { return mapping.Facts{}, nil },
		f.record, metrics, time.Minute)
	f.pods.now = func() time.Time { return f.now }
	return f
}

func (f *followed) record(records ...spool.Record) {
	for _, r := range records {
		if r.Tags != nil {
			f.rows = append(f.rows, fmt.Sprint("TAGS ", r.Tags.ApplicationID, " ", r.Tags.Tags))
			continue
		}
		e := r.Event
		row := fmt.Sprintf("%s %s %g", e.Kind[len("CONTAINER_"):], e.ContainerID, e.OccurredAt.Sub(epoch).Seconds())
		if e.Allocation != "" {
			row += " " + string(e.Allocation)
		}
		if e.Queue != "" {
			row += " " + e.Queue
		}
		f.rows = append(f.rows, row)
	}
}

// expect compares the rows since the last call.
func (f *followed) expect(want ...string) {
	f.Helper()
	got, _ := json.Marshal(f.rows)
	wanted, _ := json.Marshal(want)
	if len(f.rows) != len(want) || len(want) > 0 && string(got) != string(wanted) {
		f.Errorf("rows %s, but should be %s", got, wanted)
	}
	f.rows = nil
}

func (f *followed) after(s int, err error) {
	f.Helper()
	if err != nil {
		f.Error(err)
	}
	f.now = epoch.Add(time.Duration(s) * time.Second)
}

func scheduled(name string, s int) *corev1.Pod {
	pod := unscheduled(name)
	pod.Spec.NodeName = "n"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: second(s)}}
	return pod
}

func unscheduled(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID(name), CreationTimestamp: second(0)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}}}
}

func ended(pod *corev1.Pod, s int) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: second(s)}}}}
	return pod
}

func TestALife(t *testing.T) {
	f := newFollowed(t)
	pod := unscheduled("a")
	f.after(5, f.pods.Add(pod))
	f.expect()
	pod = scheduled("a", 5)
	f.after(6, f.pods.Update(pod))
	f.expect(`START a 5 {"cpu-milli":1000}`)
	f.after(7, f.pods.Update(pod.DeepCopy()))
	f.expect()
	pod = ended(pod, 20)
	f.after(22, f.pods.Update(pod))
	f.expect("FINISH a 20")
	f.after(23, f.pods.Update(pod))
	f.after(24, f.pods.Delete(pod))
	f.expect()
	if len(f.pods.pods) != 0 {
		t.Error("the pod is not forgotten")
	}
}

func TestTheFirstPodTagsItsApplication(t *testing.T) {
	f := newFollowed(t)
	s := settings.Defaults()
	s.Mapping.Tags = map[string][]settings.Rule{"team": {{Value: "{label:team}"}}, "stage": {{Value: "test"}}, "none": {{Value: "{label:absent}"}}}
	f.pods.mapper, _ = mapping.New(s.Mapping, s.Nodes)
	for _, name := range []string{"a", "b"} {
		pod := scheduled(name, 0)
		pod.Labels = map[string]string{"team": name}
		f.after(1, f.pods.Add(pod))
	}
	f.expect("TAGS /// [stage=test team=a]", `START a 0 {"cpu-milli":1000}`, `START b 0 {"cpu-milli":1000}`)
}

func TestAResizeAndAMove(t *testing.T) {
	f := newFollowed(t)
	pod := scheduled("a", 0)
	f.after(10, f.pods.Add(pod))
	pod = pod.DeepCopy()
	pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
	f.after(20, f.pods.Update(pod))
	pod = pod.DeepCopy()
	pod.Labels = map[string]string{"queue": "night"}
	f.after(30, f.pods.Update(pod))
	f.expect(`START a 0 {"cpu-milli":1000}`, `UPDATE a 10 {"cpu-milli":2000}`, "UPDATE a 20 night")
	// The end is recorded, but not the size of a pod that has ended.
	pod = ended(pod, 25)
	pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3")
	f.after(40, f.pods.Update(pod))
	f.expect("FINISH a 25")
}

func TestPodsThatVanish(t *testing.T) {
	f := newFollowed(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		f.after(1, f.pods.Add(scheduled(name, 0)))
	}
	deleted := scheduled("b", 0)
	deletion := second(9)
	deleted.DeletionTimestamp = &deletion
	f.after(10, f.pods.Update(deleted))
	f.rows = nil
	f.after(20, f.pods.Delete(scheduled("a", 0))) // at 10
	f.after(21, f.pods.Delete(deleted))           // at 20
	f.expect("FINISH a 10", "FINISH b 9")
	// The watch breaks. The last news were those at 20.
	f.after(50, nil)
	f.after(51, f.pods.Replace([]any{scheduled("d", 0), scheduled("e", 30), ended(scheduled("f", 30), 40)}, "1"))
	f.expect(`START e 30 {"cpu-milli":1000}`, `START f 30 {"cpu-milli":1000}`, "FINISH f 40", "FINISH c 20")
}

func TestAPodThatIsSeenOnlyAtItsEnd(t *testing.T) {
	f := newFollowed(t)
	f.after(10, nil)
	f.after(11, f.pods.Delete(scheduled("a", 3)))
	f.after(12, f.pods.Delete(unscheduled("b")))
	f.after(13, f.pods.Add(ended(scheduled("c", 4), 6)))
	f.expect(`START a 3 {"cpu-milli":1000}`, "FINISH a 10", `START c 4 {"cpu-milli":1000}`, "FINISH c 6")
}

func TestAPodCreatedWithANode(t *testing.T) {
	f := newFollowed(t)
	created := func(name string) *corev1.Pod {
		pod := unscheduled(name)
		pod.Spec.NodeName = "n"
		return pod
	}
	f.after(3, f.pods.Add(created("a")))
	f.after(3, f.pods.Add(created("b")))
	f.after(3, f.pods.Add(created("c")))
	f.after(3, f.pods.Add(created("d")))
	f.expect()
	f.after(5, f.pods.Update(scheduled("a", 2)))
	f.expect(`START a 2 {"cpu-milli":1000}`)
	f.after(8, f.pods.Update(ended(created("b"), 7)))
	f.expect(`START b 0 {"cpu-milli":1000}`, "FINISH b 7")
	f.after(9, f.pods.Delete(created("c")))
	f.expect(`START c 0 {"cpu-milli":1000}`, "FINISH c 8")
	f.after(59, f.pods.StartWaiting())
	f.expect()
	f.after(60, nil)
	f.after(61, f.pods.StartWaiting())
	f.expect(`START d 0 {"cpu-milli":1000}`)
	f.after(62, f.pods.Update(scheduled("d", 55))) // too late
	f.expect()
	if len(f.pods.waiting) != 0 {
		t.Errorf("%d pods still wait", len(f.pods.waiting))
	}
}

// stream sends pods as a streamed list does: the reflector keeps what the store's own function leaves of each.
func (f *followed) stream(pods ...*corev1.Pod) []any {
	f.Helper()
	var list []any
	for _, pod := range pods {
		left, err := f.pods.Transformer()(pod)
		if err != nil {
			f.Error(err)
		}
		list = append(list, left)
	}
	return list
}

func TestAStreamedList(t *testing.T) {
	f := newFollowed(t)
	f.after(10, f.pods.Add(scheduled("a", 5)))
	f.after(30, f.pods.Add(scheduled("b", 6)))
	f.expect(`START a 5 {"cpu-milli":1000}`, `START b 6 {"cpu-milli":1000}`)
	list := f.stream(scheduled("b", 6), scheduled("c", 20), scheduled("d", 21))
	f.expect(`START c 20 {"cpu-milli":1000}`, `START d 21 {"cpu-milli":1000}`)
	if list[0] != types.UID("b") {
		t.Errorf("the list keeps %v", list[0])
	}
	f.after(40, f.pods.Replace(list[:2], ""))
	slices.Sort(f.rows)
	f.expect("FINISH a 10", "FINISH d 30") // d vanished while the list was streamed
}

func TestAListInPages(t *testing.T) {
	f := newFollowed(t)
	f.after(10, f.pods.Add(scheduled("a", 5)))
	f.after(15, f.pods.Bookmark(""))
	waits := unscheduled("w")
	waits.Spec.NodeName = "n"
	f.expect(`START a 5 {"cpu-milli":1000}`)
	asked := "none"
	source := &cache.ListWatch{ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		asked = options.ResourceVersion
		return &corev1.PodList{Items: []corev1.Pod{*scheduled("b", 6), *waits}}, nil
	}}
	f.pods.ListInPages(source)
	page, err := source.ListWithContextFunc(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
	f.after(20, err)
	f.expect(`START b 6 {"cpu-milli":1000}`)
	if asked != "" {
		t.Errorf("the list has the resourceVersion %q", asked)
	}
	items := page.(*corev1.PodList).Items
	if len(items[0].Spec.Containers) != 0 {
		t.Error("the list keeps whole pods")
	}
	f.after(80, f.pods.Replace([]any{&items[0], &items[1]}, ""))
	f.expect("FINISH a 10")
	f.after(81, f.pods.StartWaiting())
	f.expect(`START w 0 {"cpu-milli":1000}`)
}

func TestAListThatTheEndInterrupts(t *testing.T) {
	f := newFollowed(t)
	ctx, cancel := context.WithCancel(context.Background())
	f.pods.ctx = ctx
	f.after(10, f.pods.Add(scheduled("a", 5)))
	cancel()
	f.rows = nil
	if f.pods.Replace(nil, "") == nil {
		t.Error("the list counts")
	}
	f.expect()
}

// heap returns the size of all objects in use.
func heap() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestAPodTakesLittleMemory(t *testing.T) {
	const pods, most = 20000, 500
	f := newFollowed(t)
	f.pods.record = func(...spool.Record) {}
	isController := true
	owners := &Owners{cache: map[types.UID]*metav1.OwnerReference{}}
	before := heap()
	for i := range pods {
		name := fmt.Sprintf("training-run-%06d-worker-0", i)
		pod := scheduled(name, 5)
		pod.UID = types.UID(fmt.Sprintf("2f1c3c1e-0000-4000-8000-%012d", i))
		pod.Labels = map[string]string{"queue": fmt.Sprintf("root.research.batch-%d", i%10)}
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FILLER", Value: strings.Repeat("x", 8000)}}
		pod.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse("4Gi")
		pod.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
		if err := f.pods.Add(pod); err != nil {
			t.Fatal(err)
		}
		job := types.UID(fmt.Sprintf("3f1c3c1e-0000-4000-8000-%012d", i))
		owners.keep(job, &metav1.OwnerReference{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Controller: &isController,
			Name: fmt.Sprintf("training-run-%06d", i), UID: types.UID(fmt.Sprintf("4f1c3c1e-0000-4000-8000-%012d", i))})
	}
	if size := (heap() - before) / pods; size > most {
		t.Errorf("a pod and its owners take %d bytes, but should take at most %d", size, most)
	} else {
		t.Logf("a pod and its owners take %d bytes", size)
	}
	goruntime.KeepAlive(f)
	goruntime.KeepAlive(owners)
}

func TestPodsThatAreNotCharged(t *testing.T) {
	f := newFollowed(t)
	hidden := scheduled("a", 0)
	hidden.Namespace = "hidden"
	homeless := scheduled("b", 0)
	homeless.Namespace = "other"
	empty := scheduled("c", 0)
	empty.Spec.Containers[0].Resources.Requests = nil
	claiming := scheduled("d", 0)
	claiming.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	f.after(1, f.pods.Replace([]any{hidden, homeless, empty, claiming}, "1"))
	f.expect("START c 0 {}", `START d 0 {"cpu-milli":1000}`)
	reasons := map[string]string{}
	for _, pod := range f.pods.Uncharged() {
		reasons[pod.Name] = fmt.Sprint(pod.Reasons)
	}
	if fmt.Sprint(reasons) != "map[b:[no project] c:[no requests] d:[resource claims]]" {
		t.Errorf("uncharged: %v", reasons)
	}
	f.after(2, f.pods.Update(ended(homeless, 1)))
	f.expect()
	if len(f.pods.Uncharged()) != 2 {
		t.Error("a pod that has ended is listed")
	}
}

func TestListsForReconcile(t *testing.T) {
	f := newFollowed(t)
	f.after(1, f.pods.Add(scheduled("a", 0)))
	created := unscheduled("b")
	created.Spec.NodeName = "n"
	f.rows = nil
	for _, test := range []struct {
		pod  *corev1.Pod
		want bool
	}{{scheduled("a", 0), true}, {scheduled("new", 1), true}, {created, false}, {unscheduled("c"), false}, {ended(scheduled("gone", 0), 1), false}} {
		listed, err := f.pods.List(context.Background(), test.pod)
		if err != nil || (listed != nil) != test.want {
			t.Errorf("%s: %v, %v", test.pod.Name, listed, err)
		}
	}
	f.expect()
	if listed, err := f.pods.List(context.Background(), ended(scheduled("a", 0), 1)); listed != nil || err != nil {
		t.Errorf("a pod that has ended: %v, %v", listed, err)
	}
	f.expect("FINISH a 1")
}

func TestARecorderThatDoesNotLeadKeepsWhatIsNew(t *testing.T) {
	var out []string
	r := NewRecorder(time.Hour, func(records ...spool.Record) error {
		for _, record := range records {
			out = append(out, record.Lost.Node)
		}
		return nil
	})
	lost := func(name string) spool.Record { return spool.Record{Lost: &spool.LostNode{Node: name}} }
	r.Record(lost("a"))
	r.held[0].at = time.Now().Add(-2 * time.Hour)
	r.Record(lost("b"))
	if len(r.held) != 2 {
		t.Error("the first list is forgotten")
	}
	r.Compete()
	r.held[0].at = time.Now().Add(-2 * time.Hour)
	r.Record(lost("c"))
	if len(out) != 0 {
		t.Errorf("a recorder that does not lead passes %v", out)
	}
	r.Lead(true)
	r.Record(lost("d"))
	r.Lead(false)
	r.Record(lost("e"))
	if fmt.Sprint(out) != "[b c d]" {
		t.Errorf("passed %v", out)
	}
}

func TestNodesThatAreLost(t *testing.T) {
	var lost []string
	s := settings.Defaults()
	mapper, _ := mapping.New(s.Mapping, s.Nodes)
	n := NewNodes(mapper, func(records ...spool.Record) {
		for _, r := range records {
			lost = append(lost, fmt.Sprintf("%s %g", r.Lost.Node, r.Lost.At.Sub(epoch).Seconds()))
		}
	}, monitor.New(func() float64 { return 0 }, func() bool { return false }))
	n.now = func() time.Time { return epoch.Add(time.Minute) }
	node := func(name string, ready corev1.ConditionStatus, s int, taints ...string) *corev1.Node {
		result := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: ready, LastTransitionTime: second(s)}}, Allocatable: corev1.ResourceList{"cpu": resource.MustParse("1")}}}
		for _, key := range taints {
			result.Spec.Taints = append(result.Spec.Taints, corev1.Taint{Key: key})
		}
		return result
	}
	expect := func(want string) {
		t.Helper()
		if got := fmt.Sprint(lost); got != want {
			t.Errorf("lost %s, but should be %s", got, want)
		}
		lost = nil
	}
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(n.Replace([]any{node("a", "True", 1), node("b", "True", 1), node("c", "True", 1)}, ""))
	if changes := n.Changes(); changes == nil || !changes.IsAll || len(changes.names) != 3 || n.Changes() != nil {
		t.Error("the first changes are not all nodes")
	}
	must(n.Update(node("a", "Unknown", 5)))
	expect("[]") // a partition ends nothing
	changes := n.Changes()
	if changes == nil || changes.IsAll || len(changes.names) != 1 {
		t.Fatalf("changes are %v", changes)
	}
	n.Failed(changes)
	if again := n.Changes(); again == nil || string(again.Answer) != string(changes.Answer) {
		t.Error("a failed change is not repeated")
	}
	must(n.Update(node("a", "Unknown", 5, corev1.TaintNodeOutOfService)))
	must(n.Update(node("a", "Unknown", 5, corev1.TaintNodeOutOfService)))
	must(n.Delete(node("a", "Unknown", 5, corev1.TaintNodeOutOfService)))
	expect("[a 5]")
	must(n.Delete(node("b", "False", 7)))
	expect("[b 7]")
	must(n.Replace([]any{node("d", "True", 1)}, ""))
	expect("[c 60]") // it was ready when it was last seen
}

func TestHowManyPodsMayBeFinished(t *testing.T) {
	for _, test := range []struct {
		finishing, running, percent int
		want                        bool
	}{{0, 0, 20, false}, {1, 5, 20, false}, {2, 9, 20, true}, {20, 100, 20, false}, {21, 100, 20, true}, {1, 1, 100, false}, {1, 100, 0, true}} {
		if got := isTooMany(test.finishing, test.running, test.percent); got != test.want {
			t.Errorf("%v: %v", test, got)
		}
	}
}
