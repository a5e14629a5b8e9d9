package histogram_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/sketch"
	"github.com/confetti-dp/confetti/internal/example"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/law"
)

// Strings that nobody has declared are found in rounds of 4,000 respondents of their
// own, and nothing else is: the frequent ones lie 15 standard errors and more above
// the threshold.
func TestRoundsFindFrequentStrings(t *testing.T) {
	frequent := []string{"", "ab", "abba", "cab"}
	s := sketch.Search{Alphabet: []rune("abc"), Ahead: 2, Least: 100, Rate: 0.01}
	for _, randomizer := range []string{"one-hot", "krr"} {
		t.Run(randomizer, func(t *testing.T) {
			h := example.OneHot(plan.Attribute{Name: "word", Kind: "prefixes"})
			h.Randomizer.Name = randomizer
			p := example.Histogram(h)
			p.Budget.Adjacency, p.Crowd.Minimum = "replacement", 4000
			p, err := histogram.FirstRound(p, s)
			if err != nil {
				t.Fatal(err)
			}
			for round := uint64(0); ; round++ {
				if err := protocol.Check(p); err != nil {
					t.Fatal(err)
				}
				proto := example.Runnable(t, p)
				values := make([]question.Value, 4000)
				r := replay.New(3, round)
				for i := range values {
					word := frequent[i%4]
					if i%20 == 0 { // one in twenty says something of its own
						word = ""
						for range 5 {
							word += string(s.Alphabet[r.IntN(3)])
						}
					}
					values[i] = histogram.Answers{Values: []any{word}}
				}
				tallies, err := law.Draw(proto, values, func(part ...uint64) *rand.Rand { return replay.New(round+9, part...) }, func(int) {})
				if err != nil {
					t.Fatal(err)
				}
				model, err := proto.Learn(tallies)
				if err != nil {
					t.Fatal(err)
				}
				next, found, done, err := histogram.NextRound(p, model.(*histogram.Model), s)
				if err != nil {
					t.Fatal(err)
				}
				if done {
					var words []string
					for _, f := range found {
						words = append(words, f.Text)
					}
					slices.Sort(words)
					if !slices.Equal(words, frequent) || round != 2 {
						t.Errorf("found %q after %d rounds", words, round+1)
					}
					return
				}
				if round > 5 {
					t.Fatal("the search goes on and on")
				}
				p = next
			}
		})
	}
}

// A search ends where nothing survives, and refuses what is no round of one.
func TestRoundsEnd(t *testing.T) {
	s := sketch.Search{Alphabet: []rune("ab"), Ahead: 1, Least: 1e6, Rate: 0.01}
	p, err := histogram.FirstRound(example.Histogram(example.OneHot(plan.Attribute{Name: "word", Kind: "prefixes"})), s)
	if err != nil {
		t.Fatal(err)
	}
	if values := p.Question.Histogram.Attributes[0].Values; !slices.Equal(values, []string{"a", "b", string(encode.End)}) {
		t.Errorf("first candidates %q", values)
	}
	learn := func(p plan.Plan) *histogram.Model {
		proto := example.Runnable(t, p)
		tallies := example.Crowds(proto)
		tallies[0].Respondents = 1000
		model, err := proto.Learn(tallies)
		if err != nil {
			t.Fatal(err)
		}
		return model.(*histogram.Model)
	}
	if _, found, done, err := histogram.NextRound(p, learn(p), s); err != nil || !done || len(found) != 0 {
		t.Errorf("done %v, found %v, %v", done, found, err)
	}
	other := example.Design(t, example.Histogram(example.OneHot(example.Drinks())))
	_, _, _, err = histogram.NextRound(other, learn(other), s)
	example.Mentions(t, err, "prefixes")
	_, err = histogram.FirstRound(example.Histogram(example.OneHot(example.Drinks())), s)
	example.Mentions(t, err, "prefixes")
	s.Rate = 2
	_, _, _, err = histogram.NextRound(p, learn(p), s)
	example.Mentions(t, err, "rate")
}
