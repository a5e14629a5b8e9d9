package randomize

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
)

// LocalHash is local hashing (Wang, Blocki, Li, Jha 2017): a device draws one of a public
// family of hash functions, hashes its cell to G symbols, and sends the function with the
// symbol after G-ary randomized response. One message, however large the domain.
//
// The family is drawn once from a public seed, three-wise independent: any three cells
// hash like three independent uniform symbols. Functions is what makes the number of
// different messages finite; two cells collide in about 1/G of the functions, and
// standard errors include that it is only about (EstimateAll).
type LocalHash struct {
	K         int      // cells, in [2, MaxCells]
	G         int      // symbols, in [2, 2^20]
	Functions int      // in the family, >= 1; Functions*G at most MaxCells
	Epsilon   float64  // local, under replacement, in [minEpsilon, MaxEpsilon]
	Seed      [32]byte // of the family
}

// HashRange returns the G of least variance for cells that few devices hold: the integer
// nearest e^epsilon + 1, in [2, 2^20].
func HashRange(epsilon float64) int {
	return int(math.Max(2, math.Min(maxRange, math.Round(math.Exp(epsilon)+1))))
}

const maxRange = 1 << 20

// HashFunctions returns how many functions n devices should draw from: as many as it takes for
// the collisions of any cells to add at most a tenth to the error of independent hashes,
// and no more than leave 2^24 different messages and an analyzer 2^32 hashes of k cells.
//
// Where all n hold one cell, collisions add n (s - 1/G)/(1 - 1/G)/Functions of the variance
// (EstimateAll), which may be 0.21.
func HashFunctions(n, k, g int, epsilon float64) int {
	const channels, work, share = 1 << 24, 1 << 32, 0.21
	truth := KRR{K: g, Epsilon: epsilon}.Prob(0, 0)
	same := truth*truth + (1-truth)*(1-truth)/float64(g-1)
	want := float64(n) * (same - 1/float64(g)) / (1 - 1/float64(g)) / share
	return max(1, int(min(math.Ceil(want), float64(channels/g), float64(work/k))))
}

// Validate says what is wrong with the parameters.
func (m LocalHash) Validate() error {
	if m.K < 2 || m.K > MaxCells {
		return fmt.Errorf("randomize: local hashing over %d cells: give 2 to %d", m.K, MaxCells)
	}
	if m.G < 2 || m.G > maxRange {
		return fmt.Errorf("randomize: local hashing to %d symbols: give 2 to %d", m.G, maxRange)
	}
	if m.Functions < 1 || m.Functions > MaxCells/m.G {
		return fmt.Errorf("randomize: local hashing with %d functions to %d symbols: give at least one, and at most %d messages", m.Functions, m.G, MaxCells)
	}
	return validEpsilon(m.Epsilon)
}

func (m LocalHash) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

func (m LocalHash) response() KRR { return KRR{K: m.G, Epsilon: m.Epsilon} }

// field is 2^61 - 1, a prime.
const field = 1<<61 - 1

// hash is one function: the symbol of cell x is the part, of G equal ones, of the field
// in which a + b x + c x^2 lies. With uniform coefficients the values of three cells are
// independent and uniform; a part has the share 1/G of the field but for one in 2^61.
type hash struct{ a, b, c, symbols uint64 }

// function reads its coefficients as three words of the stream "local-hash/<number>",
// the top 61 bits of each, the prime itself standing for zero.
func (m LocalHash) function(number int) hash {
	words := encode.Expand(m.Seed, fmt.Sprintf("local-hash/%d", number))
	coefficient := func() uint64 { return reduce(words.Uint64() >> 3) }
	return hash{a: coefficient(), b: coefficient(), c: coefficient(), symbols: uint64(m.G)}
}

func (m LocalHash) family() []hash {
	all := make([]hash, m.Functions)
	for i := range all {
		all[i] = m.function(i)
	}
	return all
}

func (h hash) symbol(x int) int {
	v := times(h.c, uint64(x))
	v = times(reduce(v+h.b), uint64(x))
	v = reduce(v + h.a)
	part, _ := bits.Mul64(v<<3, h.symbols) // floor(v G / 2^61)
	return int(part)
}

// reduce is x modulo the field for x below twice it.
func reduce(x uint64) uint64 {
	if x >= field {
		return x - field
	}
	return x
}

// times returns the product modulo the field: of hi 2^64 + lo the high part counts eightfold.
func times(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return reduce(reduce(lo&field) + (hi<<3 | lo>>61))
}

// Hash returns the symbol of cell x under one function of the family.
func (m LocalHash) Hash(function, x int) int {
	m.must()
	checkCell(x, m.K)
	return m.function(function).symbol(x)
}

// Randomize emits the one message of a device that holds x, in [0, K): function*G + symbol.
func (m LocalHash) Randomize(r *rand.Rand, x int, emit func(channel uint32)) {
	m.must()
	checkCell(x, m.K)
	function := r.IntN(m.Functions)
	symbol := m.response().Randomize(r, m.function(function).symbol(x))
	emit(uint32(function*m.G + symbol))
}

// Channels returns the number of different messages.
func (m LocalHash) Channels() int { return m.Functions * m.G }

