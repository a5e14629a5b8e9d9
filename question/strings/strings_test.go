package strings_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	stringsof "github.com/confetti-dp/confetti/question/strings"
)

// many is a plan that so many answer.
func many(t *testing.T, people int) plan.Plan {
	p := example.Strings()
	p.Crowd.Minimum, p.Budget.Epsilon = people, 6
	p.Question.Strings.Answered, p.Question.Strings.Cells = 256, 16 // two positions of 8 tell too few strings apart
	return example.Design(t, p)
}

// Devices answer, the analyzer counts and reads: what many hold is found, with its count, and so is
// how many hold what does not fit. Counts that are drawn by the law say the same.
func TestStringsGoTheWholeWay(t *testing.T) {
	const people = 3000
	held := map[string]int{"aba": 1200, "b": 800, "far too long": 600, "bb": 400}
	p := many(t, people)
	proto := example.Runnable(t, p)
	if promise, err := proto.Promise(); err != nil || promise.Shuffled.Epsilon > p.Budget.Epsilon*(1+1e-9) {
		t.Fatalf("%v, %v", promise.Shuffled, err)
	}
	r := seeded.New(1)
	crowd := tally.Crowd{Tally: proto.NewTally(), Respondents: people}
	var values distribution.Values
	for text, n := range held {
		symbol, err := proto.Encode(text)
		if unfit, failed := question.Fits(err); failed != nil || (unfit != nil) != (text == "far too long") {
			t.Fatal(text, err)
		}
		for range n {
			values = append(values, text)
			report, err := proto.Randomize(r, symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range report.Parts[0] {
				if err := crowd.Tally.Add(body); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	drawn, err := distribution.Draw(proto, values, example.Streams(1), func(int) {})
	if _, failed := question.Fits(err); failed != nil {
		t.Fatal(err)
	}
	for name, crowds := range map[string][]tally.Crowd{"devices": {crowd}, "law": drawn} {
		m, err := proto.Learn(crowds)
		if err != nil {
			t.Fatal(err)
		}
		found, unfit := m.(*stringsof.Model).Found, m.(*stringsof.Model).Unfit
		if len(found) != 3 {
			t.Fatalf("%s: found %d", name, len(found))
		}
		if want := held["far too long"]; math.Abs(unfit.Mean-float64(want)) > 6*unfit.StdErr {
			t.Errorf("%s: %v did not fit, want %d", name, unfit, want)
		}
		for i, text := range []string{"aba", "b", "bb"} {
			want := held[text]
			if f := found[i]; f.Text != text || math.Abs(f.Count.Mean-float64(want)) > 6*f.Count.StdErr {
				t.Errorf("%s: %q has %v, want %d of %q", name, f.Text, f.Count, want, text)
			}
		}
	}
}

// Of no pair of strings, those that do not fit among them, are rows moved further than is charged: by enumeration
// of all pairs of a small code. A charge of two thirds would not cover them.
func TestRowsAreMovedAsCharged(t *testing.T) {
	proto := example.Runnable(t, example.Design(t, example.Strings()))
	q := proto.Question.(*stringsof.Question)
	var texts []string
	for _, a := range []string{"", "a", "b"} {
		for _, b := range []string{"a", "b"} {
			texts = append(texts, a+b, a+b+"a", a+b+"b")
		}
	}
	texts = append(texts, "does not fit")
	var ones [][]float64
	for _, text := range texts {
		s, _ := q.Encode(text)
		ones = append(ones, q.Ones(s))
	}
	spec, most := q.Rows().Spec(), 0.0
	for i := range ones {
		for j := range i {
			moved := 0.0
			for row := range ones[i] {
				gap := (ones[i][row] - ones[j][row]) / (1 - 2*spec.Flip)
				moved += gap * gap
			}
			most = max(most, moved)
		}
	}
	charged := spec.Event(proto.Plan.MinHonest()).SquaredGap
	if most > charged {
		t.Errorf("rows are moved by %v, and %v is charged", most, charged)
	}
	if most < charged*2/3 {
		t.Errorf("rows are moved by %v at most, and %v is charged", most, charged)
	}
}

// Where most hold one string, what is clipped is far more than a plan guesses, and the release states it: numbers err by as
// much as is said, and nothing is found that nobody holds. The guess of a plan states too little.
func TestErrorIsStatedWhereMostHoldOneString(t *testing.T) {
	const people, rounding = 50_000, 0.1
	p := ask(letters, 4, people, 2048)
	s := p.Question.Strings
	s.Cells, s.Hashes, s.Tail, s.Buckets, s.Pairs = 32, 1, 4, 20, 0.1 // of few rows, so that little of the error is of bits
	p = example.Design(t, p)
	proto := example.Runnable(t, p)
	q := proto.Question.(*stringsof.Question)
	for _, share := range []float64{0.01, 0.9} {
		held := map[string]int{"the": int(share * people)}
		for i := range 100 { // others are spelt alike
			held["w"+string(letters[i%26])+string(letters[i/26])+"e"] = (people - held["the"]) / 100
		}
		var values distribution.Values
		exact := make([]float64, q.Code().Numbers())
		for text, n := range held {
			symbol, err := proto.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range symbol.([]float32) {
				exact[i] += float64(n) * float64(x)
			}
			for range n {
				values = append(values, text)
			}
		}
		crowds, err := distribution.Draw(proto, values, example.Streams(1), func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		learnt, err := proto.Learn(crowds)
		if err != nil {
			t.Fatal(err)
		}
		m := learnt.(*stringsof.Model)
		for _, f := range m.Found {
			if held[f.Text] == 0 {
				t.Errorf("%v hold one string: %q is found, and nobody holds it", share, f.Text)
			}
		}
		counts, err := q.Rows().CountsOf(crowds[0].Tally.(*tally.Counts))
		if err != nil {
			t.Fatal(err)
		}
		sum, err := q.Rows().Estimate(counts, people)
		if err != nil {
			t.Fatal(err)
		}
		squares, numbers := 0.0, q.Code().Numbers()-q.Code().Pairing()
		for i, x := range sum.Vector[:numbers] {
			squares += (x - exact[i]) * (x - exact[i])
		}
		errs := math.Sqrt(squares / float64(numbers))
		if m.Error < errs*(1-rounding) || m.Error > errs*(1+2*rounding) {
			t.Errorf("%v hold one string: numbers err by %v, and %v is said", share, errs, m.Error)
		}
		guessed := math.Hypot(sum.Error, q.Rows().Spec().Clipping(people, vector.Alike(0.01, 1)))
		t.Logf("%v hold one string: numbers err by %v, %v is said, and %v guessed", share, errs, m.Error, guessed)
		if share > 0.1 && guessed > errs*(1-2*rounding) {
			t.Errorf("%v hold one string: numbers err by %v, and the guess of a plan is %v", share, errs, guessed)
		}
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	p := many(t, 3000)
	for unfit, want := range map[string]string{plan.UnfitReference: "", plan.UnfitClip: "aab"} {
		p.Question.Unfit = unfit
		q := example.Runnable(t, p).Question.(*stringsof.Question)
		symbols, bad := q.Symbols("aabb")
		text, _ := q.Code().Decode(symbols)
		if bad == nil || text != want || strings.Contains(bad.Error(), "aabb") {
			t.Errorf("%s: %q, %v", unfit, text, bad)
		}
		for _, text := range []string{"", "z", "\xff"} {
			if symbols, bad := q.Symbols(text); bad == nil || len(symbols) > 0 {
				t.Errorf("%s: %q fits as %v", unfit, text, symbols)
			}
		}
	}
	if _, err := example.Runnable(t, p).Encode(7); err == nil {
		t.Error("a number is no string")
	}
}

// ask is a plan of so many people whose code is left to the design.
func ask(alphabet string, longest, people, bits int) plan.Plan {
	p := example.Strings()
	p.Crowd.Minimum = people
	p.Question.Strings = &plan.Strings{Alphabet: alphabet, Longest: longest, Seed: example.Seed, Answered: bits}
	return p
}

const letters = "abcdefghijklmnopqrstuvwxyz"

// The design has as many numbers as leave rows their answers, and positions that tell more than symbols.
func TestDesignChoosesTheCode(t *testing.T) {
	for _, c := range []struct {
		alphabet                               string
		longest, people                        int
		cells, hashes, tail, least, most, rows int
	}{
		{letters, 8, 50_000, 32, 1, 4, 250, 400, 1 << 17},
		{letters, 8, 5000, 32, 1, 4, 25, 100, 1 << 15},
		{letters + "0123456789.-", 16, 50_000, 8, 2, 12, 500, 700, 1 << 18},
		{"", 24, 50_000, 8, 2, 16, 250, 300, 1 << 18},
	} {
		p, err := design.Fill(ask(c.alphabet, c.longest, c.people, 8192))
		if err != nil {
			t.Fatal(err)
		}
		s := p.Question.Strings
		if s.Cells != c.cells || s.Hashes != c.hashes || s.Tail != c.tail || s.Buckets < c.least || s.Buckets > c.most || s.Rows != c.rows {
			t.Errorf("%d of %d characters: %+v", c.longest, len(c.alphabet), s)
		}
		says := example.Runnable(t, p).Question.(*stringsof.Question).Compare()
		if len(says) != 1 || !strings.Contains(says[0].Says, "nine times in ten") || !strings.Contains(says[0].Says, "up to 8 respondents") {
			t.Errorf("%v", says)
		}
	}
	if _, err := design.Fill(ask(letters, 64, 50_000, 512)); err == nil || !strings.Contains(err.Error(), "shorter strings") {
		t.Errorf("too few buckets: %v", err)
	}
}

func TestPlansAreRefused(t *testing.T) {
	good := many(t, 3000)
	for want, spoil := range map[string]func(p *plan.Plan, s *plan.Strings){
		"longest":          func(_ *plan.Plan, s *plan.Strings) { s.Longest = 0 },
		"seed":             func(_ *plan.Plan, s *plan.Strings) { s.Seed = "12" },
		"twice":            func(_ *plan.Plan, s *plan.Strings) { s.Alphabet = "aa" },
		"rows":             func(_ *plan.Plan, s *plan.Strings) { s.Rows = 100 },
		"answered":         func(_ *plan.Plan, s *plan.Strings) { s.Answered = 0 },
		"clip":             func(_ *plan.Plan, s *plan.Strings) { s.Clip = 0 },
		"flip_probability": func(_ *plan.Plan, s *plan.Strings) { s.Flip = 0.5 },
		"rare":             func(_ *plan.Plan, s *plan.Strings) { s.Rare = 0 },
		"per_device":       func(p *plan.Plan, _ *plan.Strings) { p.Envelopes.PerDevice = 1 },
		"adjacency":        func(p *plan.Plan, _ *plan.Strings) { p.Budget.Adjacency = "removal" },
		"local_epsilon":    func(p *plan.Plan, _ *plan.Strings) { p.Budget.LocalEpsilon = 3 },
		"crowd.names":      func(p *plan.Plan, _ *plan.Strings) { p.Crowd.Names = []string{"a", "b"} },
		"unfit":            func(p *plan.Plan, _ *plan.Strings) { p.Question.Unfit = "" },
	} {
		p, s := good, *good.Question.Strings
		p.Question.Strings = &s
		spoil(&p, &s)
		if err := protocol.Validate(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := protocol.Validate(good); err != nil {
		t.Error(err)
	}
}
