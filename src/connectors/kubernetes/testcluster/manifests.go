package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// A new resource is served within this time after its definition.
const servedWithin = 30 * time.Second

func init() {
	add("apply COMPONENT...", "applies the manifests with these components, and answers kinds and names", func(c *cluster, words []string) (any, error) {
		return c.applyManifests(words)
	})
	add("may VERB GROUP/RESOURCE NAME", "answers whether the connector's account has the right; without a group or a name, -",
		func(c *cluster, words []string) (any, error) { return c.may(words[0], words[1], words[2]) })
	add("balances", "answers the balances that the connector has written", func(c *cluster, _ []string) (any, error) {
		balances := schema.GroupVersionResource{Group: "yquota.io", Version: "v1alpha1", Resource: "yquotas"}
		return c.dynamic.Resource(balances).List(c.ctx, metav1.ListOptions{})
	})
	add("lease", "answers the Lease of the connector", func(c *cluster, _ []string) (any, error) {
		return c.client.CoordinationV1().Leases(namespace).Get(c.ctx, name, metav1.GetOptions{})
	})
	add("allow NUMBER", "allows the connector to finish so many pods", func(c *cluster, words []string) (any, error) {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"yquota.io/finish-pods":%q}}}`, words[0])
		return c.client.CoordinationV1().Leases(namespace).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	})
}

// applyManifests applies the manifests with components, and returns the kinds and names of the objects.
func (c *cluster) applyManifests(components []string) ([]string, error) {
	files, err := withComponents(c.deploy, components)
	if err != nil {
		return nil, err
	}
	objects, err := render(files, "/")
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, object := range objects {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	return names, c.apply(objects)
}

// withComponents returns the files of the manifests. Their kustomization also has the components.
func withComponents(directory string, components []string) (filesys.FileSystem, error) {
	files := filesys.MakeFsInMemory()
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		if relative == "kustomization.yaml" {
			text, err = addComponents(text, components)
			if err != nil {
				return err
			}
		}
		return files.WriteFile(filepath.Join("/", relative), text)
	})
	return files, err
}

func addComponents(text []byte, components []string) ([]byte, error) {
	kustomization := map[string]any{}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		return nil, err
	}
	paths := []string{}
	for _, component := range components {
		paths = append(paths, filepath.Join("components", component))
	}
	kustomization["components"] = paths
	return yaml.Marshal(kustomization)
}

// render returns the objects of a kustomization, as "kubectl kustomize" does.
func render(files filesys.FileSystem, directory string) ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	rendered, err := krusty.MakeKustomizer(options).Run(files, directory)
	if err != nil {
		return nil, err
	}
	objects := []*unstructured.Unstructured{}
	for _, resource := range rendered.Resources() {
		text, err := resource.MarshalJSON()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// apply creates objects, or changes them. The API server refuses unknown fields.
func (c *cluster) apply(objects []*unstructured.Unstructured) error {
	giveUp := time.Now().Add(servedWithin)
	for _, object := range objects {
		for {
			err := c.objects.Apply(c.ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("test"), client.ForceOwnership)
			if err == nil {
				break
			}
			if !meta.IsNoMatchError(err) || time.Now().After(giveUp) {
				return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
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
