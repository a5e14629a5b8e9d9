// Package kinds finds, for each kind of question, the records that devices tell apart best, the law of their
// answers, and what is drawn in secret. Used by internal/audit, which attacks.
package kinds

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/question/vector"
)

// Records are what respondents hold: the one attacked the first or the second, all others
// the third.
type Records [3]question.Value

// Pairs lists pairs of records that a question's mechanism tells apart, or may. An attack
// takes the pair that it tells apart best. Where devices answer rows, a climb leads to each.
func Pairs(p *protocol.Protocol, r *rand.Rand) ([]Records, error) {
	all, err := apart(p)
	if err != nil {
		return nil, err
	}
	ones, err := Ones(p, all[0][0])
	if ones == nil || err != nil {
		return all, err
	}
	return worst{p, p.Plan.Budget.Adjacency == plan.AdjacencyLabel, r}.from(all)
}

// Encode gives the symbol of a record, also of one that does not fit.
func Encode(p *protocol.Protocol, v question.Value) (question.Symbol, error) {
	s, err := p.Question.Encode(v)
	_, err = question.Fits(err)
	return s, err
}

// inRows is a question whose devices answer rows with a bit each, by a law that it knows.
type inRows interface {
	// Ones gives the probability of a one in each row; nil where reports are no bits of rows.
	Ones(question.Symbol) []float64
}

// Ones gives the probability of a one in each row of a device that holds a record; nil where devices
// answer no rows.
func Ones(p *protocol.Protocol, v question.Value) ([]float64, error) {
	inner, _ := innerOf(p)
	d, bits := inner.(*density.Question)
	q, rows := inner.(inRows)
	if !bits && !rows {
		return nil, nil
	}
	s, err := Encode(p, v)
	if err != nil {
		return nil, err
	}
	if bits {
		return onesOf(d, s), nil
	}
	return q.Ones(s), nil
}

// innerOf finds the question that a question's answers go by, and its plan: itself, where it goes by no other.
func innerOf(p *protocol.Protocol) (question.Question, plan.Plan) {
	switch q := p.Question.(type) {
	case *label.Question:
		if of := q.Inner(); of != nil {
			return of, q.InnerPlan()
		}
	case *latent.Question:
		if of := q.Inner(); of != nil {
			return of, q.InnerPlan()
		}
	}
	return p.Question, p.Plan
}

// Work tells about how many random numbers an answer takes beside its messages: those of a network's pass.
func Work(p *protocol.Protocol) int {
	if q, ok := p.Question.(*gradient.Question); ok {
		return 6 * len(q.Network().Params)
	}
	return 0
}

func apart(p *protocol.Protocol) ([]Records, error) {
	switch q := p.Question.(type) {
	case *density.Question:
		return densities(p.Plan), nil
	case *histogram.Question:
		return cells(p.Plan), nil
	case *vector.Question:
		return rows(q, p.Plan), nil
	case *gradient.Question:
		return gradients(p.Plan), nil
	case *label.Question:
		return labels(q, *p.Plan.Question.Label), nil
	case *strings.Question:
		return spelt(q, *p.Plan.Question.Strings), nil
	case *table.Question:
		return tabulated(q, *p.Plan.Question.Table), nil
	case *experiment.Question:
		return tested(*p.Plan.Question.Experiment), nil
	case *latent.Question:
		return latents(q, *p.Plan.Question.Latent)
	}
	return nil, fmt.Errorf("audit: no attack is known of a question of kind %q", p.Plan.Question.Kind)
}

// densities are vectors opposite to each other, of length one and far away. Classes differ
// where they are protected.
func densities(p plan.Plan) []Records {
	d, second := p.Question.Density.Dimension, 0
	if p.Budget.LabelEpsilon != plan.Unprotected {
		second = min(1, p.Crowds()-1)
	}
	var all []Records
	for _, length := range []float64{1, 20} {
		all = append(all, Records{
			density.Labelled{Features: along(d, length, false)},
			density.Labelled{Features: along(d, -length, false), Class: second},
			density.Labelled{Features: along(d, length, false)},
		})
	}
	return all
}

