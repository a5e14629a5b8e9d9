package features

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/learn/model"
	"github.com/confetti-dp/confetti/learn/synthetic"
)

// inputs are features, and what they are of.
type inputs struct {
	x      blas32.General
	what   string
	size   *model.Size    // of images
	images blas32.General // their grey levels, or what is in proportion to them
	texts  []string       // or a row in words
}

// read takes the inputs that clusters are asked of.
func (c clustered) read(report fit.Progress) (in inputs, err error) {
	var by *model.Features
	if c.Map != "" {
		f, err := os.Open(c.Map)
		if err != nil {
			return in, err
		}
		by, err = model.ReadFeatures(f)
		f.Close()
		if err != nil {
			return in, fmt.Errorf("%s: %w", c.Map, err)
		}
	}
	switch folder, err := existing(c.Inputs); {
	case c.Inputs == "":
		return c.set(by, report)
	case err != nil:
		return in, err
	case folder:
		images, size, err := pictures(c.Inputs, report)
		if err != nil {
			return in, err
		}
		return ofImages(images, size, by, report)
	case strings.EqualFold(filepath.Ext(c.Inputs), ".txt"):
		texts, err := table.ReadLines(c.Inputs)
		if err != nil {
			return in, err
		}
		return ofTexts(texts, by, report)
	}
	return c.table(by)
}

// set is a data set of images, or images that are drawn.
func (c clustered) set(by *model.Features, report fit.Progress) (inputs, error) {
	size := model.Size{Width: synthetic.Side, Height: synthetic.Side}
	if c.Dataset == "synthetic" {
		report("images", 0, c.Images)
		in, err := ofImages(fit.Stacked(synthetic.Images(replay.New(c.Seed), c.Images)), size, by, report)
		in.what = "synthetic images"
		return in, err
	}
	set, err := c.Load(c.Dataset)
	if err != nil {
		return inputs{}, err
	}
	if set.Dimension() == size.Width*size.Height {
		return ofImages(set.Train.X, size, by, report)
	}
	if by != nil {
		return inputs{}, terminal.Usagef("--map: %s has features of its own", c.Dataset)
	}
	return inputs{x: set.Train.X, what: "records"}, nil
}

func (c clustered) table(by *model.Features) (inputs, error) {
	t, err := table.ReadRecords(c.Inputs, table.Choice{Features: c.Columns, Drop: c.Drop})
	if err != nil {
		return inputs{}, err
	}
	in := inputs{x: t.X, what: "rows"}
	for i := range t.X.Rows {
		in.texts = append(in.texts, strings.Trim(fmt.Sprint(t.X.Data[i*t.X.Stride:][:t.X.Cols]), "[]"))
	}
	if by == nil {
		return in, nil
	}
	if err := by.Fit(t.Columns); err != nil {
		return in, fmt.Errorf("%s: %w", c.Inputs, err)
	}
	in.x, err = mapped(t.X.Rows, func(i int) ([]float32, error) { return by.OfNumbers(t.X.Data[i*t.X.Stride:][:t.X.Cols]) })
	return in, err
}

func ofImages(images blas32.General, size model.Size, by *model.Features, report fit.Progress) (in inputs, err error) {
	in = inputs{what: "images", size: &size, images: images}
	if by == nil {
		in.x, err = fit.Oriented(images, size, report)
		return in, err
	}
	in.x, err = mapped(images.Rows, func(i int) ([]float32, error) {
		if i%100 == 0 {
			report("features", i, images.Rows)
		}
		return by.OfNumbers(images.Data[i*images.Stride:][:images.Cols])
	})
	return in, err
}

func ofTexts(texts []string, by *model.Features, report fit.Progress) (in inputs, err error) {
	if by == nil {
		return in, terminal.Usagef("texts have no numbers of their own: make some with confetti features fit, and name them with --map")
	}
	in = inputs{what: "texts", texts: texts}
	in.x, err = mapped(len(texts), func(i int) ([]float32, error) {
		if i%1000 == 0 {
			report("features", i, len(texts))
		}
		return by.OfText(texts[i])
	})
	return in, err
}

// mapped are rows by a map.
func mapped(n int, of func(i int) ([]float32, error)) (x blas32.General, err error) {
	for i := range n {
		row, err := of(i)
		if err != nil {
			return x, fmt.Errorf("input %d: %w", i+1, err)
		}
		x.Data, x.Cols, x.Stride = append(x.Data, row...), len(row), len(row)
		x.Rows++
	}
	return x, nil
}
