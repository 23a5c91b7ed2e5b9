// Package cluster follows a Kubernetes cluster: its pods, their owners, its nodes, and which replica leads.
package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"yquota.io/kubernetes/event"
	"yquota.io/kubernetes/mapping"
	"yquota.io/kubernetes/monitor"
	"yquota.io/kubernetes/spool"
)

// Pods is the store behind the reflector of pods. It keeps of each pod only what later events are compared with, and
// records what changes.
type Pods struct {
	ctx         context.Context
	mapper      *mapping.Mapper
	facts       func(context.Context, *corev1.Pod) (mapping.Facts, error)
	record      func(...spool.Record)
	metrics     *monitor.Metrics
	kubeletWait time.Duration
	now         func() time.Time

	mutex sync.Mutex
	pods  map[types.UID]*podState
	// pods with a node whose kubelet has not reported their start
	waiting map[types.UID]*corev1.Pod
	// applications whose tags are recorded
	tagged map[string]bool
	// time of the latest news from the API server
	lastNews time.Time
}

// A podState is what is recorded of a pod. Pods share the memory of equal texts.
type podState struct {
	namespace  unique.Handle[string]
	name       string
	start      time.Time
	deletion   *metav1.Time
	allocation unique.Handle[event.Allocation]
	queue      unique.Handle[string]
	// time at which a streamed list last had it
	listedAt time.Time
	// whether it is charged, requests nothing, has claims of dynamic allocation, has ended
	isCharged bool
	isEmpty   bool
	hasClaims bool
	hasEnded  bool
}

// NewPods returns a store that records by record. It asks facts for what a pod itself does not have.
func NewPods(ctx context.Context, mapper *mapping.Mapper, facts func(context.Context, *corev1.Pod) (mapping.Facts, error),
	record func(...spool.Record), metrics *monitor.Metrics, kubeletWait time.Duration) *Pods {
	return &Pods{ctx: ctx, mapper: mapper, facts: facts, record: record, metrics: metrics, kubeletWait: kubeletWait, now: event.Now,
		pods: map[types.UID]*podState{}, waiting: map[types.UID]*corev1.Pod{}, tagged: map[string]bool{}}
}

// Add is called for a new pod.
func (p *Pods) Add(object any) error { return p.Update(object) }

// Update is called for a changed pod.
func (p *Pods) Update(object any) error {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("%T is no pod", object)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lastNews = p.now()
	return p.see(pod)
}

// Delete is called with the last state of a pod that is gone.
func (p *Pods) Delete(object any) error {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("%T is no pod", object)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lastNews = p.now()
	return p.lose(pod, p.now())
}

// Replace is called with a list of all pods, or with what Transformer or ListInPages has left of them. Pods that are not
// in the list have vanished since the last news.
func (p *Pods) Replace(objects []any, _ string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := p.ctx.Err(); err != nil {
		return err // The list may lack pods whose facts could not be read.
	}
	seenLast := p.lastNews
	p.lastNews = p.now()
	listed := make(map[types.UID]bool, len(objects))
	for _, object := range objects {
		switch listedObject := object.(type) {
		case types.UID:
			listed[listedObject] = true
		case *corev1.Pod:
			listed[listedObject.UID] = true
			if err := p.see(listedObject); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%T is no pod", object)
		}
	}
	for uid, state := range p.pods {
		if listed[uid] {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Namespace: state.namespace.Value(), Name: state.name,
			DeletionTimestamp: state.deletion}}
		observed := seenLast
		if state.listedAt.After(observed) {
			observed = state.listedAt // It vanished while the list was streamed.
		}
		if err := p.lose(pod, observed); err != nil {
			return err
		}
	}
	for uid, pod := range p.waiting {
		if !listed[uid] {
			if err := p.lose(pod, seenLast); err != nil {
				return err
			}
		}
	}
	p.metrics.SetSynced()
	return nil
}

// Resync does nothing.
func (p *Pods) Resync() error { return nil }

// Bookmark is called when the API server reports that there was no news.
func (p *Pods) Bookmark(string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lastNews = p.now()
	return nil
}

// Transformer returns a function that sees each pod of a streamed list, and keeps nothing of it but its UID. So the list
// takes little memory.
func (p *Pods) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return object, nil
		}
		return pod.UID, p.seeListed(pod)
	}
}

func (p *Pods) seeListed(pod *corev1.Pod) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := p.see(pod); err != nil {
		return err
	}
	if state := p.pods[pod.UID]; state != nil {
		state.listedAt = p.now()
	}
	return nil
}

