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
	Go     string `help:"The Go file, in the folder of the registry, which it embeds." type:"path" placeholder:"FILE"`
	Kotlin string `help:"The Kotlin file, called as the object in it; the registry is a resource of the app." type:"path" placeholder:"FILE"`
	Swift  string `help:"The Swift file, called as the enum in it; the registry is a resource of its target." type:"path" placeholder:"FILE"`
	Python string `help:"The Python file, in the folder of the registry, which it reads." type:"path" placeholder:"FILE"`
	TS     string `help:"The TypeScript module, which has the registry in itself." name:"ts" type:"path" placeholder:"FILE"`
	Check  bool   `help:"Write nothing, and fail where a file is of another registry: for CI."`
}

func (code) Help() string {
	return `Writes a package or a file of the app: a typed call for each metric, with constants for what it
may be. A file follows from the registry alone, so that everybody gets the same.

Example:
  confetti metrics code --registry counts/confetti.registry.json --go counts/counts.go
  confetti metrics code --registry counts/confetti.registry.json --go counts/counts.go --check
  confetti metrics code --registry counts/confetti.registry.json --kotlin app/src/main/kotlin/counts/Counts.kt
  confetti metrics code --registry counts/confetti.registry.json --ts src/metrics.ts`
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
	made, err := c.made(f, r)
	if err != nil {
		return err
	}
	for _, one := range made {
		if !c.Check {
			if err := atomicfile.Replace(one.path, one.text, 0o644); err != nil {
				return err
			}
			continue
		}
		kept, err := atomicfile.Read(one.path)
		if err != nil {
			return err
		}
		if !bytes.Equal(kept, one.text) {
			return fmt.Errorf("%s is of another registry than %s: write it anew by confetti metrics code %s", one.path, c.Registry, one.flag)
		}
	}
	return nil
}

// generated is a file of the app.
type generated struct {
	flag, path string
	text       []byte
}

// made returns the files that were asked for.
func (c code) made(f file, r metrics.Registry) (all []generated, err error) {
	folder, registry := filepath.Dir(c.Registry), filepath.Base(c.Registry)
	for _, l := range []struct {
		flag, path string
		beside     bool // the code finds the registry in its own folder
		generate   func() ([]byte, error)
	}{
		{"--go", c.Go, true, func() ([]byte, error) { return generate(r, f.Publishers, filepath.Base(folder), registry) }},
		{"--kotlin", c.Kotlin, false, func() ([]byte, error) { return kotlin.generate(r, f.Publishers, c.Kotlin, "/"+registry) }},
		{"--swift", c.Swift, false, func() ([]byte, error) { return swift.generate(r, f.Publishers, c.Swift, registry) }},
		{"--python", c.Python, true, func() ([]byte, error) { return generatePython(r, f.Publishers, registry) }},
		{"--ts", c.TS, false, func() ([]byte, error) {
			signed, err := atomicfile.Read(c.Registry)
			if err != nil {
				return nil, err
			}
			return typescript(r, f.Publishers, signed)
		}},
	} {
		if l.path == "" {
			continue
		}
		if l.beside && filepath.Dir(l.path) != folder {
			return nil, terminal.Usagef("%s and --registry lie in one folder: the code reads the registry", l.flag)
		}
		text, err := l.generate()
		if err != nil {
			return nil, terminal.Usage(fmt.Errorf("%s: %w", c.File, err))
		}
		all = append(all, generated{l.flag, l.path, text})
	}
	if len(all) == 0 {
		return nil, terminal.Usagef("no file is asked for: give --go, --kotlin, --swift, --python or --ts")
	}
	return all, nil
}

// kinds name the types of the packages that count, by the kind of a metric; of a table there is nothing to call.
var kinds = map[string]string{"counter": "Counter", "category": "Category", "number": "Number", "set": "Set", "string": "String", "sequence": "Sequence", "experiment": "Experiment"}

// call is a metric as the app calls it.
type call struct {
	Name  string
	Go    string // its variable
	Type  string // of the package that counts; "": it follows from others, and there is nothing to call
	Of    []typed
	First string // of an experiment: its first arm, in Go the constant
	Said  string
}

// typed is a type of values; a metric without any takes numbers or texts.
type typed struct {
	Go    string
	Words []constant
	Said  string
}

// constant is one of its values.
type constant struct{ Go, Value string }

// typesOf returns the types of a metric's values, without their constants' names.
func typesOf(m metrics.Metric, name string) []typed {
	of := func(suffix, said string, words []string) typed {
		t := typed{Go: name + suffix, Said: said}
		for i, w := range words {
			if !slices.Contains(words[:i], w) {
				t.Words = append(t.Words, constant{name + camel(w), w})
			}
		}
		return t
	}
	switch m.Kind {
	case "category", "set":
		return []typed{of("Value", "is what %s may be", m.Values)}
	case "sequence":
		return []typed{of("Step", "is a step of %s", m.Steps)}
	case "experiment":
		return []typed{of("Arm", "is what %s shows", m.Arms), of("Outcome", "is what happens in %s", m.Outcomes)}
	}
	return nil
}

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
		c := call{Name: m.Name, Go: camel(m.Name), Said: m.Says(), Type: kinds[m.Kind]}
		if err := take(c.Go, m.Name); err != nil {
			return nil, err
		}
		c.Of = typesOf(m, c.Go)
		for i, t := range c.Of {
			if take(t.Go, m.Name+"'s type") != nil {
				return nil, fmt.Errorf("%s: its type would be called %s, as another is: name it otherwise", m.Name, t.Go)
			}
			c.Of[i].Said = fmt.Sprintf(t.Said, c.Go)
			for _, one := range t.Words {
				if err := take(one.Go, fmt.Sprintf("%q of %s", one.Value, m.Name)); err != nil {
					return nil, err
				}
			}
		}
		if m.Kind == "experiment" {
			c.First = c.Of[0].Words[0].Go
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
