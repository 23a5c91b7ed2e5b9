package mapping_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"yquota.io/kubernetes/event"
	"yquota.io/kubernetes/golden"
	"yquota.io/kubernetes/mapping"
	"yquota.io/kubernetes/settings"
)

func mapper(t *testing.T, s settings.Settings) *mapping.Mapper {
	t.Helper()
	m, err := mapping.New(s.Mapping, s.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func lines(t *testing.T, events []event.Event) string {
	t.Helper()
	var all strings.Builder
	for i := range events {
		line, err := json.Marshal(events[i])
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(line, '\n'))
	}
	return all.String()
}

// compact returns rows whose allocations have no blanks, as those of the connector.
func compact(t *testing.T, events []event.Event) []event.Event {
	t.Helper()
	for i := range events {
		if events[i].Allocation == "" {
			continue
		}
		var amounts map[string]int64
		if err := json.Unmarshal([]byte(events[i].Allocation), &amounts); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(amounts)
		events[i].Allocation = event.Allocation(text)
	}
	return events
}

func TestGoldenPodsBecomeTheirRows(t *testing.T) {
	m := mapper(t, golden.Settings())
	observed := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, g := range golden.Pods() {
		t.Run(g.Name, func(t *testing.T) {
			pod := &g.Pod
			pod.UID = types.UID(pod.Name)
			var rows []event.Event
			if mapping.IsBound(pod) {
				top := mapping.Application{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.Name}
				for _, owner := range g.Owners {
					if owner.Kind != "CronJob" {
						top = mapping.Application{Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name, UID: owner.Name}
					}
				}
				start := m.Start(pod, &mapping.Facts{NamespaceLabels: golden.NamespaceLabels(pod.Namespace), Application: top})
				end := mapping.FinishedAt(pod, start.OccurredAt, observed, false)
				if string(end.Source) != g.Source || end.IsSkewed != g.IsSkewed {
					t.Errorf("the end is from %q, skewed %v, but should be from %q, %v", end.Source, end.IsSkewed, g.Source, g.IsSkewed)
				}
				rows = []event.Event{start, mapping.Finish(pod, end)}
			}
			if got, want := lines(t, rows), lines(t, compact(t, g.Rows)); got != want {
				t.Errorf("rows:\n%swant:\n%s", got, want)
			}
		})
	}
}

func at(second int) metav1.Time { return metav1.Date(2026, 3, 2, 10, 0, second, 0, time.UTC) }

func TestEndIsTheFirstThatExists(t *testing.T) {
	ended := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(10)}}}
	unknown := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	runs := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	disrupted := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: at(20)}
	undisrupted := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, LastTransitionTime: at(21)}
	unready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at(30)}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(31)}
	observed := at(50).Time
	earlier, later := at(40), at(60)

	for name, test := range map[string]struct {
		phase      corev1.PodPhase
		containers []corev1.ContainerStatus
		init       []corev1.ContainerStatus
		ephemeral  []corev1.ContainerStatus
		conditions []corev1.PodCondition
		deletion   *metav1.Time
		vanished   bool
		second     int
		source     mapping.EndSource
	}{
		"containers":                      {phase: "Succeeded", containers: []corev1.ContainerStatus{ended}, conditions: []corev1.PodCondition{disrupted, unready}, second: 10, source: "containers"},
		"init container":                  {phase: "Failed", init: []corev1.ContainerStatus{ended}, conditions: []corev1.PodCondition{disrupted}, second: 10, source: "containers"},
		"ephemeral container":             {phase: "Failed", ephemeral: []corev1.ContainerStatus{ended}, second: 10, source: "containers"},
		"container that runs":             {phase: "Failed", containers: []corev1.ContainerStatus{ended, runs}, conditions: []corev1.PodCondition{disrupted, unready}, second: 20, source: "disruption"},
		"end that is unknown":             {phase: "Failed", containers: []corev1.ContainerStatus{unknown}, conditions: []corev1.PodCondition{disrupted}, second: 20, source: "disruption"},
		"disruption before ready":         {phase: "Failed", conditions: []corev1.PodCondition{unready, disrupted}, second: 20, source: "disruption"},
		"no disruption":                   {phase: "Failed", conditions: []corev1.PodCondition{undisrupted, unready}, second: 30, source: "ready"},
		"still ready":                     {phase: "Failed", conditions: []corev1.PodCondition{ready}, second: 50, source: "observed"},
		"nothing known":                   {phase: "Failed", second: 50, source: "observed"},
		"terminal and vanished":           {phase: "Failed", containers: []corev1.ContainerStatus{ended}, deletion: &earlier, vanished: true, second: 10, source: "containers"},
		"vanished while running":          {phase: "Running", containers: []corev1.ContainerStatus{runs}, conditions: []corev1.PodCondition{disrupted}, vanished: true, second: 50, source: "observed"},
		"vanished after its grace":        {phase: "Running", deletion: &earlier, vanished: true, second: 40, source: "deletion"},
		"vanished within its grace":       {phase: "Running", deletion: &later, vanished: true, second: 50, source: "observed"},
		"terminal, deleted, but is there": {phase: "Failed", deletion: &earlier, second: 50, source: "observed"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{Phase: test.phase, Conditions: test.conditions, ContainerStatuses: test.containers,
				InitContainerStatuses: test.init, EphemeralContainerStatuses: test.ephemeral}}
			pod.DeletionTimestamp = test.deletion
			end := mapping.FinishedAt(pod, at(0).Time, observed, test.vanished)
			if !end.At.Equal(at(test.second).Time) || end.Source != test.source || end.IsSkewed {
				t.Errorf("the end is %v, but should be second %d from %s", end, test.second, test.source)
			}
		})
	}
}

