package latent

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// beside is symbolled, beside the number of one of eight public records.
func beside() plan.Latent {
	l := symbolled()
	l.Records = 8
	return l
}

// The number of a record is said as it is, and of its sets no two records, those that do not fit included, are told
// apart by more than the local epsilon; devices draw from that law, and a twin that favours its symbol more is caught.
func TestNumberedRecordsByEnumeration(t *testing.T) {
	const epsilon, number, draws = 0.5, 5, 6000
	q := made(t, asked(beside(), epsilon))
	n := q.report.(*numbered)
	sets := map[byte]int{} // of the reports, each two of six symbols
	for set := range 1 << 6 {
		if n.symbols.Check([]byte{byte(set)}) == nil {
			sets[byte(set)] = len(sets)
		}
	}
	if len(sets) != 15 || n.symbols.W != 2 {
		t.Fatalf("%d sets of %d", len(sets), n.symbols.W)
	}
	law := func(r Record, epsilon float64) []float64 {
		symbol, err := q.symbol(r)
		if err != nil {
			t.Fatal(err)
		}
		all, total := make([]float64, len(sets)), 0.0
		for set, at := range sets {
			for s := range 6 { // of a symbol drawn at random, all alike
				if weight := 1.0; symbol < 0 || s == symbol {
					if n.symbols.Holds([]byte{set}, s) {
						weight = math.Exp(epsilon)
					}
					all[at] += weight
				}
			}
			total += all[at]
		}
		for at := range all {
			all[at] /= total
		}
		return all
	}
	worst := func(epsilon float64) (most float64) {
		for _, a := range records {
			for _, b := range records {
				p, o := law(a, epsilon), law(b, epsilon)
				for at := range p {
					most = max(most, math.Log(p[at]/o[at]))
				}
			}
		}
		return most
	}
	if got := worst(epsilon); math.Abs(got-epsilon) > 1e-9 {
		t.Errorf("records tell %v, and %v is promised", got, epsilon)
	}
	if worst(2*epsilon) <= epsilon {
		t.Error("a twin that favours its symbol more keeps the promise")
	}
	r := rng.New()
	for _, record := range records {
		record.Number = number
		symbol, err := q.Encode(record)
		if _, err := question.Fits(err); err != nil {
			t.Fatal(err)
		}
		counts := make([]int, len(sets))
		for range draws {
			report, err := q.Randomize(r, symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			message := report.Parts[0][0]
			if got := binary.BigEndian.Uint32(message); got != number || len(report.Parts) != 1 || len(report.Parts[0]) != 1 {
				t.Fatalf("%v of record %d", report, number)
			}
			counts[sets[message[numberBytes]]]++
		}
		stattest.GTest(t, law(record, epsilon), counts)
	}
	g, err := account.Epsilon(q.Event(450, false), 1e-6)
	if err != nil || g.Epsilon > epsilon*(1+1e-9) || g.Epsilon < 0.9*epsilon {
		t.Errorf("a report that stands alone has epsilon %v, %v", g.Epsilon, err)
	}
}

// What was told comes back in the order of the numbers, whatever the order of the messages; what is no report of the
// plan does not.
func TestNumberedRecordsComeBack(t *testing.T) {
	q := made(t, asked(beside(), 8))
	counts := q.NewTally()
	add := func(message []byte) {
		if err := counts.Add(message); err != nil {
			t.Fatal(err)
		}
	}
	for i := 7; i >= 0; i-- {
		symbol, err := q.Encode(Record{Number: i, Features: []float32{9, 1}, Class: 1})
		if err != nil {
			t.Fatal(err)
		}
		report, err := q.Randomize(rng.New(), symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		add(report.Parts[0][0])
	}
	add([]byte{0, 0, 0, 8, 1})    // a ninth record
	add([]byte{0, 0, 0, 1, 0x40}) // a seventh symbol
	add([]byte{0, 0, 0, 1, 0x3f}) // all of them
	learned, err := q.Learn([]tally.Crowd{{Tally: counts, Respondents: 11, Smallest: 11}})
	if err != nil {
		t.Fatal(err)
	}
	m := learned.(*Model).Numbered
	if len(m.Reports) != 8 {
		t.Fatalf("%d reports", len(m.Reports))
	}
	right := 0
	for i, r := range m.Reports {
		if r.Number != i {
			t.Errorf("report %d is of record %d", i, r.Number)
		}
		if m.Symbols.Holds(r.Body, 3) { // the second cluster, the second class
			right++
		}
	}
	if right < 6 {
		t.Errorf("%d of 8 reports hold what is true", right)
	}
	for name, r := range map[string]Record{"none of the records": {Number: 8, Features: []float32{1, 1}}, "below all": {Number: -1, Features: []float32{1, 1}}} {
		if _, err := q.Encode(r); err == nil {
			t.Errorf("%s: encoded", name)
		} else if _, err := question.Fits(err); err == nil {
			t.Errorf("%s: stands for the reference: a number is public", name)
		}
	}
	for name, change := range map[string]func(*plan.Plan){
		"of whether a model is right": func(p *plan.Plan) { *p.Question.Latent = judged(); p.Question.Latent.Records = 8 },
		"too many":                    func(p *plan.Plan) { p.Question.Latent.Records = plan.MaxRecords + 1 },
		"in groups":                   func(p *plan.Plan) { p.Question.Latent.Classes, p.Crowd.Names = nil, []string{"a", "b"} },
	} {
		p := asked(beside(), 1)
		change(&p)
		if _, err := Design(p); err == nil {
			t.Errorf("%s: designed", name)
		}
	}
	for name, change := range map[string]func(*plan.Plan){
		"two messages":            func(p *plan.Plan) { p.Envelopes.PerDevice = 2 },
		"short envelopes":         func(p *plan.Plan) { p.Envelopes.PayloadBytes = 4 },
		"a set of all":            func(p *plan.Plan) { p.Question.Latent.Randomizer.Subset = 6 },
		"more than the budget":    func(p *plan.Plan) { p.Question.Latent.Randomizer.Epsilon = 2 },
		"another's settings":      func(p *plan.Plan) { p.Question.Latent.Randomizer.Fragments = 2 },
		"no way to tell a symbol": func(p *plan.Plan) { p.Question.Latent.Randomizer = nil },
	} {
		p, err := Design(asked(beside(), 1))
		if err != nil {
			t.Fatal(err)
		}
		change(&p)
		var ps plan.Problems
		if validate(p, &ps); ps.Err() == nil {
			t.Errorf("%s: valid", name)
		}
	}
}
