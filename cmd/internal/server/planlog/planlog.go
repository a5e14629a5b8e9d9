// Package planlog implements confetti-server log: the public log of signed plans and releases, as its users see it.
// Used by cmd/internal/server, for reviewers.
package planlog

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	cosignature "github.com/transparency-dev/formats/note"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

type Command struct {
	Show  show  `cmd:"" help:"Print the public key of a log, or of a witness, for files of publishers and configurations."`
	Add   add   `cmd:"" help:"Put a signed plan into a log, and write it with the log's evidence."`
	Check check `cmd:"" help:"Read a log from its first entry: every plan, what it promises, what all ask of one person, and every release."`
}

type show struct {
	File    string `arg:"" help:"A key file: confetti keys new --for receipts." type:"path"`
	Name    string `help:"Name under which it signs checkpoints, such as log.example/plans." required:""`
	Witness bool   `help:"It is the key of a witness, who signs what the log of somebody else is."`
	terminal.Form
}

func (show) Help() string {
	return "Example:\n  confetti-server log show log-key.json --name log.example/plans\n  confetti-server log show hop-key.json --name hop.example --witness"
}

func (c show) Run(std terminal.Streams) error {
	key, _, err := partykey.ReadSigning(c.File)
	if err != nil {
		return err
	}
	text, err := key.Public().Note(c.Name)
	if err != nil {
		return terminal.Usage(err)
	}
	if c.Witness {
		if text, err = cosignature.VKeyToCosignatureV1(text); err != nil {
			return err
		}
	}
	return c.Print(std, struct {
		Key string `json:"key"`
	}{text}, "%s\n", text)
}

// reached says how a log is reached.
type reached struct {
	Log   string `help:"Address of the log, such as https://log.example." required:"" placeholder:"URL"`
	Roots string `help:"PEM file of the log's authorities; the system's without it." type:"path" placeholder:"FILE"`
}

func (r reached) client() (*http.Client, error) {
	if err := serve.Address(r.Log); err != nil {
		return nil, terminal.Usagef("--log: %v", err)
	}
	return serve.Client(serve.Path(r.Roots))
}

type add struct {
	Plan string `arg:"" help:"A signed plan." type:"path"`
	reached
	Out string `help:"Where to write the plan with the evidence." required:"" type:"path" placeholder:"FILE"`
	terminal.Form
}

func (add) Help() string {
	return `Waits until the log's witnesses have signed. What is written is the same plan under the
same name, and is registered and handed out in the place of the one without evidence.

Example:
  confetti-server log add plan.signed.json --log https://log.example --out plan.logged.json`
}

func (c add) Run(std terminal.Streams) error {
	signed, err := plans.ReadSigned(c.Plan)
	if err != nil {
		return err
	}
	web, err := c.client()
	if err != nil {
		return err
	}
	defer web.CloseIdleConnections()
	ctx, stop := terminal.UntilStopped()
	defer stop()
	e, err := serve.PutIntoLog(ctx, web, c.Log, signed)
	if err != nil {
		return err
	}
	signed.Evidence = &e
	if err := atomicfile.Create(c.Out, append(signed.Marshal(), '\n'), 0o644); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: choose another name", c.Out)
	} else if err != nil {
		return err
	}
	return c.Print(std, struct {
		Plan  string `json:"plan"`
		Entry int64  `json:"entry"`
		File  string `json:"file"`
	}{signed.Plan.Name(), e.Index, c.Out}, "plan   %s\nentry  %d\n", signed.Plan.Name(), e.Index)
}

type check struct {
	reached
	Publishers string    `help:"File of publishers that names the log and its witnesses, whose signatures are then asked for." required:"" type:"path" placeholder:"FILE"`
	Since      time.Time `help:"Show only plans that close at this time or later. All are checked." placeholder:"TIME"`
	JSON       bool      `help:"Print JSON."`
}

func (check) Help() string {
	return `Checks the checkpoint's signatures, the tree below it, the text of every entry and its
signatures, and computes what each plan promises anew. A plan with two releases is an
error: it has one. Times are RFC 3339.

Example:
  confetti-server log check --log https://log.example --publishers publishers.txt`
}

// entry shows what is found in one of the log.
type entry struct {
	Index      uint64    `json:"index"`
	Plan       string    `json:"plan"`
	Title      string    `json:"title"`
	Publishers []string  `json:"publishers"`
	Opens      time.Time `json:"opens,omitzero"`
	Closes     time.Time `json:"closes,omitzero"`
	Study      string    `json:"study,omitempty"`
	Round      int       `json:"round,omitempty"`
	// What an answer costs a respondent, under replacement (client.Charge): while one hop or
	// aggregator is honest, and though everyone colludes; Local is negative without a limit.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Local   float64 `json:"local"`
	Refused string  `json:"refused,omitempty"` // why no device would answer it

	again bool // a round of a study of which a respondent answers one, and not its first here
}

// found is all of it.
type found struct {
	Entries  uint64   `json:"entries"`
	Plans    []entry  `json:"plans"`
	Releases []logged `json:"releases"`
	// Withdrawn are the plans that their publishers have withdrawn.
	Withdrawn []withdrawn `json:"withdrawn,omitempty"`
	Total     []total     `json:"total"`
}

