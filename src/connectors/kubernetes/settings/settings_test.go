package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAnEmptyFileIsTheDefaults(t *testing.T) {
	s, err := Parse(nil)
	if err != nil || s.Source != "kubernetes" || s.Lease.Duration.Duration != 15*time.Second || s.Mapping.Resources["memory"].Name != "memory-mb" {
		t.Errorf("%v: %v", err, s)
	}
}

func TestListsAndMapsReplaceTheDefaults(t *testing.T) {
	s, err := Parse([]byte(`
mapping:
  owners: [{version: v1, kind: Pod, resource: pods}]
  project: [{value: x}]
  resources: {cpu: {name: vcores, unit: "1"}}
  exclude_namespaces: [kube-system]
reconcile: {most_finished_percent: 5}
`))
	if err != nil {
		t.Fatal(err)
	}
	m := s.Mapping
	if len(m.Owners) != 1 || m.Owners[0] != (Owner{Version: "v1", Kind: "Pod", Resource: "pods"}) {
		t.Errorf("owners are %v", m.Owners)
	}
	if len(m.Project) != 1 || len(m.Resources) != 1 || m.Resources["cpu"].Name != "vcores" || len(m.ExcludeNamespaces) != 1 {
		t.Errorf("a list or map is mixed with its default: %v", m)
	}
	if len(m.User) != 1 || s.Reconcile.MostFinishedPercent != 5 || s.Reconcile.Interval.Duration != time.Hour {
		t.Errorf("what the file leaves out is not the default: %v", s)
	}
}

func TestWrongSettings(t *testing.T) {
	for _, text := range []string{"sauce: x", "source: ''", "spool: {most_mb: 1}", "batch_events: 0", "lease: {duration: 1ms}",
		"reconcile: {most_finished_percent: 101}", "reconcile: {interval: 0s}", "compute_interval: soon", "mapping: [x]", "mapping: {project: [{valu: x}]}"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.yaml")
	if _, err := Read(path); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, defaults, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Read(path); err != nil || s.Source != "kubernetes" {
		t.Errorf("the defaults: %v, %v", s, err)
	}
}