// ListInPages lets a source see pods in pages, and keep nothing of them but their names and UIDs. A reflector asks for
// this list if the API server does not stream it.
func (p *Pods) ListInPages(source *cache.ListWatch) {
	read := source.ListWithContextFunc
	source.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		if options.ResourceVersion == "0" {
			options.ResourceVersion = "" // The list that the API server has in memory has no pages.
		}
		object, err := read(ctx, options)
		page, ok := object.(*corev1.PodList)
		if err != nil || !ok {
			return object, err
		}
		for i := range page.Items {
			pod := page.Items[i]
			if err := p.seeListed(&pod); err != nil {
				return nil, err
			}
			page.Items[i] = corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
		}
		return page, nil
	}
}

// strip removes what the mapping does not read.
func strip(pod *corev1.Pod) {
	pod.ManagedFields = nil
	spec := &pod.Spec
	spec.Volumes = nil
	spec.Affinity = nil
	spec.Tolerations = nil
	spec.TopologySpreadConstraints = nil
	stripContainers(spec.Containers)
	stripContainers(spec.InitContainers)
	spec.EphemeralContainers = nil
}

func stripContainers(containers []corev1.Container) {
	for i := range containers {
		c := &containers[i]
		containers[i] = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy, ResizePolicy: c.ResizePolicy}
	}
}

func (p *Pods) see(pod *corev1.Pod) error {
	if !mapping.IsBound(pod) || p.mapper.IsExcluded(pod) {
		return nil
	}
	state := p.pods[pod.UID]
	if state == nil {
		var err error
		if state, err = p.start(pod); err != nil || state == nil {
			return err
		}
	}
	state.deletion = pod.DeletionTimestamp
	if state.hasEnded {
		return nil
	}
	if mapping.IsTerminal(pod) {
		p.finish(pod, state, p.now(), false)
		return nil
	}
	return p.update(pod, state)
}

// start records the START of a pod, unless its start is not known yet.
func (p *Pods) start(pod *corev1.Pod) (*podState, error) {
	at, isFinal := mapping.StartedAt(pod)
	if !isFinal && p.now().Sub(at) < p.kubeletWait {
		strip(pod)
		p.waiting[pod.UID] = pod
		return nil, nil
	}
	return p.begin(pod)
}

func (p *Pods) begin(pod *corev1.Pod) (*podState, error) {
	facts, err := p.facts(p.ctx, pod)
	if err != nil {
		return nil, err
	}
	delete(p.waiting, pod.UID)
	e := p.mapper.Start(pod, &facts)
	state := &podState{namespace: unique.Make(pod.Namespace), name: pod.Name, start: e.OccurredAt,
		allocation: unique.Make(e.Allocation), queue: unique.Make(e.Queue), isCharged: e.Project != "",
		isEmpty: p.mapper.RequestsNothing(pod), hasClaims: mapping.HasClaims(pod)}
	p.pods[pod.UID] = state
	if state.isCharged {
		p.tag(pod, &facts)
		p.record(spool.Record{Event: &e})
		p.metrics.Event(e.Kind)
	}
	p.count(state, 1)
	return state, nil
}

// tag records the tags of an application with the first of its pods.
func (p *Pods) tag(pod *corev1.Pod, facts *mapping.Facts) {
	id := facts.Application.ID()
	tags := p.mapper.Tags(pod, facts)
	if len(tags) == 0 || p.tagged[id] {
		return
	}
	if len(p.tagged) >= mostCached {
		clear(p.tagged)
	}
	p.tagged[id] = true
	p.record(spool.Record{Tags: &spool.Tags{ApplicationID: id, Tags: tags}})
}

// count adds a pod that runs to the numbers of pods, or takes it away.
func (p *Pods) count(state *podState, n float64) {
	p.metrics.Running(n)
	if !state.isCharged {
		p.metrics.Uncharged(monitor.NoProject, n)
		return
	}
	if state.isEmpty {
		p.metrics.Uncharged(monitor.NoRequests, n)
	}
	if state.hasClaims {
		p.metrics.Uncharged(monitor.Claims, n)
	}
}

