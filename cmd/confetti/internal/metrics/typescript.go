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

//go:embed code.ts.tmpl
var typescriptText string

var typescriptCode = template.Must(template.New("ts").Funcs(template.FuncMap{"literal": literal, "comment": comment}).Parse(typescriptText))

// unnamed are words that TypeScript does not take as the name of a constant, and those that a module of ours has itself.
var unnamed = strings.Fields(`app consent fresh it start
	arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for
	function if implements import in instanceof interface let new null package private protected public return static super switch
	this throw true try typeof undefined var void while with yield`)

// typescript returns the module of a registry, which it has in itself as its publisher signed it.
func typescript(r metrics.Registry, publishers []string, signed []byte) ([]byte, error) {
	type call struct {
		metrics.Metric
		TS   string
		Of   []string // the types of its values, each a union of literals
		None bool     // it follows from others
	}
	taken := map[string]string{}
	var calls []call
	for _, m := range r.Metrics {
		c := call{Metric: m, TS: small(camel(m.Name)), None: m.Kind == "table"}
		for _, t := range typesOf(m, "") {
			var all []string
			for _, one := range t.Words {
				text, err := literal(one.Value)
				if err != nil {
					return nil, err
				}
				all = append(all, text)
			}
			c.Of = append(c.Of, strings.Join(all, " | "))
		}
		if earlier, there := taken[c.TS]; there {
			return nil, fmt.Errorf("%s cannot be called %s in TypeScript, as is %s: name it otherwise", m.Name, c.TS, earlier)
		}
		if slices.Contains(unnamed, c.TS) {
			return nil, fmt.Errorf("%s cannot be called %s in TypeScript, which has this word for something else: name it otherwise", m.Name, c.TS)
		}
		taken[c.TS] = m.Name
		calls = append(calls, c)
	}
	var text bytes.Buffer
	err := typescriptCode.Execute(&text, map[string]any{"App": r.App, "Publishers": publishers, "Registry": string(signed), "Calls": calls})
	return text.Bytes(), err
}
