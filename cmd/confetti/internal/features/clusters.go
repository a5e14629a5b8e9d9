package features

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	device "github.com/confetti-dp/confetti/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/cluster"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/plan"
)

// Clusters is confetti clusters.
type Clusters struct {
	Fit clustered `cmd:"" help:"Make clusters of inputs that have nothing to hide, and a page that shows them."`
}

type clustered struct {
	flags.DataSets
	Inputs      string   `arg:"" optional:"" help:"A table (.csv, .parquet), texts (.txt, one a line), or a folder of PNG images of one size. Without any, those of --dataset." type:"path"`
	Dataset     string   `help:"mnist, fashion-mnist, another set of the data folder, or synthetic: images that are drawn." default:"synthetic"`
	Map         string   `help:"Features that distances are taken of, as confetti features fit writes them. Without, oriented gradients of images, and a table's numbers as they are." type:"existingfile" placeholder:"FILE"`
	Columns     []string `help:"Columns of a table, by name or pattern; without, all." placeholder:"NAME"`
	Drop        []string `help:"Columns that are none, likewise." placeholder:"NAME"`
	Clusters    int      `help:"How many; 0: as many as labels can be counted in at --epsilon." placeholder:"J"`
	Respondents int      `help:"How many are to be asked; 0: as many as there are inputs." placeholder:"N"`
	Epsilon     float64  `help:"What labels are to be counted at, where --clusters is not given." default:"0.25"`
	Delta       float64  `help:"Delta beside --epsilon." default:"1e-6"`
	Least       int      `help:"Inputs in the smallest cluster: smaller ones are given up." default:"1"`
	Images      int      `help:"How many to draw where inputs are synthetic." default:"4000"`
	Members     int      `help:"Nearest inputs of each cluster that the page shows." default:"10"`
	Seed        uint64   `help:"The same seed gives the same clusters." default:"1"`
	Out         string   `help:"The file to write; the page is beside it." type:"path" default:"clusters.json"`
	JSON        bool     `help:"End with one JSON object."`
}

func (clustered) Help() string {
	return "Everybody may read what clusters are made of: public inputs, or features of respondents who have nothing to hide\nbut their labels. Labels are not asked for. A device needs the file alone, which plans name by its hash.\n\nExample:\n  confetti clusters fit --dataset synthetic --clusters 20 --out clusters.json"
}

func (c clustered) check() error {
	switch {
	case c.Clusters < 0 || c.Clusters > device.Most:
		return terminal.Usagef("--clusters is %d: give 1 to %d, or 0", c.Clusters, device.Most)
	case c.Respondents < 0 || c.Respondents > account.MaxUsers:
		return terminal.Usagef("--respondents is %d: give 1 to %d, or 0", c.Respondents, account.MaxUsers)
	case c.Images < 100 || c.Images > 1_000_000:
		return terminal.Usagef("--images is %d: give 100 to 1000000", c.Images)
	case c.Members < 0 || c.Members > 100 || c.Least < 1:
		return terminal.Usagef("--members is %d, --least %d: give 0 to 100, and a number from 1", c.Members, c.Least)
	}
	if c.Clusters == 0 {
		if err := (account.Target{Users: 1, Rounds: 1, Epsilon: c.Epsilon, Delta: c.Delta}).Check(); err != nil {
			return terminal.Usage(err)
		}
	}
	return nil
}

func (c clustered) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	in, s, err := c.fit(report)
	finish()
	if err != nil {
		return err
	}
	page := strings.TrimSuffix(c.Out, filepath.Ext(c.Out)) + ".html"
	text := s.Marshal()
	html, err := clusterPage(in, s, c.Members, plan.StateName(text))
	if err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error {
		return errors.Join(durable.Replace(page, html, 0o644), durable.Replace(c.Out, text, 0o644))
	}); err != nil {
		return err
	}
	smallest, largest := slices.Min(s.Sizes), slices.Max(s.Sizes)
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			File      string `json:"file"`
			Name      string `json:"name"`
			Page      string `json:"page"`
			Inputs    int    `json:"inputs"`
			What      string `json:"what"`
			Clusters  int    `json:"clusters"`
			Smallest  int    `json:"smallest"`
			Largest   int    `json:"largest"`
			Dimension int    `json:"dimension"`
			Bytes     int    `json:"bytes"`
		}{c.Out, plan.StateName(text), page, in.x.Rows, in.what, s.Len(), smallest, largest, s.Centres.Cols, len(text)})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d clusters of %d %s, from %d to %d in each (%d bytes, %s)\npage: %s\n", c.Out, s.Len(), in.x.Rows, in.what, smallest, largest, len(text), plan.StateName(text), page)
	return err
}

// fit reads inputs and makes their clusters.
func (c clustered) fit(report fit.Progress) (inputs, *device.State, error) {
	in, err := c.read(report)
	if err != nil {
		return in, nil, err
	}
	j := c.Clusters
	if j == 0 {
		// One label instead of another changes two counts of a cluster.
		noise, _, err := additive.CalibrateGaussian(account.Target{Rounds: 1, Epsilon: c.Epsilon, Delta: c.Delta}, math.Sqrt2)
		if err != nil {
			return in, nil, err
		}
		j = cluster.Choose(cmp.Or(c.Respondents, in.x.Rows), func(float64) float64 { return noise.Sigma })
	}
	s, err := cluster.Means(replay.New(c.Seed), in.x, cluster.Options{Clusters: j, Least: c.Least}, report)
	if err != nil {
		return in, nil, err
	}
	if in.size != nil && c.Map == "" {
		s.Width, s.Height = in.size.Width, in.size.Height
		err = s.Prepare()
	}
	return in, s, err
}

// nearest are the inputs of each cluster that are nearest to its centre, first the nearest.
func nearest(s *device.State, x blas32.General, most int) [][]int {
	far := func(i, c int) (d float64) {
		for j, v := range s.Centres.Data[c*s.Centres.Stride:][:s.Centres.Cols] {
			d += float64(v-x.Data[i*x.Stride+j]) * float64(v-x.Data[i*x.Stride+j])
		}
		return d
	}
	members, distance := make([][]int, s.Len()), make([]float64, x.Rows)
	for i, c := range cluster.All(s, x) {
		members[c], distance[i] = append(members[c], i), far(i, c)
	}
	for c, all := range members {
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
		members[c] = all[:min(most, len(all))]
	}
	return members
}

// existing tells a folder from a file.
func existing(path string) (folder bool, err error) {
	info, err := os.Stat(path)
	return err == nil && info.IsDir(), err
}
