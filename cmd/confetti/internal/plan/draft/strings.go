package draft

import (
	"errors"
	"fmt"
	"io"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type stringsPlan struct {
	oneReport
	Title    string `help:"What the respondents are asked." default:"Which strings do many hold?"`
	Alphabet string `help:"The characters that strings are made of, such as a-z0-9.-; without it they are any text." placeholder:"CHARS"`
	flags.Strings
	Like    string  `help:"File of examples, one a line, made up or public and never from users: --alphabet and --longest follow from them." type:"path" placeholder:"FILE"`
	Hostile bool    `help:"People may lie: answers are summed with proofs, as by --route sum, so that one who lies counts for one in a string."`
	Bits    int     `help:"Bits that a device sends, on average, of answers that are mixed; 0: 8,192." placeholder:"B"`
	Epsilon float64 `help:"Privacy of the whole string, with honest shufflers." required:"" placeholder:"E"`
}

func (stringsPlan) Help() string {
	return `Nobody lists the strings: those that many hold are read out of one round, and rarer ones are not found.

Example:
  confetti plan new strings plan.toml --alphabet a-z --longest 8 --epsilon 1 --minimum 50000 --keys keys
  confetti plan new strings plan.toml --like examples.txt --epsilon 1 --minimum 50000 --keys keys --hostile`
}

func (c stringsPlan) Run(std terminal.Streams) error {
	if err := c.follow(std.Err); err != nil {
		return err
	}
	if c.Hostile {
		c.Route.Route = plan.RouteSum
	}
	errs := terminal.Faults{c.parties.check(), c.checkReport(max(1, c.Bits), c.Epsilon), c.Strings.Check(c.Route)}
	errs.Require(c.Bits >= 0, "--bits is %d: give a number of bits", c.Bits)
	errs.Require(c.Bits == 0 || c.Route.Route != plan.RouteSum, "--bits is of answers that are mixed: leave it out of --route sum and --hostile")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	asked, err := c.Strings.Question(c.Alphabet)
	if err != nil {
		return err
	}
	asked.Seed, asked.Answered = freshSeed(), c.Bits
	return c.ask(std, c.Title, plan.Question{Kind: "strings", Strings: &asked}, c.Epsilon, nil, "alphabet", "longest", "bits")
}

// follow takes from examples what strings are made of and how long they are, and says so.
func (c *stringsPlan) follow(w io.Writer) error {
	if c.Like == "" {
		return nil
	}
	if c.Alphabet != "" || c.Longest != 0 {
		return terminal.Usagef("--like says what strings are made of: leave out --alphabet and --longest")
	}
	var err error
	if c.Alphabet, c.Longest, err = flags.Spelt(c.Like); err != nil {
		return err
	}
	of, each := "--alphabet '"+c.Alphabet+"'", "characters"
	if c.Alphabet == "" {
		of, each = "any text", "bytes"
	}
	_, err = fmt.Fprintf(w, "note: like the examples: %s, --longest %d %s. What is longer, or has another character, is counted as not fitting.\n", of, c.Longest, each)
	return err
}
