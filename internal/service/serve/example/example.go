// Package example writes a role's configuration with every setting and what it is for, from the tags of the
// struct that reads it. Used by cmd/internal/server/roles, which prints it; a test holds deploy/config to that.
package example

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// wide is where comments are broken.
const wide = 96

// Of returns a configuration that a role can begin with; about is its first line. Of each field of the struct c
// points to, toml is the setting, help says what it is for, and eg is a value that is set. In the place of eg, or is
// one that stands behind a #: what holds without it, or another way. In values ROLE stands for the role. A field that
// is embedded may name in set which of its settings are set all the same.
func Of(role, about string, c any) (string, error) {
	w := writer{role: role}
	w.comment("", about+" Every setting stands here; those behind # are as they are without being set, or another way. Relative paths are beside this file.")
	if err := w.section(reflect.TypeOf(c).Elem(), "", "", true); err != nil {
		return "", fmt.Errorf("example of %s: %w", role, err)
	}
	return w.text.String(), nil
}

type writer struct {
	role string
	text strings.Builder
}

// comment writes a text behind #, broken into lines.
func (w *writer) comment(off, text string) {
	line := off + "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > wide {
			fmt.Fprintln(&w.text, line)
			line = off + "#"
		}
		line += " " + word
	}
	fmt.Fprintln(&w.text, line)
}

// setting is a field with its tags. Embedded ones are taken apart: set are those of them that are set.
type setting struct {
	reflect.StructField
	set bool
}

func settings(of reflect.Type, set []string) (all []setting) {
	for f := range of.Fields() {
		switch name := f.Tag.Get("toml"); {
		case f.Anonymous:
			all = append(all, settings(f.Type, strings.Split(f.Tag.Get("set"), ","))...)
		case name != "-":
			all = append(all, setting{f, slices.Contains(set, name)})
		}
	}
	return all
}

// section writes the settings of a struct, values before tables; off is # where all of it is.
func (w *writer) section(of reflect.Type, name, off string, spaced bool) error {
	all := settings(of, nil)
	for _, s := range all {
		if _, is := table(s.Type); is {
			continue
		}
		key, help := s.Tag.Get("toml"), s.Tag.Get("help")
		value, isSet := s.Tag.Lookup("eg")
		other, isOther := s.Tag.Lookup("or")
		if key == "" || isSet == isOther {
			return fmt.Errorf("%s.%s needs the tag toml, and one of eg and or", of, s.Name)
		}
		if help != "" {
			if spaced {
				fmt.Fprintln(&w.text)
			}
			w.comment("", help)
		}
		hash := off
		if isOther && !s.set {
			hash = "# "
		}
		if isOther {
			value = other
		}
		fmt.Fprintf(&w.text, "%s%s = %s\n", hash, key, w.value(s.Type, strings.ReplaceAll(value, "ROLE", w.role)))
	}
	for _, s := range all {
		inner, is := table(s.Type)
		if !is {
			continue
		}
		fmt.Fprintln(&w.text)
		if help := s.Tag.Get("help"); help != "" {
			w.comment("", help)
		}
		head, below := name+s.Tag.Get("toml"), off
		switch s.Type.Kind() {
		case reflect.Slice:
			head = "[[" + head + "]]"
		case reflect.Map:
			head = "[" + head + "." + s.Tag.Get("eg") + "]"
		case reflect.Pointer: // a section that need not be there
			head, below = "["+head+"]", "# "
		default:
			head = "[" + head + "]"
		}
		fmt.Fprintln(&w.text, below+head)
		if err := w.section(inner, name+s.Tag.Get("toml")+".", below, false); err != nil {
			return err
		}
	}
	return nil
}

// table returns the struct that a section of this type has.
func table(of reflect.Type) (reflect.Type, bool) {
	switch of.Kind() {
	case reflect.Struct:
		return of, true
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return of.Elem(), of.Elem().Kind() == reflect.Struct
	}
	return nil, false
}

// value writes a tag's value as a setting of this type has it; lists have spaces between.
func (w *writer) value(of reflect.Type, text string) string {
	switch {
	case of.Kind() == reflect.Slice:
		var all []string
		for one := range strings.FieldsSeq(text) {
			all = append(all, w.value(of.Elem(), one))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case of.Kind() == reflect.String, of.Name() == "Duration":
		return fmt.Sprintf("%q", text)
	}
	return text
}
