package protocol_test

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

func TestDesignMeetsTheBudgetAndWastesLittle(t *testing.T) {
	for _, bitsum := range plan.Bitsums {
		for _, epsilon := range []float64{0.5, 2, 8} {
			p := example.Density(bitsum)
			p.Budget.Epsilon, p.Crowd.Minimum = epsilon, 3000
			p = example.Design(t, p)
			promise, err := example.Runnable(t, p).Promise()
			if err != nil {
				t.Errorf("%s, epsilon %v: %v", bitsum, epsilon, err)
				continue
			}
			g := promise.Shuffled
			// A single noise must be zero more rarely than delta, however large epsilon is.
			enough := (bitsum == "poisson" || bitsum == "nb") && epsilon == 8
			if g.Epsilon > epsilon || g.Epsilon < 0.99*epsilon && !enough {
				t.Errorf("%s: designed for epsilon %v, reached %v", bitsum, epsilon, g.Epsilon)
			}
			if g.Delta != p.Budget.Delta || g.Users != p.MinHonest() || g.Trust != account.Shuffled || g.Adjacency != account.Replacement {
				t.Errorf("%s: the promise is %v", bitsum, g)
			}
		}
	}
}

// Respondents who choose among instances, however unevenly, are promised what a single instance promises: each batch has
// the plan's smallest crowd by itself.
func TestAnUnevenChoiceOfInstancesCostsNothing(t *testing.T) {
	p := example.Design(t, example.Density("rr"))
	one, err := example.Runnable(t, p).Promise()
	if err != nil {
		t.Fatal(err)
	}
	mix := *p.Route.Mix
	mix.Instances = append([]plan.Instance{{Hops: []plan.Party{{Operator: "Elsewhere", Key: mix.Instances[0].Hops[0].Key}}}}, mix.Instances...)
	p.Route.Mix = &mix
	several, err := example.Runnable(t, p).Promise()
	if err != nil {
		t.Fatal(err)
	}
	if several.Shuffled != one.Shuffled {
		t.Errorf("%v, and of one instance %v", several.Shuffled, one.Shuffled)
	}
	if who := several.Statements[len(several.Statements)-1].Who; !strings.Contains(who, "however unevenly respondents choose") {
		t.Errorf("it is not said: %q", who)
	}
}

func TestDesignIsTheSameOnEveryMachine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, bitsum := range plan.Bitsums {
		asked := example.Density(bitsum)
		runtime.GOMAXPROCS(1)
		one := example.Design(t, asked)
		runtime.GOMAXPROCS(3)
		if other := example.Design(t, asked); !cmp.Equal(one, other) {
			t.Errorf("%s: on one processor and on three:\n%s", bitsum, cmp.Diff(one, other))
		}
		if !cmp.Equal(asked, example.Density(bitsum)) {
			t.Errorf("%s: Design changed its caller's plan", bitsum)
		}
	}
}

func TestFalsePromiseSaysWhatToDo(t *testing.T) {
	epsilon := []string{"promise does not hold", "epsilon", "budget.epsilon", "raise crowd.minimum"}
	envelopes := []string{"promise does not hold", "delta", "raise envelopes.per_device"}
	for name, c := range map[string]struct {
		bitsum string
		spoil  func(p *plan.Plan)
		want   []string
	}{
		"less noise":        {"rr", func(p *plan.Plan) { p.Question.Density.Bitsum.FlipProbability *= 0.98 }, epsilon},
		"less noise in 3nb": {"3nb", func(p *plan.Plan) { p.Question.Density.Bitsum.Noise *= 1.02 }, epsilon},
		"less flood":        {"3nb", func(p *plan.Plan) { p.Question.Density.Bitsum.FloodShape *= 0.9 }, epsilon},
		"smaller budget":    {"rr", func(p *plan.Plan) { p.Budget.Epsilon *= 0.98 }, epsilon},
		"smaller crowd":     {"rr", func(p *plan.Plan) { p.Crowd.Minimum = p.Crowd.Minimum * 95 / 100 }, epsilon},
		"less honest crowd": {"rr", func(p *plan.Plan) { p.Budget.DishonestShare = 0.2 }, epsilon},
		"one more channel": {"rr", func(p *plan.Plan) {
			p.Question.Density.Repetitions++
			p.Envelopes.PerDevice++
		}, epsilon},
		"too few envelopes":        {"rr", func(p *plan.Plan) { p.Envelopes.PerDevice-- }, envelopes},
		"too few envelopes in 3nb": {"3nb", func(p *plan.Plan) { p.Envelopes.PerDevice -= 4 }, envelopes},
	} {
		t.Run(name, func(t *testing.T) {
			p := example.Design(t, example.Density(c.bitsum))
			d := *p.Question.Density
			p.Question.Density = &d
			c.spoil(&p)
			example.Mentions(t, protocol.Check(p), c.want...)
		})
	}
}

