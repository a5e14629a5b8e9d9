package distribution

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Alike is a population of a histogram by groups who hold the same, whatever is asked and in
// whichever crowd: millions of respondents need not be listed.
type Alike []Group

// Group is so many respondents who hold the same.
type Group struct {
	Value       question.Value
	Respondents int
}

// Respondents returns their number.
func (a Alike) Respondents() int {
	n := 0
	for _, g := range a {
		n += g.Respondents
	}
	return n
}

// values are what is held, with how many hold it.
func (a Alike) values(yield func(question.Value, int) bool) {
	for _, g := range a {
		if !yield(g.Value, g.Respondents) {
			return
		}
	}
}

// answering is a group of one crowd: the cells that each of its members holds, by attribute.
type answering struct {
	held [][]uint32
	n    int
}

// drawAlike is for plans of which everybody counts, in one instance.
func drawAlike(p plan.Plan, h *histogram.Question, all Alike, stream Stream) ([]tally.Crowd, error) {
	const forCounts, forAnswers = 0, 3 // as of Values
	switch n := all.Respondents(); {
	case p.Crowd.Deletion != nil || p.Crowd.Maximum != 0 || len(p.Route.Ways()) != 1:
		return nil, errors.New("distribution: of groups everybody counts, in one instance: list the respondents (Values)")
	case n > math.MaxInt32:
		return nil, fmt.Errorf("distribution: %d respondents: at most 2^31-1", n)
	}
	var unfit unfits
	groups, came := make([][]answering, p.Crowds()), make([]int, p.Crowds())
	for i, g := range all {
		symbol, err := h.Encode(g.Value)
		bad, err := question.Fits(err)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
		unfit.add(i, bad)
		crowd, held := histogram.Held(symbol)
		groups[crowd], came[crowd] = append(groups[crowd], answering{held, g.Respondents}), came[crowd]+g.Respondents
	}
	crowds := make([]tally.Crowd, p.Crowds())
	for crowd, n := range came {
		if n == 0 || n < p.Crowd.Minimum {
			continue
		}
		t, sampled := countsOf(h), p.Question.Histogram.Collect == plan.CollectSample
		left := make([]int, len(groups[crowd])) // of those who have not drawn an attribute yet
		for g, one := range groups[crowd] {
			left[g] = one.n
		}
		answers := stream(forAnswers, uint64(crowd))
		for i := range h.Attributes() {
			asked := left
			if sampled {
				asked = drawn(answers, left, h.Attributes()-i)
			}
			draw(stream(forCounts, uint64(crowd), uint64(i)), h.Law(i), grouped(groups[crowd], asked, i), h.Of(t.N, i))
		}
		whole, err := added(p, h, t, n, stream, uint64(crowd))
		if err != nil {
			return nil, err
		}
		crowds[crowd] = tally.Crowd{Tally: whole, Respondents: n, Smallest: n}
	}
	return crowds, unfit.err()
}

// drawn returns how many of each group draw the next of so many attributes that are left, each as
// likely as the others; they are taken from those who have drawn none.
func drawn(r *rand.Rand, left []int, attributes int) []int {
	asked := make([]int, len(left))
	for g, n := range left {
		if asked[g] = n; attributes > 1 {
			asked[g] = rng.Binomial(r, n, rng.Prob(1/float64(attributes)))
		}
		left[g] -= asked[g]
	}
	return asked
}

// grouped returns what those who are asked hold of an attribute.
func grouped(all []answering, asked []int, attribute int) iter.Seq2[[]uint32, int] {
	return func(yield func([]uint32, int) bool) {
		for g, one := range all {
			if asked[g] > 0 && !yield(one.held[attribute], asked[g]) {
				return
			}
		}
	}
}
