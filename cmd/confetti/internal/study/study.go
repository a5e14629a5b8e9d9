// Package study implements confetti study: questions that are asked in rounds. Used by cmd/confetti, for
// coordinators.
package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/study/counts"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/study/trends"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/rounds"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

type Command struct {
	Sign  studySign      `cmd:"" help:"Sign a study, as its publisher, and its first round."`
	Begin studyBegin     `cmd:"" help:"Make the first round of a study, as its coordinator."`
	Show  studyShow      `cmd:"" help:"Show which rounds there are, and what became of each."`
	Fetch studyFetch     `cmd:"" help:"Get the release of every round from the analyzer."`
	Trend trends.Command `cmd:"" help:"Draw how each metric went from round to round, and say what surely changed."`

	Simulate counts.Simulate `cmd:"" help:"Run all rounds of a study that counts events, from a table of yours."`
}

// firstRound is what the first round of a study is made with.
type firstRound struct {
	Opens time.Time `help:"When the first round opens; now without it." placeholder:"TIME"`
	Out   string    `help:"Where to write the first round, which has the whole study in it; or the study by itself." required:"" type:"path" placeholder:"FILE"`
	State string    `help:"Where to write the public state that the first round asks with, where the question has one." type:"path" placeholder:"FILE"`
	terminal.Form
}

// opens returns when a study or round opens: now where nothing else is said.
func (c firstRound) opens() time.Time {
	if c.Opens.IsZero() {
		return time.Now().Truncate(time.Second).UTC()
	}
	return c.Opens.UTC()
}

type studySign struct {
	File        string    `arg:"" help:"A plan in TOML or JSON: what every round asks." type:"path"`
	Key         string    `help:"The publisher's private key: confetti keys new --for publisher." required:"" type:"path" placeholder:"FILE"`
	Coordinator string    `help:"Who signs rounds: the file of its private key, made in the same way, which the analyzer's configuration names too; or its public key alone." required:"" placeholder:"FILE|KEY"`
	Rounds      int       `help:"How many rounds there are at most; of a plan whose rounds are correlated that is in it." placeholder:"N"`
	Closes      time.Time `help:"When the first round closes; the others last as long. Beside a private key." placeholder:"TIME"`
	Ends        time.Time `help:"When the study is over, whatever rounds are left." required:"" placeholder:"TIME"`
	firstRound
	rounds.Terms
}

func (studySign) Help() string {
	return `Makes a question that is asked once into one that is asked in rounds. What a round
costs follows from the plan, as confetti plan check prints it; with --takes all a
respondent is charged for all rounds before the first. The file is a signed plan as
any: the other publishers sign it, and confetti plan register brings it to services.
After that the analyzer with the coordinator's key makes the rounds by itself. Times
are RFC 3339.

Where publisher and coordinator are two parties, neither needs the other's key: with
--coordinator ed25519:... the file is the study by itself, and the coordinator makes
the first round of it by confetti study begin.

Example:
  confetti study sign plan.toml --key publisher.json --coordinator coordinator.json --rounds 4 --closes 2027-01-08T00:00:00Z --ends 2027-02-28T00:00:00Z --out study.signed.json`
}

