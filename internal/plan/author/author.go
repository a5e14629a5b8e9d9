// Package author reads and writes plans in the forms that people write, TOML and JSON, and reports everything that
// is wrong with one at once. Used by cmd/confetti/internal, internal/studio and release/verify, and not by whoever
// only follows one.
package author

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/confetti-dp/confetti/internal/sanitize/meant"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// Parse reads a plan authored in TOML or JSON (a text that begins with a brace
// is JSON). It is strict: unknown or repeated keys are errors, all of them
// listed. Whether the plan is valid is asked of it afterwards (protocol.Validate).
func Parse(text []byte) (plan.Plan, error) {
	var p plan.Plan
	if err := Read(text, &p); err != nil {
		return plan.Plan{}, err
	}
	return p, nil
}

// Read reads a text in TOML or JSON into a struct with names of JSON. It is as strict as Parse.
func Read(text []byte, into any) error {
	if len(text) > plan.MaxBytes {
		return fmt.Errorf("plan: text is longer than %d bytes", plan.MaxBytes)
	}
	tree, err := parseTree(text)
	if err != nil {
		return err
	}
	if ps := unknownKeys("", tree, reflect.TypeOf(into)); len(ps) > 0 {
		return ps
	}
	// One strict path for both languages: the tree goes through JSON.
	b, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("plan: a number is not finite or a value has no JSON form: %w", err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		var t *json.UnmarshalTypeError
		if errors.As(err, &t) {
			return plan.Problems{fmt.Sprintf("%s must be a %s, not a %s", t.Field, plainType(t.Type), t.Value)}
		}
		return plan.Problems{strictjson.Told(err).Error()}
	}
	return nil
}

// Columns reads those of a table from a text in TOML or JSON: a list of columns as a plan has it.
func Columns(text []byte) ([]plan.Column, error) {
	var file struct {
		Columns []plan.Column `json:"columns"`
	}
	var ps plan.Problems
	err := Read(text, &file)
	if errors.As(err, &ps) && !strings.HasPrefix(ps[0], "unknown key") {
		return nil, errors.New("each [[columns]] has a name, and values (a list of texts, with others = true for a last one) or cuts (a list of numbers)")
	}
	if err != nil {
		return nil, err
	}
	if len(file.Columns) < 2 {
		return nil, fmt.Errorf("there are %d columns, and tables are of two", len(file.Columns))
	}
	return file.Columns, nil
}

// TOML returns the plan in the form that people write; Parse reads it back to
// the same plan.
func TOML(p plan.Plan) []byte {
	d := json.NewDecoder(bytes.NewReader(p.Canonical()))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		panic("author: canonical form does not decode: " + err.Error())
	}
	b, err := toml.Marshal(withNumbers(tree))
	if err != nil {
		panic("author: " + err.Error())
	}
	return b
}

// withNumbers replaces every json.Number by the integer or float that it is.
func withNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = withNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = withNumbers(e)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

func parseTree(text []byte) (map[string]any, error) {
	var tree map[string]any
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		if err := toml.Unmarshal(text, &tree); err != nil {
			var d *toml.DecodeError
			if errors.As(err, &d) {
				line, col := d.Position()
				return nil, fmt.Errorf("plan: line %d, column %d: %w", line, col, err)
			}
			return nil, fmt.Errorf("plan: %w", err)
		}
		return tree, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // no digit is lost on the way through the tree
	if err := repeatedKeys(d); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("plan: text goes on after the closing brace")
	}
	d = json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return tree, nil
}

// repeatedKeys reads one JSON value and refuses an object that names a key twice.
func repeatedKeys(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return fmt.Errorf("plan: at byte %d: %w", d.InputOffset(), strictjson.Told(err))
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return fmt.Errorf("plan: at byte %d: %w", d.InputOffset(), strictjson.Told(err))
			}
			key, _ := k.(string)
			if seen[key] {
				return plan.Problems{fmt.Sprintf("key %q stands twice in one object", key)}
			}
			seen[key] = true
			if err := repeatedKeys(d); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for d.More() {
			if err := repeatedKeys(d); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("plan: at byte %d: %w", d.InputOffset(), strictjson.Told(err))
	}
	return nil
}

// unknownKeys lists the keys of the tree that the type t has no field for, the
// first plan.MaxProblems of them.
// encoding/json would stop at the first and match names in any case.
func unknownKeys(at string, v any, t reflect.Type) plan.Problems {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var ps plan.Problems
	switch v := v.(type) {
	case map[string]any:
		if t.Kind() == reflect.Map {
			for _, k := range slices.Sorted(maps.Keys(v)) {
				if ps = append(ps, unknownKeys(at+"."+k, v[k], t.Elem())...); len(ps) >= plan.MaxProblems {
					return ps[:plan.MaxProblems]
				}
			}
			return ps
		}
		if t.Kind() != reflect.Struct {
			return nil // a wrong type: json.Unmarshal says so
		}
		if kind, ok := v["kind"].(string); ok && t == reflect.TypeFor[plan.Attribute]() {
			if err := plan.Ended(kind); err != nil {
				return plan.Problems{fmt.Sprintf("%s.kind: %v", strings.TrimPrefix(at, "."), err)}
			}
		}
		fields := map[string]reflect.Type{}
		var names []string
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[name] = f.Type
			names = append(names, name)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if len(ps) >= plan.MaxProblems {
				return ps[:plan.MaxProblems]
			}
			ft, ok := fields[k]
			if !ok {
				ps = append(ps, fmt.Sprintf("unknown key %q%s; known here: %s", strings.TrimPrefix(at+"."+k, "."), meant.DidYouMean(k, names), strings.Join(names, ", ")))
				continue
			}
			ps = append(ps, unknownKeys(at+"."+k, v[k], ft)...)
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, e := range v {
				if len(ps) >= plan.MaxProblems {
					return ps[:plan.MaxProblems]
				}
				ps = append(ps, unknownKeys(fmt.Sprintf("%s[%d]", at, i), e, t.Elem())...)
			}
		}
	}
	return ps
}

func plainType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Float64:
		return "number"
	case reflect.Int:
		return "whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "list"
	case reflect.String:
		return "text"
	}
	return "table"
}
