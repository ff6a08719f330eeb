// Reads dashboards as Grafana's own types of them do, strictly: no field that is not known, none
// that is required and missing, in panels and queries too. Names each that is not right.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	plugins.RegisterDefaultPlugins()
	code := 0
	for _, file := range os.Args[1:] {
		if problem := problemOf(file); problem != "" {
			fmt.Printf("%s:\n%s\n", file, problem)
			code = 1
		}
	}
	os.Exit(code)
}

func problemOf(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	board := dashboard.Dashboard{}
	// a list of errors that is empty is an error, too
	if err := board.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return err.Error()
	}
	if err := board.Validate(); err != nil {
		return err.Error()
	}
	return ""
}
