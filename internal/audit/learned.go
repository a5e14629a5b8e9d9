package audit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/audit/kinds"
	"github.com/confetti-dp/confetti/internal/dp/tally"
)

// learned is what an attacker knows of the reports of a plan's devices, who has tried them:
// nothing of it is taken from the views that are attacked.
type learned struct {
	symbols  int
	tries    float64       // reports of each record
	crowds   [3][]float64  // by crowd: reports of each record
	mean     [3][]float64  // by cell of the tally: mean count in a report of each record
	products *mat.SymDense // of the counts of a channel's symbols, in all reports of the others' record
	most     float64       // largest count in any of these reports
	group    int           // cells of which a report names one at most, and which are so grouped; 0: there is no such grouping
	tell     []int         // cells in which first and second differ, by more than their tries leave open
	telling  []int         // first cells of the groups that have such
	weigh    []float64     // by cell: the difference over the variance of a report
}

// tryCounts lets a device answer with each record, many times.
func tryCounts(d device, pair kinds.Records, c *tally.Counts) (*learned, error) {
	tries := max(200, min(10_000, 1_000_000/d.leg.messages(), 50_000_000/len(c.N)))
	l := newLearned(c, d.leg.protocol.Plan.Crowds())
	var law [3][]float64 // of an answer to each row
	for who, value := range pair {
		var err error
		if law[who], err = kinds.Ones(d.leg.protocol, value); err != nil {
			return nil, err
		}
		for range tries {
			clear(c.N)
			a, err := d.answer(value, c, nil)
			if err != nil {
				return nil, err
			}
			l.add(who, c.N, a.Crowd)
		}
	}
	l.done(tries, law)
	return l, nil
}

// distance of the two records in a batch of two.
func (l *learned) distance() (d float64) {
	for i, w := range l.weigh {
		d += w * (l.mean[1][i] - l.mean[0][i])
	}
	return d
}

func (l *learned) share() float64 { return slices.Max(l.crowds[2]) / l.tries }

func newLearned(empty *tally.Counts, crowds int) *learned {
	l := &learned{symbols: empty.Symbols, most: 1, group: len(empty.N), products: mat.NewSymDense(empty.Symbols, nil)}
	for who := range l.mean {
		l.mean[who], l.crowds[who] = make([]float64, len(empty.N)), make([]float64, crowds)
	}
	return l
}

// add is one report of a holder of the record of that number.
func (l *learned) add(who int, n []uint64, crowd int) {
	l.crowds[who][crowd]++
	for l.group > 0 && !lonely(n, l.group) {
		if l.group == l.symbols {
			l.group = 0
		} else {
			l.group = l.symbols
		}
	}
	for i, k := range n {
		l.mean[who][i] += float64(k)
		l.most = max(l.most, float64(k))
		if who < 2 || k == 0 {
			continue
		}
		first := i / l.symbols * l.symbols
		for j := first; j <= i; j++ {
			l.products.SetSym(i-first, j-first, l.products.At(i-first, j-first)+float64(k)*float64(n[j]))
		}
	}
}

// lonely says that no group of so many cells has more than one count.
func lonely(n []uint64, group int) bool {
	for from := 0; from < len(n); from += group {
		sum := uint64(0)
		for _, k := range n[from : from+group] {
			sum += k
		}
		if sum > 1 {
			return false
		}
	}
	return true
}

// done is after so many reports of each record.
func (l *learned) done(tries int, law [3][]float64) {
	l.tries = float64(tries)
	for who := range l.mean {
		for i := range l.mean[who] {
			l.mean[who][i] /= l.tries
		}
	}
	spread := l.spread() // of the tries, as their means are
	for who := range l.mean {
		if law[who] != nil {
			l.believe(l.mean[who], law[who])
		}
	}
	for i, first := range l.mean[0] {
		second := l.mean[1][i]
		if math.Abs(second-first) <= 4*math.Sqrt((second+first)/l.tries) && law[0] == nil {
			l.mean[0][i], l.mean[1][i] = (first+second)/2, (first+second)/2
			continue
		}
		l.tell = append(l.tell, i)
		if l.group > 0 && (len(l.telling) == 0 || l.telling[len(l.telling)-1] != i/l.group*l.group) {
			l.telling = append(l.telling, i/l.group*l.group)
		}
	}
	l.weigh = l.weights(spread)
}

