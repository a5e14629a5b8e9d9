package audit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/audit/adders"
	"github.com/confetti-dp/confetti/internal/audit/kinds"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Of sums whose devices flip their bits, one aggregator and the reader see what they would
// see of a mixed batch, and both aggregators what they would of all messages.

// untiedSum returns the route without tokens, whose keys may be exchanged.
func untiedSum(s plan.Sum) *plan.Sum {
	s.Leader.Tokens, s.Helper.Tokens, s.Issuer = "", "", nil
	return &s
}

// relied returns who sees what the plan's own promise speaks of.
func relied(p plan.Plan) string {
	switch s := p.Route.Sum; {
	case s == nil:
		return account.ShufflerHonest
	case s.Noise == plan.NoiseShared:
		return account.OnlyTheReader
	}
	return account.OneAggregator
}

// split counts a vector that a device splits.
func (g *leg) split(t tally.Tally, vector []uint64) error {
	numbers := make([]int64, len(vector))
	for i, x := range vector {
		numbers[i] = int64(x)
	}
	q, ok := g.protocol.Question.(question.Summer)
	if !ok {
		return errors.New("audit: a vector of a question that is not summed")
	}
	one, err := q.Sums(numbers, 1)
	if err != nil {
		return err
	}
	return t.Merge(one)
}

// noised are numbers that are summed as they are, with noise: what is known of one respondent
// who has everything of all others, but for the noise that it does not know, and for what a
// device draws in secret: which attribute it answers, and in which row of a sketch.
type noised struct {
	leg    *leg
	drawn  [2][]kinds.Draws // of the two records
	others []int64          // what each other respondent adds to the sums, where nothing of it is drawn
	apart  float64
	adders *adders.Pair // nil: devices add the noise
}

// newNoised looks at what records may count in. It is an error where a record of the pair that
// holds no cell of a sketch counts in one at random.
func (g *leg) newNoised(pair kinds.Records) (noised, error) {
	n := noised{leg: g, others: make([]int64, len(g.protocol.NewTally().(*tally.Sums).N)), apart: 1}
	mine := map[int]bool{}
	for i, value := range pair {
		symbol, err := kinds.Encode(g.protocol, value)
		if err != nil {
			return n, err
		}
		all, err := kinds.Drawn(g.protocol, symbol)
		switch {
		case i < 2 && err != nil:
			return n, err
		case i < 2:
			n.drawn[i] = all
		case err != nil:
			n.apart = 0 // the others' cells are not known
		}
		for _, ways := range all {
			for _, way := range ways {
				for _, cell := range way {
					switch {
					case i < 2:
						mine[cell.At] = true
					case len(ways) == 1:
						n.others[cell.At] += int64(cell.Times)
					case mine[cell.At]: // what others draw in secret hides the pair
						n.apart /= 2
					}
				}
			}
		}
	}
	if !g.protocol.Plan.Route.Sum.AggregatorNoise() {
		return n, nil
	}
	var err error
	n.adders, err = adders.New(g.protocol, g.keys)
	return n, err
}

// score returns the logarithm of how likely sums are of a record, over how likely of no record.
func score(record []kinds.Draws, sums []int64, log func(k int) float64) (all float64) {
	for _, ways := range record {
		likely := math.Inf(-1)
		for _, way := range ways {
			one := -math.Log(float64(len(ways)))
			for _, a := range way {
				one += log(int(sums[a.At])-a.Times) - log(int(sums[a.At]))
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
func (n noised) distance() float64                 { return n.apart }
func (noised) share() float64                      { return 1 }

// observers returns each aggregator, who takes its own noise off, and the reader; or where devices
// add the noise, an aggregator to whom all respondents but those relied upon have told theirs.
func (n noised) observers() map[string][]Observed {
	if n.adders == nil {
		return map[string][]Observed{account.OneAggregator: {n.shares(n.leg.protocol.Plan.MinHonest())}}
	}
	return map[string][]Observed{
		account.OneAggregator: {n.aggregators(adders.Helper), n.aggregators(adders.Leader)},
		account.OnlyTheReader: {n.aggregators(adders.Leader, adders.Helper)},
	}
}

// aggregators returns the view of who does not know the noise of the named aggregators.
func (n noised) aggregators(unknown ...int) Observed {
	names := make([]string, len(unknown))
	for i, side := range unknown {
		names[i] = adders.Roles[side]
	}
	sees := "the sums without everybody else, and the noise of " + strings.Join(names, " and ")
	return n.view(sees, len(unknown)*n.leg.protocol.Plan.Route.Sum.Circuit.Length, n.log(float64(len(unknown))), func(_ device, r *rand.Rand, sums []int64) error {
		noise, err := n.adders.Noise(r, unknown...)
		for i := range sums {
			if err == nil {
				sums[i] += noise[i]
			}
		}
		return err
	})
}

// log returns the logarithm of the law of all noise in a number that so many add, of aggregators one
// or two, and of devices as many as are relied upon.
func (n noised) log(parts float64) func(k int) float64 {
	s := *n.leg.protocol.Plan.Route.Sum
	switch {
	case s.Law == plan.LawGaussian:
		return noise.DiscreteGaussian{Sigma: s.Sigma * math.Sqrt(parts)}.LogProb
	case s.Noise == plan.NoiseShared:
		parts /= 2
	}
	return partsOfLaplace(s.Decay, parts)
}

// shares returns the view of who knows everything but the noise of so many respondents, each of whom
// answers by its own device.
func (n noised) shares(honest int) Observed {
	sees := fmt.Sprintf("the sums without everybody else, and the noise of %d respondents", honest)
	return n.view(sees, honest*(30+n.leg.protocol.Plan.Route.Sum.Circuit.Length), n.log(1), func(d device, _ *rand.Rand, sums []int64) error {
		for range honest - 1 {
			if _, err := d.add(n.leg.holds[2], sums); err != nil {
				return err
			}
			for i, known := range n.others {
				sums[i] -= known
			}
		}
		return nil
	})
}

// add counts what a device hands in to sums.
func (d device) add(v question.Value, sums []int64) (client.Answer, error) {
	return d.answer(v, &tally.Sums{N: sums}, nil)
}

// view draws what a device splits, with the noise that is added, and scores how much more likely
// that is of the second record than of the first, by the law of all noise.
func (n noised) view(sees string, work int, log func(k int) float64, noise func(d device, r *rand.Rand, sums []int64) error) Observed {
	return Observed{Sees: sees, Work: work, New: func() View {
		sums, devices := make([]int64, len(n.others)), n.leg.devices()
		return func(r *rand.Rand, second bool) float64 {
			clear(sums)
			d, err := devices(r)
			var a client.Answer
			if err == nil {
				a, err = d.add(n.leg.held(second), sums)
			}
			if err == nil {
				err = noise(d, r, sums)
			}
			if err != nil {
				panic("audit: " + err.Error()) // these devices have answered before
			}
			return n.leg.shape.ofForm(formOf(a)) + score(n.drawn[1], sums, log) - score(n.drawn[0], sums, log)
		}
	}}
}

// partsOfLaplace returns the logarithm of the law of so many times discrete Laplace noise.
func partsOfLaplace(decay, parts float64) func(k int) float64 {
	top := min(1<<14, int(40/decay)+50)
	log, _ := prob.LogLaplaceShares(decay, parts, top)
	return func(k int) float64 {
		k = max(k, -k)
		return log[min(k, top)] - decay*float64(max(0, k-top))
	}
}