// withdrawn is a withdrawal.
type withdrawn struct {
	Index uint64 `json:"index"`
	Plan  string `json:"plan"`
}

// logged is a release: the SHA-256 of its receipts, which have the digests of its files.
type logged struct {
	Index    uint64 `json:"index"`
	Plan     string `json:"plan"`
	Receipts string `json:"receipts"`
}

// twice names a plan that has two releases.
func (f found) twice() error {
	seen := map[string]bool{}
	for _, r := range f.Releases {
		if seen[r.Plan] {
			return fmt.Errorf("plan %s has two releases: its analyzer has shown one to some, and another to others", plan.Short(r.Plan))
		}
		seen[r.Plan] = true
	}
	return nil
}

// total is what one person would spend who answers all plans of a publisher: epsilons and
// deltas added up (basic composition, replacement).
type total struct {
	Publisher string  `json:"publisher"`
	Plans     int     `json:"plans"`
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
}

func (c check) Run(std terminal.Streams) error {
	publishers, err := flags.Trust{Publishers: c.Publishers}.Trusted()
	if err != nil {
		return err
	}
	if publishers.Log.Key == "" {
		return terminal.Usagef("%s names no log: give it a line with the log's key (confetti log show)", c.Publishers)
	}
	web, err := c.client()
	if err != nil {
		return err
	}
	defer web.CloseIdleConnections()
	ctx, stop := terminal.UntilStopped()
	defer stop()
	var f found
	studies := map[string]bool{}
	f.Entries, err = planlog.Check(ctx, c.Log, publishers.Log, web, func(l planlog.Logged) error {
		switch name := hex.EncodeToString(l.Entry.Plan[:]); l.Entry.Kind {
		case plan.ReleaseEntry:
			f.Releases = append(f.Releases, logged{l.Index, name, hex.EncodeToString(l.Entry.Digest[:])})
			return nil
		case plan.WithdrawalEntry:
			f.Withdrawn = append(f.Withdrawn, withdrawn{l.Index, name})
			return nil
		}
		if closes := l.Signed.Plan.Times.Closes; closes.IsZero() || !closes.Before(c.Since) {
			e := read(l)
			e.again = e.Study != "" && l.Signed.Study.Takes == plan.TakesOne && studies[e.Study]
			studies[e.Study] = true
			f.Plans = append(f.Plans, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.Total = sum(f.Plans)
	if c.JSON {
		err = terminal.WriteJSON(std.Out, f)
	} else {
		err = f.print(std.Out)
	}
	return cmp.Or(err, f.twice())
}

// read says what a plan promises. One that no device would answer says why.
func read(l planlog.Logged) entry {
	p := l.Signed.Plan
	e := entry{Index: l.Index, Plan: p.Name(), Title: p.Title, Publishers: l.Signed.Signers(), Opens: p.Times.Opens, Closes: p.Times.Closes}
	if p.Round != nil {
		e.Study, e.Round = p.Round.Study, p.Round.Number
	}
	charge, _, err := client.Forecast(p, nil)
	if err != nil {
		e.Refused = err.Error()
	}
	e.Epsilon, e.Delta, e.Local = charge.Epsilon, charge.Delta, charge.Local
	return e
}

// sum adds up what one person could be asked to spend.
func sum(all []entry) []total {
	var totals []total
	for _, e := range all {
		for _, publisher := range e.Publishers {
			i := slices.IndexFunc(totals, func(t total) bool { return t.Publisher == publisher })
			switch {
			case e.Refused != "" || e.again:
				continue
			case i < 0:
				i = len(totals)
				totals = append(totals, total{Publisher: publisher})
			}
			totals[i].Plans++
			totals[i].Epsilon += e.Epsilon
			totals[i].Delta += e.Delta
		}
	}
	slices.SortFunc(totals, func(a, b total) int { return cmp.Compare(b.Epsilon, a.Epsilon) })
	return totals
}

func (f found) print(to io.Writer) error {
	fmt.Fprintf(to, "The log has %s, and each is what the checkpoint says.\n\n", serve.Count(int(f.Entries), "entry", "entries"))
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "entry\tplan\tcloses\tepsilon\tdelta\ttitle")
	for _, e := range f.Plans {
		closes := "-"
		if !e.Closes.IsZero() {
			closes = e.Closes.UTC().Format(time.RFC3339)
		}
		promise := fmt.Sprintf("%.4g\t%.3g", e.Epsilon, e.Delta)
		if e.Refused != "" {
			promise = "refused\t-"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", e.Index, plan.Short(e.Plan), closes, promise, sanitize.Text(e.Title))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(f.Releases) > 0 {
		fmt.Fprintln(to)
		fmt.Fprintln(w, "entry\trelease of\tSHA-256 of its receipts")
		for _, r := range f.Releases {
			fmt.Fprintf(w, "%d\t%s\t%s\n", r.Index, plan.Short(r.Plan), r.Receipts)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, t := range f.Total {
		fmt.Fprintf(to, "\n%s: one person who answers its %s spends epsilon %.4g and delta %.3g at most (one answer for another; added up).\n",
			t.Publisher, serve.Count(t.Plans, "plan", "plans"), t.Epsilon, t.Delta)
	}
	return nil
}
