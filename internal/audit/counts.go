package audit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// count is the number of ones among users bits: those of the others are one with
// probability other, that of the respondent attacked with first or second.
type count struct {
	users                int
	first, second, other float64
}

// score returns the logarithm of the likelihood ratio of a count, exactly. With X the count of
// the others, P(X = c-1) and P(X = c) are as c/other to (users-c)/(1-other).
func (l count) score(ones int) float64 {
	with, without := float64(ones)/l.other, float64(l.users-ones)/(1-l.other)
	return math.Log(l.second*with+(1-l.second)*without) - math.Log(l.first*with+(1-l.first)*without)
}

// Bits returns the count of randomized bits of so many users, all others' bits being zero.
func Bits(m bitsum.RR, users int) Observed {
	return bits(m, count{users, m.Prob(1, false), m.Prob(1, true), m.Prob(1, false)})
}

func bits(m channel, law count) Observed {
	return Observed{Sees: "the count of ones, all other bits being zero", Work: 4, New: func() View {
		return func(r *rand.Rand, second bool) float64 {
			ones := int(m.DrawCounts(r, 0, law.users-1)[1])
			m.Randomize(r, second, func(symbol uint8) { ones += int(symbol) })
			return law.score(ones)
		}
	}}
}

// Coordinates returns the counts of the bits of vectors that move the probabilities of a bit
// before the flips by gaps whose squares add up to squares: as few coordinates as do that,
// the others' bits being zero.
func Coordinates(m bitsum.RR, users, coordinates int, squares float64) Observed {
	moved := min(coordinates, int(math.Ceil(squares)))
	gap := math.Min(1, math.Sqrt(squares/float64(moved)))
	spread := (1 - 2*m.Flip) * gap / 2
	law := count{users, 0.5 - spread, 0.5 + spread, m.Flip}
	sees := fmt.Sprintf("the counts of %d coordinates whose bits it moves by %.3g each, all other bits being zero", moved, gap)
	return Observed{Sees: sees, Work: 4 * moved, New: func() View {
		vector, symbols := make([]float32, moved), make([]uint8, moved)
		return func(r *rand.Rand, second bool) (score float64) {
			for i := range vector {
				vector[i] = float32(-gap)
				if second {
					vector[i] = float32(gap)
				}
			}
			m.RoundAndRandomize(r, vector, symbols)
			for _, symbol := range symbols {
				score += law.score(int(m.DrawCounts(r, 0, users-1)[1]) + int(symbol))
			}
			return score
		}
	}}
}

// Cells returns the counts of one-hot reports of two cells, of which the respondent attacked
// sets the first or the second (replacement), or none or the second (removal). The others
// set neither.
func Cells(m randomize.OneHot, users int, adjacency account.Adjacency) Observed {
	m.K = 2
	set := [2][]uint32{{0}, {1}}
	sees := "the counts of two cells, one of which the respondent holds and nobody else"
	if adjacency == account.Removal {
		m.K, set = 1, [2][]uint32{{}, {0}}
		sees = "the count of a cell that the respondent or nobody holds"
	}
	law := count{users, m.Flip, m.Keep, m.Flip}
	return Observed{Sees: sees, Work: 4 * m.K, New: func() View {
		sender, nobody, counts := m.Sender(), make([]int, m.K), make([]uint64, m.K)
		return func(r *rand.Rand, second bool) float64 {
			m.DrawCounts(r, nobody, users-1, counts)
			holds := set[0]
			if second {
				holds = set[1]
			}
			sender.Randomize(r, holds, func(cell uint32) { counts[cell]++ })
			score := law.score(int(counts[m.K-1]))
			if adjacency != account.Removal {
				score -= law.score(int(counts[0]))
			}
			return score
		}
	}}
}

// Fragments returns the counts of one cell over every fragment of all respondents, of whom the
// one attacked sets it and nobody else, or nobody at all. Its score is their sum, which
// says nearly all of it.
func Fragments(m randomize.Fragmented, users int) Observed {
	m.Backstop.K, m.Fragment.K = 1, 1
	return Observed{Sees: "the counts of a cell over all fragments, which the respondent or nobody holds", Work: 4 * (1 + m.Tau), New: func() View {
		sender, counts := m.Sender(), make([]uint64, 1)
		return func(r *rand.Rand, second bool) (score float64) {
			var holds []uint32
			if second {
				holds = []uint32{0}
			}
			m.Backstop.DrawCounts(r, []int{0}, users-1, counts)
			m.DrawFragments(r, counts, users-1, m.Tau, counts)
			kept := sender.Backstop(r, holds)
			for range m.Tau {
				sender.Fragment(r, kept, func(uint32) { counts[0]++ })
			}
			return float64(counts[0])
		}
	}}
}
