package sketch

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func field(x uint64) *big.Int { return new(big.Int).SetUint64(x) }

var modulus = field(prime)

// The cell by arithmetic on whole numbers.
func slowCell(a [4]uint64, value uint32, cells int) uint32 {
	h := new(big.Int)
	for j := 3; j >= 0; j-- {
		h.Mul(h, field(uint64(value))).Add(h, field(a[j])).Mod(h, modulus)
	}
	return uint32(h.Mul(h, field(uint64(cells))).Rsh(h, 61).Uint64())
}

func TestCellIsThePolynomial(t *testing.T) {
	if !modulus.ProbablyPrime(20) {
		t.Fatal("the field has no prime order")
	}
	coefficient := rapid.OneOf(rapid.Uint64Range(0, prime-1), rapid.Just(uint64(prime-1)), rapid.Just(uint64(0)))
	rapid.Check(t, func(t *rapid.T) {
		a := [4]uint64{coefficient.Draw(t, "a0"), coefficient.Draw(t, "a1"), coefficient.Draw(t, "a2"), coefficient.Draw(t, "a3")}
		value := rapid.OneOf(rapid.Uint32(), rapid.Just(^uint32(0))).Draw(t, "value")
		cells := rapid.IntRange(2, maxChannels).Draw(t, "cells")
		r := rows{coefficients: [][4]uint64{a}, cells: uint64(cells)}
		if got, want := r.Cell(0, value), slowCell(a, value, cells); got != want || int(got) >= cells {
			t.Fatalf("cell %d of %d, want %d", got, cells, want)
		}
	})
}

func TestReduce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hi, lo := rapid.Uint64Range(0, 1<<60-1).Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")
		want := field(hi)
		want.Lsh(want, 64).Add(want, field(lo)).Mod(want, modulus)
		if got := reduce(hi, lo); got != want.Uint64() {
			t.Fatalf("reduce(%#x, %#x) = %#x, want %#x", hi, lo, got, want)
		}
	})
	for _, lo := range []uint64{prime - 1, prime, prime + 1, 2 * prime, 1<<64 - 1} {
		if got := reduce(0, lo); got != lo%prime {
			t.Errorf("reduce(0, %#x) = %#x", lo, got)
		}
	}
}

// Whatever hashes four values are to have, one polynomial gives them: so uniform
// coefficients make the four independent and uniform. Lagrange's interpolation finds it.
func TestAnyFourHashesHaveOnePolynomial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfNDistinct(rapid.Uint32(), 4, 4, rapid.ID).Draw(t, "values")
		y := rapid.SliceOfN(rapid.Uint64Range(0, prime-1), 4, 4).Draw(t, "hashes")
		var a [4]uint64
		for i := range x { // y_i times the product of (X - x_j)/(x_i - x_j) over the others
			scale, poly := field(y[i]), []*big.Int{big.NewInt(1)}
			for j := range x {
				if j == i {
					continue
				}
				d := new(big.Int).Sub(field(uint64(x[i])), field(uint64(x[j])))
				scale.Mul(scale, d.ModInverse(d.Mod(d, modulus), modulus)).Mod(scale, modulus)
				next := append([]*big.Int{big.NewInt(0)}, poly...)
				for k, c := range poly {
					next[k] = new(big.Int).Sub(next[k], new(big.Int).Mul(c, field(uint64(x[j]))))
				}
				poly = next
			}
			for k, c := range poly {
				term := new(big.Int).Mul(c, scale)
				a[k] = term.Add(term, field(a[k])).Mod(term, modulus).Uint64()
			}
		}
		const cells = maxChannels
		r := rows{coefficients: [][4]uint64{a}, cells: cells}
		for i := range x {
			if got, want := r.Cell(0, x[i]), uint32(y[i]>>34); got != want { // y 2^27 / 2^61
				t.Fatalf("value %d is in cell %d, want %d", x[i], got, want)
			}
		}
	})
}

