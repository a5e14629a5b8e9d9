package account

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

var hostile = []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300}

func TestHostileParametersAreErrors(t *testing.T) {
	events := map[string]Event{"nil": nil, "nothing": All{}, "missing": All{[]Event{nil}}, "nothing repeated": Repeat{nil, 3}}
	for _, x := range hostile {
		events[fmt.Sprint("flip ", x)] = RandomizedResponse{100, x}
		events[fmt.Sprint("one-hot flip ", x)] = OneHot{100, x, Removal, 0}
		events[fmt.Sprint("noise ", x)] = ThreeNB{0, x, 3, 0.5}
		events[fmt.Sprint("flood shape ", x)] = ThreeNB{0, 1, x, 0.5}
		events[fmt.Sprint("flood probability ", x)] = ThreeNB{0, 1, 3, x}
		events[fmt.Sprint("sigma ", x)] = Gaussian{x, 1}
		events[fmt.Sprint("sensitivity ", x)] = Gaussian{1, x}
		events[fmt.Sprint("sampling ", x)] = SubsampledGaussian{x, 1}
		events[fmt.Sprint("multiplier ", x)] = SubsampledGaussian{0.1, x}
	}
	for _, n := range []int{0, -1, math.MaxInt, math.MinInt} {
		events[fmt.Sprint("users ", n)] = RandomizedResponse{n, 0.2}
		events[fmt.Sprint("one-hot users ", n)] = OneHot{n, 0.2, Removal, 0}
		events[fmt.Sprint("rounds ", n)] = Repeat{RandomizedResponse{10, 0.2}, n}
		events[fmt.Sprint("rounds of rounds ", n)] = Repeat{Repeat{RandomizedResponse{10, 0.2}, 1 << 20}, n}
	}
	events["flip above a half"] = RandomizedResponse{100, 0.51}
	events["flood probability 1"] = ThreeNB{0, 1, 3, 1}
	events["sampling above 1"] = SubsampledGaussian{1.01, 1}
	events["no adjacency"] = OneHot{100, 0.2, "", 0}
	events["rounds overflow"] = Repeat{Repeat{RandomizedResponse{10, 0.2}, 1 << 20}, 1 << 20}
	for what, e := range events {
		for how, f := range map[string]func(Event, float64) (Guarantee, error){"epsilon": Epsilon, "delta": Delta, "certify": Certify, "lower": LowerEpsilon} {
			if g, err := f(e, 0.01); err == nil {
				t.Errorf("%s of %s: %v", how, what, g)
			}
		}
	}
}

func TestHostileQuestionsAreErrors(t *testing.T) {
	events := []Event{
		RandomizedResponse{100, 0.2}, Repeat{RandomizedResponse{100, 0.2}, 3}, OneHot{100, 0.2, Replacement, 0},
		ThreeNB{0, 1, 3, 0.5}, Repeat{ThreeNB{0, 1, 3, 0.5}, 4}, Gaussian{1, 1}, SubsampledGaussian{0.1, 1},
	}
	for _, e := range events {
		for _, x := range append(hostile, 1) {
			if g, err := Epsilon(e, x); err == nil {
				t.Errorf("%T at delta %v: %v", e, x, g)
			}
			if x == 0 || x == 1 {
				continue // as an epsilon these are questions
			}
			if g, err := Delta(e, x); err == nil {
				t.Errorf("%T at epsilon %v: %v", e, x, g)
			}
		}
	}
}

func TestHostileCompositionsAreErrors(t *testing.T) {
	for name, f := range map[string]func(epsilon float64, k int, slack float64) (float64, error){
		"basic": func(e float64, k int, _ float64) (float64, error) { return Basic(e, k) },
		"DRV":   DworkRothblumVadhan, "tanh": DworkRothblumVadhanTight, "Bun-Steinke": BunSteinke,
		"KOV": func(e float64, k int, s float64) (float64, error) { return KairouzOhViswanath(e, 0, k, s) },
	} {
		for _, x := range hostile {
			if v, err := f(x, 10, 1e-6); err == nil {
				t.Errorf("%s at epsilon %v: %v", name, x, v)
			}
			if v, err := f(0.1, 10, x); err == nil && name != "basic" {
				t.Errorf("%s at slack %v: %v", name, x, v)
			}
		}
		for _, k := range []int{0, -1, math.MaxInt} {
			if v, err := f(0.1, k, 1e-6); err == nil {
				t.Errorf("%s of %d rounds: %v", name, k, v)
			}
		}
	}
	for _, d := range []float64{-1, 1, math.NaN(), 1e300} {
		if v, err := KairouzOhViswanath(0.1, d, 10, 0.5); err == nil {
			t.Errorf("KOV at delta %v a round: %v", d, v)
		}
	}
}

