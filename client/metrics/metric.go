package metrics

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/confetti-dp/confetti/plan"
)

// Metric describes one thing that an app counts: its domain, how often it is asked for, why, and until when.
type Metric struct {
	Name   string    `json:"name"`
	Kind   string    `json:"kind"`             // one of ofKind
	Values []string  `json:"values,omitempty"` // category, set: the domain
	Edges  []float64 `json:"edges,omitempty"`  // counter, number: where a cell begins, beside the lowest
	Keep   string    `json:"keep,omitempty"`   // number: "last", "highest" or "lowest" of the period
	Most   int       `json:"most,omitempty"`   // set: at most so many items
	// Of a string: its characters (none: any text, in bytes of UTF-8), and how many it has at most.
	Alphabet string `json:"alphabet,omitempty"`
	Longest  int    `json:"longest,omitempty"`
	// Of a sequence: its steps in order, the time from the first within which they count, and the time from the first
	// before which they do not: "7d" or "12h".
	Steps  []string `json:"steps,omitempty"`
	Within string   `json:"within,omitempty"`
	After  string   `json:"after,omitempty"`
	// Of a table: two other metrics of the same period, without their reason, owner and end, and with edges of its own.
	Of []Metric `json:"of,omitempty"`
	// Of an experiment: the device draws one of the arms. Of the outcomes in a period the one listed last counts. The
	// first stands for a device on which no other happened.
	Arms     []string `json:"arms,omitempty"`
	Outcomes []string `json:"outcomes,omitempty"`
	Every    string   `json:"every,omitempty"` // "day", "week", "month"
	Why      string   `json:"why,omitempty"`   // as people are told
	Owner    string   `json:"owner,omitempty"`
	Ends     string   `json:"ends,omitempty"` // a day, such as 2027-06-30: the last that may be asked of
}

// ofKind lists what a metric may be.
var ofKind = []string{"counter", "category", "number", "set", "string", "sequence", "table", "experiment"}

const (
	// unset stands for a device that did not count for the whole period.
	unset = "unset"

	// none stands for a device on which a sequence did not begin, or that is in no arm of an experiment.
	none = "none"

	// other stands in the store for a value that the metric does not list.
	other = "other"
)

// named reports whether a name begins with a small letter, and has small letters, digits and one other character, 40 at most.
// Regular expressions would be a twentieth of a page's module.
func named(name string, other rune) bool {
	for i, r := range name {
		if small := r >= 'a' && r <= 'z'; !small && (i == 0 || !(r >= '0' && r <= '9') && r != other) {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 40
}

// Validate reports what is wrong with the metric, all of it.
func (m Metric) Validate() error {
	var errs []error
	require := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("metric %s: %s", plan.Quoted(m.Name), fmt.Sprintf(format, a...)))
		}
	}
	require(named(m.Name, '_'), "a name is of small letters, digits and _, begins with a letter and has at most 40 characters")
	require(m.Name != "crowd", "the name crowd is taken: plans ask by it in which crowd a device is")
	require(slices.Contains(ofKind, m.Kind), "kind must be one of %s", strings.Join(ofKind, ", "))
	listed := m.Kind == "category" || m.Kind == "set"
	require(listed == (len(m.Values) > 0), "values are of a category and a set, which need them")
	require((m.Kind == "counter" || m.Kind == "number") == (len(m.Edges) > 0), "edges are of a counter and a number, which need them")
	require((m.Kind == "string") == (m.Longest > 0) && (m.Kind == "string" || m.Alphabet == ""), "longest and alphabet are of a string, which needs the first")
	for i, e := range m.Edges {
		require(plan.Finite(e) && (i == 0 || e > m.Edges[i-1]), "edges must be finite and rise")
		require(m.Kind != "counter" || e >= 1 && e == math.Trunc(e) && e <= 1<<31, "edges of a counter are whole numbers from 1 on")
	}
	var ps plan.Problems
	ps.Names("values", m.Values)
	for _, p := range ps {
		require(false, "%s", p)
	}
	for _, v := range slices.Concat(m.Values, m.Steps, m.Arms, m.Outcomes) {
		require(v != unset && v != other && v != none, "the values %q, %q and %q are added: choose other words", unset, other, none)
	}
	m.validateSequence(require)
	m.validateTable(require)
	m.validateExperiment(require)
	require((m.Kind == "number") == slices.Contains([]string{"last", "highest", "lowest"}, m.Keep), "keep is of a number, and is last, highest or lowest")
	require((m.Kind == "set") == (m.Most >= 1 && m.Most <= len(m.Values)), "most is of a set: how many items a device may say, at most as many as there are")
	require(slices.Contains(periods, m.Every), "every must be one of %s", strings.Join(periods, ", "))
	require(strings.TrimSpace(m.Why) != "", "why is missing: people are told it")
	require(!strings.ContainsFunc(m.Why+m.Owner, unicode.IsControl), "why and owner are one line each, without control characters")
	require(strings.TrimSpace(m.Owner) != "", "owner is missing: somebody answers for it")
	_, err := m.last()
	require(err == nil, "ends must be a day such as 2027-06-30")
	return errors.Join(errs...)
}

