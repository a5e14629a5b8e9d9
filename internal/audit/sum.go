package audit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Of sums whose devices flip their bits, one aggregator and the reader see what they would
// see of a mixed batch, and both aggregators what they would of all messages.

// untiedSum is the route without tokens, whose keys may be exchanged.
func untiedSum(s plan.Sum) *plan.Sum {
	s.Leader.Tokens, s.Helper.Tokens, s.Issuer = "", "", nil
	return &s
}

// relied is who sees what the plan's own promise speaks of.
func relied(p plan.Plan) string {
	switch s := p.Route.Sum; {
	case s == nil:
		return account.ShufflerHonest
	case s.Noise == plan.NoiseShared:
		return account.OnlyTheReader
	}
	return account.OneAggregator
}

// aggregators says that these add noise to sums.
func (g *leg) aggregators() bool {
	s := g.protocol.Plan.Route.Sum
	return s != nil && s.Noise != plan.NoiseDevices
}

// split counts a vector that a device splits.
func (g *leg) split(t tally.Tally, vector []uint64) error {
	numbers := make([]int64, len(vector))
	for i, x := range vector {
		numbers[i] = int64(x)
	}
	q, ok := g.protocol.Question.(question.Summed)
	if !ok {
		return errors.New("audit: a vector of a question that is not summed")
	}
	one, err := q.Sums(numbers, 1)
	if err != nil {
		return err
	}
	return t.Merge(one)
}

// noised are cells that are summed as they are, with noise: what is known of one respondent
// who has everything of all others, but for the noise that it does not know, and for what a
// device draws in secret: which attribute it answers, and in which row of a sketch.
type noised struct {
	leg     *leg
	symbols [2]question.Symbol
	drawn   [2][]draws // of the two records
}

// draws are sets of numbers, of which a device counts in one, each as likely: of the same draw.
type draws [][]int

