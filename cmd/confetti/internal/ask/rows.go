package ask

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// synthetic begins the name of every file of rows, and heads its first column.
const synthetic = "synthetic"

// Rows draws rows that look like those of respondents.
type Rows struct {
	Release string `arg:"" help:"Folder of a release of tables." type:"path"`
	Out     string `help:"Where to write the rows (CSV); the file's name begins with synthetic-, or is made to." required:"" type:"path" placeholder:"FILE"`
	N       int    `help:"How many rows: there is no usual number, so that nobody takes them for people." name:"n" required:"" placeholder:"N"`
	Seed    uint64 `help:"The same seed gives the same rows." default:"1"`
}

func (Rows) Help() string {
	return `Rows are drawn by a model of the release, and are evidence about nobody: means, tests and intervals of them are false. They read the release alone, so they cost no privacy.

Example:
  confetti rows tables --n 1000 --out synthetic-rows.csv`
}

// mostRows bounds a file of rows.
const mostRows = 10_000_000

func (c Rows) Run(std terminal.Streams) error {
	if c.N < 1 || c.N > mostRows {
		return terminal.Usagef("--n is %d: give 1 to %d rows", c.N, mostRows)
	}
	dir, name := filepath.Split(c.Out)
	if !strings.HasPrefix(name, synthetic+"-") {
		name = synthetic + "-" + name
	}
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("%s exists: choose another name", file)
	}
	m, err := releases.Tables(c.Release)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	row := []string{synthetic}
	for _, column := range m.Columns {
		row = append(row, formula.Quote(column.Name))
	}
	w.Write(row) // Error tells, as of the rest
	for _, record := range m.Rows(seeded.New(c.Seed), c.N) {
		row = append(row[:0], "1")
		for i, v := range record {
			row = append(row, formula.Quote(m.Values[i][v]))
		}
		w.Write(row)
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	if err := atomicfile.Replace(file, text.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "wrote %s: %d synthetic rows, drawn by a model of the release, of nobody.\nTables of two columns in them are those of the release, nearly; what three or more have to do with each other is the model's.\nMeans, tests and intervals of these rows are false, however many they are: confetti ask %s has the release's own ranges.\n", file, c.N, c.Release)
	return err
}
