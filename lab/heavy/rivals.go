package heavy

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
)

// falseShare is the share of what is listed that may be false in expectation, as for ours.
const falseShare = 0.02

// rivals are other ways of finding strings, each with the parameters that find most.
func rivals(c Cell, p listed, held map[string]int) []Row {
	const forRivals = 0x51a
	stream := func(i uint64) *rand.Rand { return seeded.New(c.Seed, forRivals, i) }
	rows := []Row{
		row("sample and threshold", sampled(c, held, stream(0)), held),
		row("stability histogram, curator", stable(c, held, stream(1)), held),
		row("histogram of all listed strings, curator", public(c, p, held, stream(2)), held),
	}
	best := Row{}
	for group := 1; group <= 6; group++ {
		got, err := tree(c, p, held, group, stream(uint64(2+group)))
		if err != nil {
			continue // more beginnings than two aggregators count
		}
		if r := row(fmt.Sprintf("prefix tree, two aggregators, %d characters a level", group), got, held); best.Way == "" || r.Found-r.False > best.Found-best.False {
			best = r
		}
	}
	return append(rows, best)
}

// sampled shows the strings of a random sample that come often enough in it (Bharadwaj and Cormode, 2021): sampling by
// a (1 - e^-epsilon), from ln(1/delta)/(ln(1/a) - 1/(1+a)) on. Its promise is of removal, which is weaker than ours.
func sampled(c Cell, held map[string]int, r *rand.Rand) estimates {
	share, least, lowest := 0.0, 0.0, math.Inf(1)
	for a := 0.01; a < 0.5; a += 0.01 {
		from := math.Ceil(math.Log(1/c.Delta) / (math.Log(1/a) - 1/(1+a)))
		if p := a * -math.Expm1(-c.Epsilon); from > 0 && from/p < lowest {
			share, least, lowest = p, from, from/p
		}
	}
	got := estimates{}
	for _, text := range slices.Sorted(maps.Keys(held)) {
		in := 0
		for range held[text] {
			if r.Float64() < share {
				in++
			}
		}
		if float64(in) >= least {
			got[text] = float64(in) / share
		}
	}
	return got
}

// stable adds discrete Laplace noise to each string that somebody holds, and shows what a string of one holder shows with
// half of delta at most: of a respondent exchanged for another one string goes and one comes.
func stable(c Cell, held map[string]int, r *rand.Rand) estimates {
	law := noise.DiscreteLaplace{Decay: c.Epsilon / 2}
	above := 1
	for beyond := 1.0; beyond > c.Delta/2; above++ { // P(Z >= above) = q^above/(1+q)
		beyond = math.Exp(-law.Decay*float64(above)) / (1 + math.Exp(-law.Decay))
	}
	got := estimates{}
	for _, text := range slices.Sorted(maps.Keys(held)) {
		if n := held[text] + law.Sample(r); n >= above {
			got[text] = float64(n)
		}
	}
	return got
}

// public counts every string of a public list, with discrete Laplace noise, and shows what of all those that nobody holds
// passes the share that may be false.
func public(c Cell, p listed, held map[string]int, r *rand.Rand) estimates {
	law := noise.DiscreteLaplace{Decay: c.Epsilon / 2}
	above := int(math.Ceil(math.Log(float64(len(p.texts))/falseShare) / law.Decay))
	got := estimates{}
	for _, text := range p.texts {
		if n := held[text] + law.Sample(r); n >= above {
			got[text] = float64(n)
		}
	}
	return got
}

const (
	mostCounted = 1 << 20 // beginnings of a level
	keptBy      = 300     // beginnings of a level that nobody has, of those that pass by chance
)

// tree walks beginnings of strings level by level, so many characters each, of which two aggregators count those that go
// on from what passed (heavy hitters by two aggregators, with the noise of each in each count, Gaussian over all levels).
func tree(c Cell, p listed, held map[string]int, group int, r *rand.Rand) (estimates, error) {
	symbols := float64(1 + len(p.alphabet))
	if p.alphabet == "" {
		symbols = 257
	}
	levels := (p.longest + group - 1) / group
	on := math.Pow(symbols, float64(group))
	if on > mostCounted {
		return nil, fmt.Errorf("%v beginnings go on from each", on)
	}
	route := plan.Plan{Budget: plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta}, Route: plan.Route{Sum: &plan.Sum{Noise: plan.NoiseAggregators, Law: plan.LawGaussian}}}
	s, err := sumprivacy.Calibrate(route, 2*levels)
	if err != nil {
		return nil, err
	}
	deviation := math.Sqrt2 * s.Sigma
	begin := func(text string, level int) string { // the end is a character of its own
		if to := level * group; to <= len(text) {
			return text[:to]
		}
		return text + "\x00"
	}
	passed, got := map[string]bool{"": true}, estimates{}
	for level := 1; level <= levels; level++ {
		counts, candidates := map[string]int{}, 0.0
		for text, n := range held {
			if passed[begin(text, level-1)] {
				counts[begin(text, level)] += n
			}
		}
		for text := range passed {
			if text != "" && text[len(text)-1] == 0 {
				candidates++
			} else {
				candidates += on
			}
		}
		tail := math.Log(math.Max(1e-300, math.Min(0.00135, keptBy/candidates)))
		if level == levels {
			tail = math.Log(falseShare / candidates)
		}
		z := -prob.NormalLogQuantile(tail)
		next := map[string]bool{}
		pass := func(text string, count float64) {
			if next[text] = true; level == levels {
				if text[len(text)-1] == 0 {
					text = text[:len(text)-1]
				}
				got[text] = count
			}
		}
		for _, text := range slices.Sorted(maps.Keys(counts)) {
			if count := float64(counts[text]) + deviation*r.NormFloat64(); count > z*deviation {
				pass(text, count)
			}
		}
		mean := (candidates - float64(len(counts))) * math.Exp(tail)
		for i := range int(math.Max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))) { // of nobody's, by chance
			pass(fmt.Sprintf("\x01%d.%d", level, i), z*deviation)
		}
		passed = next
	}
	return got, nil
}
