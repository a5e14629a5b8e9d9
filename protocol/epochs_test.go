package protocol_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/account/shuffle"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/hdc"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// epoch is the day's plan of a collection that goes on, and what came of it.
func epoch(t testing.TB, p plan.Plan, day int) protocol.Part {
	t.Helper()
	p.Times.Opens = time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)
	part := protocol.Part{Protocol: runnable(t, p)}
	part.Crowds = newTallies(part.Protocol)
	r := replay.New(uint64(day))
	for c := range part.Crowds {
		part.Crowds[c].Respondents = 600 + 10*day
		for i := range cells(part.Crowds[c]) {
			cells(part.Crowds[c])[i] = 200 + r.Uint64N(200)
		}
	}
	return part
}

var queries = blas32.General{Rows: 3, Cols: 3, Stride: 3, Data: []float32{1, 0, 0, 0, 0.6, 0.8, -0.3, 0.2, 1}}

func scores(t testing.TB, m *hdc.Model) []hdc.Prediction {
	t.Helper()
	predictions, err := m.Classify(queries)
	if err != nil {
		t.Fatal(err)
	}
	return predictions
}

var closely = cmp.Options{cmpopts.EquateApprox(1e-9, 1e-12), cmpopts.EquateNaNs()}

// Densities of epochs add up as their tallies do: apart or counted as one, the
// estimates and their errors are the same, before and after the label noise.
func TestEpochsAddUpAsTheirTallies(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		p := design(t, sample(bitsum))
		a, b, c := epoch(t, p, 1), epoch(t, p, 2), epoch(t, p, 3)
		b.Crowds[1].Tally = nil // withheld that day
		merged, err := protocol.Merge(a, b, c)
		if err != nil {
			t.Fatal(err)
		}
		all := newTallies(a.Protocol)
		for _, part := range []protocol.Part{a, b, c} {
			for crowd, c := range part.Crowds {
				if err := all[crowd].Merge(c); err != nil {
					t.Fatal(err)
				}
			}
		}
		learned, err := a.Protocol.Learn(all)
		if err != nil {
			t.Fatal(err)
		}
		one := learned.(*protocol.DensityModel)
		if diff := cmp.Diff(scores(t, one.Model), scores(t, merged.Model), closely); diff != "" {
			t.Errorf("%s (-tallies +densities):\n%s", bitsum, diff)
		}
		wantClean, ok1 := one.Debiased()
		clean, ok2 := merged.Debiased()
		if !ok1 || !ok2 {
			t.Fatalf("%s: debiased %v, %v", bitsum, ok1, ok2)
		}
		if diff := cmp.Diff(scores(t, wantClean), scores(t, clean), closely); diff != "" {
			t.Errorf("%s, debiased (-tallies +densities):\n%s", bitsum, diff)
		}
		if diff := cmp.Diff([]int{610 + 620 + 630, 610 + 630}, merged.Reported); diff != "" {
			t.Error(diff)
		}
	}
}

// A later plan that asks only for a new class adds it, and leaves the others as
// they were.
func TestANewClassNeedsNoNewCollectionOfTheOthers(t *testing.T) {
	old := epoch(t, design(t, sample("rr")), 1)
	p := sample("3nb") // another bitsum, minimum and budget
	p.Question.Density.Classes = []string{"forest"}
	p.Budget.Epsilon, p.Crowd.Minimum = 1, 400
	later := epoch(t, design(t, p), 2)
	merged, err := protocol.Merge(old, later)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hills", "shore", "forest"}, merged.Classes()); diff != "" {
		t.Fatal(diff)
	}
	one := func(part protocol.Part) []hdc.Prediction {
		m, err := part.Protocol.Learn(part.Crowds)
		if err != nil {
			t.Fatal(err)
		}
		return scores(t, m.(*protocol.DensityModel).Model)
	}
	before, added, both := one(old), one(later), scores(t, merged.Model)
	for i := range both {
		if diff := cmp.Diff(append(before[i].Scores, added[i].Scores...), both[i].Scores, closely); diff != "" {
			t.Errorf("query %d (-apart +merged):\n%s", i, diff)
		}
	}
	if _, ok := merged.Debiased(); ok {
		t.Error("label noise was taken out of classes that were not reported together")
	}
}

func TestMergeRefuses(t *testing.T) {
	p := design(t, sample("rr"))
	a := epoch(t, p, 1)
	seed := sample("rr")
	seed.Question.Density.Kernel.Seed = strings.Repeat("5b", 32)
	short := epoch(t, p, 2)
	short.Crowds = short.Crowds[:1]
	nobody := epoch(t, p, 3)
	nobody.Crowds[0].Tally, nobody.Crowds[1].Tally = nil, nil
	for want, parts := range map[string][]protocol.Part{
		"two parts of one plan":  {a, a},
		"different feature maps": {a, epoch(t, design(t, seed), 2)},
		"1 crowds":               {a, short},
		"nothing to learn from":  {nobody},
	} {
		_, err := protocol.Merge(parts...)
		mentions(t, err, want)
	}
}

