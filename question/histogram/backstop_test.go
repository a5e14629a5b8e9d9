package histogram_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// fragmented are designs with report fragments: the cells themselves, spread, and
// in a row of a sketch.
func fragmented(t testing.TB) map[string]plan.Plan {
	all := map[string]plan.Plan{}
	for _, name := range []string{"fragments", "spread", "count"} {
		all[name] = example.Design(t, example.Histograms()[name])
	}
	h := example.OneHot(example.Drinks(), plan.Attribute{Name: "snack", Kind: "set", Size: 8, Most: 2})
	h.Collect, h.Randomizer.Fragments = "sample", 3
	p := example.Histogram(h)
	p.Crowd.Minimum = 3000
	all["sample"] = example.Design(t, p)
	return all
}

func report(t testing.TB, p plan.Plan, seed uint64, a histogram.Answers, m question.Memory) (question.Report, error) {
	t.Helper()
	proto := example.Runnable(t, p)
	symbol, err := proto.Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	return proto.Randomize(seeded.New(seed), symbol, m)
}

// The same answer to the same question is randomized once: with other randomness,
// in another epoch, another crowd minimum and by other shufflers the kept backstop
// is used again. Another answer, or another epsilon, has its own.
func TestBackstopsAreKept(t *testing.T) {
	for name, p := range fragmented(t) {
		t.Run(name, func(t *testing.T) {
			m := &example.Shelf{Kept: map[[32]byte][]byte{}}
			answer := func(p plan.Plan, seed uint64, i int, want int) {
				t.Helper()
				a := example.Answers(p, i)
				if _, err := report(t, p, seed, a, m); err != nil {
					t.Fatal(err)
				}
				if len(m.Kept) != want {
					t.Fatalf("%d backstops kept, want %d", len(m.Kept), want)
				}
			}
			answer(p, 1, 0, 1)
			answer(p, 2, 0, 1)
			again := p
			again.Title, again.Times.Opens = "next week", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
			again.Crowd.Minimum *= 2
			answer(again, 3, 0, 1)
			answer(p, 4, 2, 2)
			other := p
			h := *p.Question.Histogram
			h.Randomizer.BackstopFlip *= 1.5
			other.Question.Histogram = &h
			answer(other, 5, 0, 3)
		})
	}
}

// Fragments are drawn anew from a kept backstop, and come from nothing else: with
// fragments that flip nothing, the same messages come every time.
func TestFragmentsComeFromTheKeptBackstop(t *testing.T) {
	for name, p := range fragmented(t) {
		t.Run(name, func(t *testing.T) {
			h := *p.Question.Histogram
			h.Randomizer.Keep, h.Randomizer.Flip = 1, 0
			p.Question.Histogram = &h
			m := &example.Shelf{Kept: map[[32]byte][]byte{}}
			first, err := report(t, p, 1, example.Answers(p, 0), m)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(20) {
				next, err := report(t, p, seed, example.Answers(p, 0), m)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(first.Parts, next.Parts) {
					t.Fatal("another backstop was used")
				}
			}
		})
	}
}

// What is drawn before the backstop is kept must not leave the device, and what
// is kept and damaged is not drawn again.
func TestLostBackstopsAreNotReplaced(t *testing.T) {
	p := fragmented(t)["sample"]
	m := &example.Shelf{Kept: map[[32]byte][]byte{}, Broken: errors.New("disk full")}
	if r, err := report(t, p, 1, example.Answers(p, 0), m); !errors.Is(err, m.Broken) || len(r.Parts) != 0 {
		t.Errorf("report %v, error %v", r, err)
	}
	m.Broken = nil
	if _, err := report(t, p, 1, example.Answers(p, 0), m); err != nil {
		t.Fatal(err)
	}
	for key := range m.Kept {
		good := m.Kept[key]
		for _, bad := range [][]byte{{}, good[:len(good)-1], append(good[:len(good):len(good)], 0), {9, 0}, {0, 200}, {0, 1, 255, 255, 255, 255, 255, 1}, {0, 2, 1, 1}, {0x80}} {
			m.Kept[key] = bad
			_, err := report(t, p, 1, example.Answers(p, 0), m)
			example.Mentions(t, err, "damaged")
		}
	}
}

func FuzzBackstop(f *testing.F) {
	p := fragmented(f)["sample"]
	m := &example.Shelf{Kept: map[[32]byte][]byte{}}
	for i := range 4 {
		if _, err := report(f, p, 1, example.Answers(p, i), m); err != nil {
			f.Fatal(err)
		}
	}
	for _, b := range m.Kept {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b), func() {
			store := &example.Shelf{Kept: map[[32]byte][]byte{}}
			for k := range m.Kept {
				store.Kept[k] = b
			}
			r, err := report(t, p, 1, example.Answers(p, 0), store)
			if err == nil && len(r.Parts) != 1 {
				t.Errorf("%d parts", len(r.Parts))
			}
		})
	})
}

// What a backstop tells in the end is more than any number of its plan's fragments
// do, and the same for all plans that share it; those that do not have another name.
func TestBackstopsHaveNamesAndEpsilons(t *testing.T) {
	for name, p := range fragmented(t) {
		proto := example.Runnable(t, p)
		kept, ok := proto.Backstop()
		if !ok {
			t.Fatalf("%s keeps no backstop", name)
		}
		if local := example.Promised(t, proto).Statements[0].Guarantee; !(kept.Epsilon >= local.Epsilon) {
			t.Errorf("%s: the backstop tells %v, its fragments %v", name, kept.Epsilon, local.Epsilon)
		}
		same := p
		h := *p.Question.Histogram
		same.Question.Histogram = &h
		same.Crowd.Minimum *= 2
		h.Randomizer.Flip *= 0.9
		if again, _ := example.Runnable(t, same).Backstop(); again != kept {
			t.Errorf("%s: other fragments and another crowd: %+v, not %+v", name, again, kept)
		}
		h.Randomizer.BackstopFlip *= 0.9
		if again, _ := example.Runnable(t, same).Backstop(); again.Question == kept.Question || again.Epsilon <= kept.Epsilon {
			t.Errorf("%s: another backstop: %+v after %+v", name, again, kept)
		}
	}
	if _, ok := example.Runnable(t, example.Small()["symmetric"]).Backstop(); ok {
		t.Error("a plan without report fragments keeps a backstop")
	}
}
