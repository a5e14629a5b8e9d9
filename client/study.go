package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Joined is a study of which the device answers one round. It has drawn which when it
// first met the study, before it looked at any value.
type Joined struct {
	At    time.Time `json:"at"`
	Study string    `json:"study"` // the study's name
	Round int       `json:"round"`
}

// OtherRoundError says that the device answers another round of the study than the one
// that it was given. Nothing was said or spent.
type OtherRoundError struct {
	Round int // which it answers
	Asked int
}

// Error names both rounds.
func (e *OtherRoundError) Error() string {
	return fmt.Sprintf("client: refused: of this study the device answers round %d, and this is round %d", e.Round, e.Asked)
}

// Join draws which round of a study the device answers, uniformly among all of its rounds, unless it has drawn
// already, and writes that down. Who draws before a round is open can keep what it asks of until then. Of somebody who has never
// agreed it writes nothing.
func (o Options) Join(study plan.Study) (Joined, error) {
	o = o.withDefaults()
	if made, err := journal.Made(o.Store); !made {
		return Joined{}, cmp.Or(err, ErrNotOptedIn)
	}
	unlock, err := o.Store.Lock()
	if err != nil {
		return Joined{}, err
	}
	defer unlock()
	l, err := ReadLedger(o.Store)
	if err != nil {
		return Joined{}, err
	}
	name := study.Name()
	if j := l.joined(name); j != nil {
		return *j, nil
	}
	if !l.OptedIn {
		return Joined{}, ErrNotOptedIn
	}
	if err := l.append(record{Kind: kindJoined, At: o.Now(), Study: name, Round: 1 + rng.New().IntN(study.Rounds)}); err != nil {
		return Joined{}, err
	}
	return *l.joined(name), nil
}

// takesRound says why the device does not answer this round of a study; nil where it
// does, or the plan is by itself. Of a study that takes one round of each respondent it
// draws which, uniformly among those that are left, and writes that down: who sees it
// answer learns the round that was drawn, which no value had a part in.
func (c *Client) takesRound(l *Ledger, now time.Time) error {
	study, round := c.signed.Study, c.signed.Plan.Round
	if study == nil {
		return nil
	}
	if slices.ContainsFunc(l.Entries, func(e Entry) bool {
		return e.Study == round.Study && (study.Takes == plan.TakesOne || e.Round == round.Number)
	}) {
		return ErrAnswered
	}
	if study.Takes == plan.TakesAll {
		return nil
	}
	if l.joined(round.Study) == nil {
		drawn := round.Number + c.rand.IntN(study.Rounds-round.Number+1)
		if err := l.append(record{Kind: kindJoined, At: now, Study: round.Study, Round: drawn}); err != nil {
			return err
		}
	}
	if j := l.joined(round.Study); j.Round != round.Number {
		return &OtherRoundError{Round: j.Round, Asked: round.Number}
	}
	return nil
}

// ofStudy returns what all rounds of a study cost together, given what this one costs.
func (c Charge) ofStudy(proto *protocol.Protocol, rounds int) (Charge, error) {
	s, err := proto.Study(c.spending(), rounds)
	all := Charge{Epsilon: s.Epsilon, Delta: s.Delta, Local: c.Local, Shift: s.Domination.Shift, Tail: s.Domination.Tail, Adjacency: c.Adjacency}
	if c.Local >= 0 && rounds > 1 {
		all.Local = profile.Above(float64(rounds) * c.Local)
	}
	return all, err
}

// FetchRound reads the newest round of a study from the analyzer at an address such as
// https://analyzer.example, signed by the coordinator of a study that one of the
// options' publishers has signed.
func FetchRound(ctx context.Context, address string, study [32]byte, o Options) (plan.Signed, error) {
	text, err := fetchText(ctx, address, wire.StudyPath(study), plan.MaxSignedBytes, o)
	if err != nil {
		return plan.Signed{}, err
	}
	u, err := plan.SplitSigned(text)
	if err != nil {
		return plan.Signed{}, err
	}
	if err := u.Verify(o.Publishers); err != nil {
		return plan.Signed{}, err
	}
	signed, err := u.Parse()
	if err != nil {
		return plan.Signed{}, err
	}
	if signed.Study == nil || signed.Study.Hash() != study {
		return plan.Signed{}, errors.New("client: the service gives a round of another study than was asked for")
	}
	return signed, o.Publishers.Stands(signed)
}

// FetchState reads the public state that a plan names from an analyzer, for
// Options.State; nil where the plan names none, or devices do not need it. Nothing but that state is returned.
func FetchState(ctx context.Context, address string, p plan.Plan, o Options) ([]byte, error) {
	if !needsState(p) {
		return nil, nil
	}
	name, err := wire.ParsePlanName(p.State)
	if err != nil {
		return nil, fmt.Errorf("client: the plan's state is %w", err)
	}
	var state bytes.Buffer
	err = fetch(ctx, address, wire.StatePath(name), o, func(body io.Reader) error { return plan.CopyState(&state, body, p.State) })
	return state.Bytes(), err
}

// needsState reports whether a device asks for the public state that a plan names. Where rounds are correlated it does not:
// what they told so far changes nothing that a device says, and may be long.
func needsState(p plan.Plan) bool {
	return p.State != "" && p.Correlated() == nil
}

// fetch reads what anybody may, and shows nothing of the device.
func fetch(ctx context.Context, address, path string, o Options, read func(io.Reader) error) error {
	if address == "" {
		return errors.New("client: the plan gives no address for its analyzer: it can be simulated, but not answered")
	}
	if !strings.HasPrefix(address, "https://") {
		return errors.New("client: plans and states are fetched over https only")
	}
	if err := o.carries(); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer o.idle()
	return exchange(ctx, o.Transport, Request{Method: "GET", URL: strings.TrimSuffix(address, "/") + path}, read)
}

// fetchText fetches at most limit bytes.
func fetchText(ctx context.Context, address, path string, limit int64, o Options) (text []byte, err error) {
	err = fetch(ctx, address, path, o, func(body io.Reader) error {
		text, err = atMost(body, limit)
		return err
	})
	return text, err
}
