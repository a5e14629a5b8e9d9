package counter

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/sum"
)

// rows returns C times the counts of one cell, without those of some days.
func (c *Counter) rows(counts []int64, days []int) []int64 {
	var rows []int64
	for _, t := range days {
		sum := int64(0)
		for _, s := range days {
			if s <= t {
				sum += c.factor[t-s] * counts[s]
			}
		}
		rows = append(rows, sum)
	}
	return rows
}

// read returns the running total after each row.
func (c *Counter) read(days []int, rows []int64) []float64 {
	var counts, totals []float64
	sum := 0.0
	for i, row := range rows {
		counts = append(counts, c.Count(days[i], float64(row), days[:i], counts))
		sum += counts[i]
		totals = append(totals, sum)
	}
	return totals
}

// The coefficients are the rounded binomials, computed here in whole numbers.
func TestTheFactorIsRounded(t *testing.T) {
	for bits, length := range map[int]int{10: 2000, 14: 2000, 4: 400} {
		got := sum.Factor(length, bits)
		choose := big.NewInt(1) // binom(2j, j)
		for j := range length {
			twice := new(big.Int).Lsh(choose, uint(bits+1)) // 2^(bits+1) binom/4^j, rounded half up, and halved
			want := twice.Rsh(twice.Add(twice, new(big.Int).Lsh(big.NewInt(1), uint(2*j))), uint(2*j+1)).Int64()
			if got[j] != want || j > 0 && got[j] > got[j-1] {
				t.Fatalf("%d bits, coefficient %d: %d, want %d", bits, j, got[j], want)
			}
			choose.Mul(choose, big.NewInt(int64(2*(2*j+1)))).Quo(choose, big.NewInt(int64(j+1)))
		}
	}
}

// A million events without noise come back as they are, whatever days are missing. The twin divides by the
// coefficients before they were rounded.
func TestAReaderDividesByTheRoundedFactor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, bits := range []int{4, 8, 10} {
		c := made(t, Design{Rounds: 365, Bits: bits, Events: 1, Cells: 1})
		counts := make([]int64, c.Rounds)
		for range 1_000_000 {
			counts[r.IntN(len(counts))]++
		}
		for _, lost := range [][]int{nil, {0}, {3, 4, 200}, {364}} {
			var days []int
			missing := map[int]bool{}
			for _, d := range lost {
				missing[d] = true
			}
			for d := range counts {
				if !missing[d] {
					days = append(days, d)
				}
			}
			all := int64(0)
			for i, total := range c.read(days, c.rows(counts, days)) {
				if all += counts[days[i]]; math.Round(total) != float64(all) || math.Abs(total-float64(all)) > 1e-3 {
					t.Fatalf("%d bits, without %v: day %d reads %v, want %d", bits, lost, days[i], total, all)
				}
			}
		}
	}
	c := made(t, Design{Rounds: 365, Bits: 8, Events: 1, Cells: 1})
	fine := made(t, Design{Rounds: 365, Bits: 16, Events: 1, Cells: 1})
	counts, days := make([]int64, 365), make([]int, 365)
	for d := range days {
		days[d], counts[d] = d, 4_000_000/365
	}
	rows := c.rows(counts, days)
	for i := range rows {
		rows[i] *= 1 << 8
	}
	if twin := fine.read(days, rows)[364]; math.Abs(twin-4_000_000/365*365) < 1000 {
		t.Errorf("a reader who divides by other coefficients reads %v, which is right", twin)
	}
}

// Errors are the deviations of what Read gives, and of what a total is above the one before: each row moved by one shows
// its weight.
func TestErrorsAreThoseOfTheReader(t *testing.T) {
	c := made(t, Design{Rounds: 20, Bits: 10, Events: 1, Cells: 1})
	for _, missing := range [][]int{nil, {0}, {4, 5, 11}, {19}, {0, 1, 2, 18}} {
		var days []int
		for d := range c.Rounds {
			if !contains(missing, d) {
				days = append(days, d)
			}
		}
		totals, changes := make([]float64, len(days)), make([]float64, len(days))
		for i := range days {
			rows := make([]int64, len(days))
			rows[i] = 1 << 30
			before := 0.0
			for j, x := range c.read(days, rows) {
				x /= 1 << 30
				totals[j] += x * x
				changes[j] += (x - before) * (x - before)
				before = x
			}
		}
		since := -1
		for j, d := range days {
			near(t, "total", c.Error(-1, d, missing), math.Sqrt(totals[j]), 1e-9)
			near(t, "change", c.Error(since, d, missing), math.Sqrt(changes[j]), 1e-9)
			since = d
		}
	}
}

func contains(all []int, x int) bool {
	for _, y := range all {
		if x == y {
			return true
		}
	}
	return false
}

func TestDesignsThatAreRefused(t *testing.T) {
	good := Design{Rounds: 365, Bits: 10, Events: 1, Cells: 1}
	for want, spoil := range map[string]func(*Design){
		"0 rounds":  func(d *Design) { d.Rounds = 0 },
		"17 bits":   func(d *Design) { d.Bits = 17 },
		"0 events":  func(d *Design) { d.Events = 0 },
		"3 events":  func(d *Design) { d.Rounds, d.Events, d.Cells = 2, 3, 2 }, // two of one day, in two cells, move more than is counted
		"0 cells":   func(d *Design) { d.Cells = 0 },
		"take turn": func(d *Design) { d.Turns = true },
	} {
		d := good
		spoil(&d)
		if _, err := New(d, sum.Factor); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %q", err, want)
		}
	}
}
