package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// addressed divides the address of a plan, or of a study: https://SERVICE/v1/plans/NAME, or
// studies in the place of plans.
func addressed(address string) (service string, study bool, name [32]byte, ok bool) {
	const scheme = "https://"
	rest, ours := strings.CutPrefix(address, scheme)
	parts := strings.Split(rest, "/")
	if !ours || len(parts) != 4 || parts[0] == "" || parts[1] != "v1" || parts[2] != "plans" && parts[2] != "studies" {
		return "", false, name, false
	}
	name, err := wire.ParsePlanName(parts[3])
	return scheme + parts[0], parts[2] == "studies", name, err == nil
}

// OpenURL opens what FetchURL finds at an address.
func OpenURL(ctx context.Context, address string, o Options) (*Client, error) {
	signed, o, err := FetchURL(ctx, address, o)
	if err != nil {
		return nil, err
	}
	return Open(signed, o)
}

// FetchURL returns what an address names, for Open: a plan at any of its services,
// https://SERVICE/v1/plans/PLAN, or the newest round of a study at its analyzer,
// https://ANALYZER/v1/studies/STUDY. It fetches the plan and the public state that the plan
// names, for the options, and keeps both in their store until they are over: a plan is fetched once, and where no
// service can be reached the round that was fetched last is returned. Whoever is asked sees
// the device's network address, and which plan it asks for; nothing of the device is shown.
func FetchURL(ctx context.Context, address string, o Options) (plan.Signed, Options, error) {
	service, study, name, ok := addressed(address)
	if !ok {
		return plan.Signed{}, o, as("bad-options", errors.New("client: not an address of a plan or a study, such as https://analyzer.example/v1/plans/ and 64 hexadecimal digits"))
	}
	if err := o.stores(); err != nil {
		return plan.Signed{}, o, fmt.Errorf("client: %w", err)
	}
	l := link{service: service, study: study, name: name, options: o}
	signed, err := l.signed(ctx)
	if err == nil && o.State == nil && needsState(signed.Plan) {
		o.State, err = l.state(ctx, signed.Plan)
	}
	if err == nil {
		err = l.forget(signed.Plan)
	}
	return signed, o, err
}

// link is an address with what was kept of it.
type link struct {
	service string
	study   bool
	name    [32]byte // of the plan, or the study
	options Options
}

// keptState is the state that was fetched last.
const keptState = "state"

// keptPlan reports whether a name is that of what is kept of a plan or a round.
func keptPlan(name string) bool {
	of, kind, _ := strings.Cut(name, ".")
	_, err := wire.ParsePlanName(of)
	return err == nil && (kind == "plan.json" || kind == "study.json")
}

// file returns what is kept: the signed plan, or the round that was fetched last.
func (l link) file() string {
	if l.study {
		return wire.StudyPath(l.name)[len("/v1/studies/"):] + ".study.json"
	}
	return wire.PlanPath(l.name)[len("/v1/plans/"):] + ".plan.json"
}

// signed returns the plan. A plan does not change, and a study may have a new round.
func (l link) signed(ctx context.Context) (plan.Signed, error) {
	before, there := l.before()
	if there && !l.study {
		return before, nil
	}
	fetch := Fetch
	if l.study {
		fetch = FetchRound
	}
	signed, err := fetch(ctx, l.service, l.name, l.options)
	if _, away := errors.AsType[*networkError](err); away && there {
		return before, nil
	}
	if err != nil {
		return plan.Signed{}, err
	}
	return signed, l.keep(l.file(), signed.Marshal())
}

// before returns what was kept, if it is what the address names and the publishers stand for it
// still: under other signatures it is fetched again.
func (l link) before() (plan.Signed, bool) {
	signed, ok := l.plan(l.file())
	if !ok || l.options.Publishers.Stands(signed) != nil {
		return plan.Signed{}, false
	}
	if l.study {
		return signed, signed.Study != nil && signed.Study.Hash() == l.name
	}
	return signed, signed.Plan.Hash() == l.name
}

// keep keeps what was fetched. With the lock nobody takes it for what a crash has left.
func (l link) keep(name string, text []byte) error {
	unlock, err := l.options.Store.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	return l.options.Store.Replace(name, text)
}

// plan returns a signed plan that was kept, if there is one under the name.
func (l link) plan(name string) (plan.Signed, bool) {
	text, err := l.options.Store.Load(name)
	if err != nil {
		return plan.Signed{}, false
	}
	signed, err := plan.ParseSigned(text)
	return signed, err == nil
}

// forget removes what was kept of other plans and studies that are over, and the state where
// none that is left asks with one.
func (l link) forget(ours plan.Plan) error {
	store := l.options.Store
	unlock, err := store.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	names, err := store.List()
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	asked := ours.State != ""
	for name := range names {
		if name == l.file() || !keptPlan(name) {
			continue
		}
		if signed, ok := l.plan(name); ok && !over(signed, l.options.withDefaults().Now()) {
			asked = asked || signed.Plan.State != ""
		} else if err := store.Remove(name); err != nil {
			return fmt.Errorf("client: %w", err)
		}
	}
	if _, kept := names[keptState]; asked || !kept {
		return nil
	}
	return store.Remove(keptState)
}

// over reports whether nothing of a plan, or of its study, is collected any more.
func over(signed plan.Signed, now time.Time) bool {
	times := signed.Plan.Times
	if signed.Study != nil {
		times = signed.Study.Times
	}
	return !times.Closes.IsZero() && now.After(times.Closes)
}

// state returns the state that a plan names.
func (l link) state(ctx context.Context, p plan.Plan) ([]byte, error) {
	if text, err := l.options.Store.Load(keptState); err == nil && plan.StateName(text) == p.State {
		return text, nil
	}
	text, err := FetchState(ctx, p.Analyzer.URL, p, l.options)
	if err != nil {
		return nil, err
	}
	return text, l.keep(keptState, text)
}
