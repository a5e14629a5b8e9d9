package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/crosstabs"
)

type experimentTables struct {
	Of      string `help:"Who they are: ${tables}." default:"census" placeholder:"NAME"`
	People  int    `help:"How many." default:"50000" placeholder:"N"`
	CSV     string `name:"csv" help:"File for what they hold." required:"" type:"path" placeholder:"FILE"`
	Columns string `help:"File for their columns." required:"" type:"path" placeholder:"FILE"`
	Seed    uint64 `help:"The same seed gives the same people." default:"1"`
}

func (experimentTables) Help() string {
	return `Writes made-up people, whose columns tell of each other, for confetti collect simulate.

Example:
  confetti-lab tables --of census --csv census.csv --columns census.toml
  confetti collect simulate --csv census.csv --columns census.toml --epsilon 1 --delta 1e-6`
}

func (c experimentTables) Run(std terminal.Streams) error {
	errs := terminal.Faults{flags.Word("of", c.Of, crosstabs.Populations())}
	errs.Require(c.People >= 100 && c.People <= 1<<24, "--people is %d: give 100 to %d", c.People, 1<<24)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	columns, rows, err := crosstabs.People(c.Of, c.People, c.Seed)
	if err != nil {
		return err
	}
	var text, asked strings.Builder
	w := csv.NewWriter(&text)
	var names []string
	for _, column := range columns {
		names = append(names, column.Name)
		fmt.Fprintf(&asked, "[[columns]]\nname = %q\nvalues = [\"%s\"]\n\n", column.Name, strings.Join(column.Values, `", "`))
	}
	w.Write(names)   // to memory: it cannot fail
	w.WriteAll(rows) // as well
	if err := atomicfile.Replace(c.CSV, []byte(text.String()), 0o666); err != nil {
		return err
	}
	if err := atomicfile.Replace(c.Columns, []byte(asked.String()), 0o666); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "wrote %s: %d people of %d columns, which %s lists\n", c.CSV, len(rows), len(columns), c.Columns)
	return err
}
