// Package features is confetti features: what turns an input into numbers that can be
// learned from.
package features

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/learn/model"
	"github.com/confetti-dp/confetti/learn/synthetic"
)

// Command is confetti features.
type Command struct {
	Fit fitted `cmd:"" help:"Make features from public or synthetic inputs."`
}

type fitted struct {
	Inputs    string   `arg:"" optional:"" help:"Public inputs: a table (.csv, .parquet), texts (.txt, one a line), or a folder of PNG images of one size. Without any, images are drawn (synthetic)." type:"path"`
	Features  []string `help:"Columns of a table, by name or pattern; without, all." placeholder:"NAME"`
	Drop      []string `help:"Columns that are none, likewise." placeholder:"NAME"`
	Dimension int      `help:"Principal directions; 0 for all columns of a table, 256 of texts, 351 of images, or as many as the inputs allow." placeholder:"N"`
	Reg       float64  `help:"Added to each eigenvalue, in parts of their mean." default:"0.3"`
	Common    float64  `help:"The share of texts above which a word does not count." default:"0.05"`
	Images    int      `help:"How many to draw where no inputs are given." default:"16000"`
	Seed      uint64   `help:"The same seed gives the same features." default:"1"`
	Out       string   `help:"The file to write." type:"path" default:"features.json"`
	JSON      bool     `help:"End with one JSON object."`
}

func (fitted) Help() string {
	return "The inputs must be of people who have nothing to hide in them: whatever features are made of, everybody may\nread. Respondents' own records are never such.\n\nExample:\n  confetti features fit public.csv --drop class --out features.json"
}

func (c fitted) Run(std terminal.Streams) error {
	switch {
	case c.Dimension < 0 || !(c.Reg >= 0 && c.Reg <= 1e6):
		return terminal.Usagef("--dimension %d, --reg %v: give numbers from 0 on", c.Dimension, c.Reg)
	case !(c.Common > 0 && c.Common <= 1):
		return terminal.Usagef("--common is %v: give a share above 0, up to 1", c.Common)
	case c.Inputs == "" && (c.Images < 2 || c.Images > 1_000_000):
		return terminal.Usagef("--images is %d: give 2 to 1000000", c.Images)
	}
	report, finish := terminal.Progress(std.Err)
	f, rows, what, err := c.fit(report)
	finish()
	if err != nil {
		return err
	}
	text, err := f.Marshal()
	if err == nil {
		err = durable.Replace(c.Out, text, 0o644)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			File      string `json:"file"`
			Inputs    string `json:"inputs"`
			Rows      int    `json:"rows"`
			Dimension int    `json:"dimension"`
			Bytes     int    `json:"bytes"`
		}{c.Out, what, rows, f.Len(), len(text)})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d features, made from %d %s (%d bytes)\n", c.Out, f.Len(), rows, what, len(text))
	return err
}

func (c fitted) fit(report fit.Progress) (f *model.Features, rows int, what string, err error) {
	const imageDimension, textDimension = 351, 256
	info, err := os.Stat(c.Inputs)
	switch {
	case c.Inputs == "":
		side := model.Size{Width: synthetic.Side, Height: synthetic.Side}
		report("images", 0, c.Images)
		x := fit.Stacked(synthetic.Images(replay.New(c.Seed), c.Images))
		f, err = fit.Images(x, side, c.dimension(imageDimension, x.Rows-1), c.Reg, report)
		return f, x.Rows, "synthetic images", err
	case err != nil:
		return nil, 0, "", err
	case info.IsDir():
		x, side, err := pictures(c.Inputs, report)
		if err != nil {
			return nil, 0, "", err
		}
		f, err = fit.Images(x, side, c.dimension(imageDimension, x.Rows-1), c.Reg, report)
		return f, x.Rows, "images", err
	case strings.EqualFold(filepath.Ext(c.Inputs), ".txt"):
		texts, err := table.ReadLines(c.Inputs)
		if err != nil {
			return nil, 0, "", err
		}
		f, err = fit.Texts(replay.New(c.Seed), texts, c.dimension(textDimension, len(texts)/2), c.Common, c.Reg, report)
		return f, len(texts), "texts", err
	}
	t, err := table.ReadRecords(c.Inputs, table.Choice{Features: c.Features, Drop: c.Drop})
	if err != nil {
		return nil, 0, "", err
	}
	if len(t.Columns) != t.X.Cols {
		return nil, 0, "", fmt.Errorf("%s: columns without names, by which a row is read: give a .csv or .parquet file", c.Inputs)
	}
	report("principal directions", 0, 1)
	f, err = fit.Columns(t.Columns, t.X, c.dimension(t.X.Cols, t.X.Rows-1), c.Reg)
	return f, t.X.Rows, "rows", err
}

// dimension is what was asked for, or usual.
func (c fitted) dimension(usual, most int) int {
	if c.Dimension > 0 {
		return c.Dimension
	}
	return max(1, min(usual, most))
}

// pictures are those of a folder, in the order of their names.
func pictures(folder string, report fit.Progress) (blas32.General, model.Size, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.[pP][nN][gG]"))
	if err != nil || len(paths) == 0 {
		return blas32.General{}, model.Size{}, fmt.Errorf("%s: no PNG images in the folder", folder)
	}
	var images [][]float32
	var size model.Size
	for i, path := range paths {
		report("images", i, len(paths))
		p, err := dataset.ReadPicture(path)
		if err != nil {
			return blas32.General{}, size, err
		}
		got := model.Size{Width: p.Columns, Height: len(p.Holders) / p.Columns}
		if i == 0 {
			size = got
		}
		if got != size {
			return blas32.General{}, size, fmt.Errorf("%s has %d by %d pixels, %s %d by %d: give images of one size", path, got.Width, got.Height, paths[0], size.Width, size.Height)
		}
		images = append(images, p.Grey())
	}
	return fit.Stacked(images), size, nil
}
