// Reads a dashboard with Grafana's own types. A field that they do not have, a field of another
// type, and a missing field are errors.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func check(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// register only the panels that the dashboard uses, because compiling all plugins takes a
	// minute
	types := cog.NewRuntime()
	types.RegisterPanelcfgVariant(bargauge.VariantConfig())
	types.RegisterPanelcfgVariant(stat.VariantConfig())
	types.RegisterPanelcfgVariant(timeseries.VariantConfig())
	types.RegisterDataqueryVariant(prometheus.VariantConfig())

	// the strict reader returns a list of errors, which is empty if there are none, and it keeps no
	// panels to validate
	var found cog.BuildErrors
	err = new(dashboard.Dashboard).UnmarshalJSONStrict(text)
	if !errors.As(err, &found) || len(found) > 0 {
		return err
	}
	var read dashboard.Dashboard
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	return read.Validate()
}

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