// Prob returns the probability of a message when the device holds x.
func (m LocalHash) Prob(channel uint32, x int) float64 {
	m.must()
	if int(channel) >= m.Channels() {
		return 0
	}
	symbol := m.Hash(int(channel)/m.G, x)
	return m.response().Prob(int(channel)%m.G, symbol) / float64(m.Functions)
}

// DrawCounts draws the analyzer's counts of all messages from their exact joint law, given
// the family, when holders[x] devices hold x. holders has K entries, out Channels().
//
// A device lies uniformly or tells the truth. Lies are gathered by function; of a value
// held by more devices than there are functions, each function gets its share at once.
func (m LocalHash) DrawCounts(r *rand.Rand, holders []int, out []uint64) {
	m.must()
	devices(holders, m.K)
	checkLength("counts", len(out), m.Channels())
	clear(out)
	family, lie := m.family(), m.response().uniform()
	lies := make([]int, m.Functions)
	give := func(function, x, t int) {
		lying := prob.DrawBinomial(r, t, lie)
		lies[function] += lying
		out[function*m.G+family[function].symbol(x)] += uint64(t - lying)
	}
	for x, t := range holders {
		if t < m.Functions {
			for range t {
				give(r.IntN(m.Functions), x, 1)
			}
			continue
		}
		for function := range family {
			share := prob.DrawBinomial(r, t, 1/float64(m.Functions-function))
			give(function, x, share)
			t -= share
		}
	}
	for function, t := range lies {
		scatter(r, t, out[function*m.G:(function+1)*m.G])
	}
}

// support: a message supports every cell that its function hashes to its symbol. Another
// cell than the device's does so with probability 1/G over the draw of the family.
func (m LocalHash) support() support {
	g, e := float64(m.G), math.Expm1(m.Epsilon)
	return support{
		hold: (e + 1) / (e + g), miss: (g - 1) / (e + g), other: 1 / g,
		gap: (g - 1) * e / (g * (e + g)),
	}
}

// EstimateAll estimates how many of n devices hold each cell, unbiased over devices and the draw
// of the family; counts has Channels() entries, out K.
//
// Beside the variance of independent messages (support) there is that of collisions: two
// devices with one function and one value u support a cell together or not at all. Two
// devices of one value send the same symbol with probability s = p^2 + (1-p)^2/(G-1), p
// being the truth's, two of different values with 1/G. So the ordered pairs that agree in
// function and symbol exceed n(n-1)/(Functions G) in the mean by (s - 1/G)/Functions for
// each pair of one value. The covariance of such a pair's supports is 1/G of that: a G-th
// of the excess is the variance of collisions, unbiased. It counts the cell's own devices
// too, which do not collide with it, and so is a little large where they are many.
func (m LocalHash) EstimateAll(counts []uint64, n int, out []estimate.Value) {
	m.must()
	checkLength("counts", len(counts), m.Channels())
	checkLength("estimates", len(out), m.K)
	s, collisions := m.support(), math.Sqrt(math.Max(0, m.squareOfCollisions(counts, n)))
	family := m.family()
	var wait sync.WaitGroup
	block := (m.K + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for from := 0; from < m.K; from += block {
		wait.Go(func() {
			to := min(m.K, from+block)
			supports := make([]uint64, to-from)
			for function, h := range family {
				row := counts[function*m.G : (function+1)*m.G]
				for i := range supports {
					supports[i] += row[h.symbol(from+i)]
				}
			}
			for i, c := range supports {
				v := s.estimate(c, n)
				v.StdErr = math.Hypot(v.StdErr, collisions)
				out[from+i] = v
			}
		})
	}
	wait.Wait()
}

// squareOfCollisions estimates the variance that collisions add to every estimate,
// unbiased and therefore negative now and then.
func (m LocalHash) squareOfCollisions(counts []uint64, n int) float64 {
	var agree prob.Sum
	for _, c := range counts {
		agree.Add(float64(c) * (float64(c) - 1))
	}
	agree.Add(-float64(n) * (float64(n) - 1) / float64(m.Channels()))
	gap := m.support().gap
	return agree.Value() / float64(m.G) / (gap * gap)
}

// Variance returns that of the estimate of the cell x when holders[x] devices hold each, over
// the draw of the family too.
func (m LocalHash) Variance(x int, holders []int) float64 {
	m.must()
	n, s, g := devices(holders, m.K), m.support(), float64(m.G)
	var pairs prob.Sum
	for u, t := range holders {
		if u != x {
			pairs.Add(float64(t) * (float64(t) - 1))
		}
	}
	same := s.hold*s.hold + s.miss*s.miss/(g-1)
	return s.variance(holders[x], n) + (same-1/g)/g/float64(m.Functions)*pairs.Value()/(s.gap*s.gap)
}

// Event returns what the accountant is told of the shuffled reports of so many users, whatever
// the family.
func (m LocalHash) Event(users int) account.Event {
	return favour{m.Epsilon, 1 / float64(m.G)}.event(users, 0)
}

// Covering is Event: how many cells are hashed to G symbols does not enter it.
func (m LocalHash) Covering(users int) account.Event { return m.Event(users) }

// Local returns what a device is promised against everybody else, who know its function. It is
// exact unless no function tells any two cells apart.
func (m LocalHash) Local(adj account.Adjacency) account.Guarantee {
	m.must()
	return favour{m.Epsilon, 1 / float64(m.G)}.local(adj, fmt.Sprintf("local hashing to %d symbols", m.G))
}
