package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	kueueNamespace = "kueue-system"
	kueueAccount   = "kueue-controller-manager"
	kueueService   = "kueue-webhook-service"
	kueueSecret    = "kueue-webhook-server-cert"
)

// startKueue applies Kueue's own manifests, starts it with the rights that they give, and returns when it is healthy.
func (c *cluster) startKueue(further []string) error {
	health, err := freePort()
	if err != nil {
		return err
	}
	webhooks, err := freePort()
	if err != nil {
		return err
	}
	if err := c.applyKueue(webhooks); err != nil {
		return err
	}
	kubeconfig, err := c.kubeconfig("kueue", "system:serviceaccount:"+kueueNamespace+":"+kueueAccount, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return err
	}
	certificates := filepath.Join(c.directory, "kueue")
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		return err
	}
	settings := filepath.Join(c.directory, "kueue.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, kueueSettings, health, webhooks, certificates), 0o600); err != nil {
		return err
	}
	if err := c.begin("kueue", append([]string{"--kubeconfig=" + kubeconfig, "--config=" + settings}, further...)); err != nil {
		return err
	}
	if err := c.mountKueue(certificates); err != nil {
		return err
	}
	return c.waitUntilHealthy("kueue", "http://127.0.0.1:"+health+"/readyz")
}

const kueueSettings = `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: "127.0.0.1:%s"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %s, certDir: %q}
leaderElection: {leaderElect: false}
clientConnection: {qps: 500, burst: 1000}
internalCertManagement: {enable: true, webhookServiceName: kueue-webhook-service, webhookSecretName: kueue-webhook-server-cert}
integrations: {frameworks: [batch/job, pod, deployment]}
featureGates: {VisibilityOnDemand: false}
`

// applyKueue applies Kueue's manifests, but what runs Kueue or serves its aggregated API in a cluster. Its webhooks are
// reached at a port of this machine.
func (c *cluster) applyKueue(port string) error {
	objects, err := render(filesys.MakeFsOnDisk(), filepath.Join(c.programs, "kueue-config", "default"))
	if err != nil {
		return err
	}
	applied := []*unstructured.Unstructured{}
	for _, object := range objects {
		if kind := object.GetKind(); kind == "Deployment" || kind == "APIService" {
			continue
		}
		if err := reachLocally(object, port); err != nil {
			return err
		}
		applied = append(applied, object)
	}
	return c.apply(applied)
}

// reachLocally changes a webhook of Kueue to a port of this machine. The API server reaches a service with an external
// name by this name, and expects the certificate of the service.
func reachLocally(object *unstructured.Unstructured, port string) error {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return err
	}
	switch object.GetKind() {
	case "Service":
		if object.GetName() == kueueService {
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		}
	case "CustomResourceDefinition":
		if _, found, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook"); err != nil || !found {
			return err
		}
		return unstructured.SetNestedField(object.Object, number, "spec", "conversion", "webhook", "clientConfig", "service", "port")
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		for _, webhook := range object.Object["webhooks"].([]any) {
			if err := unstructured.SetNestedField(webhook.(map[string]any), number, "clientConfig", "service", "port"); err != nil {
				return err
			}
		}
	}
	return nil
}

// mountKueue writes the certificates of Kueue, which it makes itself, where a volume of its pod has them.
func (c *cluster) mountKueue(directory string) error {
	for giveUp := time.Now().Add(startWithin); time.Now().Before(giveUp); time.Sleep(pollEvery) {
		secret, err := c.client.CoreV1().Secrets(kueueNamespace).Get(c.ctx, kueueSecret, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err != nil || len(secret.Data["tls.crt"]) == 0 {
			continue
		}
		for _, file := range []string{"ca.crt", "tls.key", "tls.crt"} {
			if err := os.WriteFile(filepath.Join(directory, file), secret.Data[file], 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("kueue makes no certificates")
}
