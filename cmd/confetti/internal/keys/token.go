package keys

import (
	"fmt"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/serve"
)

type Token struct {
	Add tokenAdd `cmd:"" help:"Draw bearer tokens for respondents or operators."`
}

type tokenAdd struct {
	File string   `arg:"" help:"The service's file of bearers; it gets the tokens' hashes." type:"path"`
	Name []string `arg:"" help:"Whose each token is. Several tokens may be of one name, who is one respondent."`
}

func (tokenAdd) Help() string {
	return `Prints the tokens, one a line: they are kept nowhere else. A service that runs takes
them within a second. To take one back, delete its line from the file.

Example:
  confetti token add respondents device-1 device-2`
}

func (c tokenAdd) Run(std terminal.Streams) error {
	tokens, err := serve.AddBearers(rng.New(), c.File, c.Name...)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if _, err := fmt.Fprintln(std.Out, t); err != nil {
			return err
		}
	}
	return nil
}