func (c studySign) Run(std terminal.Streams) error {
	publisher, _, err := partykey.ReadSigning(c.Key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	var coordinator relay.SignKey
	public, alone := c.Coordinator, strings.HasPrefix(c.Coordinator, "ed25519:")
	if !alone {
		if coordinator, _, err = partykey.ReadSigning(c.Coordinator); err != nil {
			return fmt.Errorf("--coordinator: %w", err)
		}
		public = coordinator.Public().String()
	}
	switch {
	case alone && !(c.Closes.IsZero() && c.State == ""):
		return terminal.Usagef("the coordinator makes the first round, with its closing time and state, by confetti study begin: leave out --closes and --state beside its public key")
	case !alone && c.Closes.IsZero():
		return terminal.Usagef("say when the first round closes, by --closes")
	}
	p, err := plans.Read(c.File)
	if err != nil {
		return err
	}
	opens := c.opens()
	if c.Terms, c.Rounds = c.Settle(p, c.Rounds); c.Rounds == 0 {
		return terminal.Usagef("say how many rounds there are at most, by --rounds")
	}
	study, err := c.Study(p, c.Rounds, plan.Times{Opens: opens, Closes: c.Ends.UTC()}, public)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	signed := plan.SignStudy(study, publisher.Private())
	if !alone {
		return c.begin(std, signed, plan.Times{Opens: opens, Closes: c.Closes.UTC()}, coordinator)
	}
	if err := taken(atomicfile.Create(c.Out, append(signed.Marshal(), '\n'), 0o644)); err != nil {
		return err
	}
	result := begun{Study: study.Name(), Publisher: signed.Signatures[0].Publisher, Coordinator: public}
	return c.Print(std, result, "study        %s\npublisher    %s\ncoordinator  %s\nfirst round  confetti study begin, by the coordinator\n", result.Study, result.Publisher, result.Coordinator)
}

type studyBegin struct {
	File   string    `arg:"" help:"The study, as its publisher signed it." type:"path"`
	Key    string    `help:"The coordinator's private key." required:"" type:"path" placeholder:"FILE"`
	Closes time.Time `help:"When the first round closes; the others last as long." required:"" placeholder:"TIME"`
	firstRound
}

func (studyBegin) Help() string {
	return `Makes the first round of a study that its publisher has signed by itself. The other
publishers sign the file, and confetti plan register brings it to services.

Example:
  confetti study begin study.json --key coordinator.json --closes 2027-01-08T00:00:00Z --out study.signed.json`
}

func (c studyBegin) Run(std terminal.Streams) error {
	key, _, err := partykey.ReadSigning(c.Key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	text, err := atomicfile.Read(c.File)
	if err != nil {
		return err
	}
	signed, err := plan.ParseSignedStudy(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	opens := c.opens()
	if c.Opens.IsZero() && opens.Before(signed.Study.Times.Opens) {
		opens = signed.Study.Times.Opens
	}
	return c.begin(std, signed, plan.Times{Opens: opens, Closes: c.Closes.UTC()}, key)
}

// begun is a study, and its first round where there is one.
type begun struct {
	Study       string `json:"study"`
	Round       string `json:"round,omitempty"`
	Publisher   string `json:"publisher"`
	Coordinator string `json:"coordinator"`
}

// begin makes the first round, writes it, and says what it costs.
func (c firstRound) begin(std terminal.Streams, study plan.SignedStudy, times plan.Times, coordinator relay.SignKey) error {
	round, state, err := rounds.First(study, times, coordinator)
	switch {
	case err != nil:
		return err
	case state != nil && c.State == "":
		return terminal.Usagef("the question asks with a public state: name a file for that of the first round with --state, for confetti plan register")
	case state == nil && c.State != "":
		return terminal.Usagef("the question asks with no public state: leave out --state")
	}
	if err := terminal.Uninterrupted(func() error { return c.save(round, state) }); err != nil {
		return err
	}
	result := begun{round.Plan.Round.Study, round.Plan.Name(), round.Publisher, round.Study.Coordinator}
	if err := c.Print(std, result, "study        %s\nround 1      %s\npublisher    %s\ncoordinator  %s\n", result.Study, result.Round, result.Publisher, result.Coordinator); err != nil {
		return err
	}
	return rounds.Costs(std.Err, round)
}

// save writes both files, or none.
func (c firstRound) save(round plan.Signed, state []byte) (err error) {
	if state != nil {
		if err = atomicfile.Create(c.State, state, 0o644); err != nil {
			return taken(err)
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, os.Remove(c.State))
			}
		}()
	}
	return taken(atomicfile.Create(c.Out, append(round.Marshal(), '\n'), 0o644))
}

// taken says what to do where there is such a file.
func taken(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: choose another name", err)
	}
	return err
}
