package protocol_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// bit is how a bit of probability flip is sent of x in [-1, 1].
func bit(flip, x float64) float64 { return flip + (1-2*flip)*(1+x)/2 }

// count is the law of the ones among 24 bits of which one is of x, the others of other.
func count(flip, x, other float64) []float64 {
	return example.Convolved([]float64{1 - bit(flip, x), bit(flip, x)}, ones(23, bit(flip, other)))
}

// turned is what the second round asks: the opposite where the first counted twelve ones
// or more. It is made of the first round's release alone.
func turned(first int, x float64) float64 {
	if first >= 12 {
		return -x
	}
	return x
}

// The exact law of both rounds of a study whose second round depends on the first, for
// everything that an observer of all rounds sees: which round the respondent was drawn
// into, which the entry hop knows, and both counts. One round each costs one round; every
// round costs what Rounds composes, and not less.
func TestAStudyKeepsItsPromiseInEveryRoundTogether(t *testing.T) {
	p := example.Density("rr")
	example.Identity(&p, 1)
	proto, epsilon, delta := enumerable(t, p)
	flip := proto.Plan.Question.Density.Bitsum.FlipProbability
	both, err := proto.Rounds(2, delta)
	if err != nil {
		t.Fatal(err)
	}
	if both.Epsilon <= epsilon || both.Epsilon > 2*epsilon*1.001 {
		t.Errorf("two rounds cost epsilon %v, one %v", both.Epsilon, epsilon)
	}
	one, err := proto.Rounds(1, delta)
	if err != nil || one.Epsilon > epsilon*(1+1e-9) {
		t.Errorf("one round costs %v (%v), promised %v", one.Epsilon, err, epsilon)
	}
	worst := 0.0
	for _, other := range []float64{-1, 0, 1} {
		var takesOne, takesAll [][]float64
		for _, x := range []float64{-1, 0, 1} {
			var drawn, every []float64
			for first, p := range count(flip, x, other) {
				for _, q := range count(flip, turned(first, other), turned(first, other)) { // another cohort
					drawn = append(drawn, p*q/2)
				}
				for _, q := range count(flip, turned(first, x), turned(first, other)) {
					every = append(every, p*q)
				}
			}
			for first, p := range count(flip, other, other) { // drawn into the second round
				for _, q := range count(flip, turned(first, x), turned(first, other)) {
					drawn = append(drawn, p*q/2)
				}
			}
			takesOne, takesAll = append(takesOne, drawn), append(takesAll, every)
		}
		if got := worstPair(epsilon, takesOne); got > delta {
			t.Errorf("others at %v, one round each: delta %v at epsilon %v", other, got, epsilon)
		}
		if got := worstPair(both.Epsilon, takesAll); got > delta {
			t.Errorf("others at %v, every round: delta %v at epsilon %v", other, got, both.Epsilon)
		}
		worst = max(worst, worstPair(epsilon, takesAll))
	}
	if worst <= delta { // the broken twin: every round, charged as one
		t.Errorf("two rounds keep the promise of one: delta %v", worst)
	}
}

func TestAReleaseSaysWhatItsStudyCosts(t *testing.T) {
	p := example.Design(t, example.Density("rr"))
	p.Round = &plan.Round{Study: "9f2b1c64d0e7a35b8f417726c3aa90de55b1f0c8e94d276a31b60fd28c7e5a04", Number: 2}
	proto := example.Runnable(t, p)
	for takes, want := range map[string]string{
		plan.TakesOne: "Each respondent answers one round",
		plan.TakesAll: "but for that of all 3 rounds together",
	} {
		if got := proto.InStudy(plan.Study{Rounds: 3, Takes: takes}); !strings.Contains(got, want) || !strings.Contains(got, "Round 2 of at most 3 of study 9f2b1c64d0e7") {
			t.Errorf("%s: %s", takes, got)
		}
	}
}