// last returns when the metric has ended.
func (m Metric) last() (time.Time, error) {
	day, err := time.Parse(time.DateOnly, m.Ends)
	return day.AddDate(0, 0, 1), err
}

// Ended reports whether the metric asks of nothing that begins then.
func (m Metric) Ended(at time.Time) bool {
	last, err := m.last()
	return err != nil || !at.Before(last)
}

// Alone reports whether the metric needs a plan of its own. A set beside other metrics would raise the cost of all,
// and strings have their own kind of question.
func (m Metric) Alone() bool { return m.Kind == "set" || m.Kind == "string" }

// Cells returns the words for what a device may say, as a release has them.
func (m Metric) Cells() []string {
	switch m.Kind {
	case "category":
		return append(slices.Clone(m.Values), unset)
	case "set", "string":
		return slices.Clone(m.Values)
	case "sequence":
		return slices.Concat([]string{none}, m.reached(), []string{unset})
	case "table":
		return append(pairs(m.Of[0].held(), m.Of[1].held()), unset)
	case "experiment":
		return append(pairs(m.Arms, m.Outcomes), none, unset)
	}
	cells := make([]string, 0, len(m.Edges)+2)
	for i := range len(m.Edges) + 1 {
		cells = append(cells, m.cell(i))
	}
	return append(cells, unset)
}

// cell returns the words for a cell of a number, from one edge to the next.
func (m Metric) cell(i int) string {
	text := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	if m.Kind == "counter" {
		low, high := 0.0, 0.0
		if i > 0 {
			low = m.Edges[i-1]
		}
		if i == len(m.Edges) {
			return text(low) + " and more"
		}
		if high = m.Edges[i] - 1; low == high {
			return text(low)
		}
		return text(low) + "-" + text(high)
	}
	switch i {
	case 0:
		return "below " + text(m.Edges[0])
	case len(m.Edges):
		return text(m.Edges[i-1]) + " and more"
	}
	return text(m.Edges[i-1]) + " to " + text(m.Edges[i])
}

// Says returns in words what is asked of the metric, and until when.
func (m Metric) Says() string {
	asks := strings.Join(m.Cells(), ", ")
	switch {
	case m.Kind == "set":
		asks = fmt.Sprintf("up to %d of %s", m.Most, asks)
	case m.Alphabet != "":
		asks = fmt.Sprintf("a text of up to %d characters of %s", m.Longest, m.Alphabet)
	case m.Kind == "string":
		asks = fmt.Sprintf("any text of up to %d bytes", m.Longest)
	case m.Kind == "sequence":
		asks = m.saysSequence()
	case m.Kind == "table":
		asks = fmt.Sprintf("%s (%s) with %s (%s) at once, or unset", m.Of[0].Name, strings.Join(m.Of[0].held(), ", "), m.Of[1].Name, strings.Join(m.Of[1].held(), ", "))
	case m.Kind == "experiment":
		asks = m.saysExperiment()
	}
	return fmt.Sprintf("%s. Each %s: %s. Ends %s.", strings.TrimSuffix(m.Why, "."), m.Every, asks, m.Ends)
}

// hash names what a person agrees to. The owner may change without asking anew.
func (m Metric) hash() string {
	m.Owner = ""
	sum := sha256.Sum256(encoded(m))
	return hex.EncodeToString(sum[:16])
}

// attribute returns what a plan asks of the metric.
func (m Metric) attribute() plan.Attribute {
	a := plan.Attribute{Name: m.Name, Kind: "categories", Values: m.Cells(), Others: m.Kind == "category" || slices.ContainsFunc(m.Of, func(o Metric) bool { return o.Kind == "category" })}
	if m.Kind == "set" {
		a.Kind, a.Most, a.Others = "set", m.Most, true
	}
	a.Arms, a.Outcomes = m.Arms, m.Outcomes // with which Cells begins
	return a
}

// Question returns what a plan of these metrics asks, without the numbers of its noise. Several are sampled: a device
// says one of them, and a metric more costs exactness and not privacy.
func Question(all []Metric) plan.Question {
	if m := all[0]; m.Kind == "string" {
		seed := sha256.Sum256([]byte("confetti/metrics/strings/v1\n" + m.Name)) // public: it decides nothing about privacy
		ask := &plan.Strings{Alphabet: m.Alphabet, Longest: m.Longest, Seed: hex.EncodeToString(seed[:])}
		return plan.Question{Kind: "strings", Unfit: plan.UnfitReference, Strings: ask}
	}
	h := &plan.Histogram{Randomizer: plan.Randomizer{Name: "krr", Accounting: "exact"}}
	for _, m := range all {
		h.Attributes = append(h.Attributes, m.attribute())
		if m.Alone() {
			h.Randomizer.Name = "one-hot"
		}
	}
	if len(all) > 1 {
		h.Collect = plan.CollectSample
	}
	return plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: h}
}
