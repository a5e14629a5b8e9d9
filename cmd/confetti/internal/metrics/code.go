package metrics

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

type code struct {
	asked
	Go    string `help:"The Go file, in the folder of the registry, which it embeds." required:"" type:"path" placeholder:"FILE"`
	Check bool   `help:"Write nothing, and fail where the file is of another registry: for CI."`
}

func (code) Help() string {
	return `Writes a package of the app: a typed call for each metric, with constants for what it may
be. The file follows from the registry alone, so that everybody gets the same.

Example:
  confetti metrics code --registry counts/confetti.registry.json --go counts/counts.go
  confetti metrics code --registry counts/confetti.registry.json --go counts/counts.go --check`
}

//go:embed code.go.tmpl
var goText string

var goCode = template.Must(template.New("go").Parse(goText))

func (c code) Run(std terminal.Streams) error {
	f, r, err := c.read()
	if err != nil {
		return err
	}
	if r.Version == 0 {
		return terminal.Usagef("there is no %s yet: sign one with confetti metrics sign", c.Registry)
	}
	if filepath.Dir(c.Registry) != filepath.Dir(c.Go) {
		return terminal.Usagef("--go and --registry lie in one folder: the package embeds the registry")
	}
	text, err := generate(r, f.Publishers, filepath.Base(filepath.Dir(c.Go)), filepath.Base(c.Registry))
	if err != nil {
		return terminal.Usage(fmt.Errorf("%s: %w", c.File, err))
	}
	if !c.Check {
		return atomicfile.Replace(c.Go, text, 0o644)
	}
	kept, err := atomicfile.Read(c.Go)
	if err != nil {
		return err
	}
	if !bytes.Equal(kept, text) {
		return fmt.Errorf("%s is of another registry than %s: write it anew by confetti metrics code --go", c.Go, c.Registry)
	}
	return nil
}

// call is a metric as the app calls it.
type call struct {
	metrics.Metric
	Go    string     // its variable
	Type  string     // of the package that counts
	Of    string     // the type of its values; "": it takes a number
	Words []constant // what it may be
	Said  string
}

// constant is one of its values.
type constant struct{ Go, Value string }

// generate returns the Go file of a registry.
func generate(r metrics.Registry, publishers []string, pkg, file string) ([]byte, error) {
	taken := map[string]string{"App": "the app", "Start": "its start", "Consent": "the person's word", "New": "what is new"}
	take := func(name, of string) error {
		if earlier, there := taken[name]; there || !token.IsIdentifier(name) {
			return fmt.Errorf("%s cannot be called %s in Go, as is %s: name it otherwise", of, name, earlier)
		}
		taken[name] = of
		return nil
	}
	var calls []call
	var links []string // the kinds of question that the app links
	for _, m := range r.Metrics {
		if kind := metrics.Question([]metrics.Metric{m}).Kind; !slices.Contains(links, kind) {
			links = append(links, kind)
		}
		c := call{Metric: m, Go: camel(m.Name), Said: m.Says(), Type: map[string]string{"counter": "Counter", "category": "Category", "number": "Number", "set": "Set", "string": "String"}[m.Kind]}
		if err := take(c.Go, m.Name); err != nil {
			return nil, err
		}
		if len(m.Values) > 0 {
			if c.Of = c.Go + "Value"; take(c.Of, m.Name+"'s type") != nil {
				return nil, fmt.Errorf("%s: its type would be called %s, as another is: name it otherwise", m.Name, c.Of)
			}
		}
		for _, v := range m.Values {
			one := constant{c.Go + camel(v), v}
			if err := take(one.Go, fmt.Sprintf("%q of %s", v, m.Name)); err != nil {
				return nil, err
			}
			c.Words = append(c.Words, one)
		}
		calls = append(calls, c)
	}
	if !token.IsIdentifier(pkg) {
		return nil, fmt.Errorf("the folder %q is no name of a package in Go", pkg)
	}
	var text bytes.Buffer
	if err := goCode.Execute(&text, map[string]any{"Package": pkg, "App": r.App, "Registry": file, "Publishers": publishers, "Calls": calls, "Links": slices.Sorted(slices.Values(links))}); err != nil {
		return nil, err
	}
	return format.Source(text.Bytes())
}

// camel returns a name as Go writes it: what is no letter or digit begins a word.
func camel(name string) string {
	var b strings.Builder
	begins := true
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			begins = true
		case begins:
			b.WriteRune(unicode.ToUpper(r))
			begins = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
