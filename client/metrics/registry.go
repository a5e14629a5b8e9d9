// Package metrics counts in an app what its signed registry lists, and answers when a period is over. Used by
// cmd/confetti/internal/metrics, which signs registries, and by what that writes into apps.
//
// A registry is what confetti metrics sign wrote, embedded in the app. Each period of it (a day, a week, a month) is
// one plan of all its metrics, asked in seasons of the calendar. A season is a study: the device draws one of its
// periods before it looks at any value, keeps the values of that one alone, and answers that one or none.
package metrics

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// Metric is one thing that an app may be asked.
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
	// Of a sequence: what happens in this order, within how long of the first, and from when on the others count:
	// "7d" or "12h" after the first.
	Steps  []string `json:"steps,omitempty"`
	Within string   `json:"within,omitempty"`
	After  string   `json:"after,omitempty"`
	// Of a table: two other metrics of the same period, without their reason, owner and end, and with edges of its own.
	Of []Metric `json:"of,omitempty"`
	// Of an experiment: the device draws one of the arms. Of the outcomes in a period the one listed last counts; the
	// first is that of a device on which none happened.
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
	// unset is what a device says that did not count for the whole period.
	unset = "unset"

	// none is what a device says on which a sequence did not begin, or that is in no arm of an experiment.
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

// Alone reports whether the metric is a plan by itself: a set beside others would make all of them cost more, and
// strings are found in a way of their own.
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

// cell returns the words for the cell of a number: from one edge to the next.
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

// Series is what is asked in some seasons, one after the other.
type Series struct {
	From    int        `json:"from"`    // the first season, counted from 5 January 2026
	Until   int        `json:"until"`   // the last one
	Metrics []Metric   `json:"metrics"` // of one period; one that is alone is by itself
	Study   plan.Study `json:"study"`   // of each season, but for its times and crowds
	// Quarters is how many crowds there are by the quarter in which somebody agreed first; 0: one crowd, of everybody.
	Quarters int `json:"quarters,omitempty"`
}

// Key names the series that follow each other: one a period, and one a metric that is alone.
func (s Series) Key() string {
	if s.Metrics[0].Alone() {
		return s.Metrics[0].Every + "/" + s.Metrics[0].Name
	}
	return s.Metrics[0].Every
}

// Of returns the study of a season.
func (s Series) Of(season int) plan.Study {
	of := s.Study
	of.Times = Times(s.Metrics[0].Every, season)
	of.Plan.Crowd.Names = quarters(s.Metrics[0].Every, season, s.Quarters)
	return of
}

// First returns the times of a season's first round. It is as long as what it asks of, and so are the others.
func (s Series) First(season int) plan.Times {
	every := s.Metrics[0].Every
	_, opens := asked(every, season, 1)
	_, closes := asked(every, season, 2)
	return plan.Times{Opens: opens, Closes: closes}
}

