package strings_test

import (
	"crypto/rand"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	stringsof "github.com/confetti-dp/confetti/question/strings"
)

// added returns a plan of sums of short strings of two letters, whose code is small.
func added(t *testing.T, people int, epsilon float64) plan.Plan {
	p := example.Summed(example.Strings(), plan.NoiseAggregators)
	p.Crowd.Minimum, p.Budget.Epsilon = people, epsilon
	s := p.Question.Strings
	s.Answered, s.Cells, s.Pairs = 0, 16, 3.0/8 // of 3 symbols, and 5 positions
	return example.Design(t, p)
}

// Devices split, both aggregators add noise, and the analyzer reads: what many hold is found, with its count. Sums that
// are drawn by the law say the same.
func TestSummedStringsGoTheWholeWay(t *testing.T) {
	const people = 3000
	held := map[string]int{"aba": 1200, "b": 800, "far too long": 600, "bb": 400}
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		p := added(t, people, 6)
		p.Route.Sum.Noise, p.Route.Sum.Law, p.Route.Sum.Decay, p.Route.Sum.Sigma = noise, "", 0, 0
		p = example.Design(t, p)
		proto := example.Runnable(t, p)
		promise, err := proto.Promise()
		if err != nil || promise.Shuffled.Epsilon > p.Budget.Epsilon*(1+1e-9) || promise.Shuffled.Users != 1 {
			t.Fatalf("%s: %v, %v", noise, promise.Shuffled, err)
		}
		if s := promise.Statements; len(s) != 3 || s[0].Observer != account.BothAggregators || !math.IsInf(s[0].Guarantee.Epsilon, 1) || (s[1].Guarantee.Epsilon > s[2].Guarantee.Epsilon) != true {
			t.Errorf("%s: %v", noise, s)
		}
		sums := make([]int64, p.Route.Sum.Circuit.Length)
		var values distribution.Values
		for text, n := range held {
			symbol, _ := proto.Encode(text)
			_, vector, err := proto.Measure(seeded.New(1), symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range vector {
				sums[i] += int64(n) * int64(x)
			}
			for range n {
				values = append(values, text)
			}
		}
		route, err := sum.New(p)
		if err != nil {
			t.Fatal(err)
		}
		for aggregator := range uint64(2) {
			for i, z := range route.Noise(seeded.New(2, aggregator)) {
				sums[i] += z
			}
		}
		crowd, err := proto.Sums(sums, people)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := distribution.Draw(proto, values, example.Streams(1), func(int) {})
		if drawn == nil {
			t.Fatal(err)
		}
		for name, crowds := range map[string][]tally.Crowd{"devices": {crowd}, "law": drawn} {
			m, err := proto.Learn(crowds)
			if err != nil {
				t.Fatal(err)
			}
			found, unfit := m.(*stringsof.Model).Found, m.(*stringsof.Model).Unfit
			if len(found) != 3 {
				t.Fatalf("%s, %s: found %d", noise, name, len(found))
			}
			if want := held["far too long"]; math.Abs(unfit.Mean-float64(want)) > 6*unfit.StdErr {
				t.Errorf("%s, %s: %v did not fit, want %d", noise, name, unfit, want)
			}
			for i, text := range []string{"aba", "b", "bb"} {
				want := held[text]
				if f := found[i]; f.Text != text || math.Abs(f.Count.Mean-float64(want)) > 6*f.Count.StdErr {
					t.Errorf("%s, %s: %q has %v, want %d of %q", noise, name, f.Text, f.Count, want, text)
				}
			}
		}
	}
}

