package mapping

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"yquota.io/kubernetes/event"
)

// EndSource says what the end of a pod was taken from.
type EndSource string

// Sources of an end, the first of which counts.
const (
	EndOfContainers EndSource = "containers" // the last end of all containers
	EndOfDisruption EndSource = "disruption" // the time of the condition DisruptionTarget
	EndOfReady      EndSource = "ready"      // the time at which the condition Ready became false
	EndOfDeletion   EndSource = "deletion"   // the deletion of a pod that vanished
	EndObserved     EndSource = "observed"   // the time at which the connector learned of the end
)

// EndSources lists all sources.
var EndSources = []EndSource{EndOfContainers, EndOfDisruption, EndOfReady, EndOfDeletion, EndObserved}

// YARN's exit status of a container that its scheduler took back.
const exitPreempted = -102

// End is the end of a pod.
type End struct {
	At     time.Time
	Source EndSource
	// whether the clocks gave an end before the start
	IsSkewed bool
}

// FinishedAt returns the end of a pod that is terminal or has vanished. The pod was observed to be so at observed, and
// started at start.
func FinishedAt(pod *corev1.Pod, start, observed time.Time, hasVanished bool) End {
	end := finishedAt(pod, observed, hasVanished)
	if end.At.Before(start) {
		end.At = start
		end.IsSkewed = true
	}
	return end
}

func finishedAt(pod *corev1.Pod, observed time.Time, hasVanished bool) End {
	if IsTerminal(pod) {
		if at, found := lastEnd(pod); found {
			return End{At: at, Source: EndOfContainers}
		}
		if at, found := condition(pod, corev1.DisruptionTarget, corev1.ConditionTrue); found {
			return End{At: at, Source: EndOfDisruption}
		}
		if at, found := condition(pod, corev1.PodReady, corev1.ConditionFalse); found {
			return End{At: at, Source: EndOfReady}
		}
	}
	if hasVanished && pod.DeletionTimestamp != nil && pod.DeletionTimestamp.Time.Before(observed) {
		return End{At: pod.DeletionTimestamp.UTC(), Source: EndOfDeletion}
	}
	return End{At: observed, Source: EndObserved}
}

func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	s := &pod.Status
	all := make([]corev1.ContainerStatus, 0, len(s.ContainerStatuses)+len(s.InitContainerStatuses)+len(s.EphemeralContainerStatuses))
	return append(append(append(all, s.ContainerStatuses...), s.InitContainerStatuses...), s.EphemeralContainerStatuses...)
}

// lastEnd returns the last end of all containers. There is none while a container counts as running: then the kubelet
// has not reported the end.
func lastEnd(pod *corev1.Pod) (at time.Time, found bool) {
	for _, status := range statuses(pod) {
		if status.State.Running != nil {
			return time.Time{}, false
		}
		if ended := status.State.Terminated; ended != nil && !ended.FinishedAt.IsZero() && ended.FinishedAt.Time.After(at) {
			at = ended.FinishedAt.UTC()
			found = true
		}
	}
	return at, found
}

// exitStatus returns the exit status of a pod: YARN's status of a preempted container, 0 of a pod that succeeded, or
// the first status other than 0 of its containers. It is nil if no status is known.
func exitStatus(pod *corev1.Pod) *int32 {
	var status int32
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler {
			status = exitPreempted
			return &status
		}
	}
	if pod.Status.Phase == corev1.PodSucceeded {
		return &status
	}
	for _, container := range pod.Status.ContainerStatuses {
		if ended := container.State.Terminated; ended != nil && ended.ExitCode != 0 {
			return &ended.ExitCode
		}
	}
	return nil
}

// Finish returns the FINISH of a pod.
func Finish(pod *corev1.Pod, end End) event.Event {
	return event.Event{Kind: event.Finish, ContainerID: string(pod.UID), OccurredAt: end.At, ExitStatus: exitStatus(pod)}
}
