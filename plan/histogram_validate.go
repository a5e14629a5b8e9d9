package plan

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Limits of a histogram. The cells bound what an analyzer counts (8 bytes each);
// what a device does is bounded by its envelopes.
const (
	MaxCells      = 1 << 26 // all cells of all attributes, or of all rows of a sketch
	MaxAttributes = 1 << 8
	MaxItems      = 1 << 12 // of a set
	MaxFragments  = 1 << 12
	MaxHashes     = 1 << 16 // of a sketch, which a device makes ready
)

func (h Histogram) validate(ps *Problems) {
	const at = "question.histogram."
	n := len(h.Attributes)
	ps.add(n >= 1 && n <= MaxAttributes, at+"attributes: name between 1 and %d", MaxAttributes)
	names := map[string]bool{}
	cells := 0
	for i, a := range h.Attributes[:min(n, MaxAttributes)] {
		where := fmt.Sprintf("%sattributes[%d]", at, i)
		ps.add(strings.TrimSpace(a.Name) != "", "%s.name is empty: say what is asked", where)
		ps.add(!names[a.Name], "%s: attribute %s is named twice", where, quoted(a.Name))
		ps.add(!strings.ContainsFunc(a.Name, unicode.IsControl), "%s.name holds a control character", where)
		names[a.Name] = true
		a.validate(ps, where)
		cells = min(MaxCells+1, cells+a.Domain())
	}
	switch {
	case n == 1:
		ps.add(h.Collect == "", at+"collect belongs to several attributes: leave it out for one")
	case n > 1:
		ps.add(h.Collect == CollectSample || h.Collect == CollectSplit, at+`collect must be "sample" (one attribute, drawn at random, gets the whole budget) or "split" (each gets its share)`)
	}
	h.Randomizer.validate(ps)
	if h.Sketch != nil {
		h.Sketch.validate(ps)
		for i, a := range h.Attributes[:min(n, MaxAttributes)] {
			ps.add(a.Kind != "set", "%sattributes[%d]: a sketch holds one cell a device, and a set has several: leave out sketch, or ask for categories", at, i)
		}
		if h.Sketch.Hashes <= MaxCells && h.Sketch.Width <= MaxCells && n <= MaxAttributes {
			cells = n * h.Sketch.Hashes * h.Sketch.Width
		}
	}
	ps.add(cells <= MaxCells, at+"asks for more than %d cells", MaxCells)
}

// What is done with several attributes.
const (
	CollectSample = "sample"
	CollectSplit  = "split"
)

// attributeFields are the parameters of the kinds of attribute: whose they are,
// and whether one has them.
var attributeFields = []struct {
	name  string
	kinds []string
	has   func(Attribute) bool
}{
	{"values", []string{"categories", "set", "prefixes"}, func(a Attribute) bool { return len(a.Values) > 0 }},
	{"size", []string{"categories", "set", "prefixes"}, func(a Attribute) bool { return a.Size != 0 }},
	{"low", []string{"buckets"}, func(a Attribute) bool { return a.Low != 0 }},
	{"high", []string{"buckets"}, func(a Attribute) bool { return a.High != 0 }},
	{"cells", []string{"buckets"}, func(a Attribute) bool { return a.Cells != 0 }},
	{"most", []string{"set"}, func(a Attribute) bool { return a.Most != 0 }},
	{"x", []string{"grid"}, func(a Attribute) bool { return a.X != nil }},
	{"y", []string{"grid"}, func(a Attribute) bool { return a.Y != nil }},
	{"search", []string{"prefixes"}, func(a Attribute) bool { return a.Search != nil }},
}

const (
	maxAlphabet = 1 << 16 // bytes
	maxAhead    = 64
)

// AttributeKinds are the kinds of attribute that a plan may name.
var AttributeKinds = []string{"categories", "buckets", "set", "grid", "prefixes"}

