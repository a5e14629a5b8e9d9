package train

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
)

// public says which public inputs are meant.
type public struct {
	flags.DataSets
	Inputs  string   `arg:"" optional:"" help:"A table (.csv, .parquet), texts (.txt, one a line), or a folder of PNG images of one size. Without any, those of --dataset." type:"path"`
	Dataset string   `help:"mnist, fashion-mnist, another set of the data folder, or synthetic: images that are drawn." default:"synthetic"`
	Map     string   `help:"Features that distances are taken of, as confetti-lab features fit writes them. Without, oriented gradients of images, and a table's numbers as they are." type:"existingfile" placeholder:"FILE"`
	Columns []string `help:"Columns of a table, by name or pattern; without, all." placeholder:"NAME"`
	Drop    []string `help:"Columns that are none, likewise." placeholder:"NAME"`
	Images  int      `help:"How many to draw where inputs are synthetic." default:"4000"`
	Seed    uint64   `help:"The same seed gives the same result." default:"1"`
}

func (c public) check() error {
	if c.Images < 100 || c.Images > 1_000_000 {
		return terminal.Usagef("--images is %d: give 100 to 1000000", c.Images)
	}
	return nil
}

// featured are inputs with their features, a row each.
type featured struct {
	given
	by *inputs.Map // what features they are; nil: a table's numbers as they are
	x  blas32.General
}

// read takes the inputs, and their features.
func (c public) read(report featuremap.Progress) (in featured, err error) {
	var by *inputs.Map
	if c.Map != "" {
		if by, err = flags.Features(c.Map); err != nil {
			return in, err
		}
	}
	g, err := c.given(by, false, report)
	if err != nil {
		return in, err
	}
	if by != nil && g.size == nil && g.texts == nil {
		if err := by.Fit(g.columns); err != nil {
			return in, fmt.Errorf("%s: %w", c.Inputs, err)
		}
	}
	in.given, in.by = g, by
	switch {
	case by != nil:
		in.x, err = mapped(g, by, report)
	case g.size != nil:
		in.by = &inputs.Map{Image: g.size}
		in.x, err = featuremap.Oriented(g.rows, *g.size, report)
	case g.texts != nil:
		return in, terminal.Usagef("texts have no numbers of their own: make some with confetti-lab features fit, and name them with --map")
	default:
		in.x = g.rows
	}
	return in, err
}

// given returns the inputs of the command line, or of a data set. Any takes numbers of a table that are not finite.
func (c public) given(by *inputs.Map, any bool, report featuremap.Progress) (given, error) {
	switch {
	case c.Inputs != "":
		return read(c.Inputs, table.Choice{Features: c.Columns, Drop: c.Drop, Any: any}, report)
	case c.Dataset == "synthetic":
		return drawn(c.Seed, c.Images, report), nil
	}
	set, err := c.Load(c.Dataset)
	if err != nil {
		return given{}, err
	}
	g := given{what: "records", rows: set.Train.X}
	if size := (inputs.Size{Width: synthetic.Side, Height: synthetic.Side}); set.Dimension() == size.Width*size.Height {
		g.what, g.size = "images", &size
	} else if by != nil {
		return g, terminal.Usagef("--map: %s has features of its own", c.Dataset)
	}
	return g, nil
}

// mapped are features by a map.
func mapped(g given, by *inputs.Map, report featuremap.Progress) (x blas32.General, err error) {
	for i := range g.count() {
		if i%100 == 0 {
			report("features", i, g.count())
		}
		var row []float32
		if g.texts != nil {
			row, err = by.OfText(g.texts[i])
		} else {
			row, err = by.OfNumbers(g.row(i))
		}
		if err != nil {
			return x, fmt.Errorf("input %d: %w", i+1, err)
		}
		x.Data, x.Cols, x.Stride = append(x.Data, row...), len(row), len(row)
		x.Rows++
	}
	return x, nil
}

func (g given) row(i int) []float32 { return g.rows.Data[i*g.rows.Stride:][:g.rows.Cols] }

// words returns an input in words: a text, or the numbers of a row; "" for an image.
func (g given) words(i int) string {
	switch {
	case g.size != nil:
		return ""
	case g.texts != nil:
		return g.texts[i]
	}
	return strings.Trim(fmt.Sprint(g.row(i)), "[]")
}
