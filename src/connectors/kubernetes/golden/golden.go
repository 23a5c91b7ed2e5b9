// Package golden has pods for tests, and the rows that they become. The unit tests read them, and so does the test with
// an API server, which has a database compute their costs.
package golden

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"yquota.io/kubernetes/event"
	"yquota.io/kubernetes/settings"
)

// Pod is a pod, and what becomes of it.
type Pod struct {
	Name string `json:"name"`
	// its chain of owners
	Owners   []Owner       `json:"owners"`
	Pod      corev1.Pod    `json:"pod"`
	Source   string        `json:"source"`
	IsSkewed bool          `json:"isSkewed"`
	Cost     string        `json:"cost"`
	Rows     []event.Event `json:"rows"`
}

// Owner is an owner, whose UID is its name.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

//go:embed golden.yaml
var text []byte

// Pods returns the pods. The UID of each is its name.
func Pods() []Pod {
	var pods []Pod
	if err := yaml.UnmarshalStrict(text, &pods); err != nil {
		panic(err)
	}
	for i := range pods {
		pods[i].Pod.UID = "" // an API server gives it
	}
	return pods
}

// ProjectLabel is the label of a namespace that names its project.
const ProjectLabel = "yquota.io/project"

// NamespaceLabels returns the labels of a namespace.
func NamespaceLabels(namespace string) map[string]string {
	if namespace == "lab" {
		return map[string]string{ProjectLabel: "science"}
	}
	return nil
}

//go:embed settings.yaml
var settingsText []byte

// Settings returns the settings of the test.
func Settings() settings.Settings {
	s, err := settings.Parse(settingsText)
	if err != nil {
		panic(err)
	}
	return s
}
