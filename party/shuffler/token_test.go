package shuffler

import (
	"errors"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/envelope"

	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
)

// tokenWorld is a cascade of two hops of which the second demands tokens.
type tokenWorld struct {
	world
	key token.PrivateKey
}

func newTokenWorld(t *testing.T) tokenWorld {
	w := newWorld(t, envelope.X25519, 1, 2)
	key, err := token.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	w.plan.Route.Mix.Issuer = &plan.Party{Operator: "issuer", URL: "https://issuer.test"}
	w.plan.Route.Mix.Instances[0].Hops[1].Tokens = key.Public().String()
	if err := w.plan.Validate(); err != nil {
		t.Fatal(err)
	}
	return tokenWorld{w, key}
}

// token is a valid one, of a device, for the second hop.
func (w tokenWorld) token(t *testing.T, device int) []byte {
	t.Helper()
	q, err := token.NewRequest(token.Seed{byte(device), 1}, w.key.Public(), token.Context{Plan: w.plan.Hash(), Hop: 1})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := w.key.Sign(q.Blinded)
	if err != nil {
		t.Fatal(err)
	}
	made, err := q.Finish(answer)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// batch is what reaches the second hop of a crowd in which each device put the
// given token, nil for none, into its second envelope.
func (w tokenWorld) batch(t *testing.T, crowd uint32, tokens [][]byte) envelope.Batch {
	t.Helper()
	layers := envelope.Route(w.plan.Hash(), 0, crowd, w.hops[0][0].Public(), w.hops[0][1].Public(), w.analyzer.Public())
	for h, slot := range w.plan.Slots(0) {
		layers[h].Slot = slot
	}
	s, err := envelope.NewSealer(layers[1:], payload)
	if err != nil {
		t.Fatal(err)
	}
	c := Collected{Plan: w.plan.Hash(), Crowd: crowd}
	for d, made := range tokens {
		var envelopes [][]byte
		for i := range perDevice {
			var slots [][]byte
			if i == 1 {
				slots = [][]byte{made, nil}
			}
			e, err := s.SealWith(message(d, i), slots)
			if err != nil {
				t.Fatal(err)
			}
			envelopes = append(envelopes, e)
		}
		c.Bodies = append(c.Bodies, w.seal(t, w.form(0), crowd, envelopes))
	}
	out, receipt, err := w.hop(t, 0, 0).Enter(c)
	if err != nil || receipt.Tokens != 0 {
		t.Fatalf("the entry, of which the plan demands no token: %+v, %v", receipt, err)
	}
	return out
}

func TestHopCountsTokens(t *testing.T) {
	w := newTokenWorld(t)
	var good [][]byte
	for d := range minimum + 1 {
		good = append(good, w.token(t, d))
	}
	bad := slices.Clone(good[minimum])
	bad[40] ^= 1
	elsewhere := func() []byte { // signed by the same key for the entry
		q, err := token.NewRequest(token.Seed{9}, w.key.Public(), token.Context{Plan: w.plan.Hash()})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := w.key.Sign(q.Blinded)
		if err != nil {
			t.Fatal(err)
		}
		made, err := q.Finish(answer)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}()
	enough := good[:minimum]
	for name, last := range map[string][]byte{"none": nil, "a forged one": bad, "one for another hop": elsewhere, "one that another device has": good[0]} {
		hop := w.hop(t, 0, 1)
		// An entry that surrounds few with invented respondents.
		invented := append(slices.Clone(good[:minimum-1]), last, nil, nil)
		surrounded := w.batch(t, 0, invented)
		out, _, err := hop.Mix(surrounded)
		if !errors.Is(err, ErrWithheld) || out.Envelopes != nil {
			t.Errorf("%s as the last token: %v", name, err)
		}
		// The twin believes the entry, which counts respondents without tokens.
		believing := w.hop(t, 0, 1)
		believing.in.slots = make([]int, len(believing.in.slots))
		if out, _, err := believing.Mix(surrounded); err != nil || len(out.Envelopes) != len(invented)*perDevice {
			t.Errorf("%s: a hop that looks at no token lets few go among invented: %v", name, err)
		}
		// What was refused has spent nobody's token.
		out, receipt, err := hop.Mix(w.batch(t, 0, append(slices.Clone(enough), last)))
		if err != nil || receipt.Tokens != minimum || len(out.Envelopes) != (minimum+1)*perDevice {
			t.Errorf("%s beside enough: %+v, %v", name, receipt, err)
		}
	}
}

// A token counts once for an instance, whatever the crowd, restarts included.
func TestTokensAreSpentOnce(t *testing.T) {
	w := newTokenWorld(t)
	var tokens [][]byte
	for d := range 2*minimum - 1 {
		tokens = append(tokens, w.token(t, d))
	}
	hop := w.hop(t, 0, 1)
	if _, _, err := hop.Mix(w.batch(t, 0, tokens[:minimum])); err != nil {
		t.Fatal(err)
	}
	again := w.batch(t, 1, tokens) // one short of n_min new ones
	if _, receipt, err := hop.Mix(again); !errors.Is(err, ErrWithheld) || receipt.Tokens != minimum-1 {
		t.Errorf("tokens of another crowd counted: %+v, %v", receipt, err)
	}
	spent := hop.Spent(0)
	if len(spent) != minimum || len(hop.Spent(1)) != 0 {
		t.Errorf("%d spent", len(spent))
	}
	restarted := w.hop(t, 0, 1)
	restarted.Restore(0, spent)
	if _, _, err := restarted.Mix(again); !errors.Is(err, ErrWithheld) {
		t.Errorf("after a restart: %v", err)
	}
	if _, _, err := restarted.Mix(w.batch(t, 0, tokens)); !errors.Is(err, ErrMixed) {
		t.Errorf("a crowd that had left before a restart: %v", err)
	}
	if _, _, err := w.hop(t, 0, 1).Mix(again); err != nil {
		t.Errorf("where none was spent: %v", err)
	}
}