func TestStartOfAPodCreatedWithANode(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}}
	if start, isFinal := mapping.StartedAt(pod); !start.Equal(at(1).Time) || isFinal {
		t.Errorf("before the kubelet reports: %v, final %v", start, isFinal)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(2)}}
	if start, isFinal := mapping.StartedAt(pod); !start.Equal(at(2).Time) || !isFinal {
		t.Errorf("after the kubelet has reported: %v, final %v", start, isFinal)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed}
	if start, isFinal := mapping.StartedAt(pod); !start.Equal(at(1).Time) || !isFinal {
		t.Errorf("if the kubelet never reports: %v, final %v", start, isFinal)
	}
}

func TestRules(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab-7", Name: "p", Labels: map[string]string{"team": "blue"},
		Annotations: map[string]string{"user/name": "ann"}}, Spec: corev1.PodSpec{ServiceAccountName: "robot", PriorityClassName: "high"}}
	facts := &mapping.Facts{NamespaceLabels: map[string]string{"owner": "Science", "empty": ""}, NamespaceAnnotations: map[string]string{"cost": "42"},
		Application: mapping.Application{Kind: "Job", Name: "train"}}
	for _, test := range []struct {
		rules []settings.Rule
		want  string
	}{
		{[]settings.Rule{{Value: "fixed"}}, "fixed"},
		{[]settings.Rule{{Value: "{namespace}/{name}"}}, "lab-7/p"},
		{[]settings.Rule{{Value: "{label:team}"}}, "blue"},
		{[]settings.Rule{{Value: "{annotation:user/name}"}}, "ann"},
		{[]settings.Rule{{Value: "{service-account}-{priority-class}"}}, "robot-high"},
		{[]settings.Rule{{Value: "{namespace-label:owner}{namespace-annotation:cost}"}}, "Science42"},
		{[]settings.Rule{{Value: "{owner-kind}:{owner-name}"}}, "Job:train"},
		{[]settings.Rule{{Value: "{label:absent}"}, {Value: "second"}, {Value: "third"}}, "second"},
		{[]settings.Rule{{Value: "x{namespace-label:empty}"}, {Value: "y"}}, "y"},
		{[]settings.Rule{{Value: "{namespace}", Match: "lab-([0-9]+)", Replace: "project_$1"}}, "project_7"},
		{[]settings.Rule{{Value: "{namespace}", Match: "lab", Replace: "whole"}, {Value: "other"}}, "other"},
		{[]settings.Rule{{Value: "{namespace}", Match: "lab-.|x"}}, "lab-7"},
		{[]settings.Rule{{Value: "{label:absent}"}}, ""},
		{nil, ""},
	} {
		s := settings.Defaults()
		s.Mapping.Project = test.rules
		if got := mapper(t, s).Start(pod, facts).Project; got != test.want {
			t.Errorf("%v gives %q, but should give %q", test.rules, got, test.want)
		}
	}
	for _, wrong := range []settings.Rule{{Value: "{nothing}"}, {Value: "{label:}"}, {Value: "{label}"}, {Value: "x", Match: "("}, {Value: "x", Replace: "y"}} {
		s := settings.Defaults()
		s.Mapping.Queue = []settings.Rule{wrong}
		if _, err := mapping.New(s.Mapping, s.Nodes); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}

func requesting(list map[string]string) *corev1.Pod {
	requests := corev1.ResourceList{}
	for name, text := range list {
		requests[corev1.ResourceName(name)] = resource.MustParse(text)
	}
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}}}
}

