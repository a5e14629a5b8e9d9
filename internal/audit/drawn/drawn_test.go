package drawn

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"

	_ "github.com/confetti-dp/confetti/question/all"
)

func entry(t testing.TB) (plan.Plan, envelope.PrivateKey) {
	t.Helper()
	p := example.Design(t, example.Histograms()["categories"])
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	return p, keys.Hops[0][0]
}

// tells holds the pairs of an order to their chance.
func tells(t testing.TB, o Order, err error) {
	if err != nil {
		t.Fatal(err)
	}
	stattest.Binomial(t, Chance, o.Mixings, o.Together)
	stattest.Binomial(t, 0.5, o.First+o.Last, o.First)
}

func TestAnEntrysOrderTellsNothing(t *testing.T) {
	p, key := entry(t)
	o, err := OrderOf(stattest.Rand(t), p, key)
	tells(t, o, err)
	if Alike(100) > 0 {
		t.Error("two sources begin alike")
	}
}

// An entry that orders contributions and not envelopes passes every count, and links everything; so does one that
// keeps the order of arrival.
func TestEntriesThatLinkAreCaught(t *testing.T) {
	p, key := entry(t)
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = envelopesOf, 8
	handOn := func(c shuffler.Collected) (out envelope.Batch, err error) {
		for _, body := range c.Bodies {
			inner, err := example.Form(p, 0).Open(key, 0, body)
			if err != nil {
				return out, err
			}
			out.Envelopes = append(out.Envelopes, inner...)
		}
		return out, nil
	}
	for name, enter := range map[string]func(*rand.Rand, shuffler.Collected) (envelope.Batch, error){
		"orders contributions": func(r *rand.Rand, c shuffler.Collected) (envelope.Batch, error) {
			c.Bodies = slices.Clone(c.Bodies)
			rng.Shuffle(r, c.Bodies)
			return handOn(c)
		},
		"orders envelopes within contributions": func(r *rand.Rand, c shuffler.Collected) (envelope.Batch, error) {
			out, err := handOn(c)
			for some := range slices.Chunk(out.Envelopes, envelopesOf) {
				rng.Shuffle(r, some)
			}
			return out, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			stattest.Caught(t, func(tb testing.TB) {
				r := stattest.Rand(tb)
				o, err := orderOf(r, p, key, func(c shuffler.Collected) (envelope.Batch, error) { return enter(r, c) })
				tells(tb, o, err)
			})
		})
	}
}
