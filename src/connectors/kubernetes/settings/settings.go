// Package settings reads the connector's YAML file. The file settings.yaml in the connector's folder documents every
// setting with its default.
package settings

import (
	_ "embed"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Settings are the contents of the file.
type Settings struct {
	Source          string          `json:"source"`
	Database        string          `json:"database"`
	Spool           Spool           `json:"spool"`
	Lease           Lease           `json:"lease"`
	Listen          string          `json:"listen"`
	BatchEvents     int             `json:"batch_events"`
	ComputeInterval metav1.Duration `json:"compute_interval"`
	Reconcile       Reconcile       `json:"reconcile"`
	KubeletWait     metav1.Duration `json:"kubelet_wait"`
	BalanceInterval metav1.Duration `json:"balance_interval"`
	Mapping         Mapping         `json:"mapping"`
	Nodes           Nodes           `json:"nodes"`
}

// Spool says where events wait for the database.
type Spool struct {
	Directory string `json:"directory"`
	MostMB    int64  `json:"most_mb"`
}

// Lease says which Lease the replicas compete for.
type Lease struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Duration  metav1.Duration `json:"duration"`
}

// Reconcile says when the books are compared with the cluster.
type Reconcile struct {
	Interval            metav1.Duration `json:"interval"`
	MostFinishedPercent int             `json:"most_finished_percent"`
}

// Mapping says how a pod becomes rows.
type Mapping struct {
	ExcludeNamespaces            []string                     `json:"exclude_namespaces"`
	Project                      []Rule                       `json:"project"`
	User                         []Rule                       `json:"user"`
	Queue                        []Rule                       `json:"queue"`
	Tags                         map[string][]Rule            `json:"tags"`
	OpportunisticPriorityClasses []string                     `json:"opportunistic_priority_classes"`
	Resources                    map[string]Resource          `json:"resources"`
	AssumeRequests               map[string]resource.Quantity `json:"assume_requests"`
	Owners                       []Owner                      `json:"owners"`
	OwnersEndBefore              []string                     `json:"owners_end_before"`
}

// Rule makes a text from facts about a pod.
type Rule struct {
	Value   string `json:"value"`
	Match   string `json:"match"`
	Replace string `json:"replace"`
}

// Resource is the name and the unit of a resource in the database.
type Resource struct {
	Name string            `json:"name"`
	Unit resource.Quantity `json:"unit"`
}

// Owner is a kind of object through which the chain of owners goes.
type Owner struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Kind     string `json:"kind"`
	Resource string `json:"resource"`
}

// Nodes says which labels of a node the database gets.
type Nodes struct {
	Label string `json:"label"`
	Rack  string `json:"rack"`
}

//go:embed settings.yaml
var defaults []byte

// Defaults returns the documented defaults.
func Defaults() Settings {
	var s Settings
	if err := yaml.UnmarshalStrict(defaults, &s); err != nil {
		panic(err)
	}
	return s
}

// Read reads a file. A setting that the file leaves out has its default. A list or map of the file replaces that of
// the defaults.
func Read(path string) (Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Settings{}, err
	}
	return Parse(text)
}

// Parse reads the text of a file.
func Parse(text []byte) (Settings, error) {
	var given Settings
	s := Defaults()
	if err := yaml.UnmarshalStrict(text, &given); err != nil {
		return s, err
	}
	// Decoding into a list or map would mix its elements with those of the defaults.
	replaceList(&s.Mapping.ExcludeNamespaces, given.Mapping.ExcludeNamespaces)
	replaceList(&s.Mapping.Project, given.Mapping.Project)
	replaceList(&s.Mapping.User, given.Mapping.User)
	replaceList(&s.Mapping.Queue, given.Mapping.Queue)
	replaceList(&s.Mapping.Owners, given.Mapping.Owners)
	replaceList(&s.Mapping.OwnersEndBefore, given.Mapping.OwnersEndBefore)
	if given.Mapping.Resources != nil {
		s.Mapping.Resources = nil
	}
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, err
	}
	return s, s.check()
}

func replaceList[T any](list *[]T, given []T) {
	if given != nil {
		*list = nil
	}
}

func (s *Settings) check() error {
	positive := map[string]time.Duration{"lease.duration": s.Lease.Duration.Duration, "compute_interval": s.ComputeInterval.Duration,
		"balance_interval": s.BalanceInterval.Duration, "reconcile.interval": s.Reconcile.Interval.Duration}
	for name, duration := range positive {
		if duration < time.Second {
			return fmt.Errorf("%s is %s, but must be at least a second", name, duration)
		}
	}
	switch {
	case s.Source == "":
		return fmt.Errorf("source is empty")
	case s.Spool.MostMB < 16:
		return fmt.Errorf("spool.most_mb is %d, but must be at least 16", s.Spool.MostMB)
	case s.BatchEvents < 1 || s.BatchEvents > 10000:
		return fmt.Errorf("batch_events is %d, but must be between 1 and 10000", s.BatchEvents)
	case s.Reconcile.MostFinishedPercent < 0 || s.Reconcile.MostFinishedPercent > 100:
		return fmt.Errorf("reconcile.most_finished_percent is %d, which is no percentage", s.Reconcile.MostFinishedPercent)
	}
	return nil
}