func TestAllocation(t *testing.T) {
	s := settings.Defaults()
	s.Mapping.Resources["nvidia.com/gpu"] = settings.Resource{Name: "yarn.io/gpu", Unit: resource.MustParse("1")}
	s.Mapping.Resources["ephemeral-storage"] = settings.Resource{Name: "disk-gb", Unit: resource.MustParse("1Gi")}
	m := mapper(t, s)
	for _, test := range []struct {
		requests map[string]string
		want     event.Allocation
	}{
		{nil, "{}"},
		{map[string]string{"cpu": "0"}, "{}"},
		{map[string]string{"cpu": "1", "memory": "1Mi"}, `{"cpu-milli":1000,"memory-mb":1}`},
		{map[string]string{"cpu": "100u", "memory": "1"}, `{"cpu-milli":1,"memory-mb":1}`},
		{map[string]string{"cpu": "1.0001", "memory": "1048577"}, `{"cpu-milli":1001,"memory-mb":2}`},
		{map[string]string{"memory": "1G"}, `{"memory-mb":954}`},
		{map[string]string{"memory": "1500m"}, `{"memory-mb":1}`},
		{map[string]string{"nvidia.com/gpu": "4", "amd.com/gpu": "1"}, `{"amd.com/gpu":1,"yarn.io/gpu":4}`},
		{map[string]string{"ephemeral-storage": "1500Mi", "hugepages-2Mi": "4Mi", "pods": "1"}, `{"disk-gb":2}`},
		{map[string]string{"attachable-volumes-x": "1", "scheduling.kubernetes.io/foo": "1"}, "{}"},
	} {
		if got := m.Allocation(requesting(test.requests)); got != test.want {
			t.Errorf("%v become %s, but should become %s", test.requests, got, test.want)
		}
	}

	s.Mapping.AssumeRequests = map[string]resource.Quantity{"cpu": resource.MustParse("50m"), "memory": resource.MustParse("64Mi")}
	m = mapper(t, s)
	if got := m.Allocation(requesting(nil)); got != `{"cpu-milli":50,"memory-mb":64}` {
		t.Errorf("a pod without requests has %s", got)
	}
	if got := m.Allocation(requesting(map[string]string{"cpu": "10m"})); got != `{"cpu-milli":10}` {
		t.Errorf("requests are assumed although there are some: %s", got)
	}
	if !m.RequestsNothing(requesting(nil)) || m.RequestsNothing(requesting(map[string]string{"cpu": "10m"})) {
		t.Error("pods without requests are not recognized")
	}
	for _, wrong := range []settings.Resource{{Unit: resource.MustParse("1")}, {Name: "x"}, {Name: "x", Unit: resource.MustParse("10m")},
		{Name: "x", Unit: resource.MustParse("1500m")}} {
		s := settings.Defaults()
		s.Mapping.Resources = map[string]settings.Resource{"x": wrong}
		if _, err := mapping.New(s.Mapping, s.Nodes); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}

func TestApplicationIDIsShortEnough(t *testing.T) {
	a := mapping.Application{Kind: "Job", Namespace: "lab", Name: strings.Repeat("x", 253), UID: "0123"}
	if id := a.ID(); len(id) != 255 || !strings.HasPrefix(id, "Job/lab/xxx") || !strings.HasSuffix(id, "x/0123") {
		t.Errorf("%d bytes: %s", len(id), id)
	}
}

func TestNodes(t *testing.T) {
	m := mapper(t, settings.Defaults())
	node := func(ready corev1.ConditionStatus, cordoned bool, taints ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"yquota.io/node-label": "gpu", "topology.kubernetes.io/zone": "a"}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse("3920m"), "memory": resource.MustParse("10Gi"),
				"pods": resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("8")}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: at(7)}}
		n.Spec.Unschedulable = cordoned
		for _, key := range taints {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key})
		}
		return n
	}
	for _, test := range []struct {
		node   *corev1.Node
		state  string
		isLost bool
	}{
		{node("True", false), mapping.NodeRunning, false},
		{node("True", true), mapping.NodeCordoned, false},
		{node("Unknown", false, "node.kubernetes.io/unreachable"), mapping.NodeUnhealthy, true},
		{node("False", true), mapping.NodeUnhealthy, true},
		{node("Unknown", false, corev1.TaintNodeOutOfService), mapping.NodeLost, true},
		{node("True", false, corev1.TaintNodeOutOfService), mapping.NodeRunning, false},
	} {
		want := mapping.Node{Name: "n", Rack: "/a", Label: "gpu", State: test.state, Total: `{"cpu-milli":3920,"memory-mb":10240,"nvidia.com/gpu":8}`}
		if got := m.Node(test.node); got != want {
			t.Errorf("%v, but should be %v", got, want)
		}
		if lost, isLost := mapping.LostAt(test.node); isLost != test.isLost || isLost && !lost.Equal(at(7).Time) {
			t.Errorf("%s: lost %v at %v", test.state, isLost, lost)
		}
	}
	if got := m.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}); got.Rack != "/default-rack" || got.State != mapping.NodeUnhealthy {
		t.Errorf("a node that has not reported is %v", got)
	}
}