// Four neighbouring values over fresh seeds fill the 16 pairs-of-halves alike: 30,000
// seeds catch a relative entropy of 0.001; the twin copies every thirtieth hash.
func TestSeedsGiveIndependentRows(t *testing.T) {
	const draws = 30000
	r, err := newRows(draws, 2, [32]byte{3})
	if err != nil {
		t.Fatal(err)
	}
	law, counts, twin := make([]float64, 16), make([]int, 16), make([]int, 16)
	for i := range law {
		law[i] = 1. / 16
	}
	for row := range draws {
		outcome := 0
		for value := range uint32(4) {
			outcome = outcome<<1 | int(r.Cell(row, value))
		}
		counts[outcome]++
		if row%30 == 0 {
			outcome = outcome&^1 | outcome>>1&1
		}
		twin[outcome]++
	}
	stattest.GTest(t, law, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, twin) })
}

// Golden vectors let a second implementation find its first wrong step. They change
// only with the format's version: a device with other hashes would spoil every count. Do
// not edit to pass.
var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

type vectors struct {
	Comment string  `json:"comment"`
	Source  string  `json:"source"`
	Cases   []shape `json:"cases"`
}

type shape struct {
	Name         string     `json:"name"`
	Hashes       int        `json:"hashes"`
	Width        int        `json:"width"`
	Seed         string     `json:"seed"`
	Refused      bool       `json:"refused"`
	Coefficients [][]string `json:"coefficients,omitempty"` // a_0 to a_3 of these rows, hexadecimal
	Values       []uint32   `json:"values,omitempty"`
	Channels     [][]uint32 `json:"channels,omitempty"` // of the values, in these rows
}

func TestGoldenVectors(t *testing.T) {
	got := vectors{
		Comment: "Channels that a device sets, before it randomizes, in the first two rows and the last. A count sketch has two channels a column: + and -.",
		Source:  "confetti, go test ./dp/sketch -run TestGoldenVectors -update",
	}
	for _, c := range []shape{
		{Name: "count-mean", Hashes: 3, Width: 10}, {Name: "count-mean", Hashes: 1024, Width: 65536}, {Name: "count", Hashes: 5, Width: 7},
		{Name: "count-mean", Hashes: 1, Width: maxChannels}, {Name: "count", Hashes: 1, Width: 1},
		{Name: "count-mean", Hashes: 0, Width: 10}, {Name: "count-mean", Hashes: 2, Width: 1}, {Name: "count-mean", Hashes: 1024, Width: 1<<17 + 1},
		{Name: "count-mean", Hashes: 1 << 40, Width: 1 << 40}, {Name: "count", Hashes: 1024, Width: 1<<16 + 1}, {Name: "count", Hashes: 1, Width: 0},
		{Name: "count", Hashes: 1, Width: 1 << 50},
	} {
		var seed [32]byte
		for i := range seed {
			seed[i] = byte(i) + byte(c.Hashes)
		}
		c.Seed = hex.EncodeToString(seed[:])
		r, err := made(c.Name, c.Hashes, c.Width, seed)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "sketch: ") {
				t.Error(err)
			}
			c.Refused = true
		} else {
			c.Values = []uint32{0, 1, 2, 1778119, 1<<32 - 1}
			for _, row := range []int{0, min(1, r.Rows()-1), r.Rows() - 1} {
				var coefficients []string
				for _, a := range r.coefficients[row] {
					coefficients = append(coefficients, fmt.Sprintf("%016x", a))
				}
				c.Coefficients = append(c.Coefficients, coefficients)
				var channels []uint32
				for _, v := range c.Values {
					channels = append(channels, r.Channel(row, r.Cell(row, v)))
				}
				c.Channels = append(c.Channels, channels)
			}
		}
		got.Cases = append(got.Cases, c)
	}
	const file = "testdata/vectors/v1/sketch.json"
	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		if err == nil {
			err = os.WriteFile(file, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var want vectors
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil || len(want.Cases) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hashes differ from the vectors (-want +got):\n%s", diff)
	}
}

func made(name string, hashes, width int, seed [32]byte) (rows, error) {
	if name == "count" {
		s, err := NewCount(hashes, width, seed)
		if err != nil {
			return rows{}, err
		}
		return s.rows, nil
	}
	s, err := NewCountMean(hashes, width, seed)
	if err != nil {
		return rows{}, err
	}
	return s.rows, nil
}
