package histogram_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
)

// searching asks for words, by rounds of so many candidates.
func searching(randomizer string, size int, search plan.Search) plan.Plan {
	h := example.OneHot(plan.Attribute{Name: "word", Kind: "prefixes", Others: true, Size: size, Search: &search})
	h.Randomizer.Name = randomizer
	p := example.Histogram(h)
	p.Budget.Adjacency, p.Crowd.Minimum = "replacement", 4000
	return p
}

// inState is a plan with the state of a round.
func inState(t *testing.T, p plan.Plan, state []byte) *protocol.Protocol {
	t.Helper()
	p.State = plan.StateName(state)
	proto, err := protocol.WithState(p, state)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// Strings that nobody has declared are found in rounds of 4,000 respondents of their
// own, and nothing else is: the frequent ones lie 15 standard errors and more above
// the threshold. Every round costs the same, though its candidates are other ones.
func TestRoundsFindFrequentStrings(t *testing.T) {
	frequent := []string{"", "ab", "abba", "cab"}
	for _, randomizer := range []string{"one-hot", "krr"} {
		t.Run(randomizer, func(t *testing.T) {
			p := example.Design(t, searching(randomizer, 60, plan.Search{Alphabet: "abc", Ahead: 2, Least: 100, Rate: 0.01}))
			promise, err := example.Runnable(t, p).Promise()
			if err != nil {
				t.Fatal(err)
			}
			state, _, err := results.Next(example.Runnable(t, p).Question, nil)
			if err != nil {
				t.Fatal(err)
			}
			for round := uint64(0); ; round++ {
				proto := inState(t, p, state)
				if now, err := proto.Promise(); err != nil || now.Shuffled.Epsilon != promise.Shuffled.Epsilon {
					t.Fatalf("round %d promises %v, the study %v (%v)", round+1, now.Shuffled, promise.Shuffled, err)
				}
				values := make([]question.Value, 4000)
				r := seeded.New(3, round)
				for i := range values {
					word := frequent[i%4]
					if i%20 == 0 { // one in twenty says something of its own
						word = ""
						for range 5 {
							word += string("abc"[r.IntN(3)])
						}
					}
					values[i] = histogram.Answers{Values: []any{word}}
				}
				tallies, err := distribution.Draw(proto, distribution.Values(values), func(part ...uint64) *rand.Rand { return seeded.New(round+9, part...) }, func(int) {})
				if err != nil {
					t.Fatal(err)
				}
				model, err := proto.Learn(tallies)
				if err != nil {
					t.Fatal(err)
				}
				next, done, err := results.Next(proto.Question, model)
				if err != nil {
					t.Fatal(err)
				}
				if done {
					found, err := proto.Question.(*histogram.Question).Found(model)
					if err != nil {
						t.Fatal(err)
					}
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
				state = next
			}
		})
	}
}

// A search ends where nothing survives, leaves out what fewest hold where a round has no
// room for all, and refuses a state that is not its own.
func TestRoundsEnd(t *testing.T) {
	asked := plan.Search{Alphabet: "ab", Ahead: 1, Least: 1e6, Rate: 0.01}
	p := example.Design(t, searching("one-hot", 4, asked))
	first, done, err := results.Next(example.Runnable(t, p).Question, nil)
	if want := `["a","b","\u0003"]`; err != nil || done || string(first) != want {
		t.Errorf("first candidates %s, %v", first, err)
	}
	proto := inState(t, p, first)
	tallies := example.Crowds(proto)
	tallies[0].Respondents = 4000
	model, err := proto.Learn(tallies)
	if err != nil {
		t.Fatal(err)
	}
	if _, done, err := results.Next(proto.Question, model); err != nil || !done {
		t.Errorf("done %v, %v", done, err)
	}
	for name, state := range map[string]string{"no list": "{}", "another form": ` ["a"]`, "none": "[]", "too many": `["a","b","c","d","e"]`, "no candidates": `["a",""]`} {
		p.State = plan.StateName([]byte(state))
		if _, err := protocol.WithState(p, []byte(state)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	_, err = example.Runnable(t, p).Encode(histogram.Answers{Values: []any{"a"}})
	example.Mentions(t, err, "state is missing")
	other := example.Design(t, example.Histogram(example.OneHot(example.Drinks())))
	other.State = plan.StateName(first)
	_, err = protocol.WithState(other, first)
	example.Mentions(t, err, "takes no state")
	small := searching("one-hot", 2, asked)
	small, err = design.Fill(small)
	if err == nil {
		_, _, err = results.Next(example.Runnable(t, small).Question, nil)
	}
	example.Mentions(t, err, "a round may have 2")
}
