// Package train implements confetti-lab features, clusters, encoder and audit: what is trained on public records, and
// networks from releases of labels. Used by lab/cmd/confetti-lab, for authors of plans.
package train

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// Features is confetti-lab features.
type Features struct {
	Fit fitted `cmd:"" help:"Make features from public or synthetic inputs."`
}

type fitted struct {
	Inputs    string   `arg:"" optional:"" help:"Public inputs: a table (.csv, .parquet), texts (.txt, one a line), or a folder of PNG images of one size. Without any, images are drawn (synthetic)." type:"path"`
	Features  []string `help:"Columns of a table, by name or pattern; without, all." placeholder:"NAME"`
	Drop      []string `help:"Columns that are none, likewise." placeholder:"NAME"`
	Kind      string   `help:"Of images gradients or scattering, of texts lsa or hashed (words in random places), of tables columns or fourier (cosines beside them); the first if left out." placeholder:"NAME"`
	Dimension int      `help:"Principal directions; 0 for all columns of a table, 256 of texts, 351 of images, or as many as the inputs allow. Of hashed words, places: 16384." placeholder:"N"`
	Cosines   int      `help:"How many, of --kind fourier." default:"100"`
	Reg       float64  `help:"Added to each eigenvalue, in parts of their mean." default:"0.3"`
	Common    float64  `help:"The share of texts above which a word does not count." default:"0.05"`
	Pairs     bool     `help:"Of texts: two words that often follow each other count beside each by itself."`
	Singular  bool     `help:"Of English texts: words count without the s of a plural."`
	Images    int      `help:"How many to draw where no inputs are given." default:"16000"`
	Seed      uint64   `help:"The same seed gives the same features." default:"1"`
	Out       string   `help:"The file to write." type:"path" default:"features.json"`
	JSON      bool     `help:"End with one JSON object."`
}

func (fitted) Help() string {
	return "The inputs must be of people who have nothing to hide in them: whatever features are made of, everybody may\nread. Respondents' own records are never such.\n\nExample:\n  confetti-lab features fit public.csv --drop class --out features.json"
}

func (c fitted) Run(std terminal.Streams) error {
	switch {
	case c.Dimension < 0 || !(c.Reg >= 0 && c.Reg <= 1e6):
		return terminal.Usagef("--dimension %d, --reg %v: give numbers from 0 on", c.Dimension, c.Reg)
	case c.Cosines < 1 || c.Cosines > 10_000:
		return terminal.Usagef("--cosines is %d: give 1 to 10000", c.Cosines)
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
	text, err := model.MarshalFeatures(f)
	if err == nil {
		err = atomicfile.Replace(c.Out, text, 0o644)
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

func (c fitted) fit(report featuremap.Progress) (m *inputs.Map, rows int, what string, err error) {
	g := given{}
	if c.Inputs == "" {
		g = drawn(c.Seed, c.Images, report)
	} else if g, err = read(c.Inputs, table.Choice{Features: c.Features, Drop: c.Drop}, report); err != nil {
		return nil, 0, "", err
	}
	switch {
	case g.size != nil:
		m, err = c.images(g, report)
	case g.texts != nil:
		m, err = c.texts(g.texts, report)
	case len(g.columns) != g.rows.Cols:
		err = fmt.Errorf("%s: columns without names, by which a row is read: give a .csv or .parquet file", c.Inputs)
	default:
		m, err = c.table(g, report)
	}
	return m, g.count(), g.what, err
}

// What --kind may be of images, texts and tables; the first of each is usual.
var kinds = map[string][]string{"images": {"gradients", "scattering"}, "texts": {"lsa", "hashed"}, "tables": {"columns", "fourier"}}

// kind returns what was asked for of inputs.
func (c fitted) kind(of string) (string, error) {
	kind := cmp.Or(c.Kind, kinds[of][0])
	if !slices.Contains(kinds[of], kind) {
		return "", terminal.Usagef("--kind is %q: of %s give %s", kind, of, strings.Join(kinds[of], " or "))
	}
	return kind, nil
}

func (c fitted) images(g given, report featuremap.Progress) (*inputs.Map, error) {
	const usual = 351
	kind, err := c.kind("images")
	if err != nil {
		return nil, err
	}
	m, err := featuremap.Fixed(*g.size, kind == "scattering")
	if err != nil {
		return nil, err
	}
	return featuremap.Images(g.rows, m, c.dimension(usual, g.rows.Rows-1), c.Reg, report)
}

func (c fitted) texts(texts []string, report featuremap.Progress) (*inputs.Map, error) {
	const usual = 256
	switch kind, err := c.kind("texts"); {
	case err != nil:
		return nil, err
	case kind == "hashed":
		return featuremap.Hashed(featuremap.Counted(texts), cmp.Or(c.Dimension, featuremap.Usual))
	}
	return featuremap.Texts(seeded.New(c.Seed), texts, c.dimension(usual, len(texts)/2), lsa.Words{Common: c.Common, Pairs: c.Pairs, Singular: c.Singular}, c.Reg, report)
}

func (c fitted) table(g given, report featuremap.Progress) (*inputs.Map, error) {
	report("principal directions", 0, 1)
	switch kind, err := c.kind("tables"); {
	case err != nil:
		return nil, err
	case kind == "fourier":
		columns := g.rows.Cols
		all := columns + c.Cosines
		return featuremap.Cosines(seeded.New(c.Seed), g.columns, g.rows, c.Cosines, c.dimension(all, min(all, g.rows.Rows-1)), c.Reg)
	}
	return featuremap.Columns(g.columns, g.rows, c.dimension(g.rows.Cols, g.rows.Rows-1), c.Reg)
}

// dimension returns what was asked for, or usual.
func (c fitted) dimension(usual, most int) int {
	if c.Dimension > 0 {
		return c.Dimension
	}
	return max(1, min(usual, most))
}
