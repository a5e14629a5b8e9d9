package admission

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// entry is one with randomized deletion, of crowds of at least 4.
func entry(d *plan.Deletion) Rules { return Rules{Minimum: 4, Deletion: d} }

// deletionLaw enumerates how many of n stay, n_hat = 0 being a crowd withheld.
func deletionLaw(n, minimum int, d plan.Deletion) []float64 {
	law := make([]float64, n+1)
	z := noise.DiscreteLaplace{Decay: d.Noise}
	left := 1.0
	for k := minimum; k <= n; k++ {
		law[k] = math.Exp(z.LogProb(k - n + d.Threshold))
		left -= law[k]
	}
	law[0] = left
	return law
}

// deletions checks the law of how many stay of 12. With 20,000 draws it catches
// a relative entropy of 0.003 (see stattest.GTest); the twins are off by more.
func deletions(t testing.TB, stay func(r *rand.Rand, e Rules, n int) int) {
	const n, draws = 12, 20_000
	d := plan.Deletion{Noise: 0.5, Threshold: 3}
	e, counts, r := entry(&d), make([]int, n+1), stattest.Rand(t)
	for range draws {
		counts[stay(r, e, n)]++
	}
	stattest.GTest(t, deletionLaw(n, e.Minimum, d), counts)
}

func survivors(r *rand.Rand, e Rules, n int) int {
	_, stay, _ := e.Survivors(r, n)
	return stay
}

func TestDeletionHasItsLaw(t *testing.T) { deletions(t, survivors) }

func TestBrokenDeletionsAreCaught(t *testing.T) {
	least := func(k int) int {
		if k < 4 {
			return 0
		}
		return k
	}
	for name, twin := range map[string]func(*rand.Rand, Rules, int) int{
		// What the paper's abort guards against: the true size shows as the greatest.
		"a crowd that would grow keeps its size": func(r *rand.Rand, e Rules, n int) int {
			z := noise.DiscreteLaplace{Decay: 0.5}.Sample(r)
			return least(min(n, n+z-3))
		},
		"half the noise": func(r *rand.Rand, e Rules, n int) int {
			return survivors(r, entry(&plan.Deletion{Noise: 1, Threshold: 3}), n)
		},
		"one fewer deleted": func(r *rand.Rand, e Rules, n int) int {
			return survivors(r, entry(&plan.Deletion{Noise: 0.5, Threshold: 2}), n)
		},
		"n_min before deletion": func(r *rand.Rand, e Rules, n int) int {
			few := e
			few.Minimum = 1
			return survivors(r, few, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			stattest.Caught(t, func(tb testing.TB) { deletions(tb, twin) })
		})
	}
}

// subsets checks that of 7 contributions, given that 5 stay, each of the 21
// choices is as likely. About 1,800 of 20,000 draws have 5: enough for a
// relative entropy of 0.03, such as a contribution that stays half as often.
func subsets(t testing.TB, choose func(r *rand.Rand, e Rules) []bool) {
	e, r := entry(&plan.Deletion{Noise: 0.5, Threshold: 3}), stattest.Rand(t)
	index := map[string]int{}
	var counts []int
	for a := range 7 {
		for b := range a {
			kept := make([]bool, 7)
			for i := range kept {
				kept[i] = i != a && i != b
			}
			index[fmt.Sprint(kept)] = len(counts)
			counts = append(counts, 0)
		}
	}
	for range 20_000 {
		if i, five := index[fmt.Sprint(choose(r, e))]; five {
			counts[i]++
		}
	}
	law := make([]float64, len(counts))
	for i := range law {
		law[i] = 1 / float64(len(law))
	}
	stattest.GTest(t, law, counts)
}

func TestDeletionChoosesUniformly(t *testing.T) {
	subsets(t, func(r *rand.Rand, e Rules) []bool {
		kept, stay, err := e.Survivors(r, 7)
		n := 0
		for _, k := range kept {
			if k {
				n++
			}
		}
		if n != stay || (err == nil) != (stay >= 4) {
			t.Fatalf("%d kept, %d said, %v", n, stay, err)
		}
		return kept
	})
	stattest.Caught(t, func(tb testing.TB) {
		subsets(tb, func(r *rand.Rand, e Rules) []bool { // the first to come stay
			kept, stay, _ := e.Survivors(r, 7)
			for i := range kept {
				kept[i] = i < stay
			}
			return kept
		})
	})
}

func TestWithoutDeletionAllStay(t *testing.T) {
	r := seeded.New(1)
	for n := range 8 {
		kept, stay, err := entry(nil).Survivors(r, n)
		if n < 4 {
			if !errors.Is(err, ErrWithheld) || stay != 0 || kept != nil {
				t.Errorf("%d: %v, %d stay", n, err, stay)
			}
			continue
		}
		for _, k := range kept {
			if !k {
				t.Errorf("%d: one was deleted", n)
			}
		}
		if err != nil || stay != n || len(kept) != n {
			t.Errorf("%d: %v, %d stay", n, err, stay)
		}
	}
}

// Of more than the plan's maximum so many stay, each as often.
func TestTheMaximumStays(t *testing.T) {
	e := entry(nil)
	e.Maximum = 5
	r := stattest.Rand(t)
	counts, early := make([]int, 8), make([]int, 8)
	for range 2000 {
		kept, stay, err := e.Survivors(r, 8)
		if err != nil || stay != 5 {
			t.Fatalf("%d stay, %v", stay, err)
		}
		for i, k := range kept {
			if k {
				counts[i]++
			}
			if i < 5 {
				early[i]++
			}
		}
	}
	law := slices.Repeat([]float64{1. / 8}, 8)
	stattest.GTest(t, law, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, early) })
	if _, stay, _ := e.Survivors(r, 4); stay != 4 {
		t.Errorf("of 4 %d stay", stay)
	}
}

// Whole contributions go, and the batch speaks of those that stayed.
func TestCollectorDeletesWholeContributions(t *testing.T) {
	const devices, perDevice = 12, 3
	form := envelope.Form{Suite: envelope.X25519, Envelopes: perDevice, Size: 50}
	rules := Rules{Form: form, Crowds: 3, Minimum: 4, Deletion: &plan.Deletion{Epsilon: 1, Delta: 0.1, Noise: 0.5, Threshold: 3}}
	r := seeded.New(7)
	left, lost := 0, 0
	for range 100 {
		c := newCollector(rules)
		for d := range byte(devices) {
			body, err := form.Cover(1, bytes.NewReader(bytes.Repeat([]byte{d}, form.Bytes())))
			if err == nil {
				err = c.Add(fmt.Sprint(d), body)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		crowds, withheld := c.close(r)
		if len(crowds) == 0 {
			if lost++; len(withheld) != 3 {
				t.Fatalf("withheld %v", withheld)
			}
			continue
		}
		left++
		whole := map[byte]int{}
		for _, body := range crowds[0].Bodies {
			if len(body) != form.Bytes() {
				t.Errorf("%d bytes of a contribution stayed", len(body))
			}
			whole[body[len(body)-1]]++
		}
		if n := len(crowds[0].Bodies); n != len(whole) || n < 4 {
			t.Errorf("%d contributions, of %d devices", n, len(whole))
		}
	}
	if left < 5 || lost < 1 { // P(lost) = 0.09 and a bit, by deletionLaw
		t.Errorf("%d batches, %d lost: the test shows little", left, lost)
	}
}
