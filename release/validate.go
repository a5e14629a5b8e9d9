package release

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/account"
)

// isFigureName reports whether a name is a file stem: 1 to 64 lower-case letters, digits and
// hyphens, of which the first is no hyphen.
func isFigureName(name string) bool {
	strange := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }
	return name != "" && len(name) <= 64 && name[0] != '-' && !strings.ContainsFunc(name, strange)
}

// Validate reports every reason not to publish the release, each with the field
// it is about, or nil.
func (r Release) Validate() error { return r.validate(true) }

// validate looks at the words of a release too, where it is asked to.
func (r Release) validate(words bool) error {
	return found(func(v *validator) { v.release(r, words) })
}

// found returns what is wrong. Where all is well no field is named, since names cost more than looking does.
func found(look func(*validator)) error {
	var v validator
	if look(&v); len(v.problems) == 0 {
		return nil
	}
	v = validator{named: true}
	look(&v)
	return errors.Join(v.problems...)
}

func (v *validator) release(r Release, words bool) {
	v.worded = words
	v.head(r)
	v.require(!words || strings.TrimSpace(r.Title) != "", "title", "is empty: words follow from the plan")
	v.require(!words || strings.TrimSpace(r.Question) != "", "question", "is empty: words follow from the plan")
	v.require((r.Source == OwnTable) == (r.Ledger != nil), "ledger", "is of a table alone, and of every table")
	if l := r.Ledger; l != nil {
		v.require(l.Releases >= 1 && l.Epsilon > 0 && l.Delta > 0 && l.Delta < 1, "ledger", "is no number of releases, or no cap")
	}
	v.require(!r.Full || r.Source == Simulation, "full", "is said of what is no simulation")
	v.require(len(r.Guarantees) > 0, "guarantees", "is empty: a release without a privacy statement is not published")
	for i, g := range r.Guarantees {
		v.guarantee(g, fmt.Sprintf("guarantees[%d]", i), words)
	}
	v.require(len(r.Crowds) > 0, "crowds", "is empty: a plan has one at least")
	for i, c := range r.Crowds {
		v.require(min(c.Smallest, c.Lacks, c.Batches) >= 0 && (c.Smallest == 0 || c.Lacks == 0 && c.Batches == 0 && !c.Failed), fmt.Sprintf("crowds[%d]", i), "is no number of answers, or withheld and not")
	}
	v.require(r.Dropped >= 0, "dropped", "is negative")
	v.require(r.Cells >= 0, "cells", "is negative")
	v.require(len(r.Remarks) == 0 || r.Source == Simulation, "remarks", "are made of what is no simulation")
	for i, round := range r.Rounds {
		sum, err := hex.DecodeString(round.Plan)
		v.require(err == nil && len(sum) == 32, fmt.Sprintf("rounds[%d].plan", i), "is not a SHA-256 in 64 hex digits")
		v.require(round.Number >= 1 && (i == 0 || round.Number > r.Rounds[i-1].Number), fmt.Sprintf("rounds[%d].number", i), "does not rise from 1")
		v.require(round.Dropped >= 0 && !slices.ContainsFunc(round.Without, func(crowd int) bool { return crowd < 1 || crowd > len(r.Crowds) }), fmt.Sprintf("rounds[%d]", i), "lacks what is no number of fragments, or no crowd")
	}
	v.metrics(r.Cost, "cost")
	v.sections(r.Protection, "protection")
	v.names(r)
	figures := map[string]bool{} // each is a file of its name
	for _, f := range r.Figures() {
		v.require(!figures[f.Name], "figure "+f.Name, "has the name of an earlier one")
		figures[f.Name] = true
	}
}

// head looks at what Head reads.
func (v *validator) head(r Release) {
	v.finite(reflect.ValueOf(r), "")
	sum, err := hex.DecodeString(r.Plan)
	v.require(err == nil && len(sum) == 32, "plan", "is not a SHA-256 in 64 hex digits")
	v.require(!r.Created.IsZero() && r.Created.Year() > 0 && r.Created.Year() < 10000, "created", "is not a date")
	v.require(r.Source == Collection || r.Source == Trial || r.Source == Simulation || r.Source == OwnTable, "source", "is none of collection, trial, simulation, table")
	v.metrics(r.Headline, "headline")
	v.sections(r.Sections, "sections")
}

// names requires that each finding has one of its own: its words follow from it.
func (v *validator) names(r Release) {
	seen := map[string]bool{}
	once := func(path, name, key string) {
		at := path + "\x00" + name + "\x00" + key
		v.require(name != "", path+".name", "is empty")
		if seen[at] {
			v.require(false, path, fmt.Sprintf("has two findings of one name, %q", name))
		}
		seen[at] = true
	}
	for _, m := range r.Headline {
		once("headline", m.Name, "")
	}
	for i, s := range r.Sections {
		path := fmt.Sprintf("sections[%d]", i)
		once("sections", s.Name, s.Key)
		for _, m := range s.Metrics {
			once(path+".metrics", m.Name, "")
		}
		for _, t := range s.Tables {
			once(path+".tables", t.Name, t.Key)
		}
		for _, l := range s.Lists {
			once(path+".lists", l.Name, l.Key)
		}
	}
}

