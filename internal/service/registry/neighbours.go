package registry

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
)

// What a service keeps may be put back as it once was, and nothing in it can tell. The services
// before and behind know what they handed over and took: they are asked when a service starts, and
// before it does what cannot be taken back. Each service says itself what of an answer shows that
// its own copy is older.

// Neighbour is a service that batches come from or go to.
type Neighbour struct {
	Operator, URL string
	Leg           wire.Leg // on which they travel, of crowd 0

	mu     sync.Mutex
	silent time.Time // when it was out of reach
}

// silence is how long a neighbour that was out of reach is not asked again.
const silence = time.Minute

// Held asks a neighbour what it knows of the batch of a crowd.
func (n *Neighbour) Held(ctx context.Context, client *http.Client, crowd uint32) (handover.Held, error) {
	n.mu.Lock()
	silent := n.URL == "" || client == nil || time.Since(n.silent) < silence
	n.mu.Unlock()
	if silent {
		return handover.Held{}, errors.New("registry: a neighbour is out of reach, or was a moment ago")
	}
	ctx, cancel := context.WithTimeout(ctx, serve.AskFor)
	defer cancel()
	leg := n.Leg
	text, err := serve.Get(ctx, client, n.URL, wire.BatchPath(leg.Plan, leg.Instance, leg.Hop, crowd), handover.MaxHeld)
	if err == nil {
		return handover.ParseHeld(text)
	}
	if _, refused := errors.AsType[*wire.Problem](err); !refused {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.silent = time.Now()
	}
	return handover.Held{}, err
}

// Compare asks a neighbour about each of so many crowds, and has older say of each answer whether it
// shows an older copy here. A neighbour that refuses the question or is out of reach shows nothing,
// and is asked no further; reached is whether it could be asked.
func (n *Neighbour) Compare(ctx context.Context, client *http.Client, crowds int, older func(crowd int, held handover.Held) error) (reached bool, err error) {
	for crowd := range crowds {
		held, err := n.Held(ctx, client, uint32(crowd))
		if err != nil {
			_, refused := errors.AsType[*wire.Problem](err)
			return refused, nil
		}
		if err := older(crowd, held); err != nil {
			return true, err
		}
	}
	return true, nil
}

// CompareAll compares sixteen plans at once, and joins what shows an older copy.
func CompareAll[P any](plans []P, compare func(P) error) error {
	errs := make([]error, len(plans))
	places := make(chan struct{}, 16)
	var all sync.WaitGroup
	for i, p := range plans {
		all.Go(func() {
			places <- struct{}{}
			errs[i] = compare(p)
			<-places
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
