package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"yquota.io/kubernetes/golden"
)

// exit codes of containers that fail, and that are told to end
const (
	exitFailed     = 1
	exitTerminated = 143
)

func init() {
	add("golden", "creates the golden pods, and answers what they must become", func(c *cluster, _ []string) (any, error) { return c.golden() })
	add("node NAME STATUS", "creates a node, or sets its condition Ready", func(c *cluster, words []string) (any, error) {
		return c.node(words[0], corev1.ConditionStatus(words[1]))
	})
	add("lose NODE", "deletes a node", func(c *cluster, words []string) (any, error) {
		return nil, c.client.CoreV1().Nodes().Delete(c.ctx, words[0], metav1.DeleteOptions{})
	})
	add("run NAME NODE CPU MEMORY", "creates a pod, binds it to a node, and lets it run", func(c *cluster, words []string) (any, error) {
		return c.runPod(words[0], words[1], words[2], words[3])
	})
	add("resize POD CPU", "lets a running pod have another size", func(c *cluster, words []string) (any, error) { return c.resize(words[0], words[1]) })
	add("end POD", "lets a pod succeed", func(c *cluster, words []string) (any, error) { return c.end(words[0], 0) })
	add("fail POD", "lets a pod fail", func(c *cluster, words []string) (any, error) { return c.end(words[0], exitFailed) })
	add("delete POD", "deletes a pod at once", func(c *cluster, words []string) (any, error) {
		none := int64(0)
		return nil, c.client.CoreV1().Pods(liveIn).Delete(c.ctx, words[0], metav1.DeleteOptions{GracePeriodSeconds: &none})
	})
}

// A want is what must become of a golden pod.
type want struct {
	Golden golden.Pod `json:"golden"`
	UID    types.UID  `json:"uid"`
	// UIDs of its owners, by their names
	Owners map[string]types.UID `json:"owners"`
}

// golden creates the golden pods.
func (c *cluster) golden() ([]want, error) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "spare"}, Value: -10}
	if _, err := c.client.SchedulingV1().PriorityClasses().Create(c.ctx, class, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	overhead := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1")}
	sandbox := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "sandbox"}, Handler: "sandbox", Overhead: &nodev1.Overhead{PodFixed: overhead}}
	if _, err := c.client.NodeV1().RuntimeClasses().Create(c.ctx, sandbox, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	wants := []want{}
	for _, g := range golden.Pods() {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.Pod.Namespace, Labels: golden.NamespaceLabels(g.Pod.Namespace)}}
		if _, err := c.client.CoreV1().Namespaces().Create(c.ctx, space, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		owners := map[string]types.UID{}
		var reference []metav1.OwnerReference
		for i := len(g.Owners) - 1; i >= 0; i-- {
			var err error
			if reference, err = c.owner(g.Pod.Namespace, &g.Owners[i], reference); err != nil {
				return nil, fmt.Errorf("%s: %w", g.Owners[i].Name, err)
			}
			owners[g.Owners[i].Name] = reference[0].UID
		}
		pod := g.Pod.DeepCopy()
		pod.CreationTimestamp = metav1.Time{}
		pod.OwnerReferences = reference
		created, err := c.create(pod)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Name, err)
		}
		wants = append(wants, want{Golden: g, UID: created.UID, Owners: owners})
	}
	return wants, nil
}

// create creates a pod that is bound already, with its status.
func (c *cluster) create(pod *corev1.Pod) (*corev1.Pod, error) {
	pods := c.client.CoreV1().Pods(pod.Namespace)
	status := pod.Status
	created, err := pods.Create(c.ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	created.Status = status
	if len(status.EphemeralContainerStatuses) > 0 {
		debugged := created.DeepCopy()
		debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: status.EphemeralContainerStatuses[0].Name, Image: "i", ImagePullPolicy: corev1.PullAlways,
			TerminationMessagePolicy: corev1.TerminationMessageReadFile}}}
		if created, err = pods.UpdateEphemeralContainers(c.ctx, pod.Name, debugged, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		created.Status = status
	}
	return pods.UpdateStatus(c.ctx, created, metav1.UpdateOptions{})
}

