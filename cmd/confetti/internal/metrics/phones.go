package metrics

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/confetti-dp/confetti/client/metrics"
)

// phone is a language of phones, whose code calls the C library.
type phone struct {
	name     string
	code     *template.Template
	reserved []string            // words that are no names
	constant func(string) string // the name of a value, of its words
	types    map[string]string   // by kind of metric
}

//go:embed code.kt.tmpl
var kotlinText string

//go:embed code.swift.tmpl
var swiftText string

var (
	types = map[string]string{"counter": "Counter", "category": "Category", "number": "Quantity", "set": "Items", "string": "FreeText", "sequence": "Steps", "experiment": "Experiment"}

	kotlin = phone{
		"Kotlin", parsed(kotlinText), strings.Fields(`as break class continue do else false for fun if in interface is null object package return super this throw true try typealias typeof val var when while`),
		func(words string) string { return strings.ToUpper(strings.ReplaceAll(words, " ", "_")) }, types,
	}
	swift = phone{
		"Swift", parsed(swiftText), strings.Fields(`allCases rawValue actor any as associatedtype await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate for func guard if import in init
			inout internal is let nil open operator precedencegroup private protocol public repeat rethrows return self Self some static struct subscript super switch throw throws true try
			typealias var where while`),
		func(words string) string { return small(camel(words)) }, types,
	}
)

// parsed returns a template of code, whose texts are quoted as the language has them.
func parsed(text string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"kotlin": func(s string) (string, error) {
			quoted, err := literal(s)
			return strings.ReplaceAll(quoted, "$", `\$`), err
		},
		"swift": func(s string) (string, error) {
			quoted, err := literal(s)
			return unicodes.Replace(quoted), err
		},
		"comment": comment,
	}).Parse(text))
}

// unicodes writes what JSON does for two separators of lines as Swift has it.
var unicodes = strings.NewReplacer(`\u2028`, `\u{2028}`, `\u2029`, `\u{2029}`)

// generate returns the file of a registry, whose calls are members of an object of the file's name.
func (p phone) generate(r metrics.Registry, publishers []string, file, registry string) ([]byte, error) {
	type named struct{ Name, Text string }
	type listed struct {
		Name  string
		Words []named
	}
	type call struct {
		Name, Type, Metric, Said string
		Of                       []listed
		Arms                     bool
	}
	object := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if !token.IsIdentifier(object) || !unicode.IsUpper([]rune(object)[0]) {
		return nil, fmt.Errorf("the file is called as what it declares, and %q is no name of it in %s: one is Counts", object, p.name)
	}
	taken := map[string]string{object: "the file"}
	for _, name := range []string{"app", "start", "stop", "consent", "new"} {
		taken[name] = "what every file has"
	}
	take := func(taken map[string]string, name, of string) error {
		earlier, there := taken[name]
		switch {
		case there:
			return fmt.Errorf("%s cannot be called %s in %s, as is %s: name it otherwise", of, name, p.name, earlier)
		case slices.Contains(p.reserved, name), name == "" || !unicode.IsLetter([]rune(name)[0]):
			return fmt.Errorf("%s cannot be called %s in %s: name it otherwise", of, plainly(name), p.name)
		}
		taken[name] = of
		return nil
	}
	var calls []call
	for _, m := range r.Metrics {
		c := call{Name: small(camel(m.Name)), Type: p.types[m.Kind], Metric: m.Name, Said: m.Says(), Arms: m.Kind == "experiment"}
		if err := take(taken, c.Name, m.Name); err != nil {
			return nil, err
		}
		for _, t := range typesOf(m, camel(m.Name)) {
			if err := take(taken, t.Go, m.Name+"'s type"); err != nil {
				return nil, err
			}
			l, within := listed{Name: t.Go}, map[string]string{}
			for _, w := range t.Words {
				name := p.constant(spaced(w.Value))
				if err := take(within, name, fmt.Sprintf("%q of %s", w.Value, m.Name)); err != nil {
					return nil, err
				}
				l.Words = append(l.Words, named{name, w.Value})
			}
			c.Of = append(c.Of, l)
		}
		calls = append(calls, c)
	}
	var text bytes.Buffer
	err := p.code.Execute(&text, map[string]any{"Package": packaged(file), "Object": object, "App": r.App, "Registry": registry, "Publishers": publishers, "Calls": calls})
	return text.Bytes(), err
}

// plainly returns a name, or says that there is none.
func plainly(name string) string {
	if name == "" {
		return "nothing"
	}
	return name
}

// spaced returns the words of a value, with one blank between two.
func spaced(value string) string {
	return strings.Join(strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// packaged returns the package of a file of Kotlin: the folders below the last that is called kotlin or java.
func packaged(file string) string {
	parts := strings.Split(filepath.ToSlash(filepath.Dir(file)), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i] == "kotlin" || parts[i] == "java" {
			return strings.Join(parts[i+1:], ".")
		}
	}
	return ""
}

// small returns a name that begins with a small letter.
func small(name string) string {
	begins := []rune(name)
	if len(begins) > 0 {
		begins[0] = unicode.ToLower(begins[0])
	}
	return string(begins)
}

// literal returns a value as JSON writes it.
func literal(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// comment returns a text that ends no comment.
func comment(text string) string { return strings.ReplaceAll(text, "*/", "* /") }
