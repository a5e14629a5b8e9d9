package sketch

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Search finds the frequent strings of a domain that nobody has declared, by rounds of
// encode.Prefixes: each asks other devices, or the same ones at a further price, for
// the beginnings that survived the round before, one or more characters longer.
//
// It looks at nothing but released estimates, so it costs no privacy. The threshold is
// on the noisy estimate, hence itself random. A beginning survives if the hypothesis
// that at most Least devices hold it is rejected: its p-value is the normal tail beyond
// z = (mean - Least)/standard error, and of m candidates those survive whose p-values
// the procedure of Benjamini and Hochberg takes at Rate (estimate.HeavyHitters). So in
// expectation at most the share Rate of the survivors of a round has Least devices or
// fewer. A wrong survivor costs candidates in the next round and is tested again there;
// a string found at last has passed the test of every round.
//
// A string of f devices misses a round with probability at most
// P(Z > (f - Least)/standard error - 5) while Rate/m, the least p-value that the
// procedure can ask for, is above P(Z > 5) = 3e-7.
//
// The normal tail needs counts with a variance of about 25 and more. For fewer,
// estimate.HeavyHitters with the exact tail of the counts gives survivors to encode.Extend.
type Search struct {
	Alphabet []rune  // that strings are made of
	Ahead    int     // characters a round, >= 1
	Least    float64 // devices, >= 0: a beginning of no more is not looked for
	Rate     float64 // false-discovery rate in (0, 1); of sketches estimate.AnyDependence of it
}

// Validate says what is wrong with the parameters.
func (s Search) Validate() error {
	switch {
	case s.Ahead < 1:
		return fmt.Errorf("sketch: a search that goes %d characters ahead: give at least 1", s.Ahead)
	case !(s.Least >= 0) || math.IsInf(s.Least, 1):
		return fmt.Errorf("sketch: a search for strings of more than %v devices: give a number from 0", s.Least)
	case !(s.Rate > 0 && s.Rate < 1):
		return fmt.Errorf("sketch: a false-discovery rate of %v: give a number between 0 and 1", s.Rate)
	}
	_, err := encode.Extend([]string{""}, s.Alphabet)
	return err
}

// First returns the candidates of the first round.
func (s Search) First() ([]string, error) { return s.extend([]string{""}) }

// Survivors returns the numbers of the candidates that survive, increasing.
func (s Search) Survivors(estimates []estimate.Value) []int {
	z := make([]float64, len(estimates))
	for i, e := range estimates {
		switch above := e.Mean - s.Least; {
		case e.StdErr > 0:
			z[i] = above / e.StdErr
		case above > 0:
			z[i] = math.Inf(1)
		default: // known to be no more than Least
			z[i] = math.Inf(-1)
		}
	}
	survivors := estimate.HeavyHitters(z, prob.LogNormalSurvival, s.Rate)
	slices.Sort(survivors)
	return survivors
}

func (s Search) extend(kept []string) ([]string, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	for range s.Ahead {
		var err error
		if kept, err = encode.Extend(kept, s.Alphabet); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
