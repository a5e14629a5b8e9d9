package flags

import (
	"bytes"
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// Columns name a file of columns.
type Columns struct {
	Columns string `help:"File (TOML) of columns, each [[columns]] with its name and either its values or, of a number, its cuts: every two are tabulated together." type:"path" placeholder:"FILE"`
}

// Read returns the columns, in the form of a plan.
func (f Columns) Read() ([]plan.Column, error) {
	text, err := atomicfile.Read(f.Columns)
	if err != nil {
		return nil, err
	}
	var file struct {
		Columns []struct {
			Name   string    `toml:"name"`
			Values []string  `toml:"values"`
			Others bool      `toml:"others"`
			Cuts   []float64 `toml:"cuts"`
		} `toml:"columns"`
	}
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, terminal.Usage(fmt.Errorf("%s: %w: give for each column [[columns]] with name, and values (a list of texts, others = true for a last one) or cuts (a list of numbers)", f.Columns, err))
	}
	var all []plan.Column
	for _, c := range file.Columns {
		all = append(all, plan.Column(c))
	}
	if len(all) < 2 {
		return nil, terminal.Usagef("%s has %d columns: tables are of two", f.Columns, len(all))
	}
	return all, nil
}
