package up

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// app is what an app or a page needs to answer the trial, by the names of a page's options.
type app struct {
	Plan       string   `json:"plan"` // its address, or that of the study it is a round of
	Publishers []string `json:"publishers"`
	Bearer     string   `json:"bearer"`  // of one respondent, who is none of the devices
	Delay      float64  `json:"delay"`   // seconds: a trial hides from nobody who answers
	Roots      string   `json:"roots"`   // the file of the trial's authority
	Origins    []string `json:"origins"` // of pages that the services let in
	Room       *pages   `json:"room,omitempty"`
}

// pages names the addresses of a live poll, for phones and for the screen.
type pages struct {
	Phones string `json:"phones"` // "": they cannot answer
	Screen string `json:"screen"` // a link that logs one browser in, once
}

// keepApp writes it for a plan that is signed, with the token.
func (c Command) keepApp(t trial.Folder, signed plan.Signed, bearer string) error {
	a := app{Plan: trial.Address(signed), Publishers: []string{signed.Publisher}, Bearer: bearer, Roots: t.Path(trial.Roots), Origins: append([]string{}, c.Origin...)}
	text, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(t.Path(trial.App), append(text, '\n'), 0o600)
}

// readApp reads it, and refuses an origin that the trial was not made with.
func (c Command) readApp(t trial.Folder) (a app, err error) {
	text, err := atomicfile.Read(t.Path(trial.App))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return a, fmt.Errorf("%s is damaged, or its trial is of an earlier version: start another trial, in another folder: %w", t.Path(trial.App), err)
	}
	for _, one := range c.Origin {
		if !slices.Contains(a.Origins, one) {
			return a, terminal.Usagef("--origin is %s, and the trial in %s was made without it: start another one, in another folder", one, t)
		}
	}
	return a, nil
}

// write says it for people.
func (a app) write(t trial.Folder, out io.Writer) {
	fmt.Fprintf(out, "\nFor an app, and in %s for programs:\n  plan       %s\n  publisher  %s\n  bearer     %s\n  roots      %s\n", t.Path(trial.App), a.Plan, strings.Join(a.Publishers, " "), a.Bearer, a.Roots)
	fmt.Fprintf(out, "The bearer is one respondent. Each line of %s is another one.\n", t.Path(trial.Devices))
	if len(a.Origins) == 0 {
		fmt.Fprintln(out, "For a page, the same: start a trial in another folder with --origin, such as --origin http://localhost:8000, or browsers let no page ask.")
		return
	}
	fmt.Fprintf(out, "For a page, the same: services let in %s, in browsers that know %s.\n", strings.Join(a.Origins, " and "), a.Roots)
}
