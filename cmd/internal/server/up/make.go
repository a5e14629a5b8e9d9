package up

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/rounds"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// maxTrial bounds the devices of a trial, each of which has a folder.
const maxTrial = 100_000

// Make writes everything that a trial needs.
func (c Command) Make(t trial.Folder) error {
	if c.closes() <= 0 {
		return terminal.Usagef("--closes is %v: give how long the collection is open, such as 15m", c.closes())
	}
	if c.Rounds < 0 || c.Rounds > plan.MaxRounds {
		return terminal.Usagef("--rounds is %d: give 1 to %d, or 0 to ask once", c.Rounds, plan.MaxRounds)
	}
	if c.devices() < 1 || c.devices() > maxTrial {
		return terminal.Usagef("--devices is %d: give 1 to %d", c.devices(), maxTrial)
	}
	p, err := c.Draft()
	if err != nil {
		return err
	}
	if c.Plan != "" && c.Route != "" && c.Route != p.Route.Kind {
		return terminal.Usagef("--route is %s, and the answers of %s travel by route %s, as it says: leave --route out", c.Route, c.Plan, p.Route.Kind)
	}
	c.Terms, c.Rounds = c.Settle(p, c.Rounds)
	_, absent := os.Stat(string(t))
	if err := os.MkdirAll(string(t), 0o700); err != nil {
		return err
	}
	if entries, err := os.ReadDir(string(t)); err != nil || len(entries) > 0 {
		return errors.Join(err, fmt.Errorf("%s is neither empty nor a finished trial: name another folder", t))
	}
	if err := c.fill(t, p); err != nil { // the folder is as it was, for another try
		return errors.Join(err, empty(string(t), absent != nil))
	}
	return nil
}

// empty removes all that is in a folder, and the folder too if it was not there before.
func empty(folder string, whole bool) error {
	if whole {
		return os.RemoveAll(folder)
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
	}
	return err
}

// fill writes a trial of a plan to an empty folder: files first, the plan last, so that
// whatever ends before leaves no trial.
func (c Command) fill(t trial.Folder, p plan.Plan) error {
	if err := os.Chmod(string(t), 0o700); err != nil {
		return err
	}
	if err := c.keepState(t, p); err != nil { // before the work of making keys
		return err
	}
	ca, err := serve.NewAuthority("Confetti trial", 365*24*time.Hour)
	if err != nil {
		return err
	}
	publisher, err := relay.GenerateSignKey()
	if err != nil {
		return err
	}
	if err := errors.Join(
		atomicfile.Replace(t.Path(trial.Roots), ca.PEM(), 0o600),
		partykey.CreateSigning(t.Path(trial.Publisher), publisher, "publisher of the trial"),
		atomicfile.Replace(t.Path(trial.Publishers), plan.Trust(publisher.Public().String()).Marshal(), 0o600),
	); err != nil {
		return err
	}
	if err := settle(t, &p, c.tokens()); err != nil {
		return err
	}
	bearer, err := tokens(t, p, c.devices())
	if err != nil {
		return err
	}
	if p.Route.Sum != nil {
		if err := pair(t, p.Route.Sum.Leader.URL); err != nil {
			return err
		}
	}
	for _, one := range plans.Parties(p) {
		if err := c.equip(t, one, ca, p.Route.Sum != nil); err != nil {
			return err
		}
	}
	if c.Ask != "" {
		if err := atomicfile.Replace(t.Path(asked), []byte(c.named+"\n"), 0o600); err != nil {
			return err
		}
	}
	if c.Plan == "" && c.Ask == "" {
		if err := values(t, p, c.devices()); err != nil {
			return err
		}
	}
	p.Signatures = 0 // one publisher is all that a trial has
	times := plan.Times{Opens: time.Now().UTC().Truncate(time.Second)}
	times.Closes = times.Opens.Add(c.closes())
	if p.Times = times; c.Rounds > 0 {
		p.Times = plan.Times{}
	}
	if err := protocol.Check(p); err != nil {
		return err
	}
	if c.Rounds > 0 {
		return c.study(t, p, times, publisher, bearer)
	}
	signed := plan.Sign(p, publisher.Private())
	if err := c.keepApp(t, signed, bearer); err != nil {
		return err
	}
	return atomicfile.Replace(t.Path(trial.Plan), append(signed.Marshal(), '\n'), 0o600)
}

// keepState copies the public state of a plan that names one, and is no study's.
func (c Command) keepState(t trial.Folder, p plan.Plan) error {
	if p.State == "" && c.State == "" {
		return nil
	}
	if p.State == "" {
		return terminal.Usagef("--state: the plan names no public state")
	}
	if c.State == "" {
		return terminal.Usagef("--state: the plan names the public state %s: give the file that has it", plan.Short(p.State))
	}
	text, err := atomicfile.Read(c.State)
	if err != nil {
		return fmt.Errorf("--state: the plan names the public state %s: %w", plan.Short(p.State), err)
	}
	if plan.StateName(text) != p.State {
		return fmt.Errorf("--state: %s is another public state than the plan names", c.State)
	}
	return atomicfile.Replace(t.Path(trial.State), text, 0o600)
}

// study makes the plan a study of the trial's, and its first round the trial's plan. The
// rounds have as much time between them as the analyzer may take to conclude one.
func (c Command) study(t trial.Folder, p plan.Plan, times plan.Times, publisher relay.SignKey, bearer string) error {
	coordinator, err := relay.GenerateSignKey()
	if err != nil {
		return err
	}
	path := filepath.Join(t.Of(plans.Party{Role: "analyzer"}), trial.Coordinator)
	if err := partykey.CreateSigning(path, coordinator, "coordinator of the trial's study"); err != nil {
		return err
	}
	whole := plan.Times{Opens: times.Opens, Closes: times.Opens.Add(time.Duration(c.Rounds) * (c.closes() + 5*time.Minute))}
	asked, err := c.Study(p, c.Rounds, whole, coordinator.Public().String())
	if err != nil {
		return err
	}
	first, state, err := rounds.First(plan.SignStudy(asked, publisher.Private()), times, coordinator)
	if err == nil && state != nil {
		err = atomicfile.Replace(t.Path(trial.State), state, 0o600)
	}
	if err == nil {
		err = c.keepApp(t, first, bearer)
	}
	if err != nil {
		return err
	}
	return keep(t, first)
}

// tokens says whether hops demand tokens: not in a study of which everybody answers all
// rounds, which has the same keys in each.
func (c Command) tokens() bool { return c.Rounds == 0 || c.Takes == plan.TakesOne }

// unfilled reports whether a plan's noise and sizes are for us to choose.
func unfilled(p plan.Plan) bool { return p.Route.Sum != nil || p.Envelopes.PerDevice == 0 }
