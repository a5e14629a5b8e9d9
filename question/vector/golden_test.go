package vector_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
)

// Golden vectors let a second implementation find its first wrong step. They change only with
// the format's version. Do not edit to pass.
var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

type golden struct {
	Comment string          `json:"comment"`
	Plan    json.RawMessage `json:"plan"` // canonical form
	Hash    string          `json:"hash"`
	Seed    uint64          `json:"seed"`
	Devices []goldenDevice  `json:"devices"`
	Counts  []uint64        `json:"counts"` // zeros and ones, row by row
	Sum     []float64       `json:"sum"`
	Error   float64         `json:"error"`
}

type goldenDevice struct {
	Features []float32 `json:"features"`
	Class    int       `json:"class"`
	Vector   []float32 `json:"vector"`
	Ones     []float64 `json:"ones"` // probability that an answer to each row is a one
	Messages [][2]int  `json:"messages"`
	Payloads []string  `json:"payloads"` // hexadecimal, in the order of sealing
}

func TestGoldenVectors(t *testing.T) {
	p := example.Version2(asking(2, []string{"hills", "shore"}, plan.VectorRound{Sums: plan.SumsMoments, Answered: 6, Rows: 16, Clip: 2, Flip: 0.125, Rare: 1e-9, Alike: 0.43}))
	p.Crowd.Minimum, p.Budget.Epsilon = 2, 8
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 12, 8
	proto := example.Runnable(t, p)
	g := golden{Comment: "Devices draw from one stream after the other: rows in blocks of 64, then symbols, then two permutations.", Plan: p.Canonical(), Hash: p.Name(), Seed: 7}
	counts := proto.NewTally()
	held := []vector.Record{{Features: []float32{3, -4}, Class: 1}, {Features: []float32{0, 2}, Class: 0}, {Features: []float32{1, 1}, Class: 5}}
	for i, r := range held {
		symbol, err := proto.Encode(r)
		if symbol == nil || (err == nil) != (i < 2) {
			t.Fatal(err)
		}
		random := seeded.New(g.Seed, uint64(i))
		report, err := proto.Randomize(random, symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := goldenDevice{Features: r.Features, Class: r.Class, Vector: symbol.([]float32), Ones: make([]float64, 16)}
		proto.Question.(*vector.Question).Rows().Ones(d.Vector, d.Ones)
		for _, body := range report.Parts[0] {
			row, bit := example.Said(t, body)
			d.Messages = append(d.Messages, [2]int{row, bit})
		}
		for _, payload := range fragment.Pack(random, report.Parts[0], p.Envelopes.PerDevice, p.Envelopes.PayloadBytes) {
			d.Payloads = append(d.Payloads, hex.EncodeToString(payload))
			if err := fragment.Count(counts, payload); err != nil {
				t.Fatal(err)
			}
		}
		g.Devices = append(g.Devices, d)
	}
	g.Counts = counts.(*tally.Counts).N
	model, err := proto.Question.Learn([]tally.Crowd{{Tally: counts, Respondents: len(held)}})
	if err != nil {
		t.Fatal(err)
	}
	g.Sum, g.Error = model.(*vector.Model).Sum, model.(*vector.Model).Error
	const file = "testdata/vectors/v2/moments.json"
	if *update {
		text, err := json.MarshalIndent(g, "", " ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	if err := json.Unmarshal(text, &want); err != nil || len(want.Devices) != len(held) {
		t.Fatal(err)
	}
	if !example.SameJSON(t, want.Plan, g.Plan) {
		t.Error("the plan is another")
	}
	want.Plan, g.Plan = nil, nil
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(1+math.Abs(b)) })
	nearly := cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) <= 1e-6 })
	if diff := cmp.Diff(want, g, near, nearly); diff != "" {
		t.Errorf("(-golden +got)\n%s", diff)
	}
}

// Rows of a table are records.
func TestRowsOfATable(t *testing.T) {
	q := example.Runnable(t, tinyPlan()).Question.(*vector.Question)
	if fields := q.Fields(); len(fields) != 1 || !fields[0].Rest {
		t.Errorf("%+v", fields)
	}
	if v, errs := q.Value([]any{[]any{0.5, 1.}}); errs != nil || !cmp.Equal(v, vector.Record{Features: []float32{0.5, 1}}) {
		t.Errorf("%+v, %v", v, errs)
	}
	p := asking(2, shapes(), plan.VectorRound{Sums: plan.SumsClasses, Answered: 2, Rows: 4, Clip: 2, Flip: 0.1, Rare: 1e-9})
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 4, 8
	q = example.Runnable(t, p).Question.(*vector.Question)
	if v, errs := q.Value([]any{"tall", []float32{1, 0}}); errs != nil || v.(vector.Record).Class != 2 {
		t.Errorf("%+v, %v", v, errs)
	}
	if _, errs := q.Value([]any{"flat", []any{"x", 1.}}); len(errs) != 2 || errs[0] == nil || errs[1] == nil {
		t.Errorf("%v", errs)
	}
}