func TestHostileTargetsAreErrors(t *testing.T) {
	good := Target{1000, 10, 1, 1e-6}
	var bad []Target
	for _, x := range hostile {
		bad = append(bad, Target{1000, 10, x, 1e-6}, Target{1000, 10, 1, x})
	}
	for _, n := range []int{0, -1, math.MaxInt} {
		bad = append(bad, Target{1000, n, 1, 1e-6})
		if n != 0 {
			bad = append(bad, Target{n, 10, 1, 1e-6})
		}
	}
	for _, target := range bad {
		if e, _, err := CalibrateRR(target, ExactAccounting); err == nil {
			t.Errorf("RR for %+v: %+v", target, e)
		}
		if e, _, err := CalibrateRR(target, PaperAccounting); err == nil {
			t.Errorf("paper RR for %+v: %+v", target, e)
		}
		if e, _, err := CalibrateThreeNB(target, ExactAccounting, 0.25); err == nil {
			t.Errorf("3NB for %+v: %+v", target, e)
		}
		if e, _, err := CalibrateGaussian(target, 1); err == nil && target.Users >= 0 {
			t.Errorf("Gaussian for %+v: %+v", target, e)
		}
	}
	for _, x := range hostile {
		if e, _, err := CalibrateThreeNB(good, ExactAccounting, x); err == nil {
			t.Errorf("3NB with %v extra messages: %+v", x, e)
		}
		if e, _, err := CalibrateGaussian(good, x); err == nil {
			t.Errorf("Gaussian of sensitivity %v: %+v", x, e)
		}
	}
	if _, _, err := CalibrateRR(good, "none"); err == nil {
		t.Error("an unknown accounting was accepted")
	}
	if _, _, err := CalibrateThreeNB(good, PaperAccounting, 0.25); err == nil {
		t.Error("the paper's flood took a budget")
	}
	if _, _, err := CalibrateOneHot(good, ""); err == nil {
		t.Error("one-hot reports without adjacency")
	}
}

// unknown is an event that no hook covers.
type unknown struct{}

func (unknown) event() (Guarantee, error) {
	return Guarantee{Adjacency: Replacement, Trust: Shuffled, Rounds: 1}, nil
}

func TestUnsupportedIsTyped(t *testing.T) {
	var u *Unsupported
	for _, e := range []Event{unknown{}, All{[]Event{unknown{}, RandomizedResponse{10, 0.2}}}} {
		if _, err := Epsilon(e, 1e-6); !errors.As(err, &u) {
			t.Errorf("%T: %v", e, err)
		}
	}
	if _, err := LowerEpsilon(SubsampledGaussian{0.1, 1}, 1e-6); !errors.As(err, &u) {
		t.Errorf("lower bound of the subsampled Gaussian: %v", err)
	}
}

// With next to no noise, among few, losses are so large that a grid of them has no digits
// left: what one respondent's own messages tell bounds the epsilon then.
func TestNextToNoNoiseIsNoWorseThanTheMessages(t *testing.T) {
	for _, users := range []int{1, 3, 6} {
		for _, flip := range []float64{1e-12, 1e-10, 1.2e-8, 1e-6, 5e-5} {
			for _, e := range []Event{
				Repeat{OneHot{Users: users, Flip: flip, Adjacency: Removal, Keep: 0.5}, 5},
				Repeat{OneHot{Users: users, Flip: flip, Adjacency: Replacement}, 3},
				Repeat{RandomizedResponse{users, flip}, 4},
				Repeat{BucketResponse{users, flip}, 3},
				All{[]Event{OneHot{Users: 1, Flip: flip, Adjacency: Removal, Keep: 0.5}, Repeat{OneHot{Users: users, Flip: flip, Adjacency: Removal, Keep: 0.5}, 5}}},
			} {
				own, ok := ownLosses(e)
				g, err := Epsilon(e, 1e-6)
				if err != nil || !ok || g.Epsilon > own || g.Epsilon < own/4 && users == 1 {
					t.Errorf("%+v: epsilon %v, own messages %v, %v, %v", e, g.Epsilon, own, ok, err)
				}
			}
		}
	}
	if own, ok := ownLosses(All{[]Event{RandomizedResponse{10, 0.1}, ThreeNB{500, 0.5, 12, 0.98}}}); ok {
		t.Errorf("what others' messages hide has a loss of its own: %v", own)
	}
}
