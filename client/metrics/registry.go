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
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

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
		for i, a := range asked.Histogram.Attributes {
			if own := want.Histogram.Attributes; i < len(own) && len(a.Arms)+len(a.Outcomes) == 0 { // as earlier registries have it
				own[i].Arms, own[i].Outcomes = nil, nil
			}
		}
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
