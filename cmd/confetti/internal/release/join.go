package release

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/sanitize/meant"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// joined puts noisy columns beside those that a party has.
type joined struct {
	Release string `arg:"" help:"The folder of a release of numbered records (confetti plan new latent --records), as confetti release fetch writes it." type:"path"`
	Table   string `arg:"" optional:"" help:"A table (.csv) of the same records, whose column record has their numbers, from 0 on. Without, what was told is written alone." type:"path"`
	Key     string `help:"Another name of that column." default:"record"`
	Decoder string `help:"Of vectors: a decoder of the encoder's codes (confetti-lab encoder --decoder). Its columns are written in the place of codes." type:"path" placeholder:"FILE"`
	Out     string `help:"The table to write." type:"path" default:"joined.csv"`
	JSON    bool   `help:"End with one JSON object."`
}

func (joined) Help() string {
	return `What another party's records told with noise is put beside the columns that you have of the same records, matched by their
public numbers. A noisy report is read as the mean of what is public, by how likely it came of each: of an encoder its
prototypes, or with a decoder the records that these stand for, of clusters their centres. It costs nothing more. Records that nobody told of, or more than one report, are left out.

Example:
  confetti release join trial/release ours.csv --out joined.csv`
}

func (c joined) Run(std terminal.Streams) error {
	told, err := c.told()
	if err != nil {
		return err
	}
	x, names := told.X, told.Names
	once, twice := told.Once()
	ours, head, left := [][]string(nil), []string{c.Key}, 0
	if c.Table == "" {
		left = twice
		for i, number := range told.Numbers {
			if at, ok := once[number]; ok && at == i {
				ours = append(ours, []string{strconv.Itoa(number)})
			}
		}
	} else if ours, head, err = c.own(); err != nil {
		return err
	}
	at := slices.Index(head, c.Key)
	out := [][]string{append(slices.Clone(head), names...)}
	for _, row := range ours {
		number, err := strconv.Atoi(row[at])
		i, ok := once[number]
		if err != nil || !ok || strconv.Itoa(number) != row[at] {
			left++
			continue
		}
		row = slices.Clone(row)
		for _, v := range x.Data[i*x.Stride:][:x.Cols] {
			row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		out = append(out, row)
	}
	if len(out) == 1 {
		return fmt.Errorf("every record of %s has several reports or none, and a join needs exactly one: nothing is joined", c.Table)
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(out); err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error { return atomicfile.Replace(c.Out, text.Bytes(), 0o644) }); err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			File    string   `json:"file"`
			Rows    int      `json:"rows"`
			Columns []string `json:"columns"` // that were joined
			Left    int      `json:"left_out"`
			Twice   int      `json:"told_twice"`
		}{c.Out, len(out) - 1, names, left, twice})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d records with %d noisy columns; %d left out, %d of which several reports are\n", c.Out, len(out)-1, len(names), left, twice)
	return err
}

// told returns what the release says of records.
func (c joined) told() (rows results.Rows, err error) {
	decoder, err := latent.ReadDecoder(c.Decoder)
	if err != nil {
		return rows, err
	}
	p, state, sheet, err := releases.Private(c.Release, "")
	if err != nil {
		return rows, err
	}
	if rows, err = results.ReadRows(p, state, sheet, decoder); err != nil {
		err = fmt.Errorf("%s: %w", c.Release, err)
	}
	return rows, err
}

// own returns the party's table, and the names of its columns.
func (c joined) own() (rows [][]string, head []string, err error) {
	f, err := os.Open(c.Table)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if rows, err = csv.NewReader(f).ReadAll(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Table, err)
	}
	if len(rows) < 2 {
		return nil, nil, fmt.Errorf("%s: no rows", c.Table)
	}
	rows[0][0] = string(bytes.TrimPrefix([]byte(rows[0][0]), []byte("\ufeff")))
	if !slices.Contains(rows[0], c.Key) {
		return nil, nil, fmt.Errorf("%s: there is no column %s with the numbers of records%s: name it with --key", c.Table, c.Key, meant.DidYouMean(c.Key, rows[0]))
	}
	return rows[1:], rows[0], nil
}
