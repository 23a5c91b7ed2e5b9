// Testcluster is a control plane for a test: etcd and an API server, without a scheduler or kubelets, whose work it
// does itself. It reads commands from its standard input, one a line, and answers each with one line of JSON.
//
//	golden                       create the golden pods; answers what they must become
//	node NAME STATUS             create a node, or set its condition Ready
//	lose NAME                    delete a node
//	run NAME NODE CPU MEMORY     create a pod, bind it to a node, and let it run
//	resize NAME CPU              let a running pod have another size
//	end NAME                     let a pod succeed
//	delete NAME                  delete a pod at once
//	may VERB GROUP/RESOURCE NAME answers whether the connector's account has the right; without a group or a name, -
//	balances                     answers the balances that the connector has written
//	lease                        answers the Lease of the connector
//	allow NUMBER                 allow the connector to finish so many pods
//
// Its arguments are the directory of the manifests, and a directory for the kubeconfig of the connector's account.
// KUBEBUILDER_ASSETS names the directory of the programs etcd and kube-apiserver.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"yquota.io/kubernetes/golden"
)

const (
	namespace = "yquota"
	name      = "yquota"
	liveIn    = "lab"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

type cluster struct {
	ctx     context.Context
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func run(manifests, directory string) (err error) {
	control := &envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	control.ControlPlane.GetAPIServer().Configure().Set("authorization-mode", "RBAC")
	config, err := control.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, control.Stop()) }()
	config.QPS = 500
	config.Burst = 500
	c := &cluster{ctx: context.Background()}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	for _, file := range []string{"namespace.yaml", "crd.yaml", "account.yaml", "connector.yaml"} {
		if err := c.apply(filepath.Join(manifests, file)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := c.writeAccount(config, filepath.Join(directory, "connector.kubeconfig")); err != nil {
		return err
	}
	return c.obey(os.Stdin, os.Stdout)
}

// resources of the manifests
var resources = map[string]string{"Namespace": "namespaces", "ServiceAccount": "serviceaccounts", "ClusterRole": "clusterroles",
	"ClusterRoleBinding": "clusterrolebindings", "Role": "roles", "RoleBinding": "rolebindings", "Lease": "leases", "Service": "services",
	"CustomResourceDefinition": "customresourcedefinitions", "PodDisruptionBudget": "poddisruptionbudgets", "StatefulSet": "statefulsets"}

// strictly refuses unknown fields.
var strictly = metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}

// apply creates the objects of a manifest, in the namespace that kustomize gives them.
func (c *cluster) apply(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	documents := utilyaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(&object.Object); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		kind := object.GroupVersionKind()
		resource := c.dynamic.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resources[kind.Kind]})
		if kind.Kind == "Namespace" || kind.Kind == "CustomResourceDefinition" || strings.HasPrefix(kind.Kind, "Cluster") {
			_, err = resource.Create(c.ctx, object, strictly)
		} else {
			_, err = resource.Namespace(namespace).Create(c.ctx, object, strictly)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
	}
}

// writeAccount writes a kubeconfig with a token of the connector's account.
func (c *cluster) writeAccount(config *rest.Config, path string) error {
	request, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(c.ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	account := clientcmdapi.NewConfig()
	account.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	account.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	account.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	account.CurrentContext = "test"
	return clientcmd.WriteToFile(*account, path)
}

// may returns whether the connector's account has a right.
func (c *cluster) may(verb, resource, object string) (bool, error) {
	group, resource, _ := strings.Cut(resource, "/")
	resource, subresource, _ := strings.Cut(resource, "/")
	review, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(c.ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:" + namespace + ":" + name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: strings.Trim(group, "-"),
				Resource: resource, Subresource: subresource, Name: strings.Trim(object, "-")}}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// obey carries out commands until there are no more.
func (c *cluster) obey(in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	if err := answers.Encode("ready"); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := c.do(strings.Fields(lines.Text()))
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (c *cluster) do(words []string) (any, error) {
	switch words[0] {
	case "golden":
		return c.golden()
	case "node":
		return c.node(words[1], corev1.ConditionStatus(words[2]))
	case "lose":
		return nil, c.client.CoreV1().Nodes().Delete(c.ctx, words[1], metav1.DeleteOptions{})
	case "run":
		return c.run(words[1], words[2], words[3], words[4])
	case "resize":
		return c.resize(words[1], words[2])
	case "end":
		return c.end(words[1])
	case "delete":
		none := int64(0)
		return nil, c.client.CoreV1().Pods(liveIn).Delete(c.ctx, words[1], metav1.DeleteOptions{GracePeriodSeconds: &none})
	case "may":
		return c.may(words[1], words[2], words[3])
	case "balances":
		return c.dynamic.Resource(schema.GroupVersionResource{Group: "yquota.io", Version: "v1alpha1", Resource: "yquotas"}).List(c.ctx, metav1.ListOptions{})
	case "lease":
		return c.client.CoordinationV1().Leases(namespace).Get(c.ctx, name, metav1.GetOptions{})
	case "allow":
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"yquota.io/finish-pods":%q}}}`, words[1])
		return c.client.CoordinationV1().Leases(namespace).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
	return nil, errors.New("unknown command")
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
	object.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi")}
	object.Status.Capacity = object.Status.Allocatable
	return nodes.UpdateStatus(c.ctx, object, metav1.UpdateOptions{})
}

// run creates a pod, binds it and lets it run.
func (c *cluster) run(pod, node, cpu, memory string) (*corev1.Pod, error) {
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

// end lets a pod succeed.
func (c *cluster) end(pod string) (*corev1.Pod, error) {
	return c.setStatus(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodSucceeded
		ended := &corev1.ContainerStateTerminated{StartedAt: status.ContainerStatuses[0].State.Running.StartedAt, FinishedAt: metav1.Now()}
		status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: ended}
	})
}
