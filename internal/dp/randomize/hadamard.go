package randomize

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Hadamard is Hadamard response (Acharya, Sun, Zhang 2019): one message, of the columns of
// Sylvester's matrix of signs, whose order is the least power of two above K. A column
// where the row of the device's cell has a plus is e^Epsilon times as likely as one where
// it has a minus. A device takes the same microsecond at every K.
//
// Every value favours half of the reports, which is right for an Epsilon of about one and
// wasteful for large ones.
type Hadamard struct {
	K       int     // cells, in [2, MaxCells)
	Epsilon float64 // local, under replacement, in [minEpsilon, MaxEpsilon]
}

// Validate says what is wrong with the parameters.
func (m Hadamard) Validate() error {
	if m.K < 2 || m.K >= MaxCells {
		return fmt.Errorf("randomize: hadamard response over %d cells: give 2 to below %d", m.K, MaxCells)
	}
	return validEpsilon(m.Epsilon)
}

func (m Hadamard) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// Channels returns the number of different messages: the order of the matrix.
func (m Hadamard) Channels() int { return 1 << bits.Len(uint(m.K)) }

// A cell has the row after its number: the first row, all plus, favours nothing. The sign
// of (row, column) is that of the number of ones in row AND column.
func minus(x, column int) bool { return bits.OnesCount(uint((x+1)&column))&1 == 1 }

// Randomize emits the one message of a device that holds x, in [0, K): a uniform column
// of the wanted sign. A uniform column with the other sign becomes one when a bit that its
// row has is flipped.
//
// Rounding is against the mechanism: the probability 1/(e^epsilon+1) of a minus is
// enlarged by 2^-50 of itself and then drawn exactly, as is the column.
func (m Hadamard) Randomize(r *rand.Rand, x int, emit func(channel uint32)) {
	m.must()
	checkCell(x, m.K)
	column := r.IntN(m.Channels())
	if minus(x, column) != rng.Bernoulli(r, rng.Prob(flipped(m.Epsilon))) {
		column ^= (x + 1) & -(x + 1)
	}
	emit(uint32(column))
}

// Prob returns the probability of a message when the device holds x.
func (m Hadamard) Prob(channel uint32, x int) float64 {
	m.must()
	checkCell(x, m.K)
	e := math.Exp(-m.Epsilon)
	if minus(x, int(channel)) {
		return 2 * e / (1 + e) / float64(m.Channels())
	}
	return 2 / (1 + e) / float64(m.Channels())
}

// DrawCounts draws the analyzer's counts of all messages from their exact joint law when
// holders[x] devices hold x, device by device. holders has K entries, out Channels().
func (m Hadamard) DrawCounts(r *rand.Rand, holders []int, out []uint64) {
	m.must()
	devices(holders, m.K)
	checkLength("counts", len(out), m.Channels())
	clear(out)
	flip := rng.Prob(flipped(m.Epsilon))
	for x, t := range holders {
		for range t {
			column := r.IntN(len(out))
			if minus(x, column) != rng.Bernoulli(r, flip) {
				column ^= (x + 1) & -(x + 1)
			}
			out[column]++
		}
	}
}

// EstimateAll estimates how many of n devices hold each cell, unbiased; counts has Channels()
// entries, out K.
//
// The messages with a plus less those with a minus in a row are a sum of signs, one a
// device, of mean m = tanh(epsilon/2) for holders of the cell and zero for others, whose
// rows are orthogonal: in all t m with variance n - t m^2. Divided by m it estimates t,
// with variance n/m^2 - t.
func (m Hadamard) EstimateAll(counts []uint64, n int, out []estimate.Value) {
	m.must()
	checkLength("counts", len(counts), m.Channels())
	checkLength("estimates", len(out), m.K)
	signs := make([]float64, len(counts)) // integers up to n, exact
	for i, c := range counts {
		signs[i] = float64(c)
	}
	transform(signs)
	mean := math.Tanh(m.Epsilon / 2)
	for x := range out {
		t := signs[x+1] / mean
		out[x] = estimate.Value{Mean: t, StdErr: math.Sqrt(math.Max(0, float64(n)/(mean*mean)-t))}
	}
}

// Variance returns that of the estimate of a cell that holders of n devices hold.
func (m Hadamard) Variance(holders, n int) float64 {
	m.must()
	checkHolders(holders, n)
	mean := math.Tanh(m.Epsilon / 2)
	return float64(n)/(mean*mean) - float64(holders)
}

// Event returns what the accountant is told of the shuffled reports of so many users: rows are
// orthogonal, so that two have plus and minus in a quarter of the columns each.
func (m Hadamard) Event(users int) account.Event {
	return favour{m.Epsilon, 0.5}.third(users, m.K, 0.25, 0) // the product of two rows is a third's
}

// Covering is Event: any two rows, of however many, have plus and minus in a quarter of the
// columns each.
func (m Hadamard) Covering(users int) account.Event { return m.Event(users) }

// Local returns what a device is promised against everybody else.
func (m Hadamard) Local(adj account.Adjacency) account.Guarantee {
	m.must()
	return favour{m.Epsilon, 0.5}.local(adj, "hadamard response")
}

// transform multiplies v, whose length is a power of two, by Sylvester's matrix. Halves
// are combined first, until they fit a cache.
func transform(v []float64) {
	const cached = 1 << 12
	if len(v) > cached {
		a, b := v[:len(v)/2], v[len(v)/2:]
		combine(a, b)
		transform(a)
		transform(b)
		return
	}
	for half := len(v) / 2; half >= 1; half /= 2 {
		for at := 0; at < len(v); at += 2 * half {
			combine(v[at:at+half], v[at+half:at+2*half])
		}
	}
}

// combine replaces two vectors by their sum and their difference.
func combine(a, b []float64) {
	b = b[:len(a)]
	for i, x := range a {
		a[i], b[i] = x+b[i], x-b[i]
	}
}