// validator collects what is wrong. Worded says that words are looked at, too.
type validator struct {
	problems []error
	worded   bool
	named    bool // fields have names; without them what is found may be none, and is looked at again
}

// in names an element of a list.
func (v *validator) in(path string, i int) string {
	if !v.named {
		return ""
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

func (v *validator) require(ok bool, path, problem string) {
	if !ok {
		v.problems = append(v.problems, fmt.Errorf("release: %s %s", path, problem))
	}
}

// finite walks every number and string: JSON can carry neither a NaN nor bytes
// that are not text, and would silently alter the latter.
func (v *validator) finite(x reflect.Value, path string) {
	switch x.Kind() {
	case reflect.Float64:
		f := x.Float()
		unbounded := math.IsInf(f, 1) && strings.HasSuffix(path, ".guarantee.epsilon")
		v.require(unbounded || !math.IsNaN(f) && !math.IsInf(f, 0), path, "is not a finite number")
	case reflect.String:
		v.require(utf8.ValidString(x.String()), path, "is not valid UTF-8")
		v.require(!strings.ContainsFunc(x.String(), commands), path, "holds a control character, which could command a terminal")
	case reflect.Pointer:
		if !x.IsNil() {
			v.finite(x.Elem(), path)
		}
	case reflect.Slice:
		for i := range x.Len() {
			v.finite(x.Index(i), v.in(path, i))
		}
	case reflect.Struct:
		for i := range x.NumField() {
			if !x.Field(i).CanInterface() {
				continue // time.Time
			}
			if !v.named {
				v.finite(x.Field(i), "")
				continue
			}
			f := x.Type().Field(i)
			if f.Anonymous {
				v.finite(x.Field(i), path)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				name = strings.ToLower(f.Name)
			}
			v.finite(x.Field(i), strings.TrimPrefix(path+"."+name, "."))
		}
	}
}

func commands(r rune) bool { return unicode.IsControl(r) && r != '\n' }

func (v *validator) guarantee(s account.Statement, path string, words bool) {
	g := s.Guarantee
	v.require(s.Observer != "", path+".observer", "is empty")
	v.require(!words || s.Who != "", path+".who", "is empty")
	path += ".guarantee"
	v.require(g.Epsilon >= 0, path+".epsilon", "is negative")
	v.require(g.Delta >= 0 && g.Delta <= 1, path+".delta", "is outside [0, 1]")
	v.require(g.Adjacency == account.Replacement || g.Adjacency == account.Removal || g.Adjacency == account.Label, path+".adjacency", "is neither replacement, removal nor label")
	v.require(g.Bound == account.Upper || g.Bound == account.Exact, path+".bound", "is not an upper bound or exact: nothing else may be promised")
	v.require(g.Trust != "", path+".trust", "is empty")
	v.require(g.Users >= 1, path+".users", "is below 1")
	v.require(g.Rounds >= 1, path+".rounds", "is below 1")
	v.require(!words || g.Method != "", path+".method", "is empty")
}

func (v *validator) metrics(ms []Metric, path string) {
	for i, m := range ms {
		p := v.in(path, i)
		v.require(m.Name != "", p+".name", "is empty")
		v.require(!v.worded || m.Title != "", p+".label", "is empty")
		v.require(m.Records >= 0, p+".records", "is negative")
		v.require(m.StdErr >= 0, p+".std_err", "is negative")
		v.require(m.Level >= 0 && m.Level < 1, p+".level", "is outside [0, 1)")
		v.require(m.Level > 0 || m.Low == 0 && m.High == 0, p+".level", "is missing: an interval without its level means nothing")
		v.require(m.Low <= m.High, p, "has a low above its high")
		v.require(m.Among >= 0 && (m.Among == 0 || m.Level > 0), p+".among", "is not a number of intervals")
	}
}

func (v *validator) table(t Table, path string) {
	width := len(t.Columns)
	if v.worded {
		v.require(t.Title != "", path+".title", "is empty")
		v.require(width > 0, path+".columns", "is empty")
	} else if len(t.Rows) > 0 {
		width = len(t.Rows[0])
	}
	for i, row := range t.Rows {
		p := v.in(path+".rows", i)
		v.require(len(row) == width && width > 0, p, "does not have one cell per column")
		for j, c := range row {
			p := v.in(p, j)
			v.require(c.StdErr >= 0, p+".std_err", "is negative")
			v.require(c.Value == nil || c.Text == "" && c.Key == "", p, "has both text and a number")
			if c.Low != nil || c.High != nil {
				v.require(c.Value == nil && c.Text == "" && c.Key == "", p, "has an interval beside text or a number")
				v.require(c.Low == nil || c.High == nil || *c.Low <= *c.High, p, "has a low above its high")
			}
			v.require(c.Value != nil || c.StdErr == 0, p+".std_err", "has no number")
			if t.Heat {
				v.require((j == 0) == (c.Value == nil), p, "does not fit a heat map: text in the first column, numbers in the others")
				v.require(c.Value == nil || *c.Value >= 0, p+".value", "is negative in a heat map")
			}
		}
	}
}

func (v *validator) list(l List, path string) {
	v.require(!v.worded || l.Title != "", path+".title", "is empty")
	v.require(l.Level >= 0 && l.Level < 1, path+".level", "is outside [0, 1)")
	v.require(l.Among >= 0 && (l.Level == 0) == (l.Among == 0), path+".among", "is not the number of intervals that hold at once")
	for i, it := range l.Items {
		p := v.in(path+".items", i)
		v.require(it.StdErr >= 0, p+".std_err", "is negative")
		v.require(it.Low <= it.High, p, "has a low above its high")
		v.require(l.Level > 0 || it.Low == 0 && it.High == 0, p, "has an interval, and its list has no level")
		known := it.RankLow >= 1 && it.RankLow <= it.RankHigh
		v.require(known || it.RankLow == 0 && it.RankHigh == 0, p, "has ranks that are not an interval counted from 1")
	}
}

// MaxSeries is how many series a figure may have: as many as a drawing can tell
// apart by colour and dash.
const MaxSeries = 24

// Validate reports the first reason why the figure cannot be published, or nil.
func (f Figure) Validate() error {
	v := validator{worded: true, named: true}
	if v.figure(f, "figure "+f.Name); len(v.problems) > 0 {
		return v.problems[0]
	}
	return nil
}

func (v *validator) figure(f Figure, path string) {
	v.require(isFigureName(f.Name), path+".name", "is not a file stem of lower-case letters, digits and hyphens")
	if v.worded {
		v.require(f.Title != "", path+".title", "is empty")
		v.require(f.Alt != "", path+".alt", "is empty: say in words what the figure shows")
		v.require(f.Kind == Lines || f.Kind == Points || f.Kind == Bars || f.Kind == Heat, path+".kind", "is none of lines, points, bars, heat")
	} else { // its kind follows from its name
		switch {
		case f.Grid != nil:
			f.Kind = Heat
		case len(f.Categories) > 0:
			f.Kind = Bars
		}
	}
	v.require((f.Kind == Heat) == (f.Grid != nil), path+".grid", "is for heat, and heat needs it")
	if f.Grid != nil {
		v.require(len(f.Series) == 0 && !f.X.Log && !f.Y.Log && len(f.Categories) == 0, path, "has beside its grid what a heat figure does not draw")
		v.grid(*f.Grid, path+".grid")
		return
	}
	v.require(len(f.Series) >= 1 && len(f.Series) <= MaxSeries, path+".series", fmt.Sprintf("are not 1 to %d", MaxSeries))
	v.require((f.Kind == Bars) == (len(f.Categories) > 0), path+".categories", "are for bars, and bars need them")
	v.require(f.Kind != Bars || !f.X.Log && !f.Y.Log, path, "has bars on a logarithmic axis, whose length means nothing")
	for i, s := range f.Series {
		p := v.in(path+".series", i)
		v.require(len(s.Y) > 0, p+".y", "is empty")
		if f.Kind == Bars {
			v.require(len(s.Y) == len(f.Categories), p+".y", "does not have one number per category")
			v.require(len(s.X) == 0, p+".x", "is given, but bars stand on categories")
		} else {
			v.require(len(s.X) == len(s.Y), p+".x", "is not as long as y")
		}
		v.require(len(s.Truth) == 0 || len(s.Truth) == len(s.Y), p+".truth", "is not as long as y")
		v.require(len(s.Low) == len(s.High) && (len(s.Low) == 0 || len(s.Low) == len(s.Y)), p, "has a low or high that is not as long as y")
		for j := range min(len(s.Low), len(s.High)) {
			v.require(s.Low[j] <= s.High[j], v.in(p+".low", j), "is above its high")
		}
		v.require(len(s.Gaps) == 0 || f.Kind != Bars && f.Kind != Points, p+".gaps", "are of lines")
		v.require(!f.X.Log || positive(s.X), p+".x", "is not positive on a logarithmic axis")
		v.require(!f.Y.Log || positive(s.Y) && positive(s.Low) && positive(s.Truth), p, "is not positive on a logarithmic axis")
	}
}

// MaxGrid is how many cells a grid may have, about what a screen shows: Coarse
// makes fewer of more.
const MaxGrid = 1 << 20

func (v *validator) grid(g Grid, path string) {
	n := len(g.Values)
	v.require(n >= 1 && n <= MaxGrid, path+".values", fmt.Sprintf("are not 1 to %d", MaxGrid))
	v.require(g.Columns >= 1 && n%max(1, g.Columns) == 0, path+".columns", "does not divide the values into rows")
	v.require(len(g.Within) == 0 || len(g.Within) == n, path+".within", "is not as long as the values")
	v.require(len(g.Within) == 0 || slices.Min(g.Within) >= 0, path+".within", "is negative")
	v.require(g.Left < g.Right && g.Bottom < g.Top, path, "has an end that is not above its beginning")
}

func positive(xs []float64) bool {
	for _, x := range xs {
		if x <= 0 {
			return false
		}
	}
	return true
}