// rows lists vectors opposite to each other: alike in all numbers, such as saturate rows where these are
// sums of what respondents hold, and far longer than any that fits.
func rows(q *vector.Question, p plan.Plan) (all []Records) {
	v := *p.Question.Vector
	if p.Budget.Adjacency == plan.AdjacencyLabel { // features are public
		one, other := vector.Record{Features: along(v.Features, 1, false)}, vector.Record{Features: along(v.Features, 1, false), Class: len(v.Classes) / 2}
		return []Records{{one, other, one}}
	}
	add := func(x []float32) {
		turned := slices.Clone(x)
		for i := range turned {
			turned[i] = -x[i]
		}
		first := vector.Record{Features: x}
		all = append(all, Records{first, vector.Record{Features: turned, Class: len(v.Classes) / 2}, first})
	}
	if q.Proved() { // no climb leads to opposite vectors, as those of one class may be
		one, other := vector.Record{Features: along(v.Features, 1, false)}, vector.Record{Features: along(v.Features, -1, false)}
		return []Records{{one, other, one}}
	}
	add(along(v.Features, 1, false))
	if x := saturated(q.Rows()); len(x) == v.Features {
		add(x)
		add(scaled(slices.Clone(x), 20))
	}
	return all
}

// spelt lists the two strings furthest apart, of such as repeat one character as often as may be: other strings in
// the place of the worst are as far where they share no bucket and no pair.
func spelt(q *strings.Question, ask plan.Strings) []Records {
	characters := []rune(ask.Alphabet)
	if len(characters) == 0 {
		characters = []rune("abcdefgh")
	}
	var vectors [][]float32
	var texts []string
	for _, c := range characters[:min(len(characters), 16)] {
		text := string(slices.Repeat([]rune{c}, ask.Longest))
		if s, err := q.Encode(text); err == nil {
			texts, vectors = append(texts, text), append(vectors, s.([]float32))
		}
	}
	furthest, pair := -1.0, Records{}
	for i, v := range vectors {
		for j, w := range vectors[:i] {
			apart := 0.0
			for k := range v {
				apart += float64(v[k]-w[k]) * float64(v[k]-w[k])
			}
			if apart > furthest {
				furthest, pair = apart, Records{texts[i], texts[j], texts[i]}
			}
		}
	}
	if furthest < 0 { // of one character alone: against what does not fit
		pair = Records{texts[0], "", texts[0]}
	}
	return []Records{pair}
}

// tabulated lists the two records furthest apart: one has the first value of each column, and the other agrees with it in
// those columns that leave them furthest; of sums in none.
func tabulated(q *table.Question, ask plan.Crosstab) []Records {
	first := make([]any, len(ask.Columns))
	others := slices.Clone(first)
	for i, c := range ask.Columns {
		if len(c.Cuts) > 0 {
			first[i], others[i] = c.Cuts[0]-1, c.Cuts[0]
		} else {
			first[i], others[i] = c.Values[0], c.Values[len(c.Values)-1]
			if len(c.Values) == 1 { // and another
				others[i] = c.Values[0] + "?"
			}
		}
	}
	if q.Summed() { // every table has the two in other cells
		return []Records{{first, others, first}}
	}
	vectorOf := func(r []any) []float32 {
		s, _ := q.Encode(r)
		return s.([]float32)
	}
	from := vectorOf(first)
	apart := func(r []any) (sum float64) {
		for i, x := range vectorOf(r) {
			sum += float64(x-from[i]) * float64(x-from[i])
		}
		return sum
	}
	// From all alike, columns are made to differ one after another, those of few values first: some step of it is the worst.
	order := make([]int, len(first))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(table.Values(ask.Columns[a])) - len(table.Values(ask.Columns[b])) })
	second, at := slices.Clone(first), slices.Clone(first)
	for _, i := range order {
		at[i] = others[i]
		if apart(at) > apart(second) {
			second = slices.Clone(at)
		}
	}
	return []Records{{first, second, first}}
}

// tested are records at both ends of all metrics: in one arm, and in two.
func tested(e plan.Experiment) []Records {
	at := func(arm int, end func(plan.Measure) float64) experiment.Record {
		r := experiment.Record{Arm: arm}
		for _, m := range e.Metrics {
			r.Numbers = append(r.Numbers, end(m))
			for range lift.Held(m) - 1 {
				r.Numbers = append(r.Numbers, 0)
			}
		}
		return r
	}
	low, high := at(0, func(m plan.Measure) float64 { return m.Low }), func(m plan.Measure) float64 { return m.High }
	return []Records{{low, at(0, high), low}, {low, at(1, high), low}}
}

// gradients are examples opposite to each other, and of different classes: near, and so far
// away that their gradients are clipped. Where a report says a direction, others who hold the
// first hide least, since theirs spread least.
func gradients(p plan.Plan) []Records {
	d := p.Question.Gradient.Dimension
	var all []Records
	for _, length := range []float64{1, 20} {
		first := gradient.Labelled{Features: along(d, length, false)}
		others := first
		if p.Question.Gradient.Report.Name == gradient.Vector {
			others.Features = along(d, length, true)
		}
		all = append(all,
			Records{first, gradient.Labelled{Features: along(d, -length, false)}, others},
			Records{first, gradient.Labelled{Features: first.Features, Class: 1}, others})
	}
	return all
}

