package mapping

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"yquota.io/kubernetes/event"
)

// States of nodes in yquota.
const (
	NodeRunning   = "RUNNING"
	NodeUnhealthy = "UNHEALTHY"
	NodeCordoned  = "DECOMMISSIONING"
	NodeLost      = "LOST"
)

// Node is a node as yquota knows it.
type Node struct {
	Name  string
	Rack  string
	Label string
	State string
	Total event.Allocation
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// IsReady returns whether the kubelet of the node reports.
func IsReady(node *corev1.Node) bool {
	ready := readyCondition(node)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// LostAt returns the time at which the condition Ready left True. There is none while the node is ready.
func LostAt(node *corev1.Node) (time.Time, bool) {
	ready := readyCondition(node)
	if ready == nil || ready.Status == corev1.ConditionTrue || ready.LastTransitionTime.IsZero() {
		return time.Time{}, false
	}
	return ready.LastTransitionTime.UTC(), true
}

// IsOutOfService returns whether a person or a cloud has declared that nothing runs on the node.
func IsOutOfService(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeOutOfService })
}

// Node returns the node as yquota knows it.
func (m *Mapper) Node(node *corev1.Node) Node {
	state := NodeRunning
	switch _, isLost := LostAt(node); {
	case isLost && IsOutOfService(node):
		state = NodeLost
	case !IsReady(node):
		state = NodeUnhealthy
	case node.Spec.Unschedulable:
		state = NodeCordoned
	}
	rack := node.Labels[m.nodes.Rack]
	if rack == "" {
		rack = "default-rack"
	}
	return Node{Name: node.Name, Rack: "/" + rack, Label: node.Labels[m.nodes.Label], State: state,
		Total: m.allocation(node.Status.Allocatable)}
}
