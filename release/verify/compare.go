package verify

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

func unsigned(r release.Release) string {
	if r.Source == release.Simulation {
		return "nobody has signed the plan: this is a simulation"
	}
	return "the plan is here without its publisher's signature"
}

func receiptless(r release.Release) string {
	if r.Source == release.Simulation {
		return "there are none: this is a simulation"
	}
	return "there are none: nobody has signed for the batches that were counted"
}

// lower is how much smaller a number may be that another machine has computed.
const lower = 1 - 1e-6

// merged compares what the release of all rounds so far states with what follows for one.
func merged(text []byte, newest release.Release, promise protocol.Promise) error {
	if text == nil {
		return fmt.Errorf("there is none: its study publishes one beside each release, %s", studyFile)
	}
	r, err := release.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if r.Plan != newest.Plan {
		return errors.New("it is of another plan than the release beside it")
	}
	return states(r, promise.Statements)
}

// inStudy compares what the release says of its study with what follows from that.
func inStudy(r release.Release, p *protocol.Protocol, promise protocol.Promise, s plan.Study) error {
	if !slices.Contains(r.Notes, p.InStudy(s)) {
		return errors.New("the release does not say which round of which study it is of")
	}
	composed, err := p.Composed(promise, s)
	return errors.Join(err, states(r, composed))
}

// states compares what the release says with what follows from its plan. An older
// program may have proved less; less than what follows is false.
func states(r release.Release, follows []account.Statement) error {
	for _, want := range follows {
		stated := false
		for _, s := range r.Guarantees {
			g := s.Guarantee
			if s.Observer == want.Observer && g.Adjacency == want.Guarantee.Adjacency && g.Trust == want.Guarantee.Trust {
				stated = true
				if g.Epsilon < want.Guarantee.Epsilon*lower || g.Delta < want.Guarantee.Delta*lower {
					return fmt.Errorf("for %q the release states epsilon %.6g at delta %.3g, and from the plan follows epsilon %.6g at delta %.3g", s.Observer, g.Epsilon, g.Delta, want.Guarantee.Epsilon, want.Guarantee.Delta)
				}
			}
		}
		if !stated {
			return fmt.Errorf("the release does not say what %q may learn", want.Observer)
		}
	}
	return nil
}

// vouched says what hops have signed for.
func vouched(batches []wire.Vouched) string {
	lost, unsigned, hops := 0, 0, 0
	for _, b := range batches {
		lost += b.Lost
		unsigned += b.Unsigned
		hops += b.Hops
	}
	text := fmt.Sprintf("%s by %s of hops, each following the one before it", count(len(batches), "batch, signed for", "batches, signed for"), count(hops-unsigned, "receipt", "receipts"))
	if unsigned > 0 {
		text += fmt.Sprintf("; %s not signed, since the plan names no key", count(unsigned, "other is", "others are"))
	}
	if lost > 0 {
		text += fmt.Sprintf("; %s on the way or did not open", count(lost, "envelope was dropped", "envelopes were dropped"))
	}
	return text
}

// claimed compares the number of respondents in the headline, if there is one.
func claimed(r release.Release, most int) error {
	for _, m := range r.Headline {
		if m.Name == "respondents" && m.Value > float64(most) {
			return fmt.Errorf("the release counts %.0f respondents, and the hops have signed for %d", m.Value, most)
		}
	}
	return nil
}

// count is so many of them.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
