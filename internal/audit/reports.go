package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// teller is a mechanism whose report is a single message, which is the channels that
// Randomize emits.
type teller interface {
	Randomize(r *rand.Rand, x int, emit func(channel uint32))
}

// reports returns the shuffled reports of so many users of values 0 to domain-1. The
// respondent attacked holds 0 or 1, and all others one value that is neither, if there is
// one. prob is the probability of a report of a holder of x, up to a factor.
//
// With reports y_i, and q the law of the others', the likelihood ratio is that of the sums
// of P(y_i | 1)/q(y_i) and of P(y_i | 0)/q(y_i), exactly.
func reports(m teller, domain, users int, prob func(report []uint32, x int) float64) Observed {
	others := min(2, domain-1)
	return Observed{
		Sees: fmt.Sprintf("all reports, every other respondent holding value %d", others+1),
		Work: 8 * users,
		New: func() View {
			var report []uint32
			return func(r *rand.Rand, second bool) float64 {
				held := 0
				if second {
					held = 1
				}
				var sum [2]float64
				for i := range users {
					report = report[:0]
					m.Randomize(r, held, func(channel uint32) { report = append(report, channel) })
					q := prob(report, others)
					sum[0] += prob(report, 0) / q
					sum[1] += prob(report, 1) / q
					if i == 0 {
						held = others
					}
				}
				return math.Log(sum[1]) - math.Log(sum[0])
			}
		},
	}
}

// Response returns the reports of k-ary response.
func Response(m randomize.KRR, users int) Observed {
	truth, lie := m.Prob(0, 0), m.Prob(1, 0)
	return reports(response{m}, m.K, users, func(report []uint32, x int) float64 {
		if int(report[0]) == x {
			return truth
		}
		return lie
	})
}

// response emits what it says.
type response struct{ randomize.KRR }

func (m response) Randomize(r *rand.Rand, x int, emit func(channel uint32)) {
	emit(uint32(m.KRR.Randomize(r, x)))
}

// Subsets returns the reports of subset selection.
func Subsets(m randomize.SubsetSelection, users int) Observed {
	with, without := math.Exp(m.LogProb(true)-m.LogProb(false)), 1.0
	return reports(m, m.K, users, func(report []uint32, x int) float64 {
		if slices.Contains(report, uint32(x)) {
			return with
		}
		return without
	})
}

// Hashes returns the reports of local hashing by one function that tells the values apart, as
// far as it has symbols: no family of functions hides less.
func Hashes(m randomize.LocalHash, users int) Observed {
	m.K, m.Functions = 3, 1
	for m.Hash(0, 0) == m.Hash(0, 1) || m.G > 2 && (m.Hash(0, 2) == m.Hash(0, 0) || m.Hash(0, 2) == m.Hash(0, 1)) {
		m.Seed[0]++
	}
	symbols := [3]uint32{uint32(m.Hash(0, 0)), uint32(m.Hash(0, 1)), uint32(m.Hash(0, 2))}
	likelier := math.Exp(m.Epsilon)
	o := reports(m, m.K, users, func(report []uint32, x int) float64 {
		if report[0] == symbols[x] {
			return likelier
		}
		return 1
	})
	o.Work *= 60 // a device expands its function anew
	return o
}

// Columns returns the reports of Hadamard response.
func Columns(m randomize.Hadamard, users int) Observed {
	return reports(m, m.K, users, func(report []uint32, x int) float64 { return m.Prob(report[0], x) })
}
