package vector_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/simulate"
)

// priced asks for a price from 10 to 50, or for which of two classes, by three features.
func priced(classes ...string) plan.Plan {
	p := asking(3, classes, plan.VectorRound{Sums: plan.SumsSquares, Answered: 20})
	if classes == nil {
		p.Question.Vector.Number = &plan.Number{Name: "price", Low: 10, High: 50}
	}
	p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.DishonestShare = 6000, 4, 0
	return p
}

// A line and how far the truth is from it are learned, and which of two classes is likelier.
func TestANumberIsLearned(t *testing.T) {
	for name, p := range map[string]plan.Plan{"r2": priced(), "auc": priced("no", "yes")} {
		r := stattest.Rand(t)
		var values distribution.Values
		var test results.Records
		for range 6000 + 1000 {
			x := []float32{float32(r.Float64() - 0.5), float32(r.Float64() - 0.5), float32(r.Float64() - 0.5)}
			price := 30 + 20*float64(x[0]) - 10*float64(x[1]) + 2*r.NormFloat64()
			v := vector.Record{Features: x, Number: price}
			if v.Class = 0; p.Question.Vector.Number == nil && price > 30 {
				v.Class = 1
			}
			if len(values) < 6000 {
				values = append(values, v)
				continue
			}
			test.X = blas32.General{Rows: test.X.Rows + 1, Cols: 3, Stride: 3, Data: append(test.X.Data, x...)}
			test.Y, test.Number = append(test.Y, v.Class), append(test.Number, price)
		}
		proto := example.Runnable(t, example.Design(t, p))
		col, err := simulate.Law(proto, values, 3, quiet)
		if err != nil {
			t.Fatal(err)
		}
		learned, err := proto.Learn(col.Crowds)
		if err != nil {
			t.Fatal(err)
		}
		headline, sections, err := results.Describe(learned, results.Public{Test: test})
		if err != nil || headline[0].Name != name || headline[0].Value < 0.7 { // exact: 0.90 and 0.96
			t.Fatalf("%s: %+v, %v", name, headline, err)
		}
		model, err := results.NewRegression(learned.(*vector.Model))
		if err != nil {
			t.Fatal(err)
		}
		if name == "auc" {
			continue
		}
		if d := sections[0].Metrics[0]; d.Name != "deviation" || d.Value < 1.9 || d.Value > 6 { // the truth's is 2.0
			t.Errorf("a deviation of %v", d.Value)
		}
		if up, down := model.Value([]float32{0.5, 0, 0}), model.Value([]float32{-0.5, 0, 0}); up-down < 12 || up-down > 28 {
			t.Errorf("a price of %v at one end and of %v at the other", up, down)
		}
	}
}

// What a number may not be, and what stands in its place where it does not fit.
func TestNumbers(t *testing.T) {
	p := example.Design(t, priced())
	proto := example.Runnable(t, p)
	read := proto.Question.(question.Parser)
	if f := read.Fields(); len(f) != 2 || f[0].Name != "price" || !f[1].Rest {
		t.Errorf("fields %+v", f)
	}
	if v, errs := read.Value([]any{"12.5", []any{1.0, 2.0, 3.0}}); errs != nil || v.(vector.Record).Number != 12.5 {
		t.Errorf("%+v, %v", v, errs)
	}
	if _, errs := read.Value([]any{"dear", []any{1.0}}); len(errs) != 2 || errs[0] == nil || errs[1] != nil {
		t.Errorf("%v", errs)
	}
	encode := func(r vector.Record) []float32 {
		symbol, err := proto.Encode(r)
		if _, failed := question.Fits(err); failed != nil {
			t.Fatal(failed)
		}
		return symbol.([]float32)
	}
	x := []float32{0.1, 0.2, 0.3}
	if !slices.Equal(encode(vector.Record{Features: x, Number: 50}), encode(vector.Record{Features: x, Number: 1e9})) {
		t.Error("a number beyond the end is not the end")
	}
	if v := encode(vector.Record{Features: x, Number: math.NaN()}); slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
		t.Errorf("no number: %v", v)
	}
	for name, edit := range map[string]func(v *plan.Vector){
		"ends":             func(v *plan.Vector) { v.Number = &plan.Number{Name: "price", Low: 2, High: 2} },
		"no name":          func(v *plan.Vector) { v.Number = &plan.Number{High: 2} },
		"a class too":      func(v *plan.Vector) { v.Classes = []string{"a", "b"} },
		"neither":          func(v *plan.Vector) { v.Number = nil },
		"of other sums":    func(v *plan.Vector) { v.Rounds = []plan.VectorRound{{Sums: plan.SumsFeatures}} },
		"ends not finite":  func(v *plan.Vector) { v.Number = &plan.Number{Name: "price", High: math.Inf(1)} },
		"too many classes": func(v *plan.Vector) { v.Number, v.Classes = nil, shapes() },
	} {
		bad, v := p, *p.Question.Vector
		v.Rounds = slices.Clone(v.Rounds)
		edit(&v)
		bad.Question.Vector = &v
		if _, err := protocol.New(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