func TestWindowForgetsOldEpochs(t *testing.T) {
	p := design(t, sample("rr"))
	w, err := protocol.NewWindow(3)
	if err != nil {
		t.Fatal(err)
	}
	var parts []protocol.Part
	for day := range 5 {
		parts = append(parts, epoch(t, p, day))
		if err := w.Add(parts[day]); err != nil {
			t.Fatal(err)
		}
		got, err := w.Model()
		if err != nil {
			t.Fatal(err)
		}
		want, err := protocol.Merge(parts[max(0, day-2):]...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(scores(t, want.Model), scores(t, got.Model)); diff != "" {
			t.Errorf("day %d:\n%s", day, diff)
		}
	}
	mentions(t, w.Add(parts[0]), "came before") // though it was dropped
	mentions(t, w.Add(parts[4]), "came before")
	if _, err := protocol.NewWindow(0); err == nil {
		t.Error("a window of no epochs")
	}
}

// What is spent is the accountant's answer for so many rounds, at what overflow
// costs: not less for epochs that the window has dropped.
func TestWindowAccountsForEveryEpochTakenPartIn(t *testing.T) {
	const delta = 1e-5
	for _, bitsum := range []string{"rr", "3nb"} {
		p := design(t, sample(bitsum))
		if bitsum == "3nb" {
			// What overflows is charged e^epsilon fold, and so costs more the more
			// epochs there are: room for one is not room for five.
			tight := epoch(t, p, 0)
			_, err := protocol.Spent(delta, slices.Repeat([]*protocol.Protocol{tight.Protocol}, 5)...)
			mentions(t, err, "raise envelopes.per_device")
			p.Envelopes.PerDevice += p.Envelopes.PerDevice / 4
		}
		w, err := protocol.NewWindow(3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Once(delta); err == nil {
			t.Error("an empty window costs something")
		}
		for day := range 5 {
			if err := w.Add(epoch(t, p, day)); err != nil {
				t.Fatal(err)
			}
		}
		b, n := p.Question.Density.Bitsum, p.HonestMinimum()
		for epochs, spent := range map[int]func(float64) (protocol.Spending, error){1: w.Once, 3: w.Each, 5: w.Ever} {
			s, err := spent(delta)
			if err != nil {
				t.Fatal(err)
			}
			var channel account.Event = shuffle.RandomizedResponse{Users: n, Flip: b.FlipProbability}
			if bitsum == "3nb" {
				channel = additive.ThreeNB{Users: n, Noise: b.Noise, FloodShape: b.FloodShape, FloodProb: b.FloodProbability}
			}
			want, err := account.Epsilon(account.Repeat{Event: channel, Rounds: 4 * epochs}, delta)
			if err != nil {
				t.Fatal(err)
			}
			got := s.Features
			if got.Epsilon < want.Epsilon*(1-1e-9) || got.Epsilon > want.Epsilon*1.05 || got.Rounds != 4*epochs || got.Delta != delta {
				t.Errorf("%s, %d epochs: %v, the accountant says %v", bitsum, epochs, got, want)
			}
			if math.Abs(s.Class-3*float64(epochs)) > 1e-12 {
				t.Errorf("%s, %d epochs: the classes cost %v", bitsum, epochs, s.Class)
			}
		}
	}
}

// Rotated bits of few respondents are accounted for by their divergence, which
// composes with itself; with other epochs it is added up.
func TestSpentOnRotatedFeatures(t *testing.T) {
	const delta = 1e-5
	p := sample("rr")
	p.Question.Density.Kernel = plan.Kernel{Name: "ip-rotated", Clip: 2, Seed: strings.Repeat("00", 32)}
	p.Question.Density.Dimension, p.Question.Density.Repetitions, p.Question.Density.Normalize = 64, 1, true
	p.Crowd.Minimum = 3000
	p = design(t, p)
	one := runnable(t, p)
	p.Budget.Epsilon /= 2
	other := runnable(t, design(t, p))
	spent := func(parts ...*protocol.Protocol) account.Guarantee {
		s, err := protocol.Spent(delta, parts...)
		if err != nil {
			t.Fatal(err)
		}
		if s.Features.Delta > delta*(1+1e-12) {
			t.Errorf("delta %v, of %v asked", s.Features.Delta, delta)
		}
		return s.Features
	}
	a, b := spent(one).Epsilon, spent(other).Epsilon
	if twice := spent(one, one).Epsilon; twice <= a || twice >= 2*a {
		t.Errorf("twice the same: epsilon %v, once %v", twice, a)
	}
	if both := spent(one, other, one).Epsilon; both <= spent(one, one).Epsilon || both >= 2*a+b+0.5 { // each at half of delta
		t.Errorf("unlike epochs: epsilon %v, apart %v and %v", both, a, b)
	}
}

// Epochs may differ: composed they cost less than their sum and more than the
// dearest, which is what one of them is said to cost at most.
func TestWindowOfDifferentEpochs(t *testing.T) {
	const delta = 1e-5
	w, err := protocol.NewWindow(2)
	if err != nil {
		t.Fatal(err)
	}
	var epsilon [2]float64
	for day := range 2 {
		p := sample("rr")
		p.Budget.Epsilon = float64(1 + day)
		p.Budget.LabelEpsilon = []plan.LabelEpsilon{3, plan.Unprotected}[day]
		part := epoch(t, design(t, p), day)
		if err := w.Add(part); err != nil {
			t.Fatal(err)
		}
		s, err := protocol.Spent(delta, part.Protocol)
		if err != nil {
			t.Fatal(err)
		}
		epsilon[day] = s.Features.Epsilon
	}
	once, err := w.Once(delta)
	if err != nil || once.Features.Epsilon != epsilon[1] || !math.IsInf(once.Class, 1) {
		t.Errorf("once: %+v, %v; want epsilon %v", once, err, epsilon[1])
	}
	each, err := w.Each(delta)
	if err != nil || each.Features.Epsilon <= epsilon[1] || each.Features.Epsilon >= epsilon[0]+epsilon[1] {
		t.Errorf("each: %+v, %v; apart %v", each, err, epsilon)
	}
	s, err := w.Describe(delta)
	if err != nil {
		t.Fatal(err)
	}
	rows := s.Tables[0].Rows
	if len(rows) != 3 || *rows[1][2].Value != each.Features.Epsilon || rows[1][3].Value != nil {
		t.Errorf("rows %+v", rows)
	}
}
