package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/plan"
)

// A backstop answers in the words of the candidates that it was drawn for. So rounds of a
// search, which have others, ask other questions: under a cap with room for one backstop the
// second round is refused, and never says the first one's.
func TestABackstopIsOfOneState(t *testing.T) {
	p := torn(t, "which words?")
	h := *p.Question.Histogram
	h.Attributes = []plan.Attribute{{Name: "drink", Kind: "prefixes", Others: true, Size: 2, Search: &plan.Search{Alphabet: "ab", Ahead: 1, Least: 1, Rate: 0.01}}}
	p.Question.Histogram = &h
	p.Envelopes.PerDevice = 6
	s := newService(t, &p, false)
	of := study(p, 3, plan.TakesAll)
	now := time.Now()
	states := [][]byte{[]byte(`["a","b"]`), []byte(`["a","b"]`), []byte(`["aa","ab"]`)}
	answer := func(o client.Options, number int) error {
		signed, err := of.Round(number, plan.StateName(states[number-1]), of.Study.Times, coordinator)
		if err != nil {
			t.Fatal(err)
		}
		o.State = states[number-1]
		return answerAt(t, signed, o, now.Add(time.Duration(number)*time.Minute), drink("ab"))
	}
	for _, room := range []int{1, 2} {
		o := device(t, s)
		o.Caps = client.Caps{Window: client.Cap{Local: 1.2 * float64(room)}, Period: 24 * time.Hour}
		for number := 1; number <= 3; number++ {
			err := answer(o, number)
			if _, spent := errors.AsType[*client.SpentError](err); err != nil && !spent || spent != (room == 1 && number == 3) {
				t.Fatalf("room for %d, round %d: %v", room, number, err)
			}
		}
		es := ledger(t, o).Entries
		if string(es[0].Backed.Key) != string(es[1].Backed.Key) || !es[1].Reused {
			t.Errorf("the same candidates: %+v and %+v", es[0].Backed, es[1].Backed)
		}
		if room == 2 && (es[2].Reused || string(es[2].Backed.Question) == string(es[0].Backed.Question)) {
			t.Errorf("other candidates: %+v and %+v", es[0].Backed, es[2].Backed)
		}
	}
}