func (s Series) validate() error {
	if len(s.Metrics) == 0 || s.From > s.Until || s.From < 0 || s.Until > maxSeason {
		return errors.New("a series asks nothing, or of no season")
	}
	var errs []error
	for i, m := range s.Metrics {
		errs = append(errs, m.Validate(), m.tabled(s.Metrics))
		if m.Every != s.Metrics[0].Every || m.Alone() && len(s.Metrics) > 1 {
			errs = append(errs, fmt.Errorf("metric %s: its series asks of another period, or of others beside it", plan.Quoted(m.Name)))
		}
		if slices.ContainsFunc(s.Metrics[:i], func(o Metric) bool { return o.Name == m.Name }) {
			errs = append(errs, fmt.Errorf("metric %s: stands twice", plan.Quoted(m.Name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if s.Quarters != 0 && (s.Quarters < 2 || s.Quarters > MaxQuarters || s.Metrics[0].Kind == "string") {
		return fmt.Errorf("a series has 2 to %d crowds of quarters or none, and of strings none", MaxQuarters)
	}
	of := s.Of(s.From)
	if err := of.Validate(); err != nil {
		return err
	}
	if of.Takes != plan.TakesOne || of.Rounds != Rounds(s.Metrics[0].Every) || of.Plan.Budget.Adjacency != "replacement" || len(s.Study.Plan.Crowd.Names) > 0 {
		return errors.New("the study is not of one answer a season, for everybody, under replacement")
	}
	// What is asked follows from the metrics, but for the numbers of the noise, which the promise speaks of.
	want, asked := Question(s.Metrics), of.Plan.Question
	switch {
	case want.Histogram != nil && asked.Histogram != nil:
		want.Histogram.Randomizer = asked.Histogram.Randomizer
	case want.Strings != nil && asked.Strings != nil:
		numbers := *asked.Strings
		numbers.Alphabet, numbers.Longest, numbers.Seed = want.Strings.Alphabet, want.Strings.Longest, want.Strings.Seed
		want.Strings = &numbers
	}
	if reflect.DeepEqual(want, asked) {
		return nil
	}
	return errors.New("the study asks something else than its metrics say")
}

// Registry is everything that an app may be asked, as its publisher signs it.
type Registry struct {
	App     string   `json:"app"`
	Version int      `json:"version"` // a device takes no lower one after a higher one
	Metrics []Metric `json:"metrics"` // that are asked from now on; a series may ask others too, of which nothing is said
	Series  []Series `json:"series"`
}

// Validate reports what is wrong with the registry.
func (r Registry) Validate() error {
	if !named(r.App, '-') || r.Version < 1 {
		return errors.New("metrics: a registry names its app in small letters, digits and -, and has a version from 1 on")
	}
	for i, m := range r.Metrics {
		if err := m.Validate(); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		if i > 0 && r.Metrics[i-1].Name >= m.Name {
			return errors.New("metrics: the metrics of a registry stand in the order of their names, each once")
		}
	}
	for i, s := range r.Series {
		if err := s.validate(); err != nil {
			return fmt.Errorf("metrics: series %d of the registry: %w", i+1, err)
		}
		for _, o := range r.Series[:i] {
			if o.Key() == s.Key() && s.From <= o.Until {
				return fmt.Errorf("metrics: series %d of the registry begins before an earlier one of the same metrics is over", i+1)
			}
		}
	}
	return nil
}

// signedRegistry is a registry as it lies in an app.
type signedRegistry struct {
	Publisher string   `json:"publisher"`
	Signature string   `json:"signature"`
	Registry  Registry `json:"registry"`
}

const (
	signing = "confetti/registry/v1\n" // goes before what is signed

	// maxBytes bounds the text of a registry.
	maxBytes = 4 << 20
)

var base64url = base64.RawURLEncoding.Strict()

func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("metrics: " + err.Error()) // Validate has seen that numbers are finite
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Sign returns the text of a valid registry with its publisher's signature.
func (r Registry) Sign(key ed25519.PrivateKey) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	s := signedRegistry{
		Publisher: plan.Publisher(key.Public().(ed25519.PublicKey)), Registry: r,
		Signature: base64url.EncodeToString(ed25519.Sign(key, append([]byte(signing), encoded(r)...))),
	}
	text, err := json.MarshalIndent(s, "", " ")
	if err == nil && len(text) >= maxBytes {
		err = fmt.Errorf("metrics: a registry of more than %d bytes: sign fewer seasons", maxBytes)
	}
	return append(text, '\n'), err
}

// Parse reads what Sign wrote, if one of the publishers has signed it.
func Parse(text []byte, publishers plan.Publishers) (Registry, error) {
	var s signedRegistry
	if len(text) > maxBytes {
		return s.Registry, refuse("registry", "metrics: a registry of more than %d bytes", maxBytes)
	}
	if err := strictjson.JSON(text, &s); err != nil {
		return Registry{}, refuse("registry", "metrics: not a registry, as confetti metrics sign writes it: %w", err)
	}
	if err := publishers.Know([]string{s.Publisher}); err != nil {
		return Registry{}, fmt.Errorf("metrics: the registry is a stranger's: %w", err)
	}
	key, err := base64url.DecodeString(strings.TrimPrefix(s.Publisher, "ed25519:"))
	signature, bad := base64url.DecodeString(s.Signature)
	if err != nil || bad != nil || len(key) != ed25519.PublicKeySize {
		return Registry{}, refuse("registry", "metrics: the registry's publisher or signature is none")
	}
	// The series of an unsigned text may hold what cannot be written again.
	if err := s.Registry.Validate(); err != nil {
		return Registry{}, err
	}
	if !ed25519.Verify(key, append([]byte(signing), encoded(s.Registry)...), signature) {
		return Registry{}, refuse("registry", "metrics: the registry was changed after its publisher signed it: sign it anew by confetti metrics sign")
	}
	return s.Registry, nil
}
