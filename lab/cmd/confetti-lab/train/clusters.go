package train

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

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	device "github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
)

// Clusters is confetti-lab clusters.
type Clusters struct {
	Fit   clustered `cmd:"" help:"Make clusters of inputs that have nothing to hide, and a page that shows them."`
	Learn taught    `cmd:"" help:"Learn a network from a release of labels and from public inputs, and write the file of the model."`
}

type clustered struct {
	public
	Method      string  `help:"means: k-means, whose centres are all that a device needs; graph: by nearest neighbours, purer where clusters are few, with a network for devices." enum:"means,graph" default:"means"`
	Clusters    int     `help:"How many; 0: as many as labels can be counted in at --epsilon." placeholder:"J"`
	Respondents int     `help:"How many are to be asked; 0: as many as there are inputs." placeholder:"N"`
	Epsilon     float64 `help:"What labels are to be counted at, where --clusters is not given." default:"0.25"`
	Delta       float64 `help:"Delta beside --epsilon." default:"1e-6"`
	Least       int     `help:"Inputs in the smallest cluster: smaller ones are given up." default:"1"`
	Members     int     `help:"Nearest inputs of each cluster that the page shows." default:"10"`
	Out         string  `help:"The file to write; the page is beside it." type:"path" default:"clusters.json"`
	JSON        bool    `help:"End with one JSON object."`
}

func (clustered) Help() string {
	return "Everybody may read what clusters are made of: public inputs, or features of respondents who have nothing to hide\nbut their labels. Labels are not asked for. A device needs the file alone, which plans name by its hash.\n\nExample:\n  confetti-lab clusters fit --dataset synthetic --clusters 20 --out clusters.json"
}

func (c clustered) check() error {
	switch {
	case c.Clusters < 0 || c.Clusters > device.Most:
		return terminal.Usagef("--clusters is %d: give 1 to %d, or 0", c.Clusters, device.Most)
	case c.Respondents < 0 || c.Respondents > account.MaxUsers:
		return terminal.Usagef("--respondents is %d: give 1 to %d, or 0", c.Respondents, account.MaxUsers)
	case c.Members < 0 || c.Members > 100 || c.Least < 1:
		return terminal.Usagef("--members is %d, --least %d: give 0 to 100, and a number from 1", c.Members, c.Least)
	}
	if err := c.public.check(); err != nil {
		return err
	}
	if c.Clusters == 0 {
		if err := (calibrate.Target{Users: 1, Rounds: 1, Epsilon: c.Epsilon, Delta: c.Delta}).Check(); err != nil {
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
	in, f, err := c.fit(report)
	finish()
	if err != nil {
		return err
	}
	page := strings.TrimSuffix(c.Out, filepath.Ext(c.Out)) + ".html"
	html, err := clusterPage(in, f, c.Members)
	if err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error {
		return errors.Join(atomicfile.Replace(page, html, 0o644), atomicfile.Replace(c.Out, f.text, 0o644))
	}); err != nil {
		return err
	}
	name, smallest, largest := plan.StateName(f.text), slices.Min(f.sizes), slices.Max(f.sizes)
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
		}{c.Out, name, page, in.x.Rows, in.what, len(f.sizes), smallest, largest, in.x.Cols, len(f.text)})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d clusters of %d %s, from %d to %d in each (%d bytes, %s)\npage: %s\n", c.Out, len(f.sizes), in.x.Rows, in.what, smallest, largest, len(f.text), name, page)
	return err
}

// found are clusters, whatever found them.
type found struct {
	text  []byte // what a device needs
	of    []int  // each input's
	sizes []int
}

// fit reads inputs and makes their clusters.
func (c clustered) fit(report featuremap.Progress) (in featured, f found, err error) {
	if in, err = c.read(report); err != nil {
		return in, f, err
	}
	o := cluster.Options{Clusters: c.Clusters, Least: c.Least}
	if o.Clusters == 0 {
		// One label instead of another changes two counts of a cluster.
		noise, _, err := central.CalibrateGaussian(calibrate.Target{Rounds: 1, Epsilon: c.Epsilon, Delta: c.Delta}, math.Sqrt2)
		if err != nil {
			return in, f, err
		}
		o.Clusters = cluster.Choose(cmp.Or(c.Respondents, in.x.Rows), func(float64) float64 { return noise.Sigma })
	}
	var width, height int
	if in.size != nil && c.Map == "" {
		width, height = in.size.Width, in.size.Height
	}
	if c.Method == "graph" {
		return c.byGraph(in, o, width, height, report)
	}
	s, err := cluster.Means(seeded.New(c.Seed), in.x, o, report)
	if err != nil {
		return in, f, err
	}
	s.Width, s.Height = width, height
	return in, found{s.Marshal(), cluster.All(s, in.x), s.Sizes}, s.Prepare()
}

// byGraph trains the network that devices find the graph's clusters by.
func (c clustered) byGraph(in featured, o cluster.Options, width, height int, report featuremap.Progress) (featured, found, error) {
	r := seeded.New(c.Seed)
	of, err := cluster.Graph(r, in.x, o, report)
	if err != nil {
		return in, found{}, err
	}
	e, err := cluster.Encode(r, in.x, of, report)
	if err != nil {
		return in, found{}, err
	}
	if e.Width, e.Height = width, height; slices.Min(e.Sizes) < c.Least {
		return in, found{}, fmt.Errorf("a cluster of %d inputs, fewer than --least %d: give fewer --clusters", slices.Min(e.Sizes), c.Least)
	}
	text, err := e.Marshal()
	return in, found{text, e.All(in.x), e.Sizes}, err
}

// nearest returns the inputs of each cluster that are nearest to its mean, first the nearest.
func (f found) nearest(x blas32.General, most int) [][]int {
	means := make([]float64, len(f.sizes)*x.Cols)
	for i, c := range f.of {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			means[c*x.Cols+j] += float64(v) / float64(f.sizes[c])
		}
	}
	members, distance := make([][]int, len(f.sizes)), make([]float64, x.Rows)
	for i, c := range f.of {
		members[c] = append(members[c], i)
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			distance[i] += (float64(v) - means[c*x.Cols+j]) * (float64(v) - means[c*x.Cols+j])
		}
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
