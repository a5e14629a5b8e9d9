// Package token implements confetti-server token: bearer tokens and links, by which services tell who asks. Used by
// cmd/internal/server, for operators.
package token

import (
	"net/url"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/plan"
)

type Command struct {
	Add   tokenAdd   `cmd:"" help:"Draw bearer tokens for respondents or operators."`
	Links tokenLinks `cmd:"" help:"Draw links, with each of which one person answers a plan."`
}

type tokenAdd struct {
	File string   `arg:"" help:"The service's file of bearers; it gets the tokens' hashes." type:"path"`
	Name []string `arg:"" help:"Whose each token is. Several tokens may be of one name, who is one respondent."`
	At   string   `help:"Of operators: the service's address, https://host:port, which stands before each token then, as --tokens reads it." placeholder:"URL"`
	terminal.Form
}

func (tokenAdd) Help() string {
	return `Prints the tokens, one a line: they are kept nowhere else. A service that runs takes
them within a second. To take one back, delete its line from the file.

Examples:
  confetti-server token add respondents device-1 device-2
  confetti-server token add operators ada --at https://hop.example:8443`
}

func (c tokenAdd) Run(std terminal.Streams) error {
	before := ""
	if c.At != "" {
		if err := serve.Address(c.At); err != nil {
			return terminal.Usagef("--at is %q: give the service's address, https://host:port", c.At)
		}
		before = c.At + " "
	}
	tokens, err := serve.AddBearers(rng.New(), c.File, c.Name...)
	if err != nil {
		return err
	}
	result := make([]drawn, len(tokens))
	for i, t := range tokens {
		result[i] = drawn{c.Name[i], c.At, t}
	}
	return c.Print(std, map[string]any{"tokens": result}, "%s\n", before+strings.Join(tokens, "\n"+before))
}

// drawn is a token, which is kept nowhere else.
type drawn struct {
	Name  string `json:"name"`
	At    string `json:"at,omitempty"`
	Token string `json:"token"`
}

type tokenLinks struct {
	File   string `arg:"" help:"The issuer's file of links; it gets the codes' hashes." type:"path"`
	Plan   string `required:"" placeholder:"FILE" help:"The signed plan that they are for." type:"path"`
	Number int    `default:"1" help:"How many."`
	URL    string `placeholder:"URL" help:"The page that they open, before the code; without it codes alone are printed."`
	terminal.Form
}

func (tokenLinks) Help() string {
	return `Prints the links, one a line: they are kept nowhere else. Each is good for one person, who
asks the issuer once with its code; the setting links of the issuer names the file. The
code stands behind a #, which browsers send to nobody: the page reads it.

Example:
  confetti-server token links links --plan plan.signed.json --number 200 --url https://app.example.org/answer`
}

// maxLinks bounds what one command draws.
const maxLinks = 1 << 20

func (c tokenLinks) Run(std terminal.Streams) error {
	if c.Number < 1 || c.Number > maxLinks {
		return terminal.Usagef("--number %d: draw 1 to %d links", c.Number, maxLinks)
	}
	if u, err := url.Parse(c.URL); err != nil || c.URL != "" && (u.Scheme != "https" && !(u.Scheme == "http" && serve.Local(u.Hostname())) || u.Host == "" || u.Fragment != "") {
		return terminal.Usagef("--url %s: give the page's URL, https://... and without a #: whoever is on the way would read the code otherwise", c.URL)
	}
	signed, err := plan.ReadSigned(c.Plan)
	if err != nil {
		return err
	}
	r := rng.New()
	names := make([]string, c.Number)
	for i := range names {
		names[i] = identity.NewLink(r, signed.Plan.Name())
	}
	codes, err := serve.AddBearers(r, c.File, names...)
	if err != nil {
		return err
	}
	before := ""
	if c.URL != "" {
		before = c.URL + "#confetti="
	}
	for i := range codes {
		codes[i] = before + codes[i]
	}
	return c.Print(std, map[string]any{"links": codes}, "%s\n", strings.Join(codes, "\n"))
}