// The label epsilon of a study of every round is that of all its rounds.
func TestAStudyOfEveryRoundAddsUpItsLabels(t *testing.T) {
	p := example.Density("rr")
	p.Budget.LabelEpsilon, p.Crowd.Names = 0.5, []string{"a", "b"}
	proto := example.Runnable(t, example.Design(t, p))
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	composed := func(takes string, rounds int) []account.Statement {
		all, err := proto.Composed(promise, plan.Study{Rounds: rounds, Takes: takes})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if len(composed(plan.TakesOne, 3)) != 0 || len(composed(plan.TakesAll, 1)) != 0 {
		t.Error("one round each is stated as several")
	}
	features, err := proto.Rounds(3, p.Budget.Delta)
	all := composed(plan.TakesAll, 3)
	if err != nil || len(all) != 1 {
		t.Fatal(err, all)
	}
	g := all[0].Guarantee
	if got := g.Epsilon - features.Epsilon; math.Abs(got-1.5) > 1e-9 || got < 1.5 || g.Rounds != features.Rounds || g.Delta != p.Budget.Delta || g.Trust != account.Shuffled {
		t.Errorf("%v beside features of %v: the labels of three rounds are 1.5", g, features.Epsilon)
	}
	if !strings.Contains(all[0].Note, "and 1.5 of the class") {
		t.Error(all[0].Note)
	}
}

// All rounds of a study of labels are stated of labels, as each of them is, and never below one.
func TestAllRoundsOfLabelsAreStatedOfLabels(t *testing.T) {
	asked := example.Vector(plan.VectorRound{Sums: plan.SumsClasses, Answered: 4})
	asked.Budget.Adjacency = plan.AdjacencyLabel
	proto := example.Runnable(t, example.Design(t, asked))
	promise := example.Promised(t, proto)
	all, err := proto.Composed(promise, plan.Study{Rounds: 3, Takes: plan.TakesAll})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	one := promise.Statements[len(promise.Statements)-1]
	if g := all[0].Guarantee; g.Adjacency != account.Label || g.Epsilon <= one.Guarantee.Epsilon || g.Epsilon > 3*one.Guarantee.Epsilon*1.001 || g.Trust != account.Shuffled || !strings.Contains(all[0].Note, one.Note) {
		t.Errorf("all rounds: %v, %q; one: %v", g, all[0].Note, one)
	}
}

// Private sizes of crowds cost in every round: all rounds have a row for them, which adds them up,
// of whatever question, and a claim that the noise does not keep is found.
func TestPrivateSizesOfAllRoundsHaveTheirRow(t *testing.T) {
	crowd, err := additive.NewCrowd(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	for name, asked := range map[string]plan.Plan{"histogram": example.Histograms()["crowds"], "density": example.Density("rr")} {
		asked.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: crowd.Noise, Threshold: crowd.Threshold}
		p := example.Design(t, asked)
		proto := example.Runnable(t, p)
		promise := example.Promised(t, proto)
		sizes := promise.Statements[len(promise.Statements)-1]
		if sizes.Observer != account.CrowdSizesSeen || sizes.Guarantee.Epsilon != 1 {
			t.Errorf("%s: the sizes of one round: %+v", name, sizes)
		}
		if name == "histogram" && strings.Contains(promise.Statements[0].Note, "sent as it is") {
			t.Errorf("crowds of private sizes: %s", promise.Statements[0].Note)
		}
		all, err := proto.Composed(promise, plan.Study{Rounds: 3, Takes: plan.TakesAll})
		if err != nil || len(all) != 2 {
			t.Fatal(name, all, err)
		}
		g := all[1].Guarantee
		if all[1].Observer != account.AllSizesSeen || math.Abs(g.Epsilon-3) > 1e-9 || g.Delta < 3*sizes.Guarantee.Delta || g.Adjacency != account.Replacement || !strings.Contains(all[1].Note, "3 times") {
			t.Errorf("%s: the sizes of three rounds: %+v", name, all[1])
		}
		p.Crowd.Deletion = &plan.Deletion{Epsilon: 0.9, Delta: 1e-6, Noise: crowd.Noise, Threshold: crowd.Threshold}
		example.Mentions(t, protocol.Check(p), "crowd.deletion gives epsilon 1", "claims 0.9")
	}
}

func TestAStateIsTheOneThatThePlanNames(t *testing.T) {
	p := example.Design(t, example.Density("rr"))
	p.State = plan.StateName([]byte("state"))
	if _, err := protocol.WithState(p, []byte("another")); err == nil || !strings.Contains(err.Error(), "another one than the plan names") {
		t.Error(err)
	}
	if _, err := protocol.WithState(p, []byte("state")); err == nil || !strings.Contains(err.Error(), "takes no state") {
		t.Error(err)
	}
}