// update records an UPDATE if the size or the queue of a running pod has changed.
func (p *Pods) update(pod *corev1.Pod, state *podState) error {
	if !state.isCharged {
		return nil
	}
	allocation := unique.Make(p.mapper.Allocation(pod))
	facts, err := p.facts(p.ctx, pod)
	if err != nil {
		return err
	}
	queue := unique.Make(p.mapper.Queue(pod, &facts))
	hasMoved := queue != state.queue && queue.Value() != ""
	if allocation == state.allocation && !hasMoved {
		return nil
	}
	e := event.Event{Kind: event.Update, ContainerID: string(pod.UID), OccurredAt: p.now()}
	if e.OccurredAt.Before(state.start) {
		e.OccurredAt = state.start.Add(time.Microsecond)
	}
	if allocation != state.allocation {
		e.Allocation = allocation.Value()
		state.allocation = allocation
	}
	if hasMoved {
		e.Queue = queue.Value()
		state.queue = queue
	}
	p.record(spool.Record{Event: &e})
	p.metrics.Event(e.Kind)
	return nil
}

func (p *Pods) finish(pod *corev1.Pod, state *podState, observed time.Time, hasVanished bool) {
	state.hasEnded = true
	p.count(state, -1)
	if !state.isCharged {
		return
	}
	end := mapping.FinishedAt(pod, state.start, observed, hasVanished)
	e := mapping.Finish(pod, end)
	p.record(spool.Record{Event: &e})
	p.metrics.Event(e.Kind)
	p.metrics.End(string(end.Source), end.IsSkewed)
}

// lose records the end of a pod that has vanished.
func (p *Pods) lose(pod *corev1.Pod, observed time.Time) error {
	if p.pods[pod.UID] == nil {
		if err := p.see(pod); err != nil {
			return err
		}
	}
	if waiting := p.waiting[pod.UID]; waiting != nil {
		// No kubelet will report its start.
		if _, err := p.begin(waiting); err != nil {
			return err
		}
	}
	state := p.pods[pod.UID]
	if state == nil {
		return nil
	}
	if !state.hasEnded {
		p.finish(pod, state, observed, true)
	}
	delete(p.pods, pod.UID)
	return nil
}

// StartWaiting records the START of pods whose kubelet has not reported it for too long.
func (p *Pods) StartWaiting() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, pod := range p.waiting {
		if err := p.see(pod); err != nil {
			return err
		}
	}
	return nil
}

// Listed is a running pod, in the form of reconcile().
type Listed struct {
	ContainerID   string           `json:"container_id"`
	Project       string           `json:"project"`
	ApplicationID string           `json:"application_id"`
	Username      string           `json:"username,omitempty"`
	Queue         string           `json:"queue,omitempty"`
	Node          string           `json:"node"`
	Allocation    event.Allocation `json:"allocation"`
	ExecutionType string           `json:"execution_type"`
	StartedAt     time.Time        `json:"started_at"`
}

// List returns a pod of a list in the form of reconcile(), if the pod is charged and runs. If it has ended, List records
// its end, which the reflector may not have seen yet.
func (p *Pods) List(ctx context.Context, pod *corev1.Pod) (*Listed, error) {
	if !mapping.IsBound(pod) || p.mapper.IsExcluded(pod) {
		return nil, nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	state := p.pods[pod.UID]
	if mapping.IsTerminal(pod) {
		if state != nil {
			return nil, p.see(pod)
		}
		return nil, nil
	}
	start, isFinal := mapping.StartedAt(pod)
	if state != nil {
		start = state.start
	} else if !isFinal {
		return nil, nil
	}
	facts, err := p.facts(ctx, pod)
	if err != nil {
		return nil, err
	}
	e := p.mapper.Start(pod, &facts)
	if e.Project == "" {
		return nil, nil
	}
	return &Listed{ContainerID: e.ContainerID, Project: e.Project, ApplicationID: e.ApplicationID, Username: e.Username, Queue: e.Queue,
		Node: e.Node, Allocation: e.Allocation, ExecutionType: e.ExecutionType, StartedAt: start}, nil
}

// UnchargedPod is a running pod that is not charged, or not charged for all it uses.
type UnchargedPod struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Reasons   []string `json:"reasons"`
}

// Uncharged lists running pods that are not charged, or not charged for all they use.
func (p *Pods) Uncharged() []UnchargedPod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	list := []UnchargedPod{}
	for _, state := range p.pods {
		if state.hasEnded {
			continue
		}
		var reasons []string
		if !state.isCharged {
			reasons = append(reasons, monitor.NoProject)
		} else {
			if state.isEmpty {
				reasons = append(reasons, monitor.NoRequests)
			}
			if state.hasClaims {
				reasons = append(reasons, monitor.Claims)
			}
		}
		if reasons != nil {
			list = append(list, UnchargedPod{state.namespace.Value(), state.name, reasons})
		}
	}
	return list
}
