package train

import (
	"fmt"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
)

// given are inputs as they were found: images, texts or a table.
type given struct {
	what    string
	rows    blas32.General // grey levels, or what is in proportion to them, or numbers of a table
	size    *inputs.Size   // of images
	texts   []string
	columns []string // names, of a table that has them
}

func (g given) count() int { return max(g.rows.Rows, len(g.texts)) }

// read takes inputs by what the path names: a folder of images, a file of texts, or a table.
func read(path string, choice table.Choice, report featuremap.Progress) (g given, err error) {
	switch folder, err := existing(path); {
	case err != nil:
		return g, err
	case folder:
		return pictures(path, report)
	case strings.EqualFold(filepath.Ext(path), ".txt"):
		g.what = "texts"
		g.texts, err = table.ReadLines(path)
		return g, err
	}
	t, err := table.ReadRecords(path, choice)
	if err != nil {
		return g, err
	}
	return given{what: "rows", rows: t.X, columns: t.Columns}, nil
}

// drawn are so many synthetic images.
func drawn(seed uint64, images int, report featuremap.Progress) given {
	report("images", 0, images)
	size := inputs.Size{Width: synthetic.Side, Height: synthetic.Side}
	return given{what: "synthetic images", size: &size, rows: featuremap.Stacked(synthetic.Images(seeded.New(seed), images))}
}

// pictures returns those of a folder, in the order of their names.
func pictures(folder string, report featuremap.Progress) (g given, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.[pP][nN][gG]"))
	if err != nil || len(paths) == 0 {
		return g, fmt.Errorf("%s: no PNG images in the folder", folder)
	}
	var images [][]float32
	var size inputs.Size
	for i, path := range paths {
		report("images", i, len(paths))
		p, err := dataset.ReadPicture(path)
		if err != nil {
			return g, err
		}
		got := inputs.Size{Width: p.Columns, Height: len(p.Holders) / p.Columns}
		if i == 0 {
			size = got
		}
		if got != size {
			return g, fmt.Errorf("%s has %d by %d pixels, %s %d by %d: give images of one size", path, got.Width, got.Height, paths[0], size.Width, size.Height)
		}
		images = append(images, p.Grey())
	}
	return given{what: "images", size: &size, rows: featuremap.Stacked(images)}, nil
}
