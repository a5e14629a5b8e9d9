package strings

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/treecode"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

const (
	usualAnswered = 8192
	usualPairs    = 0.1
	short         = 8       // strings of up to so many symbols take one hash each
	fewest        = 1250    // answers of a row, from which the accountant charges little for chance
	mostNumbers   = 1 << 20 // that a device rotates
	crowded       = 400     // people of a bucket, on average, of more of whom nothing was measured
	roomy         = 160     // people of a bucket, on average: short strings gain little by fewer
	sharper       = 1.05    // times as much as a symbol that positions of one have to tell
	tailed        = 6       // of so many positions of beginnings one more is of the tail, or a check of long strings tells little
	summedCells   = 8       // of a position of sums
	summedRoomy   = 200     // people of a bucket of sums, on average
	mostSummed    = 1 << 18 // numbers of sums, 16 bytes each
	usualAlike    = 0.01    // of two people: how often their strings are the same, before anything is known
)

// Design fills in what follows from the rest of a plan: the code that finds most, and the clip, the flips and
// the envelopes that keep the budget.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Question.Strings == nil {
		return p, errors.New("strings: the plan has no strings section")
	}
	ask := *p.Question.Strings // the caller's stays as it is
	p.Question.Strings = &ask
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	var ps plan.Problems
	if undesigned(p, &ps); ps.Err() != nil {
		return p, ps.Err()
	}
	if summed(p) {
		return designSummed(p, &ask)
	}
	if ask.Answered == 0 {
		ask.Answered = usualAnswered
	}
	if ask.Buckets == 0 {
		if err := fill(&ask, p.Crowd.Minimum); err != nil {
			return p, err
		}
	}
	s := shape(ask)
	if err := s.Validate(); err != nil {
		return p, err
	}
	n := vector.Need{
		Respondents: p.Crowd.Minimum, Honest: p.MinHonest(), Dimension: s.Numbers(), Bits: ask.Answered,
		SquaredDistance: treecode.SquaredDistance, Overlap: overlap(),
	}
	var err error
	if n.Seed, err = encode.ParseSeed(ask.Seed); err != nil {
		return p, err
	}
	made, err := n.Design(p.Budget.Epsilon, p.Budget.Delta)
	if err != nil {
		return p, err
	}
	ask.Rows, ask.Clip, ask.Flip, ask.Rare = made.Rows, made.Clip, made.Flip, made.Rare
	if p.Envelopes.PerDevice = made.Envelopes; made.Envelopes > plan.MaxEnvelopes {
		return p, &question.TooManyMessages{PerDevice: made.Envelopes}
	}
	return p, nil
}

// designSummed fills in the code, and the noise of sums of its vectors.
func designSummed(p plan.Plan, ask *plan.Strings) (plan.Plan, error) {
	if ask.Answered != 0 {
		return p, errors.New("strings: bits are of answers that are mixed: leave question.strings.answered out of sums")
	}
	if ask.Buckets == 0 {
		if err := fillSummed(ask, p.Crowd.Minimum); err != nil {
			return p, err
		}
	}
	s := shape(*ask)
	if err := s.Validate(); err != nil {
		return p, err
	}
	named := *p.Route.Sum
	named.Law = plan.LawGaussian // of another intervals of strings would promise too much
	p.Route.Sum = &named
	route, err := sumprivacy.Calibrate(p, changed(s))
	p.Route.Sum = &route
	return p, err
}

// fillSummed chooses the code of sums: noise does not grow with their numbers, so that buckets are as roomy as a device
// can prove.
func fillSummed(ask *plan.Strings, people int) error {
	s := shape(*ask)
	// More positions than bits take: each pair is a one of its own, and these shall be few among all.
	s.Cells, s.Hashes, s.Tail = summedCells, 3, 12
	if s.Length() <= short {
		s.Hashes, s.Tail = 4, 12
	}
	for float64(s.Hashes)*math.Log(float64(s.Cells)) < sharper*math.Log(float64(s.Symbols())) {
		s.Hashes++
	}
	s.Tail = max(s.Tail, s.Length()*s.Hashes/tailed)
	if s.Pairs = s.Even(); s.Pairing() > mostSummed/2 {
		s.Pairs = 0
	}
	s.Buckets = min((people+summedRoomy-1)/summedRoomy, buckets(s, mostSummed))
	if s.Buckets*crowded < people {
		return fmt.Errorf("strings: of up to %d characters, %d buckets of %d people fill the %d numbers that a device proves, and more than %d people a bucket were not measured: ask for shorter strings, a smaller alphabet, or have answers mixed", ask.Longest, s.Buckets, people, mostSummed, crowded)
	}
	ask.Cells, ask.Hashes, ask.Tail, ask.Buckets, ask.Pairs = s.Cells, s.Hashes, s.Tail, s.Buckets, s.Pairs
	return nil
}

// buckets returns how many fit in so many numbers.
func buckets(s treecode.Shape, numbers int) int {
	return max(0, numbers-s.Pairing()) / (s.Positions() * s.Cells)
}

// overlap returns how alike the vectors of two people are guessed to be, before anybody answers; a release measures it (seen).
func overlap() vector.Overlap { return vector.Alike(usualAlike, 1) }

// fill chooses the code for so many people: as many buckets as leave each row its answers, and of short strings no more
// than are roomy.
func fill(ask *plan.Strings, people int) error {
	s := shape(*ask)
	s.Cells, s.Hashes, s.Tail, s.Pairs = 8, 2, 12, usualPairs
	if s.Length() <= short {
		s.Cells, s.Hashes, s.Tail = 32, 1, 4
	}
	// Positions have to tell more than symbols do, or paths tie and frequent strings are lost.
	for float64(s.Hashes)*math.Log(float64(s.Cells)) < sharper*math.Log(float64(s.Symbols())) {
		s.Hashes++
	}
	s.Tail = max(s.Tail, s.Length()*s.Hashes/tailed)
	enough := func(numbers int) bool { return s.Length() <= short && buckets(s, numbers)*roomy >= people }
	numbers := 1024
	for 2*numbers <= mostNumbers && float64(2*numbers)*fewest <= float64(people)*float64(ask.Answered) && !enough(numbers) {
		numbers *= 2
	}
	if s.Pairing() > numbers/2 {
		s.Pairs = 0
	}
	s.Buckets = buckets(s, numbers)
	if s.Buckets*crowded < people {
		return fmt.Errorf("strings: of up to %d characters, %d bits of each of %d people fill %d buckets, and fewer than %d people a bucket were not measured: ask for shorter strings, a smaller alphabet, or for more bits", ask.Longest, ask.Answered, people, s.Buckets, crowded)
	}
	ask.Cells, ask.Hashes, ask.Tail, ask.Buckets, ask.Pairs = s.Cells, s.Hashes, s.Tail, s.Buckets, s.Pairs
	return nil
}