func (a Attribute) validate(ps *Problems, at string) {
	if !slices.Contains(AttributeKinds, a.Kind) {
		ps.add(false, "%s.kind must be one of %s", at, strings.Join(AttributeKinds, ", "))
		return
	}
	for _, f := range attributeFields {
		ps.add(slices.Contains(f.kinds, a.Kind) || !f.has(a), "%s.%s belongs to %s: leave it out for %s", at, f.name, strings.Join(f.kinds, ", "), a.Kind)
	}
	switch a.Kind {
	case "categories", "set":
		ps.add((len(a.Values) > 0) != (a.Size != 0), "%s needs values (cells by name) or size (cells by number), and not both", at)
		ps.add(a.Size >= 0 && a.Size <= MaxCells, "%s.size must be between 1 and %d", at, MaxCells)
		distinct(ps, at+".values", a.Values)
		if a.Kind == "set" {
			ps.add(a.Most >= 1 && a.Most <= MaxItems && a.Most <= a.Domain(), "%s.most must be between 1 and %d, and at most the number of cells", at, MaxItems)
		}
	case "buckets":
		(&Axis{a.Low, a.High, a.Cells}).validate(ps, at)
	case "grid":
		a.X.validate(ps, at+".x")
		a.Y.validate(ps, at+".y")
	case "prefixes":
		ps.add((len(a.Values) > 0) != (a.Search != nil), "%s needs values (the candidates) or search (whose rounds find them), and not both", at)
		ps.add((a.Size != 0) == (a.Search != nil) && a.Size >= 0 && a.Size <= MaxCells, "%s.size must be between 1 and %d for a search, the most candidates of a round, and be left out otherwise", at, MaxCells)
		if s := a.Search; s != nil {
			ps.add(s.Alphabet != "" && len(s.Alphabet) <= maxAlphabet, "%s.search.alphabet must name the characters that strings are made of, in at most %d bytes", at, maxAlphabet)
			ps.add(s.Ahead >= 1 && s.Ahead <= maxAhead, "%s.search.ahead must be between 1 and %d", at, maxAhead)
			ps.add(s.Least >= 0 && finite(s.Least), "%s.search.least must be a number of respondents", at)
			ps.add(s.Rate > 0 && s.Rate < 1, "%s.search.rate must be in (0, 1)", at)
		}
		ps.add(a.Others, "%s.others must be true: a string that begins with no candidate needs a cell", at)
	}
}

func (x *Axis) validate(ps *Problems, at string) {
	if x == nil {
		ps.add(false, "%s is missing", at)
		return
	}
	ps.add(finite(x.Low) && finite(x.High) && x.Low < x.High && finite(x.High-x.Low), "%s: low must be below high, both numbers", at)
	ps.add(x.Cells >= 1 && x.Cells <= MaxCells, "%s.cells must be between 1 and %d", at, MaxCells)
}

// distinct reports names that are empty, come twice, or hold what no release may
// print.
func distinct(ps *Problems, at string, names []string) {
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if strings.TrimSpace(name) == "" {
			ps.add(false, "%s: the name at %d is empty", at, i+1)
		}
		if seen[name] {
			ps.add(false, "%s: %s is named twice", at, quoted(name))
		}
		if strings.ContainsFunc(name, unicode.IsControl) {
			ps.add(false, "%s: %s holds a control character", at, quoted(name))
		}
		if ps.full() {
			return
		}
		seen[name] = true
	}
}

// Domain is the number of cells of an attribute; more than MaxCells for one that
// has too many.
func (a Attribute) Domain() int {
	others := 0
	if a.Others {
		others = 1
	}
	switch a.Kind {
	case "categories", "set", "prefixes":
		if len(a.Values) > 0 {
			return len(a.Values) + others
		}
		return max(0, min(MaxCells+1, a.Size)) + others
	case "buckets":
		return max(0, min(MaxCells+1, a.Cells)) + others
	case "grid":
		if a.X == nil || a.Y == nil || a.X.Cells < 1 || a.Y.Cells < 1 {
			return 0
		}
		if a.X.Cells > MaxCells/a.Y.Cells {
			return MaxCells + 1
		}
		return a.X.Cells*a.Y.Cells + others
	}
	return 0
}

// Items is how many cells of an attribute a respondent holds at most.
func (a Attribute) Items() int {
	if a.Kind == "set" {
		return a.Most
	}
	return 1
}

