// Package drawn counts what parties draw of no law of a plan: sources of randomness, and the order of what an entry
// hands on. Used by internal/audit, which judges the counts.
package drawn

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
)

// Alike makes so many generators as parties do, from the operating system, and returns how many begin as an earlier
// one did.
func Alike(sources int) (alike int) {
	seen := map[[2]uint64]bool{}
	for range sources {
		r := rng.New()
		words := [2]uint64{r.Uint64(), r.Uint64()}
		if seen[words] {
			alike++
		}
		seen[words] = true
	}
	return alike
}

// A crowd that an entry mixes again and again: so many contributions of so many envelopes each.
const (
	entered     = 6
	envelopesOf = 4
	mixings     = 600
)

// Chance is the probability that two envelopes side by side are of one contribution, in an order that tells nothing.
const Chance = float64(envelopesOf-1) / float64(entered*envelopesOf-1)

// Order is what was seen of the order in which an entry hands on what lies together in contributions.
type Order struct {
	Mixings     int // each with one pair of envelopes side by side
	Together    int // pairs of one contribution
	First, Last int // pairs of which the first was of whoever came first, or later
}

// OrderOf has the entry of a plan's first instance, whose private key is given, mix a crowd. Counts are right whatever
// the order: an entry that ordered contributions would hand on a device's envelopes in a row.
func OrderOf(r *rand.Rand, p plan.Plan, key envelope.PrivateKey) (Order, error) {
	mix := *p.Route.Mix
	p.Route.Mix, p.Crowd = &mix, plan.Crowd{Minimum: entered}
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes, p.Budget.DishonestShare = envelopesOf, 8, 0
	return orderOf(r, p, key, func(c shuffler.Collected) (envelope.Batch, error) {
		hop, err := shuffler.NewHop(p, 0, 0, key)
		if err != nil {
			return envelope.Batch{}, err
		}
		out, _, err := hop.Enter(c)
		return out, err
	})
}

func orderOf(r *rand.Rand, p plan.Plan, key envelope.PrivateKey, enter func(shuffler.Collected) (envelope.Batch, error)) (o Order, err error) {
	form := envelope.NewForm(p.Hash(), 0, key.Suite(), envelopesOf, p.Envelopes.PayloadBytes, p.Slots(0))
	crowd, device := shuffler.Collected{Plan: p.Hash()}, map[string]int{}
	for d := range entered {
		var envelopes [][]byte
		for range envelopesOf {
			e := make([]byte, form.Size) // what the entry cannot open might be anything
			for i := range e {
				e[i] = byte(r.Uint32())
			}
			envelopes, device[string(e)] = append(envelopes, e), d
		}
		body, err := form.Seal(key.Public(), 0, envelopes)
		if err != nil {
			return o, err
		}
		crowd.Bodies = append(crowd.Bodies, body)
	}
	for range mixings {
		out, err := enter(crowd)
		if err != nil {
			return o, err
		}
		at := r.IntN(len(out.Envelopes) - 1)
		one, next := device[string(out.Envelopes[at])], device[string(out.Envelopes[at+1])]
		switch {
		case one == next:
			o.Together++
		case one < next:
			o.First++
		default:
			o.Last++
		}
	}
	o.Mixings = mixings
	return o, nil
}