// labels gives two labels with the same features, which are public, or of the same record.
func labels(q *label.Question, ask plan.Label) []Records {
	of := func(number, class int) label.Record {
		r := label.Record{Number: number, Class: min(class, len(ask.Classes)-1)}
		if ask.Features > 0 {
			r.Features = along(ask.Features, 1, false)
		}
		return r
	}
	if _, sums := q.Inner().(*vector.Question); sums {
		return []Records{{of(0, 0), of(0, len(ask.Classes)/2), of(0, 0)}}
	}
	others := min(1, max(0, ask.Records-1))
	return []Records{{of(0, 0), of(0, 1), of(others, 2)}}
}

// searched is how many records are tried for such as lie in different clusters.
const searched = 2000

// latents finds records of which a public state makes different symbols, or vectors opposite to each other,
// some so far away that they are pulled back.
func latents(q *latent.Question, ask plan.Latent) (all []Records, err error) {
	r := seeded.New(0, uint64(ask.Features))
	class := func(i int) int { return min(i, max(0, len(ask.Classes)-1)) }
	others := min(1, max(0, ask.Records-1))
	if ask.Report == plan.LatentVector {
		for _, length := range []float64{1, 20, 1000} {
			first := latent.Record{Features: along(ask.Features, length, false)}
			second := latent.Record{Features: along(ask.Features, -length, false), Class: class(1)}
			all = append(all, Records{first, second, latent.Record{Features: first.Features, Number: others}})
		}
		return all, nil
	}
	var found Records
	seen := map[any]bool{}
	for i := range searched {
		v := latent.Record{Features: make([]float32, ask.Features), Class: class(i % max(1, len(ask.Classes)))}
		for j := range v.Features {
			v.Features[j] = float32(math.Pow(10, float64(i%4)-1) * r.NormFloat64())
		}
		symbol, err := q.Symbol(v)
		if err != nil {
			return nil, err
		}
		if symbol < 0 || seen[symbol] {
			continue
		}
		if found[len(seen)] = v; len(seen) == 2 {
			found[2] = latent.Record{Features: v.Features, Class: v.Class, Number: others}
			return []Records{found}, nil
		}
		seen[symbol] = true
	}
	if len(seen) < 2 {
		return nil, errors.New("audit: no two records were found that lie in different clusters of the state")
	}
	first := found[0].(latent.Record)
	first.Number = others
	found[2] = first
	return []Records{found}, nil
}

// along returns a vector of that length in the direction of all coordinates alike or, crosswise,
// in one at a right angle to it.
func along(dimension int, length float64, crosswise bool) []float32 {
	v := make([]float32, dimension)
	for i := range v {
		v[i] = float32(length / math.Sqrt(float64(dimension)) * (1 - 1e-6))
		if crosswise && i%2 == 1 {
			v[i] = -v[i]
		}
	}
	return v
}

// thirds is how many cells are tried for all others, where cells share the rows of a sketch.
const thirds = 16

// cells returns answers of two cells, and of a third for all others: of sums with a sketch, of one
// that may share no cell of it with either.
func cells(p plan.Plan) (all []Records) {
	number := 3
	if histogram.Noised(p) && p.Question.Histogram.Sketch != nil {
		number += thirds
	}
	for third := 2; third < number; third++ {
		all = append(all, Records{answers(p, 0), answers(p, 1), answers(p, third)})
	}
	return all
}

// answers returns the cell of that number, in every attribute; where there are fewer, the
// last.
func answers(p plan.Plan, number int) histogram.Answers {
	var a histogram.Answers
	for _, at := range p.Question.Histogram.Attributes {
		a.Values = append(a.Values, cell(at, number))
	}
	return a
}

func cell(a plan.Attribute, number int) any {
	name := func(i int) string { return a.Values[min(i, len(a.Values)-1)] }
	middle := func(x plan.Axis, i int) float64 {
		return x.Low + (float64(min(i, x.Cells-1))+0.5)*(x.High-x.Low)/float64(x.Cells)
	}
	switch {
	case a.Kind == "buckets":
		return middle(plan.Axis{Low: a.Low, High: a.High, Cells: a.Cells}, number)
	case a.Kind == "grid":
		return encode.Point{X: middle(*a.X, number), Y: middle(*a.Y, number/a.X.Cells)}
	case a.Kind == "set" && a.Size > 0:
		items := make([]int, min(a.Most, a.Size/3+1))
		for i := range items {
			items[i] = min(number*len(items)+i, a.Size-1)
		}
		return items
	case a.Kind == "set":
		return []string{name(number)}
	case a.Size > 0:
		return min(number, a.Size-1)
	case len(a.Values) == 0:
		return ""
	}
	return name(number)
}
