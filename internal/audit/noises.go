package audit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/audit/adders"
	"github.com/confetti-dp/confetti/internal/audit/kinds"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/tally"
)

// noise tests what devices, aggregators or an entry add to what is counted.
func (g *leg) noise(r *rand.Rand) ([]Constant, error) {
	if n, ok := g.known.(noised); ok {
		if n.adders == nil {
			return n.ofDevices(r)
		}
		return n.ofAggregators(r)
	}
	if s, ok := g.newSizes(); ok {
		return s.ofEntry(r), nil
	}
	return nil, nil
}

const (
	sealings = 300    // shares that an aggregator hands over sealed
	noises   = 20_000 // numbers whose noise is looked at
)

// binned is a law of whole numbers in bins around zero, as many on both sides, whose ends stand for all beyond.
type binned struct {
	law  []float64
	wide int // numbers of a bin, odd
	top  int // bins on a side
}

// mostBins bounds how many are on a side.
const mostBins = 1 << 7

// newBinned tabulates the law of which log is the logarithm.
func newBinned(log func(k int) float64) binned {
	b := binned{top: 1, wide: 1}
	for ; log(b.top*b.wide) > math.Log(1e-9)+log(0); b.top *= 2 { // what is beyond is a bin with its neighbours
		if b.top == mostBins {
			b.top, b.wide = b.top/2, 2*b.wide+1
		}
	}
	total := 0.0
	for i := -b.top; i <= b.top; i++ {
		in := 0.0
		for k := i*b.wide - b.wide/2; k <= i*b.wide+b.wide/2; k++ {
			in += math.Exp(log(k))
		}
		b.law = append(b.law, in)
		total += in
	}
	for i := range b.law {
		b.law[i] /= total
	}
	return b
}

func (b binned) counts() []int { return make([]int, len(b.law)) }

func (b binned) at(k int64) int {
	wide, half := int64(b.wide), int64(b.wide/2)
	if k < 0 {
		half = -half
	}
	return int(max(-int64(b.top), min(int64(b.top), (k+half)/wide))) + b.top
}

// ofAggregators looks at the noise of each, number by number, as it adds it and as it hands it over.
func (n noised) ofAggregators(r *rand.Rand) (all []Constant, err error) {
	law := newBinned(n.log(1))
	for side, name := range adders.Roles {
		for _, draw := range []struct {
			says  string
			draws int
			noise func() ([]int64, error)
		}{
			{"noise of the plan's law, in each number", noises, func() ([]int64, error) { return n.adders.Noise(r, side) }},
			{"noise of the plan's law, in each number of the share that the analyzer opens", sealings, func() ([]int64, error) { return n.adders.Handed(r, side) }},
		} {
			var laws [][]float64
			var counts [][]int
			seen := 0
			for seen < draw.draws {
				z, err := draw.noise()
				if err != nil {
					return nil, err
				}
				for len(counts) < len(z) {
					laws, counts = append(laws, law.law), append(counts, law.counts())
				}
				for i, k := range z {
					counts[i][law.at(k)]++
				}
				seen += len(z)
			}
			all = append(all, kept(name, draw.says, seen, fitOf(laws, counts)))
		}
	}
	return all, nil
}

// scattered is a question whose devices may add noise to cells as they are.
type scattered interface {
	Scattered() (share sumprivacy.DistributedLaplace, raised int, ok bool)
}

// ofDevices looks at the share of each device, number by number, which is nearly always nothing.
func (n noised) ofDevices(r *rand.Rand) ([]Constant, error) {
	g := n.leg
	share, reach, ok := g.protocol.Question.(scattered).Scattered()
	d, err := g.device(r)
	if err != nil || !ok {
		return nil, err
	}
	// Others' records name no cell that is drawn, or it is left out of the numbers that are looked at.
	one := sum.Shares(share.Noise, 1/float64(share.Users))
	law := newBinned(func(k int) float64 {
		if k = max(k, -k); k > reach {
			return math.Inf(-1)
		}
		return logOf(one, k)
	})
	counts, laws := make([][]int, len(n.others)), make([][]float64, len(n.others))
	for i := range counts {
		counts[i], laws[i] = law.counts(), law.law
	}
	secret := n.secret()
	draws := max(noises, 20*share.Users*len(counts)) / len(counts)
	for range min(draws, 10*noises) {
		t := tally.NewSums(len(counts))
		if _, err := d.add(g.holds[2], t.N); err != nil {
			return nil, err
		}
		for i, k := range t.N {
			if !secret[i] {
				counts[i][law.at(k-n.others[i])]++
			}
		}
	}
	seen := 0
	for i, c := range counts {
		if secret[i] {
			laws[i] = nil
			continue
		}
		for _, k := range c {
			seen += k
		}
	}
	kinds, of := [][]float64(nil), [][]int(nil)
	for i := range laws {
		if laws[i] != nil {
			kinds, of = append(kinds, laws[i]), append(of, counts[i])
		}
	}
	return []Constant{kept(aDevice, fmt.Sprintf("a share of noise for %d respondents, in each number", share.Users), seen, fitOf(kinds, of))}, nil
}

// logOf gives the logarithm of the law at k >= 0.
func logOf(l sum.Law, k int) float64 {
	if k == 0 {
		return math.Log1p(-2 * math.Exp(l.LogAtLeast(1)))
	}
	return math.Log(math.Exp(l.LogAtLeast(k)) - math.Exp(l.LogAtLeast(k+1)))
}

// secret lists the numbers in which others count by a draw of their own.
func (n noised) secret() map[int]bool {
	cells := map[int]bool{}
	symbol, err := kinds.Encode(n.leg.protocol, n.leg.holds[2])
	if err != nil {
		return cells
	}
	drawn, err := kinds.Drawn(n.leg.protocol, symbol)
	for i := range n.others {
		cells[i] = err != nil // a record that holds no cell of a sketch may count in any
	}
	for _, ways := range drawn {
		for _, way := range ways {
			for _, cell := range way {
				cells[cell.At] = cells[cell.At] || len(ways) > 1
			}
		}
	}
	return cells
}

// ofEntry looks at how many respondents of a crowd an entry leaves.
func (s sizes) ofEntry(r *rand.Rand) []Constant {
	n := s.others + 1
	law := s.law(n)
	counts, total := make([]int, len(law)), 0.0
	for _, p := range law {
		total += p
	}
	for i := range law {
		law[i] /= total
	}
	for range noises {
		counts[stay(s.rules, r, n)]++
	}
	return []Constant{kept("the entry", fmt.Sprintf("of a crowd of %d respondents it deletes as many as the plan's noise says", n), noises, fitOf([][]float64{law}, [][]int{counts}))}
}
