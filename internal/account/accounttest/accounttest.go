// Package accounttest gives tests of the accountant reference numbers, laws enumerated outcome by outcome, and
// comparisons. Used by tests of account, internal/account and lab/literature.
package accounttest

import (
	"embed"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// Vectors are the files of reference numbers, below testdata/vectors.
//
//go:embed testdata/vectors
var Vectors embed.FS

// Number reads a JSON number or a decimal string of one.
type Number float64

func (n *Number) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = Number(x)
	return err
}

// Core reads a group of core.json into rows; it fails on none. field is "rows" unless the group has several lists.
func Core[Row any](t testing.TB, group, field string) []Row {
	t.Helper()
	b, err := Vectors.ReadFile("testdata/vectors/core.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	var rows []Row
	if err := json.Unmarshal(file.Groups[group][field], &rows); err != nil {
		t.Fatalf("%s.%s: %v", group, field, err)
	}
	if len(rows) == 0 {
		t.Fatalf("%s.%s is empty", group, field)
	}
	return rows
}

// Within fails unless got is within the relative tolerance of want.
func Within(t testing.TB, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s: %.15g, want %.15g (off by %.2g relative, tolerance %.1g)", what, got, want, got/want-1, relative)
	}
}

// EpsilonOf returns the epsilon of a guarantee that must be there.
func EpsilonOf(t testing.TB, g account.Guarantee, err error) float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return g.Epsilon
}

// EpsilonFrom returns the epsilon of an event by one of the accountant's functions.
func EpsilonFrom(t testing.TB, f func(account.Event, float64) (account.Guarantee, error), e account.Event, delta float64) float64 {
	t.Helper()
	g, err := f(e, delta)
	return EpsilonOf(t, g, err)
}

// Rows reads the rows of a file of reference numbers; each file names its
// source.
func Rows[T any](t testing.TB, name string) []T {
	t.Helper()
	data, err := Vectors.ReadFile("testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Source string `json:"source"`
		Rows   []T    `json:"rows"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Rows) == 0 || file.Source == "" {
		t.Fatalf("%s: no rows or no source", name)
	}
	return file.Rows
}

// Hostile numbers stand for a parameter in turn; good ones for the others.
var Hostile = []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300}

// Counts returns the law of the count of ones that users with the given bits report.
func Counts(bits []bool, p float64) []float64 {
	law := []float64{1}
	for _, b := range bits {
		one := p
		if b {
			one = 1 - p
		}
		next := make([]float64, len(law)+1)
		for i, w := range law {
			next[i] += w * (1 - one)
			next[i+1] += w * one
		}
		law = next
	}
	return law
}

// Stick returns the hockey stick of two laws on the same outcomes.
func Stick(p, q []float64, epsilon float64) float64 {
	sum, times := 0.0, math.Exp(epsilon)
	for i := range p {
		sum += math.Max(0, p[i]-times*q[i])
	}
	return sum
}

// Product returns the law of independent rounds.
func Product(a, b []float64) []float64 {
	c := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			c = append(c, x*y)
		}
	}
	return c
}

// Bits returns the lowest n bits of x.
func Bits(x, n int) []bool {
	bits := make([]bool, n)
	for i := range bits {
		bits[i] = x>>i&1 == 1
	}
	return bits
}

// DeltaOf returns the delta of an event that must have one.
func DeltaOf(t testing.TB, e account.Event, epsilon float64) float64 {
	t.Helper()
	g, err := account.Delta(e, epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return g.Delta
}

// Pairs returns the pairs of laws of a release of n users, by both directions of every data set of n-1 others.
func Pairs(n int, p float64) (all [][2][]float64) {
	for k := range n {
		zero, one := Bits(1<<k-1, n), Bits(1<<k-1, n)
		one[n-1] = true // bits 0..k-1 are ones, the target is last
		a, b := Counts(zero, p), Counts(one, p)
		all = append(all, [2][]float64{a, b}, [2][]float64{b, a})
	}
	return all
}

// LogFactorial returns ln n!.
func LogFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// OnesLaw returns the law of the number of ones among bits of the given probabilities.
func OnesLaw(probabilities []float64) []float64 {
	law := []float64{1}
	for _, q := range probabilities {
		next := make([]float64, len(law)+1)
		for t, p := range law {
			next[t] += p * (1 - q)
			next[t+1] += p * q
		}
		law = next
	}
	return law
}

// Follows recomputes what is claimed of an event, as a device does before it answers.
func Follows(t *testing.T, e account.Event, claimed account.Guarantee) {
	t.Helper()
	g, err := account.Epsilon(e, claimed.Delta)
	if err != nil || claimed.Adjacency != g.Adjacency || claimed.Trust != g.Trust || claimed.Rounds != g.Rounds ||
		claimed.Users != g.Users || !(claimed.Epsilon >= g.Epsilon*(1-1e-9)) {
		t.Errorf("%T: claimed %v, recomputed %v (%v)", e, claimed, g, err)
	}
}