// A budget of an epsilon that overflows e^epsilon promises nothing, but its
// promise is true.
func TestHugeBudgetIsNotSpentOnOverflow(t *testing.T) {
	p := example.Design(t, example.Density("rr"))
	p.Budget.Epsilon = 1e4
	if err := protocol.Check(p); err != nil {
		t.Error(err)
	}
}

// Plans come from outside: each of these would take a device down, or the rest
// of its day.
func TestHostilePlansAreRefused(t *testing.T) {
	good := example.Design(t, example.Density("3nb"))
	for name, hurt := range map[string]func(p *plan.Plan, d *plan.Density){
		"2^40 weights":             func(p *plan.Plan, d *plan.Density) { d.Dimension, d.Repetitions = 1<<20, 1<<20 },
		"2^28 weights":             func(p *plan.Plan, d *plan.Density) { d.Dimension, d.Repetitions = 1<<14, 1<<14 },
		"negative dimension":       func(p *plan.Plan, d *plan.Density) { d.Dimension = math.MinInt },
		"overflowing product":      func(p *plan.Plan, d *plan.Density) { d.Dimension, d.Repetitions = math.MaxInt, math.MaxInt },
		"no classes":               func(p *plan.Plan, d *plan.Density) { p.Crowd.Names = nil },
		"bandwidth below all":      func(p *plan.Plan, d *plan.Density) { d.Kernel.Bandwidth = 1e-300 },
		"noise beyond the sampler": func(p *plan.Plan, d *plan.Density) { d.Bitsum.Noise = 1e300 },
		"noise below the sampler":  func(p *plan.Plan, d *plan.Density) { d.Bitsum.Noise = 1e-300 },
		"flood without end": func(p *plan.Plan, d *plan.Density) {
			d.Bitsum.FloodShape, d.Bitsum.FloodProbability = 1e300, 1-0x1p-53
		},
		"flood of many": func(p *plan.Plan, d *plan.Density) {
			d.Bitsum.FloodShape, d.Bitsum.FloodProbability = 1e6, 1-1e-9
		},
		"label epsilon beyond the sampler": func(p *plan.Plan, d *plan.Density) { p.Budget.LabelEpsilon = 1e9 },
		"crowd of everybody":               func(p *plan.Plan, d *plan.Density) { p.Crowd.Minimum = math.MaxInt },
		"envelopes without end":            func(p *plan.Plan, d *plan.Density) { p.Envelopes.PerDevice = math.MaxInt },
		"delta of nothing":                 func(p *plan.Plan, d *plan.Density) { p.Budget.Delta = 5e-324 },
	} {
		t.Run(name, func(t *testing.T) {
			p, d := good, *good.Question.Density
			p.Question.Density = &d
			hurt(&p, &d)
			if err := protocol.Check(p); err == nil {
				t.Error("accepted")
			} else if len(err.Error()) > 1000 || strings.Contains(err.Error(), "NaN") {
				t.Errorf("unreadable: %v", err)
			}
		})
	}
}
