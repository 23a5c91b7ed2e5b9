package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNamesOfBalances(t *testing.T) {
	names := map[string]string{}
	for _, project := range []string{"lab", "lab-7.a", "Lab", "lab_7", "lab 7", "_", "Ärzte", strings.Repeat("x", 254) + "_"} {
		name := objectName(project)
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			t.Errorf("%q has the name %q: %v", project, name, wrong)
		}
		if other := names[name]; other != "" {
			t.Errorf("%q and %q have the name %q", project, other, name)
		}
		names[name] = project
	}
	if names["lab"] != "lab" || names["lab-7.a"] != "lab-7.a" {
		t.Errorf("valid names are changed: %v", names)
	}
}
