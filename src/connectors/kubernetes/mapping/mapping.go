// Package mapping turns pods and nodes into rows. Its functions depend on nothing but their arguments.
package mapping

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"

	"yquota.io/kubernetes/event"
	"yquota.io/kubernetes/settings"
)

// longestApplication is the greatest length of an application_id, in bytes.
const longestApplication = 255

// Application is the last owner in the chain of owners of a pod, or the pod itself.
type Application struct {
	Kind      string
	Namespace string
	Name      string
	UID       string
}

// ID returns the application_id. The name is cut if the id would be too long.
func (a Application) ID() string {
	rest := len(a.Kind) + len(a.Namespace) + len(a.UID) + 3
	name := a.Name
	if rest+len(name) > longestApplication {
		name = name[:max(0, longestApplication-rest)]
	}
	return strings.Join([]string{a.Kind, a.Namespace, name, a.UID}, "/")
}

// Mapper turns pods into rows by the settings.
type Mapper struct {
	settings settings.Mapping
	nodes    settings.Nodes
	project  []rule
	user     []rule
	queue    []rule
	tags     map[string][]rule
}

// New compiles the rules of the settings.
func New(s settings.Mapping, nodes settings.Nodes) (*Mapper, error) {
	m := &Mapper{settings: s, nodes: nodes, tags: map[string][]rule{}}
	var err error
	if m.project, err = compileRules("project", s.Project); err != nil {
		return nil, err
	}
	if m.user, err = compileRules("user", s.User); err != nil {
		return nil, err
	}
	if m.queue, err = compileRules("queue", s.Queue); err != nil {
		return nil, err
	}
	for key, rules := range s.Tags {
		if m.tags[key], err = compileRules("tags."+key, rules); err != nil {
			return nil, err
		}
	}
	milli := resource.MustParse("1m")
	for name, target := range s.Resources {
		whole := target.Unit.Value() >= 1 && target.Unit.Cmp(*resource.NewQuantity(target.Unit.Value(), resource.DecimalSI)) == 0
		if target.Name == "" || !whole && target.Unit.Cmp(milli) != 0 {
			return nil, fmt.Errorf("mapping.resources.%s needs a name, and a unit that is 1m or a whole number", name)
		}
	}
	return m, nil
}

// IsBound returns whether the pod has a node. A pod that has none holds no resources.
func IsBound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// IsTerminal returns whether the pod has ended.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// HasClaims returns whether the pod uses resources that are allocated dynamically.
func HasClaims(pod *corev1.Pod) bool { return len(pod.Spec.ResourceClaims) > 0 }

// IsExcluded returns whether the settings leave out the namespace of the pod.
func (m *Mapper) IsExcluded(pod *corev1.Pod) bool {
	return slices.Contains(m.settings.ExcludeNamespaces, pod.Namespace)
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) (time.Time, bool) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == kind && c.Status == status && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.UTC(), true
		}
	}
	return time.Time{}, false
}

// StartedAt returns the start of a bound pod, and whether it is final. It is the time at which the pod was scheduled.
// A pod that was created with a node gets this time from its kubelet. Until then, its creation is its start.
func StartedAt(pod *corev1.Pod) (time.Time, bool) {
	if at, found := condition(pod, corev1.PodScheduled, corev1.ConditionTrue); found {
		return at, true
	}
	return pod.CreationTimestamp.UTC(), IsTerminal(pod)
}

// Start returns the START of a bound pod. Without a project, the pod is not charged.
func (m *Mapper) Start(pod *corev1.Pod, facts *Facts) event.Event {
	at, _ := StartedAt(pod)
	return event.Event{
		Kind:          event.Start,
		ContainerID:   string(pod.UID),
		OccurredAt:    at,
		Project:       firstText(m.project, pod, facts),
		ApplicationID: facts.Application.ID(),
		Username:      firstText(m.user, pod, facts),
		Queue:         m.Queue(pod, facts),
		Node:          pod.Spec.NodeName,
		Allocation:    m.Allocation(pod),
		ExecutionType: m.executionType(pod),
	}
}

// Queue returns the queue of the pod, or an empty text.
func (m *Mapper) Queue(pod *corev1.Pod, facts *Facts) string { return firstText(m.queue, pod, facts) }

// Tags returns the tags that the pod gives its application, in order.
func (m *Mapper) Tags(pod *corev1.Pod, facts *Facts) []string {
	var tags []string
	for key, rules := range m.tags {
		if value := firstText(rules, pod, facts); value != "" {
			tags = append(tags, key+"="+value)
		}
	}
	slices.Sort(tags)
	return tags
}

func (m *Mapper) executionType(pod *corev1.Pod) string {
	if slices.Contains(m.settings.OpportunisticPriorityClasses, pod.Spec.PriorityClassName) {
		return event.Opportunistic
	}
	return event.Guaranteed
}

// amount returns a quantity in whole units, rounded up.
func amount(quantity, unit resource.Quantity) int64 {
	if unit.Value() == 1 && unit.MilliValue() < 1000 {
		return quantity.MilliValue()
	}
	return (quantity.Value() + unit.Value() - 1) / unit.Value()
}

// allocation returns the amounts that yquota charges of a list of resources.
func (m *Mapper) allocation(list corev1.ResourceList) event.Allocation {
	amounts := map[string]int64{}
	for name, quantity := range list {
		target, known := m.settings.Resources[string(name)]
		if !known {
			if !isExtended(string(name)) {
				continue
			}
			target = settings.Resource{Name: string(name), Unit: *resource.NewQuantity(1, resource.DecimalSI)}
		}
		if n := amount(quantity, target.Unit); n > 0 {
			amounts[target.Name] += n
		}
	}
	text, err := json.Marshal(amounts) // with its keys in order
	if err != nil {
		panic(err)
	}
	return event.Allocation(text)
}

// isExtended returns whether a resource is an extended one. Their names have a domain other than kubernetes.io.
func isExtended(name string) bool {
	domain, _, found := strings.Cut(name, "/")
	return found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// Requests returns the requests of a pod as kube-scheduler computes them: of a pod that is being resized, the largest
// of the sizes that are asked for, promised and in effect.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	return helpers.PodRequests(pod, helpers.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
}

// nothing is the allocation of a pod that requests nothing.
const nothing = event.Allocation("{}")

// Allocation returns the requests of the pod, or the assumed requests if it requests nothing.
func (m *Mapper) Allocation(pod *corev1.Pod) event.Allocation {
	requested := m.allocation(Requests(pod))
	if requested != nothing || len(m.settings.AssumeRequests) == 0 {
		return requested
	}
	assumed := corev1.ResourceList{}
	for name, quantity := range m.settings.AssumeRequests {
		assumed[corev1.ResourceName(name)] = quantity
	}
	return m.allocation(assumed)
}

// RequestsNothing returns whether the pod requests nothing that is charged.
func (m *Mapper) RequestsNothing(pod *corev1.Pod) bool { return m.allocation(Requests(pod)) == nothing }