// newNoised looks at what a pair of records may count in. It is an error where a record that
// holds no cell of a sketch counts in one at random.
func (g *leg) newNoised(pair records) (n noised, err error) {
	n.leg = g
	for i := range n.symbols {
		if n.symbols[i], err = g.encode(pair[i]); err == nil {
			n.drawn[i], err = g.drawn(n.symbols[i])
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// drawn are the draws of a device that holds a symbol.
func (g *leg) drawn(s question.Symbol) (all []draws, err error) {
	q, first := g.protocol.Question.(*histogram.Question), 0
	_, held := histogram.Held(s)
	for attribute, cells := range held {
		rows, width := q.Law(attribute).Rows()
		ways := make(draws, rows)
		if rows > 1 && len(cells) == 0 {
			return nil, errors.New("audit: no attack is known of a record that holds no cell of a sketch: it is summed in one at random")
		}
		r := replay.New(uint64(attribute))
		for row := 0; row < rows; { // which is drawn, until each has been
			q.Law(attribute).Place(r, cells, rows, func(at int, cells []uint32, n int) {
				if at != row || n == 0 {
					return
				}
				for _, c := range cells {
					ways[row] = append(ways[row], first+row*width+int(c))
				}
				row++
			})
		}
		first += rows * width
		if all = append(all, ways); attribute > 0 && g.protocol.Plan.Question.Histogram.Collect == plan.CollectSample {
			all = []draws{append(all[0], ways...)}
		}
	}
	return all, nil
}

// score is the logarithm of how likely sums are of a record, over how likely of no record.
func score(record []draws, sums []int64, log func(k int) float64) (all float64) {
	for _, ways := range record {
		likely := math.Inf(-1)
		for _, way := range ways {
			one := -math.Log(float64(len(ways)))
			for _, i := range way {
				one += log(int(sums[i])-1) - log(int(sums[i]))
			}
			likely = prob.LogAdd(likely, one)
		}
		all += likely
	}
	return all
}

// The attacker of cells looks at sums alone, as noisedView says.
func (noised) crowd(int) float64                   { return 0 }
func (noised) own(tally.Tally) float64             { return 0 }
func (noised) message(tally.Tally, []byte) float64 { return 0 }
func (noised) sum(tally.Tally, int) float64        { return 0 }
func (noised) distance() float64                   { return 1 }
func (noised) share() float64                      { return 1 }

// observers are one aggregator, who takes its own noise off, and the reader; or where devices
// add the noise, an aggregator to whom all respondents but those relied upon have told theirs.
func (n noised) observers() map[string]Observed {
	p := n.leg.protocol.Plan
	if p.Route.Sum.Noise == plan.NoiseDevices {
		return map[string]Observed{account.OneAggregator: n.shares(p.HonestMinimum())}
	}
	return map[string]Observed{account.OneAggregator: n.aggregators(p, 1), account.OnlyTheReader: n.aggregators(p, 2)}
}

// aggregators is the view of who does not know the noise of so many aggregators of a plan,
// scored by the law of the leg's own plan.
func (n noised) aggregators(p plan.Plan, unknown int) Observed {
	s := *n.leg.protocol.Plan.Route.Sum
	var log func(k int) float64
	switch parts := float64(unknown); {
	case s.Law == plan.LawGaussian:
		both := s.Sigma
		if unknown == 2 {
			both *= math.Sqrt2
		}
		log = noise.DiscreteGaussian{Sigma: both}.LogProb
	case s.Noise == plan.NoiseShared:
		log = partsOfLaplace(s.Decay, parts/2)
	default:
		log = partsOfLaplace(s.Decay, parts)
	}
	sees := fmt.Sprintf("the sums without everybody else, and the noise of %d of both aggregators", unknown)
	added, err := sum.New(p)
	return n.view(sees, unknown*s.Circuit.Length, log, func(r *rand.Rand, numbers []int64) error {
		for range unknown {
			if err == nil {
				for i, z := range added.Noise(r)[:len(numbers)] {
					numbers[i] += z
				}
			}
		}
		return err
	})
}

// shares is the view of who knows everything but the noise of so many respondents.
func (n noised) shares(honest int) Observed {
	p := n.leg.protocol.Plan
	m, raised, _ := n.leg.protocol.Question.(*histogram.Question).Scattered()
	sees := fmt.Sprintf("the sums without everybody else, and the noise of %d respondents", honest)
	return n.view(sees, 4*p.Route.Sum.Circuit.Length, partsOfLaplace(p.Route.Sum.Decay, 1), func(r *rand.Rand, numbers []int64) error {
		for i := range numbers { // beside that of the one attacked, which is in its vector
			numbers[i] += int64(m.DrawSum(r, 0, honest-1) - raised)
		}
		return nil
	})
}

// view draws what a device splits, with the noise that is added, and scores how much more likely
// that is of the second record than of the first, by the law of all noise.
func (n noised) view(sees string, work int, log func(k int) float64, add func(r *rand.Rand, numbers []int64) error) Observed {
	return Observed{Sees: sees, Work: work, New: func() View {
		numbers := make([]int64, len(n.leg.protocol.NewTally().(*tally.Sums).N))
		return func(r *rand.Rand, second bool) float64 {
			symbol := n.symbols[0]
			if second {
				symbol = n.symbols[1]
			}
			_, vector, err := n.leg.protocol.Measure(r, symbol, nil)
			if err == nil {
				for i := range numbers {
					numbers[i] = int64(vector[i])
				}
				err = add(r, numbers)
			}
			if err != nil {
				panic("audit: " + err.Error()) // these devices have answered before
			}
			return score(n.drawn[1], numbers, log) - score(n.drawn[0], numbers, log)
		}
	}}
}

// partsOfLaplace is the logarithm of the law of so many times discrete Laplace noise.
func partsOfLaplace(decay, parts float64) func(k int) float64 {
	top := min(1<<14, int(40/decay)+50)
	log, _ := prob.LogLaplaceShares(decay, parts, top)
	return func(k int) float64 {
		k = max(k, -k)
		return log[min(k, top)] - decay*float64(max(0, k-top))
	}
}
