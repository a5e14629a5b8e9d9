package protocol_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// Several answers behind one backstop cost what their rows of fragments do,
// composed; a guarantee that counts on the backstop's coins would be claimed anew
// for every plan.
func TestKeptBackstopsAreChargedByTheirFragments(t *testing.T) {
	p := example.Small()["fragments"]
	p.Crowd.Minimum = 2
	proto := example.Runnable(t, p)
	promise := example.Promised(t, proto)
	g, err := proto.Charge(promise, account.Removal)
	if err != nil {
		t.Fatal(err)
	}
	z := p.Question.Histogram.Randomizer
	rows, err := account.Epsilon(account.Repeat{Event: shuffle.OneHot{Users: 2, Keep: z.Keep, Flip: z.Flip, Adjacency: account.Removal}, Rounds: z.Fragments}, p.Budget.Delta)
	if err != nil || math.Abs(g.Epsilon/rows.Epsilon-1) > 1e-9 || g.Epsilon <= promise.Shuffled.Epsilon {
		t.Errorf("charged %v, the rows cost %v, the promise is %v (%v)", g.Epsilon, rows.Epsilon, promise.Shuffled.Epsilon, err)
	}
}

// A crowd that a respondent leaves has another's record in the place of its own, and
// so has the one that it enters.
func TestPrivateSizesAreCharged(t *testing.T) {
	for _, adjacency := range []account.Adjacency{account.Replacement, account.Removal} {
		p := example.Small()["symmetric"]
		p.Crowd.Minimum, p.Budget.Adjacency, p.Budget.Epsilon = 2, string(adjacency), 100
		crowd, err := additive.NewCrowd(0.5, 1e-7)
		if err != nil {
			t.Fatal(err)
		}
		h := *p.Question.Histogram
		p.Question.Histogram = &h
		h.Randomizer.Epsilon = 100
		charged := func(d *plan.Deletion, crowds ...string) account.Guarantee {
			t.Helper()
			p.Crowd.Names, p.Crowd.Deletion = crowds, d
			proto := example.Runnable(t, p)
			g, err := proto.Charge(example.Promised(t, proto), adjacency)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		deletion := &plan.Deletion{Epsilon: 0.5, Delta: 1e-7, Noise: crowd.Noise, Threshold: crowd.Threshold}
		public, one, two := charged(nil, "a", "b"), charged(deletion), charged(deletion, "a", "b")
		sizes := crowd.Guarantee(adjacency)
		if math.Abs(one.Epsilon-public.Epsilon-sizes.Epsilon) > 1e-12 || one.Delta < public.Delta+sizes.Delta {
			t.Errorf("%s: one crowd is charged %v, beside an answer of %v and sizes of %v", adjacency, one, public, sizes)
		}
		delta := 2 * public.Delta
		if adjacency == account.Removal {
			delta = (1 + math.Exp(public.Epsilon)) * public.Delta
		}
		if math.Abs(two.Epsilon-2*public.Epsilon-sizes.Epsilon) > 1e-12 || two.Delta < delta+sizes.Delta || two.Delta > 1.0001*(delta+sizes.Delta) {
			t.Errorf("%s: two crowds are charged %v, beside an answer of %v and sizes of %v", adjacency, two, public, sizes)
		}
	}
}

// Where a removal is charged as a replacement, what the sizes cost is that of their
// own replacement: it is not what one removal lets through of another.
func TestReplacedSizesAreChargedOnce(t *testing.T) {
	crowd, err := additive.NewCrowd(2, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	p := example.Small()["symmetric"]
	p.Crowd.Minimum, p.Budget.Adjacency, p.Budget.Epsilon, p.Budget.Delta = 2, string(account.Removal), 100, 1e-9
	h := *p.Question.Histogram
	p.Question.Histogram = &h
	h.Randomizer.Epsilon, p.Crowd.Names = 100, []string{"a", "b"}
	charged := func(d *plan.Deletion) account.Guarantee {
		t.Helper()
		p.Crowd.Deletion = d
		proto := example.Runnable(t, p)
		g, err := proto.Charge(example.Promised(t, proto), account.Replacement)
		if err != nil || g.Adjacency != account.Replacement {
			t.Fatal(g, err)
		}
		return g
	}
	answer := charged(nil)
	all := charged(&plan.Deletion{Epsilon: 2, Delta: 1e-7, Noise: crowd.Noise, Threshold: crowd.Threshold})
	sizes := crowd.Guarantee(account.Replacement)
	if math.Abs(all.Epsilon-2*answer.Epsilon-sizes.Epsilon) > 1e-9 || math.Abs(all.Delta/(2*answer.Delta+sizes.Delta)-1) > 1e-9 {
		t.Errorf("charged %v and %v, two answers cost %v and %v, sizes %v and %v", all.Epsilon, all.Delta, 2*answer.Epsilon, 2*answer.Delta, sizes.Epsilon, sizes.Delta)
	}
}

// The domination of a charge is read off the mechanism: at every epsilon it allows at
// least what the accountant finds, sizes of crowds and randomized classes included, and
// for one-hot reports under removal, replaced, it is a root of two above removal's.
func TestSpendingsAreDominated(t *testing.T) {
	spending := func(p plan.Plan, to account.Adjacency) account.Spending {
		t.Helper()
		proto := example.Runnable(t, p)
		g, err := proto.Charge(example.Promised(t, proto), to)
		if err != nil {
			t.Fatal(err)
		}
		s, err := proto.Spending(g, to)
		if err != nil {
			t.Fatal(err)
		}
		if s.Domination.Adjacency != to || !(s.Domination.Shift > 0) || s.Domination.Tail > s.Delta {
			t.Fatalf("%+v", s)
		}
		return s
	}
	p := example.Design(t, example.Histograms()["fragments"])
	removed, replaced := spending(p, account.Removal), spending(p, account.Replacement)
	if ratio := replaced.Domination.Shift / removed.Domination.Shift; ratio < 1.35 || ratio > 1.45 {
		t.Errorf("replacement has %.4g times the shift of removal", ratio)
	}
	// At the charge's own epsilon the Gaussian allows what the accountant found, or more.
	box, err := account.NewBox(removed.Epsilon*0.97, removed.Delta, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if d := removed.Domination; d.Shift <= box.Shift && d.Tail <= box.Tail {
		t.Errorf("a charge of epsilon %v fits a box of %v", removed.Epsilon, box.Epsilon)
	}
	private := p
	crowd, err := additive.NewCrowd(0.5, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	h := *p.Question.Histogram
	private.Question.Histogram = &h
	private.Crowd.Deletion = &plan.Deletion{Epsilon: 0.5, Delta: 1e-7, Noise: crowd.Noise, Threshold: crowd.Threshold}
	one := spending(private, account.Replacement)
	if one.Domination.Shift <= replaced.Domination.Shift || one.Domination.Tail < replaced.Domination.Tail+1e-8 {
		t.Errorf("private sizes: %+v after %+v", one, replaced)
	}
	private.Crowd.Names = []string{"a", "b"}
	if two := spending(private, account.Replacement); two.Domination.Shift <= one.Domination.Shift {
		t.Errorf("two crowds: %+v after %+v", two, one)
	}
	if two := spending(private, account.Removal); two.Domination.Shift <= removed.Domination.Shift*1.3 {
		t.Errorf("two crowds under removal: %+v after %+v", two, removed)
	}
}
