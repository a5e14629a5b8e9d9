package metrics

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/confetti-dp/confetti/client/metrics"
)

//go:embed code.py.tmpl
var pythonText string

var pythonCode = template.Must(template.New("python").Parse(pythonText))

// reserved are the words of Python that a metric could be called, and what every module has.
var reserved = strings.Fields("and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield app start consent new metrics")

// generatePython returns the module of a registry, whose types are of its values as they are.
func generatePython(r metrics.Registry, publishers []string, file string) ([]byte, error) {
	var calls []call
	taken := map[string]string{}
	for _, m := range r.Metrics {
		if slices.Contains(reserved, m.Name) {
			return nil, fmt.Errorf("%s is a word of Python, or of every module of metrics: name it otherwise", m.Name)
		}
		c := call{Name: m.Name, Type: kinds[m.Kind], Of: typesOf(m, camel(m.Name)), Said: m.Says()}
		for _, t := range c.Of {
			if other, there := taken[t.Go]; there {
				return nil, fmt.Errorf("%s: its type would be called %s, as that of %s is: name it otherwise", m.Name, t.Go, other)
			}
			taken[t.Go] = m.Name
		}
		if m.Kind == "experiment" {
			c.First = c.Of[0].Words[0].Value
		}
		calls = append(calls, c)
	}
	var text bytes.Buffer
	err := pythonCode.Execute(&text, map[string]any{"App": r.App, "Registry": file, "Publishers": publishers, "Calls": calls, "Types": len(taken) > 0})
	return text.Bytes(), err
}