// owner creates an owner, and returns the reference to it.
func (c *cluster) owner(space string, owner *golden.Owner, above []metav1.OwnerReference) ([]metav1.OwnerReference, error) {
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return nil, err
	}
	template := map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}},
		"spec": map[string]any{"restartPolicy": "Always", "containers": []any{map[string]any{"name": "main", "image": "i"}}}}
	specs := map[string]map[string]any{
		"Pod":        template["spec"].(map[string]any),
		"Job":        {"template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "i"}}}}},
		"ReplicaSet": {"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": template},
	}
	specs["Deployment"] = specs["ReplicaSet"]
	specs["CronJob"] = map[string]any{"schedule": "0 0 * * *", "jobTemplate": map[string]any{"spec": specs["Job"]}}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": owner.APIVersion, "kind": owner.Kind, "spec": specs[owner.Kind]}}
	object.SetName(owner.Name)
	object.SetOwnerReferences(above)
	created, err := c.dynamic.Resource(version.WithResource(strings.ToLower(owner.Kind)+"s")).Namespace(space).Create(c.ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	isController := true
	return []metav1.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: created.GetUID(), Controller: &isController}}, nil
}

// node creates a node, or sets its condition Ready.
func (c *cluster) node(node string, ready corev1.ConditionStatus) (*corev1.Node, error) {
	nodes := c.client.CoreV1().Nodes()
	object, err := nodes.Get(c.ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		object, err = nodes.Create(c.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.Now()}}
	object.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"), "pods": resource.MustParse("1000")}
	object.Status.Capacity = object.Status.Allocatable
	return nodes.UpdateStatus(c.ctx, object, metav1.UpdateOptions{})
}

// runPod creates a pod, binds it and lets it run.
func (c *cluster) runPod(pod, node, cpu, memory string) (*corev1.Pod, error) {
	pods := c.client.CoreV1().Pods(liveIn)
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: liveIn, Name: pod},
		Spec: corev1.PodSpec{ServiceAccountName: "default", SchedulerName: "none", Containers: []corev1.Container{{Name: "main", Image: "i",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}}}}}}
	if _, err := pods.Create(c.ctx, object, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if err := pods.Bind(c.ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return c.setStatus(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodRunning
		requests := object.Spec.Containers[0].Resources.Requests
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "i", ImageID: "i",
			AllocatedResources: requests, Resources: &corev1.ResourceRequirements{Requests: requests},
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
	})
}

func (c *cluster) setStatus(pod string, change func(*corev1.PodStatus)) (*corev1.Pod, error) {
	pods := c.client.CoreV1().Pods(liveIn)
	object, err := pods.Get(c.ctx, pod, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	change(&object.Status)
	return pods.UpdateStatus(c.ctx, object, metav1.UpdateOptions{})
}

// resize lets a running pod have another size.
func (c *cluster) resize(pod, cpu string) (*corev1.Pod, error) {
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
	return c.client.CoreV1().Pods(liveIn).Patch(c.ctx, pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
}

// end lets the containers of a pod end with an exit code.
func (c *cluster) end(pod string, code int32) (*corev1.Pod, error) {
	return c.setStatus(pod, func(status *corev1.PodStatus) { terminate(status, code) })
}

// terminate ends running containers.
func terminate(status *corev1.PodStatus, code int32) {
	status.Phase = corev1.PodSucceeded
	if code != 0 {
		status.Phase = corev1.PodFailed
	}
	for i := range status.ContainerStatuses {
		if running := status.ContainerStatuses[i].State.Running; running != nil {
			ended := &corev1.ContainerStateTerminated{StartedAt: running.StartedAt, FinishedAt: metav1.Now(), ExitCode: code}
			status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: ended}
		}
	}
}