// Randomizers are the randomizers that a plan may name.
var Randomizers = []string{"one-hot", "one-hot-asymmetric", "krr", "subset", "local-hash", "hadamard"}

// OneHot says whether the randomizer answers with bits, of which those set travel.
func (r Randomizer) OneHot() bool { return r.Name == "one-hot" || r.Name == "one-hot-asymmetric" }

func (r Randomizer) validate(ps *Problems) {
	const at = "question.histogram.randomizer."
	ps.add(r.Accounting == "exact" || r.Accounting == "paper", at+`accounting must be "exact" or "paper"`)
	ps.add(r.Epsilon > 0 && finite(r.Epsilon), at+"epsilon must be a number above 0")
	if !slices.Contains(Randomizers, r.Name) {
		ps.add(false, at+"name must be one of %s", strings.Join(Randomizers, ", "))
		return
	}
	for _, f := range []struct {
		name, of string
		mine     bool
		has      bool
	}{
		{"keep", "one-hot", r.OneHot(), r.Keep != 0},
		{"flip", "one-hot", r.OneHot(), r.Flip != 0},
		{"fragments", "one-hot", r.OneHot(), r.Fragments != 0},
		{"backstop", "one-hot with fragments", r.OneHot() && r.Fragments > 1, r.Backstop != 0},
		{"backstop_keep", "one-hot with fragments", r.OneHot() && r.Fragments > 1, r.BackstopKeep != 0},
		{"backstop_flip", "one-hot with fragments", r.OneHot() && r.Fragments > 1, r.BackstopFlip != 0},
		{"subset", "subset", r.Name == "subset", r.Subset != 0},
		{"range", "local-hash", r.Name == "local-hash", r.Range != 0},
		{"functions", "local-hash", r.Name == "local-hash", r.Functions != 0},
		{"seed", "local-hash", r.Name == "local-hash", r.Seed != ""},
	} {
		ps.add(f.mine || !f.has, at+"%s belongs to %s: leave it out for %s", f.name, f.of, r.Name)
	}
	switch r.Name {
	case "one-hot", "one-hot-asymmetric":
		bit(ps, at+"keep", at+"flip", r.Keep, r.Flip)
		ps.add(r.Fragments >= 0 && r.Fragments <= MaxFragments, at+"fragments must be between 0 and %d", MaxFragments)
		if r.Fragments > 1 {
			bit(ps, at+"backstop_keep", at+"backstop_flip", r.BackstopKeep, r.BackstopFlip)
			ps.add(r.Backstop > 0 && finite(r.Backstop), at+"backstop must be a number above 0")
		}
	case "subset":
		ps.add(r.Subset >= 1 && r.Subset <= MaxEnvelopes, at+"subset must be between 1 and %d", MaxEnvelopes)
	case "local-hash":
		ps.add(r.Range >= 2 && r.Range <= MaxCells, at+"range must be between 2 and %d", MaxCells)
		ps.add(r.Functions >= 1 && r.Functions <= MaxCells, at+"functions must be between 1 and %d", MaxCells)
		seed(ps, at+"seed", r.Seed)
	}
}

// bit checks the two probabilities with which a bit is sent.
func bit(ps *Problems, keepAt, flipAt string, keep, flip float64) {
	ps.add(keep > 0 && keep <= 1, "%s must be above 0 and at most 1", keepAt)
	ps.add(flip >= 0 && flip < keep, "%s must be at least 0 and below keep", flipAt)
}

func (s Sketch) validate(ps *Problems) {
	const at = "question.histogram.sketch."
	ps.add(s.Name == "count-mean" || s.Name == "count", at+`name must be "count-mean" or "count"`)
	ps.add(s.Hashes >= 1 && s.Hashes <= MaxHashes, at+"hashes must be between 1 and %d", MaxHashes)
	ps.add(s.Width >= 2 && s.Width <= MaxCells, at+"width must be between 2 and %d", MaxCells)
	seed(ps, at+"seed", s.Seed)
}

func seed(ps *Problems, at, text string) {
	b, err := hex.DecodeString(text)
	ps.add(err == nil && len(b) == 32, "%s must be 64 hex digits", at)
}