// Of no two strings, those that do not fit among them, do more numbers differ than are charged, by more than one: by
// enumeration of all pairs of small codes, of which some pair differs in as many. Every vector is proved, and one with a one
// more is not.
func TestSumsAreMovedAsCharged(t *testing.T) {
	for _, pairs := range []float64{0, 3.0 / 8} {
		p := added(t, 3000, 6)
		p.Question.Strings.Pairs = pairs
		p.Route.Sum.Law, p.Route.Sum.Decay, p.Route.Sum.Sigma = "", 0, 0
		p = example.Design(t, p)
		proto := example.Runnable(t, p)
		var vectors [][]uint64
		for _, text := range []string{"a", "b", "aa", "ab", "ba", "bb", "aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb", "does not fit"} {
			symbol, _ := proto.Encode(text)
			_, v, err := proto.Measure(seeded.New(1), symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			vectors = append(vectors, v)
		}
		most := 0
		for i := range vectors {
			for j := range i {
				differ := 0
				for k := range vectors[i] {
					if d := int64(vectors[i][k]) - int64(vectors[j][k]); d*d > 1 {
						t.Fatalf("a number moves by %d", d)
					} else if d != 0 {
						differ++
					}
				}
				most = max(most, differ)
			}
		}
		q := proto.Question.(*stringsof.Question)
		charged := q.Event(1, false).(account.Repeat).Rounds
		if most != charged || charged != 2*q.Code().Ones() {
			t.Errorf("%d numbers differ at most, and %d are charged", most, charged)
		}
		v, err := vdaf.New(p.Route.Sum, []byte("a context"))
		if err != nil {
			t.Fatal(err)
		}
		var nonce [prio3.NonceSize]byte
		for i, vector := range vectors {
			if _, _, _, err := v.Split(rand.Reader, nonce, vector); err != nil {
				t.Errorf("vector %d is not proved: %v", i, err)
			}
		}
		spoilt := vectors[6] // of as many ones as there may be
		for i := range spoilt {
			if spoilt[i] == 0 {
				spoilt[i] = 1
				break
			}
		}
		if _, _, _, err := v.Split(rand.Reader, nonce, spoilt); err == nil {
			t.Error("a vector of one more is proved")
		}
	}
}

// The design has room in its buckets within what a device proves, and says what a liar does.
func TestDesignChoosesTheCodeOfSums(t *testing.T) {
	for _, c := range []struct {
		alphabet                             string
		longest, people                      int
		hashes, tail, least, most, ones, all int
		liar                                 string
	}{
		{letters, 8, 50_000, 4, 12, 250, 250, 52, 1 << 17, "1.2 6.5"},
		{letters, 8, 5000, 4, 12, 25, 25, 52, 1 << 14, "1.2 6.5"},
		{letters + "0123456789.-", 24, 50_000, 3, 12, 250, 250, 108, 1 << 18, "1.3 4.5"},
		{"", 24, 50_000, 3, 24, 180, 250, 216, 1 << 18, "1.3 4.5"},
	} {
		p, err := design.Fill(example.Summed(ask(c.alphabet, c.longest, c.people, 0), plan.NoiseAggregators))
		if err != nil {
			t.Fatal(err)
		}
		s, circuit := p.Question.Strings, p.Route.Sum.Circuit
		if s.Hashes != c.hashes || s.Tail != c.tail || s.Buckets < c.least || s.Buckets > c.most || circuit.Weight != c.ones || circuit.Length > c.all || s.Rows != 0 {
			t.Errorf("%d of %d characters: %+v, %+v", c.longest, len(c.alphabet), s, circuit)
		}
		says := example.Runnable(t, p).Question.(*stringsof.Question).Compare()
		all, spelling, _ := strings.Cut(c.liar, " ")
		if len(says) != 1 || !strings.Contains(says[0].Says, "nine times in ten") || !strings.Contains(says[0].Says, "adds one respondent to one string, and "+all+" to all strings together") || !strings.Contains(says[0].Says, "counts for up to "+spelling+".") {
			t.Errorf("%v", says)
		}
	}
	if _, err := design.Fill(example.Summed(ask(letters, 100, 200_000, 0), plan.NoiseAggregators)); err == nil || !strings.Contains(err.Error(), "shorter strings") {
		t.Errorf("too few buckets: %v", err)
	}
}

func TestPlansOfSumsAreRefused(t *testing.T) {
	good := added(t, 3000, 6)
	for want, spoil := range map[string]func(p *plan.Plan, s *plan.Strings){
		"route.sum.law": func(p *plan.Plan, _ *plan.Strings) {
			p.Route.Sum.Law, p.Route.Sum.Decay, p.Route.Sum.Sigma = plan.LawLaplace, 0.1, 0
		},
		"route.sum.noise":   func(p *plan.Plan, _ *plan.Strings) { p.Route.Sum.Noise = plan.NoiseDevices },
		"pairs":             func(_ *plan.Plan, s *plan.Strings) { s.Pairs = 0.1 },
		"answered":          func(_ *plan.Plan, s *plan.Strings) { s.Answered = 100 },
		"route.sum.circuit": func(p *plan.Plan, _ *plan.Strings) { p.Route.Sum.Circuit.Weight++ },
	} {
		p, s, route := good, *good.Question.Strings, *good.Route.Sum
		p.Question.Strings, p.Route.Sum = &s, &route
		spoil(&p, &s)
		err := protocol.Validate(p)
		if err == nil {
			_, err = protocol.New(p)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := protocol.Validate(good); err != nil {
		t.Error(err)
	}
	proto := example.Runnable(t, good)
	if _, err := proto.Question.(*stringsof.Question).Sums(make([]int64, 3), 1); err == nil {
		t.Error("sums of another length are read")
	}
	symbol, _ := proto.Encode("ab")
	if _, err := proto.Randomize(seeded.New(1), symbol, nil); err == nil {
		t.Error("what is split is randomized")
	}
}