// believe puts in the place of what tries say of rows what their law says, unless these are more than
// four deviations apart: then devices do not keep to it. Ones are the law of an answer.
func (l *learned) believe(mean, ones []float64) {
	answered := 0.0
	for _, p := range mean {
		answered += p / float64(len(ones))
	}
	for row, one := range ones {
		for symbol, p := range []float64{answered * (1 - one), answered * one} {
			if cell := 2*row + symbol; math.Abs(mean[cell]-p) <= 4*math.Sqrt(p*(1-p)/l.tries) {
				mean[cell] = p
			}
		}
	}
}

// spread returns the covariance of the counts of a channel's symbols in one report, in the mean
// over the channels, and a little more, so that it has an inverse.
func (l *learned) spread() *mat.SymDense {
	k, mean := l.symbols, l.mean[2]
	channels := float64(len(mean) / k)
	v := mat.NewSymDense(k, nil)
	for i := range k {
		for j := range i + 1 {
			sum := l.products.At(i, j) / l.tries
			for at := 0; at < len(mean); at += k {
				sum -= mean[at+i] * mean[at+j]
			}
			v.SetSym(i, j, sum/channels)
		}
		v.SetSym(i, i, v.At(i, i)*(1+1e-6)+1e-9)
	}
	return v
}

func (l *learned) weights(v *mat.SymDense) []float64 {
	weigh := make([]float64, len(l.mean[0]))
	var inverse mat.Dense
	if inverse.Inverse(v) != nil {
		return weigh
	}
	difference := make([]float64, len(weigh))
	for _, i := range l.tell {
		difference[i] = l.mean[1][i] - l.mean[0][i]
	}
	for i := range weigh {
		for j := range l.symbols {
			weigh[i] += inverse.At(i%l.symbols, j) * difference[i/l.symbols*l.symbols+j]
		}
	}
	return weigh
}

// crowd returns the logarithm of the likelihood ratio of a report's crowd.
func (l *learned) crowd(c int) float64 {
	return math.Log(l.crowds[1][c]+0.5) - math.Log(l.crowds[0][c]+0.5)
}

// own returns that of a whole report whose cells are independent, and each counts as many
// independent messages as were ever seen in one.
func (l *learned) own(report tally.Tally) (score float64) {
	n := report.(*tally.Counts).N
	for _, i := range l.tell {
		first, second, k := l.rate(0, i)/l.most, l.rate(1, i)/l.most, float64(n[i])
		score += k*math.Log(second/first) + (l.most-k)*math.Log((1-second)/(1-first))
	}
	return score
}

// message returns that of one message, by its cell. A dummy says little.
func (l *learned) message(_ tally.Tally, body []byte) float64 {
	channel, symbol, err := tally.ParseMessage(body)
	if body == nil || err != nil {
		return 0
	}
	cell := int(channel)*l.symbols + int(symbol)
	return math.Log(l.rate(1, cell) / l.rate(0, cell))
}

// rate returns the mean count of a report in a cell, away from none and from the most.
func (l *learned) rate(who, cell int) float64 {
	least := 0.5 / l.tries
	return math.Max(least, math.Min(l.most-least, l.mean[who][cell]))
}

// sum gives the logarithm of the likelihood ratio of the counts of a batch of so many reports: exact, where a report
// names one cell of a group at most, groups are independent, and all others are alike; else as far as counts are Gaussian.
func (l *learned) sum(batch tally.Tally, respondents int) (score float64) {
	n := batch.(*tally.Counts).N
	if l.group > 0 {
		return l.grouped(n, respondents)
	}
	others := float64(respondents - 1)
	for i, w := range l.weigh {
		if w != 0 {
			score += w * (float64(n[i]) - others*l.mean[2][i] - (l.mean[0][i]+l.mean[1][i])/2)
		}
	}
	return score / others
}

// grouped adds up groups. With q the law of one other's report and P that of the one attacked, the law of the counts
// n of a group is that of all others' times the sum of n P/q over its cells, and over naming none.
func (l *learned) grouped(n []uint64, respondents int) (score float64) {
	for _, from := range l.telling {
		var sum [2]float64
		none, missing, without := respondents, 1.0, [2]float64{1, 1}
		for i := from; i < from+l.group; i++ {
			q := l.rate(2, i)
			none -= int(n[i])
			missing -= q
			for who := range sum {
				p := l.rate(who, i)
				without[who] -= p
				sum[who] += float64(n[i]) * p / q
			}
		}
		for who := range sum {
			if none > 0 {
				sum[who] += float64(none) * math.Max(0, without[who]) / math.Max(missing, 0.5/l.tries)
			}
		}
		score += math.Log(sum[1]) - math.Log(sum[0])
	}
	return score
}
