package cluster

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"yquota.io/kubernetes/event"
	"yquota.io/kubernetes/mapping"
	"yquota.io/kubernetes/monitor"
	"yquota.io/kubernetes/spool"
)

// Nodes is the store behind the reflector of nodes.
type Nodes struct {
	mapper  *mapping.Mapper
	record  func(...spool.Record)
	metrics *monitor.Metrics
	now     func() time.Time

	mutex sync.Mutex
	nodes map[string]*nodeState
	// names of nodes that have changed since the database got them, and whether it needs all of them
	changed  map[string]bool
	needsAll bool
}

type nodeState struct {
	node    mapping.Node
	isReady bool
	lostAt  time.Time // zero: ready
	// whether its loss is recorded
	isLost bool
}

// NewNodes returns a store that records lost nodes by record.
func NewNodes(mapper *mapping.Mapper, record func(...spool.Record), metrics *monitor.Metrics) *Nodes {
	return &Nodes{mapper: mapper, record: record, metrics: metrics, now: event.Now, nodes: map[string]*nodeState{},
		changed: map[string]bool{}, needsAll: true}
}

// Add is called for a new node.
func (n *Nodes) Add(object any) error { return n.Update(object) }

// Update is called for a changed node.
func (n *Nodes) Update(object any) error {
	node, ok := object.(*corev1.Node)
	if !ok {
		return fmt.Errorf("%T is no node", object)
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.see(node)
	n.count()
	return nil
}

func (n *Nodes) see(node *corev1.Node) {
	state := n.nodes[node.Name]
	if state == nil {
		state = &nodeState{}
		n.nodes[node.Name] = state
	}
	mapped := n.mapper.Node(node)
	if state.node != mapped {
		state.node = mapped
		n.changed[node.Name] = true
	}
	state.isReady = mapping.IsReady(node)
	state.lostAt, _ = mapping.LostAt(node)
	isLost := mapped.State == mapping.NodeLost
	if isLost && !state.isLost {
		n.record(spool.Record{Lost: &spool.LostNode{Node: node.Name, At: state.lostAt}})
	}
	state.isLost = isLost
}

// Delete is called with the last state of a node that is gone.
func (n *Nodes) Delete(object any) error {
	node, ok := object.(*corev1.Node)
	if !ok {
		return fmt.Errorf("%T is no node", object)
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.see(node)
	n.lose(node.Name)
	n.count()
	return nil
}

// lose records the loss of a node that is gone, at the time at which it was last ready.
func (n *Nodes) lose(name string) {
	state := n.nodes[name]
	if !state.isLost {
		at := state.lostAt
		if at.IsZero() {
			at = n.now()
		}
		n.record(spool.Record{Lost: &spool.LostNode{Node: name, At: at}})
	}
	delete(n.nodes, name)
	delete(n.changed, name)
	n.needsAll = true // The database marks the node that it has and the cluster has not.
}

// Replace is called with a list of all nodes.
func (n *Nodes) Replace(objects []any, _ string) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	listed := make(map[string]bool, len(objects))
	for _, object := range objects {
		node, ok := object.(*corev1.Node)
		if !ok {
			return fmt.Errorf("%T is no node", object)
		}
		listed[node.Name] = true
		n.see(node)
	}
	for name := range n.nodes {
		if !listed[name] {
			n.lose(name)
		}
	}
	n.count()
	return nil
}

// Resync does nothing.
func (n *Nodes) Resync() error { return nil }

func (n *Nodes) count() {
	unready := 0
	for _, state := range n.nodes {
		if !state.isReady {
			unready++
		}
	}
	n.metrics.Nodes(len(n.nodes), unready)
}

// NeedAll makes the next call of Changes return all nodes.
func (n *Nodes) NeedAll() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.needsAll = true
}

// Changes are nodes in the form of import_nodes().
type Changes struct {
	Answer []byte
	IsAll  bool
	names  []string
}

// Changes returns the nodes that the database must get, or nil.
func (n *Nodes) Changes() *Changes {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if len(n.nodes) == 0 || !n.needsAll && len(n.changed) == 0 {
		return nil
	}
	changes := &Changes{IsAll: n.needsAll}
	list := []any{}
	for name, state := range n.nodes {
		if n.needsAll || n.changed[name] {
			changes.names = append(changes.names, name)
			list = append(list, restNode(&state.node))
		}
	}
	answer, err := json.Marshal(map[string]any{"nodes": map[string]any{"node": list}})
	if err != nil {
		panic(err)
	}
	changes.Answer = answer
	n.needsAll = false
	clear(n.changed)
	return changes
}

// Failed says that the database did not get the nodes.
func (n *Nodes) Failed(changes *Changes) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.needsAll = n.needsAll || changes.IsAll
	for _, name := range changes.names {
		if n.nodes[name] != nil {
			n.changed[name] = true
		}
	}
}

// restNode returns a node in the form of the REST interface that import_nodes() reads.
func restNode(node *mapping.Node) map[string]any {
	amounts := map[string]int64{}
	if err := json.Unmarshal([]byte(node.Total), &amounts); err != nil {
		panic(err)
	}
	information := []map[string]any{}
	for name, amount := range amounts {
		information = append(information, map[string]any{"name": name, "value": amount, "units": ""})
	}
	labels := []string{}
	if node.Label != "" {
		labels = append(labels, node.Label)
	}
	return map[string]any{"nodeHostName": node.Name, "id": node.Name, "rack": node.Rack, "nodeLabels": labels, "state": node.State,
		"totalResource": map[string]any{"resourceInformations": map[string]any{"resourceInformation": information}}}
}
