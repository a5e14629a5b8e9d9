// Package study is confetti study: questions that are asked in rounds.
package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/plans"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release/findings"
)

type Command struct {
	Sign  studySign  `cmd:"" help:"Sign a study, as its publisher, and its first round."`
	Show  studyShow  `cmd:"" help:"Show which rounds there are, and what became of each."`
	Fetch studyFetch `cmd:"" help:"Get the release of every round from the analyzer."`
}

// Terms say how a study goes on, for whoever makes one.
type Terms struct {
	Takes    string `help:"Of a study: whether a device answers one round, which it draws, or all." enum:"one,all" default:"one"`
	Withheld string `help:"Of a study: whether a round that is withheld is repeated by the next, or ends the study." enum:"repeat,end" default:"repeat"`
	Merged   bool   `help:"Of a study of one round each: publish, beside the release of each round, one of all rounds so far."`
}

// First makes a study of the plan and its first round, with the state that this one asks
// with; nil where there is none. The plan's own times are left out.
func (t Terms) First(p plan.Plan, rounds int, times, first plan.Times, publisher, coordinator wire.SignKey) (round plan.Signed, state []byte, err error) {
	p.Times = plan.Times{}
	s := plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: rounds, Takes: t.Takes, Withheld: t.Withheld, Merged: t.Merged,
		Coordinator: coordinator.Public().String(), Times: times,
	}
	if err := s.Validate(); err != nil {
		return round, nil, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return round, nil, err
	}
	if _, err := proto.Promise(); err != nil {
		return round, nil, err
	}
	name := ""
	if state, _, err = findings.Next(proto.Question, nil); err != nil {
		return round, nil, err
	}
	if state != nil {
		name = plan.StateName(state)
	}
	round, err = plan.SignStudy(s, publisher.Private()).Round(1, name, first, coordinator.Private())
	return round, state, err
}

type studySign struct {
	File        string    `arg:"" help:"A plan in TOML or JSON: what every round asks." type:"path"`
	Key         string    `help:"The publisher's private key: confetti keys new --for publisher." required:"" type:"path" placeholder:"FILE"`
	Coordinator string    `help:"The private key that signs rounds, made in the same way: the analyzer's configuration names it too." required:"" type:"path" placeholder:"FILE"`
	Rounds      int       `help:"How many rounds there are at most." required:"" placeholder:"N"`
	Opens       time.Time `help:"When the first round opens; now without it." placeholder:"TIME"`
	Closes      time.Time `help:"When the first round closes; the others last as long." required:"" placeholder:"TIME"`
	Ends        time.Time `help:"When the study is over, whatever rounds are left." required:"" placeholder:"TIME"`
	Out         string    `help:"Where to write the first round, which has the whole study in it." required:"" type:"path" placeholder:"FILE"`
	State       string    `help:"Where to write the public state that the first round asks with, where the question has one." type:"path" placeholder:"FILE"`
	Terms
}

func (studySign) Help() string {
	return `Makes a question that is asked once into one that is asked in rounds. What a round
costs follows from the plan, as confetti plan check prints it; with --takes all a
respondent is charged for all rounds before the first. The file is a signed plan as
any: the other publishers sign it, and confetti plan register brings it to services.
After that the analyzer with the coordinator's key makes the rounds by itself. Times
are RFC 3339.

Example:
  confetti study sign plan.toml --key publisher.json --coordinator coordinator.json --rounds 4 --closes 2027-01-08T00:00:00Z --ends 2027-02-28T00:00:00Z --out study.signed.json`
}

func (c studySign) Run(std terminal.Streams) error {
	publisher, _, err := wire.ReadSignKeyFile(c.Key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	coordinator, _, err := wire.ReadSignKeyFile(c.Coordinator)
	if err != nil {
		return fmt.Errorf("--coordinator: %w", err)
	}
	p, err := plans.Read(c.File)
	if err != nil {
		return err
	}
	if c.Opens.IsZero() {
		c.Opens = time.Now().Truncate(time.Second)
	}
	first := plan.Times{Opens: c.Opens.UTC(), Closes: c.Closes.UTC()}
	round, state, err := c.First(p, c.Rounds, plan.Times{Opens: first.Opens, Closes: c.Ends.UTC()}, first, publisher, coordinator)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.File, err)
	case state != nil && c.State == "":
		return terminal.Usagef("the question asks with a public state: name a file for that of the first round with --state, for confetti plan register")
	case state == nil && c.State != "":
		return terminal.Usagef("the question asks with no public state: leave out --state")
	}
	if err := terminal.Uninterrupted(func() error { return c.save(round, state) }); err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "study        %s\nround 1      %s\npublisher    %s\ncoordinator  %s\n", round.Plan.Round.Study, round.Plan.Name(), round.Publisher, round.Study.Coordinator)
	return Costs(std.Err, round)
}

// save writes both files, or none.
func (c studySign) save(round plan.Signed, state []byte) (err error) {
	if state != nil {
		if err = durable.Create(c.State, state, 0o644); err != nil {
			return taken(err)
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, os.Remove(c.State))
			}
		}()
	}
	return taken(durable.Create(c.Out, append(round.Marshal(), '\n'), 0o644))
}

// taken says what to do where there is such a file.
func taken(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: choose another name", err)
	}
	return err
}
