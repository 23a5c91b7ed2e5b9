package main

import (
	"io"
	"log"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

const (
	kubeletSync      = 200 * time.Millisecond
	kubeletHeartbeat = 2 * time.Second
)

// kubelets play the kubelets of nodes. They let pods run that another program binds, and end those that are deleted.
type kubelets struct {
	cluster *cluster
	begins  sync.Once
	mutex   sync.Mutex
	nodes   map[string]bool
}

func init() {
	add("kubelet NODE", "creates a node and plays its kubelet", func(c *cluster, words []string) (any, error) {
		c.kubelets.begin(c, words[0])
		return c.node(words[0], corev1.ConditionTrue)
	})
	add("partition NODE", "ends the kubelet of a node without a word", func(c *cluster, words []string) (any, error) {
		c.kubelets.leave(words[0])
		return nil, nil
	})
	add("create FILE", "creates or changes the objects in a file of YAML", func(c *cluster, words []string) (any, error) {
		objects, err := readObjects(words[0])
		if err != nil {
			return nil, err
		}
		return nil, c.apply(objects)
	})
	add("pods", "answers the pods", func(c *cluster, _ []string) (any, error) {
		pods, err := c.client.CoreV1().Pods(liveIn).List(c.ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return pods.Items, nil
	})
	add("nodes", "answers the nodes", func(c *cluster, _ []string) (any, error) {
		nodes, err := c.client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return nodes.Items, nil
	})
	add("evict POD", "evicts a pod by the API", func(c *cluster, words []string) (any, error) {
		return nil, c.client.PolicyV1().Evictions(liveIn).Evict(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: liveIn, Name: words[0]}})
	})
	add("suspend CRONJOB", "lets a CronJob begin no more Jobs", func(c *cluster, words []string) (any, error) {
		patch := []byte(`{"spec":{"suspend":true}}`)
		return c.client.BatchV1().CronJobs(liveIn).Patch(c.ctx, words[0], types.MergePatchType, patch, metav1.PatchOptions{})
	})
	add("out-of-service NODE", "declares that nothing runs on a node", func(c *cluster, words []string) (any, error) { return c.outOfService(words[0]) })
}

// readObjects reads a file of YAML.
func readObjects(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	objects := []*unstructured.Unstructured{}
	for documents := utilyaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(&object.Object); err == io.EOF {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// outOfService taints a node as a person does who knows that it is shut down.
func (c *cluster) outOfService(node string) (*corev1.Node, error) {
	object, err := c.client.CoreV1().Nodes().Get(c.ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
	return c.client.CoreV1().Nodes().Update(c.ctx, object, metav1.UpdateOptions{})
}

func (k *kubelets) begin(c *cluster, node string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.cluster = c
	if k.nodes == nil {
		k.nodes = map[string]bool{}
	}
	k.nodes[node] = true
	k.begins.Do(func() {
		go k.repeat(kubeletSync, k.sync)
		go k.repeat(kubeletHeartbeat, k.beat)
	})
}

func (k *kubelets) leave(node string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.nodes, node)
}

func (k *kubelets) repeat(pause time.Duration, work func() error) {
	for {
		if err := work(); err != nil {
			log.Print(err)
		}
		time.Sleep(pause)
	}
}

// beat lets the kubelets report that their nodes are ready.
func (k *kubelets) beat() error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for node := range k.nodes {
		object, err := k.cluster.client.CoreV1().Nodes().Get(k.cluster.ctx, node, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue // It is being created.
		}
		if err != nil {
			return err
		}
		for i := range object.Status.Conditions {
			object.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
		}
		_, err = k.cluster.client.CoreV1().Nodes().UpdateStatus(k.cluster.ctx, object, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// sync lets pods run that are new on their nodes, and ends those that are deleted.
func (k *kubelets) sync() error {
	pods, err := k.cluster.client.CoreV1().Pods(corev1.NamespaceAll).List(k.cluster.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for i := range pods.Items {
		if pod := &pods.Items[i]; k.nodes[pod.Spec.NodeName] {
			if err := k.syncPod(pod); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

func (k *kubelets) syncPod(pod *corev1.Pod) error {
	pods := k.cluster.client.CoreV1().Pods(pod.Namespace)
	hasEnded := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp != nil && hasEnded:
		none := int64(0)
		return pods.Delete(k.cluster.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	case pod.DeletionTimestamp != nil:
		terminate(&pod.Status, exitTerminated)
	case pod.Status.Phase == corev1.PodPending:
		begin(pod)
	default:
		return nil
	}
	_, err := pods.UpdateStatus(k.cluster.ctx, pod, metav1.UpdateOptions{})
	return err
}

// begin lets the containers of a pod run.
func begin(pod *corev1.Pod) {
	now := metav1.Now()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, Image: container.Image, ImageID: "i", Ready: true,
			AllocatedResources: container.Resources.Requests, Resources: container.Resources.DeepCopy(),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
}
