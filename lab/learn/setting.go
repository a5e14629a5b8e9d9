// Package learn measures what is learned from single bits in secret rows, or from vectors of proved length: classifiers
// of images and texts, a regression and a ranking of loans. Used by lab/cmd/confetti-lab/experiment and lab/learn/draw.
//
// Every bit, or every number of every vector, is drawn. What is not a respondent's, such as features, is made from public or synthetic inputs, and so
// is every number that was chosen (docs/learning-how.md).
package learn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/plan"
)

// Setting is what is asked, of whom, at what price.
type Setting struct {
	Dataset  string  `json:"dataset"`
	Features string  `json:"features"`
	Public   string  `json:"public"`
	Bits     int     `json:"bits"` // that a device answers, on average, in all rounds together
	Rounds   int     `json:"rounds"`
	Takes    string  `json:"takes"`
	Epsilon  float64 `json:"epsilon_wanted"`
	Delta    float64 `json:"delta"`
	Seed     uint64  `json:"seed"`
	Noise    string  `json:"noise,omitempty"` // who adds that of a sum; empty: answers are mixed
}

// proved says that devices answer with whole vectors, of which they prove the length.
func (s Setting) proved() bool { return s.Noise != "" && s.Noise != plan.NoiseDevices }

// What Takes may be: devices answer every round, or each the rounds of one cohort.
const (
	takesAll = "all"
	takesOne = "one"
)

// What Public may be: synthetic inputs alone, or inputs of the same kind without labels,
// whose owners do not answer.
const (
	drawnInputs = "synthetic"
	unlabelled  = "unlabelled"
)

// choices are what can be measured on a data set; the first of each is the default.
type choices struct{ features, public []string }

var known = map[string]choices{
	"synthetic":                {[]string{"gradients", "scattering", "pixels"}, []string{drawnInputs}},
	"mnist":                    {[]string{"gradients", "scattering", "pixels"}, []string{drawnInputs, unlabelled}},
	"fashion-mnist":            {[]string{"gradients", "scattering", "pixels"}, []string{drawnInputs, unlabelled}},
	"agnews_lsa256":            {[]string{"lsa", "hashed"}, []string{unlabelled}},
	"sst2":                     {[]string{"lsa", "hashed"}, []string{unlabelled}},
	"lending_club":             {[]string{"columns", "fourier"}, []string{unlabelled}},
	"lending_club_charged_off": {[]string{"columns", "fourier"}, []string{unlabelled}},
}

// Datasets returns all that have a name.
func Datasets() []string {
	return []string{"synthetic", "mnist", "fashion-mnist", "agnews_lsa256", "sst2", "lending_club", "lending_club_charged_off"}
}

// Complete fills in what was left open, and says what is wrong with the rest.
func (s Setting) Complete() (Setting, error) {
	c, ok := known[s.Dataset]
	if !ok {
		return s, fmt.Errorf("data set %q is unknown: choose one of %s", s.Dataset, strings.Join(Datasets(), ", "))
	}
	if s.Features == "" {
		s.Features = c.features[0]
	}
	if s.Public == "" {
		s.Public = c.public[0]
	}
	var errs []error
	need := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(slices.Contains(c.features, s.Features), "features %q: %s has %s", s.Features, s.Dataset, strings.Join(c.features, ", "))
	need(slices.Contains(c.public, s.Public), "public %q: of %s may be public: %s", s.Public, s.Dataset, strings.Join(c.public, ", "))
	need(s.Rounds >= 1 && s.Rounds <= 16, "%d rounds: give 1 to 16", s.Rounds)
	if strings.HasPrefix(s.Dataset, "lending_club") {
		need(s.Rounds == 1, "%d rounds: least squares are learned in one", s.Rounds)
	}
	if s.proved() {
		need(s.Bits == 0, "%d bits: a device answers with all of a vector whose length it proves: leave them out", s.Bits)
		need(s.Takes == takesAll, "a device takes %q: rounds of vectors whose length is proved are answered by all", s.Takes)
		return s, errors.Join(errs...)
	}
	need(s.Bits >= 1 && s.Bits <= 1<<20, "%d bits: give 1 to %d", s.Bits, 1<<20)
	need(s.Takes == takesAll || s.Takes == takesOne, "a device takes %q: give %s or %s", s.Takes, takesOne, takesAll)
	need(s.Takes == takesOne || s.Bits >= s.Rounds, "%d bits in %d rounds: give at least one for each", s.Bits, s.Rounds)
	return s, errors.Join(errs...)
}
