package sketch

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Rounds of a population of 100,000 with five frequent strings, beginnings of each other
// among them: the search finds these, and of a thousand strings of 20 devices none. The
// standard error is 630 devices: a frequent string is 19 of them above Least, a rare
// beginning 4 below, and to survive it has to be 3 above, so that a right search fails
// with probability 1e-9.
func TestSearchFindsFrequentStrings(t *testing.T) {
	frequent := map[string]int{"con": 16000, "confetti": 16000, "paper": 16000, "é": 16000, "": 16000}
	devices := map[string]int{}
	total := 0
	add := func(s string, n int) {
		devices[s] += n
		total += n
	}
	for s, n := range frequent {
		add(s, n)
	}
	alphabet := []rune("abcdefghijklmnopqrstuvwxyzé")
	r := stattest.Rand(t)
	for range 1000 {
		var rare strings.Builder
		for range 1 + r.IntN(10) {
			rare.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		add(rare.String(), 20)
	}
	for _, ahead := range []int{1, 2} {
		s := Search{Alphabet: alphabet, Ahead: ahead, Least: 4000, Rate: 0.01}
		candidates, err := s.First()
		if err != nil {
			t.Fatal(err)
		}
		rounds := 0
		for ; ; rounds++ {
			prefixes, err := encode.NewPrefixes(candidates, 0)
			if err != nil {
				t.Fatal(err)
			}
			m := randomize.Symmetric(prefixes.Size(), 0.5, account.Removal)
			holders, counts := make([]int, m.K), make([]uint64, m.K)
			for value, n := range devices {
				cells, err := prefixes.Encode(value)
				if err != nil {
					t.Fatal(err)
				}
				holders[cells[0]] += n
			}
			m.DrawCounts(r, holders, total, counts)
			estimates := make([]estimate.Value, m.K)
			m.EstimateAll(counts, total, estimates)
			estimates = estimates[:len(candidates)]
			if !slices.ContainsFunc(candidates, func(c string) bool { return !encode.Complete(c) }) {
				break
			}
			if candidates, err = s.Next(candidates, estimates); err != nil {
				t.Fatal(err)
			}
		}
		var found []string
		for _, c := range candidates {
			if found = append(found, strings.TrimSuffix(c, string(encode.End))); frequent[found[len(found)-1]] == 0 {
				t.Errorf("%d ahead: a string that is not frequent was found", ahead)
			}
		}
		if len(found) != len(frequent) || rounds != (9+ahead-1)/ahead {
			t.Errorf("%d ahead: found %q after %d rounds", ahead, found, rounds)
		}
	}
}

// Where all candidates are held by Least devices exactly, and their errors are normal and
// independent, the procedure lets any survive with probability Rate, no more and no less:
// 5,000 rounds catch a rate of 0.13 for 0.1. The twin compares each p-value with Rate.
func TestSurvivorsAreFalseAtTheStatedRate(t *testing.T) {
	const rounds = 5000
	s := Search{Alphabet: []rune("a"), Ahead: 1, Least: 50, Rate: 0.1}
	r := stattest.Rand(t)
	survived, twin := 0, 0
	for range rounds {
		estimates, above := make([]estimate.Value, 20), false
		for i := range estimates {
			z := r.NormFloat64()
			estimates[i] = estimate.Value{Mean: 50 + 7*z, StdErr: 7}
			above = above || z > 1.2816 // a tail of 0.1
		}
		if len(s.Survivors(estimates)) > 0 {
			survived++
		}
		if above {
			twin++
		}
	}
	stattest.Binomial(t, s.Rate, rounds, survived)
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, s.Rate, rounds, twin) })
}

func TestSearchAtTheEnds(t *testing.T) {
	s := Search{Alphabet: []rune("ab"), Ahead: 1, Least: 10, Rate: 0.05}
	// Numbers known exactly need no test, and Least itself is not above Least.
	got := s.Survivors([]estimate.Value{{Mean: 11}, {Mean: 10}, {Mean: 9}, {Mean: 100, StdErr: 5}, {Mean: 12, StdErr: 5}})
	if !slices.Equal(got, []int{0, 3}) {
		t.Errorf("survivors %v", got)
	}
	next, err := s.Next([]string{"a", "b", string(encode.End)}, []estimate.Value{{}, {}, {Mean: 40, StdErr: 1}})
	if err != nil || !slices.Equal(next, []string{string(encode.End)}) {
		t.Errorf("next %q, %v", next, err)
	}
	if next, err := s.Next([]string{"a"}, []estimate.Value{{}}); err != nil || len(next) != 0 {
		t.Errorf("without survivors the next round asks for %q (%v)", next, err)
	}
	for rule, bad := range map[string]Search{
		"goes 0 characters":       {Alphabet: []rune("a"), Rate: 0.1},
		"more than -1 devices":    {Alphabet: []rune("a"), Ahead: 1, Least: -1, Rate: 0.1},
		"more than NaN devices":   {Alphabet: []rune("a"), Ahead: 1, Least: math.NaN(), Rate: 0.1},
		"more than +Inf devices":  {Alphabet: []rune("a"), Ahead: 1, Least: math.Inf(1), Rate: 0.1},
		"false-discovery rate of": {Alphabet: []rune("a"), Ahead: 1},
		"rate of 1":               {Alphabet: []rune("a"), Ahead: 1, Rate: 1},
		"no alphabet":             {Ahead: 1, Rate: 0.1},
	} {
		if _, err := bad.First(); err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("error %v does not name %q", err, rule)
		}
	}
}

// Next returns the candidates of the next round after one that estimated these, in their
// order, without the cell for others; none if none survived. The search is over when
// all are whole strings (encode.Complete).
func (s Search) Next(candidates []string, estimates []estimate.Value) ([]string, error) {
	kept := []string{}
	for _, i := range s.Survivors(estimates) {
		kept = append(kept, candidates[i])
	}
	return s.extend(kept)
}
