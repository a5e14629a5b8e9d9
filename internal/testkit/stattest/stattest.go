// Package stattest compares randomness with a law at one fixed rate of false alarms. Used by tests of internal/dp,
// internal/account, internal/audit and client, and by no other way of comparing.
//
//   - the law is computed, never sampled, and is itself tested without randomness;
//   - the seed is fixed, so that a failure is a bug or a changed sampler, never bad
//     luck to be run again; a fresh seed is for a nightly run;
//   - a test says which error it can catch and shows it on a broken twin (Caught).
//
// Misuse, such as a law that does not sum to one, panics: it must not pass for a sampler that was caught.
package stattest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
)

// Alpha is the probability that a check fails a right sampler under a fresh
// seed. With a thousand checks in the tree, one fresh run in a thousand fails.
const Alpha = 1e-6

// Rand returns the generator of a test: seeded by the test's name and by the
// environment variable CONFETTI_SEED, 1 by default. A failing test logs the seed.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if s := os.Getenv("CONFETTI_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			panic("stattest: CONFETTI_SEED is not a number: " + s)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stattest: CONFETTI_SEED=%d", seed)
		}
	})
	name := fnv.New64a()
	name.Write([]byte(t.Name()))
	return seeded.New(seed, name.Sum64())
}

// Mean checks the mean of draws against the exact mean and variance of one draw
// by a normal test. Take the variance from the law that the sampler claims. There
// must be draws enough for their sum to be near normal: skewed laws want many.
//
// Among n draws it catches a mean that is off by 6.2 standard deviations / sqrt(n)
// nine times in ten (4.9 for Alpha, and 1.3).
func Mean(t testing.TB, mean, variance float64, draws []float64) {
	t.Helper()
	if len(draws) < 100 || !(variance >= 0) || math.IsInf(variance, 0) {
		panic(fmt.Sprintf("stattest: no mean test of %d draws of variance %v", len(draws), variance))
	}
	var sum float64
	for _, x := range draws {
		sum += x - mean
	}
	n := float64(len(draws))
	if variance == 0 {
		if sum != 0 {
			t.Errorf("mean %v of a law that is always %v", mean+sum/n, mean)
		}
		return
	}
	z := sum / math.Sqrt(n*variance)
	if p := math.Erfc(math.Abs(z) / math.Sqrt2); !(p >= Alpha) {
		t.Errorf("mean of %d draws is %v, want %v: z = %.2f, p = %.2g", len(draws), mean+sum/n, mean, z, p)
	}
}

// SameMean checks that two kinds of draws have one mean, by Welch's t, whose law is near normal for so many draws.
//
// Among n draws of each kind it catches means that are 6.2 sqrt(2/n) standard deviations apart nine times in ten.
func SameMean(t testing.TB, a, b []float64) {
	t.Helper()
	if len(a) < 100 || len(b) < 100 {
		panic(fmt.Sprintf("stattest: no comparison of the means of %d and %d draws", len(a), len(b)))
	}
	moments := func(draws []float64) (mean, spread float64) {
		n := float64(len(draws))
		for _, x := range draws {
			mean += x / n
		}
		for _, x := range draws {
			spread += (x - mean) * (x - mean) / (n * (n - 1))
		}
		return mean, spread
	}
	m, v := moments(a)
	n, w := moments(b)
	z := (m - n) / math.Sqrt(v+w)
	if m == n {
		z = 0
	}
	if p := math.Erfc(math.Abs(z) / math.Sqrt2); !(p >= Alpha) {
		t.Errorf("means of %d and %d draws are %v and %v: t = %.2f, p = %.2g", len(a), len(b), m, n, z, p)
	}
}

// Caught runs a check on a broken twin and fails unless the check does. This is
// the test of the test: it shows that the check has the power it claims.
func Caught(t testing.TB, check func(tb testing.TB)) {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // its own goroutine, since FailNow ends the one it is called in
		defer close(done)
		check(r)
	}()
	<-done
	if !r.failed {
		t.Errorf("the broken twin was not caught")
	}
}

// recorder notes failures instead of passing them on.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Fail()        { r.failed = true }
func (r *recorder) Failed() bool { return r.failed }

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

func (r *recorder) Error(args ...any) {
	r.Helper()
	r.Log("caught:", fmt.Sprint(args...))
	r.Fail()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.Helper()
	r.Error(fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) {
	r.Helper()
	r.Error(args...)
	r.FailNow()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Helper()
	r.Errorf(format, args...)
	r.FailNow()
}
