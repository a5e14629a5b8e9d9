package train

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/labels"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// taught learns from a release of labels.
type taught struct {
	Release string `arg:"" help:"The folder of a release of labels, or of private records with their classes, as confetti release fetch writes it." type:"path"`
	public
	Out   string `help:"The file of the model." type:"path" default:"labels.model"`
	State string `help:"Of images: also write the model as a state that plans name and devices fetch, which then say privately which class it gives them (confetti plan new latent --clusters FILE), or whether it is right (--model FILE)." type:"path" placeholder:"FILE"`
	JSON  bool   `help:"End with one JSON object."`
}

func (taught) Help() string {
	return "A network learns the features of public inputs with what the release says of their labels: of each cluster, or, where\nlabels were told one by one, of the record of each number. It costs nothing more. Features are those that the clusters\nwere made of; labels told one by one go with inputs in the order of their numbers.\n\nExample:\n  confetti-lab clusters learn trial/release people.csv --drop class --out drinks.model"
}

func (c taught) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	t, err := told(c.Release)
	if err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	m, n, err := c.learn(t, report)
	finish()
	if err != nil {
		return err
	}
	text, err := m.Marshal()
	if err != nil {
		return err
	}
	state, err := c.asState(m)
	if err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error {
		if state == nil {
			return atomicfile.Replace(c.Out, text, 0o644)
		}
		return errors.Join(atomicfile.Replace(c.Out, text, 0o644), atomicfile.Replace(c.State, state, 0o644))
	}); err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			File    string   `json:"file"`
			Inputs  int      `json:"inputs"`
			Classes []string `json:"classes"`
			Bytes   int      `json:"bytes"`
		}{c.Out, n, m.Classes, len(text)})
	}
	_, err = fmt.Fprintf(std.Out, "%s: a network that tells %d labels apart, learned from %d public inputs (%d bytes)\nNow type: confetti predict %s FILE\n", c.Out, len(m.Classes), n, len(text), c.Out)
	return err
}

// asState returns a model of images as devices fetch it; nothing where none is asked for.
func (c taught) asState(m *model.Model) ([]byte, error) {
	f := m.Features
	switch {
	case c.State == "":
		return nil, nil
	case f.Image == nil || f.Scatter != nil || len(f.Maps) > 0:
		return nil, terminal.Usagef("--state: devices find classes of images by their oriented gradients, and this model takes other features: leave it out")
	}
	e := &cluster.Encoder{Width: f.Image.Width, Height: f.Image.Height, Net: m.Net, Sizes: make([]int, len(m.Classes))}
	return e.Marshal()
}

// labelled is a release of labels.
type labelled struct {
	*labelSheet
	release release.Release
	trust   account.Trust // that the plan's promise rests on
	state   []byte        // of clusters
}

// told reads a release of labels.
func told(dir string) (t labelled, err error) {
	p, err := t.open(dir)
	if err != nil {
		return t, err
	}
	t.trust = protocol.Trust(p)
	f, err := os.Open(filepath.Join(dir, sheets.CountsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("%s: no release of labels that were counted in clusters, or told one by one: it has no %s", dir, sheets.CountsFile)
	}
	if err != nil {
		return t, err
	}
	defer f.Close()
	if t.labelSheet, err = readLabels(p, f); err != nil {
		return t, fmt.Errorf("%s: %w", dir, err)
	}
	if t.Likely == nil {
		return t, nil
	}
	if t.state, err = atomicfile.Read(filepath.Join(dir, verify.StateFile)); err == nil && plan.StateName(t.state) != p.State {
		err = fmt.Errorf("%s: not the clusters that the plan names", verify.StateFile)
	}
	return t, err
}

// open reads a release and its plan, which its words follow from.
func (t *labelled) open(dir string) (p plan.Plan, err error) {
	written, err := atomicfile.Read(filepath.Join(dir, verify.PlanFile))
	if err != nil {
		return p, err
	}
	if p, err = author.Parse(written); err == nil {
		err = protocol.Validate(p)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", filepath.Join(dir, verify.PlanFile), err)
	}
	text, err := atomicfile.Read(filepath.Join(dir, release.JSONFile))
	if err != nil {
		return p, err
	}
	if t.release, err = release.Read(bytes.NewReader(text)); err != nil {
		return p, fmt.Errorf("%s: %w", filepath.Join(dir, release.JSONFile), err)
	}
	words, err := statement.New(plan.Signed{Plan: p}, nil)
	if err != nil {
		return p, err
	}
	return p, words.Write(&t.release)
}

// learn makes the model, and says of how many inputs.
func (c taught) learn(t labelled, report featuremap.Progress) (*model.Model, int, error) {
	in, err := c.read(report)
	if err != nil {
		return nil, 0, err
	}
	m := &model.Model{Title: t.release.Title, Classes: t.Classes}
	if m.Promise, err = t.promise(); err != nil {
		return nil, 0, err
	}
	x := in.taken(&m.Features)
	scale := training.NewScale(x)
	way := t.inClusters
	if t.Likely == nil {
		way = t.oneByOne
	}
	if m.Net, err = way(seeded.New(c.Seed), in.x, scale.Examples(x), report); err != nil {
		return nil, 0, err
	}
	if err := scale.Into(m.Net); err != nil {
		return nil, 0, err
	}
	return m, x.Rows, m.Check()
}

// taken returns the features that a model takes, which it is told: those of a map or of images as
// they are, and columns less their mean and over their deviation.
func (in featured) taken(f *inputs.Map) blas32.General {
	if in.by != nil {
		*f = *in.by
		return in.x
	}
	names := in.columns
	for i := len(names); i < in.x.Cols; i++ { // of a data set
		names = append(names, fmt.Sprint(i+1))
	}
	*f = *training.Standard(names, in.x)
	x := dataset.Copied(in.x)
	f.Standardize(x)
	return x
}

// promise returns that against the analyzer: it sees counts of clusters, behind whoever is honest, and
// labels told one by one with whose they are; of private records the one to go by, though everyone colludes.
func (t labelled) promise() (model.Promise, error) {
	trust := t.trust
	if t.Likely == nil || t.Local {
		trust = account.Local
	}
	for _, s := range t.release.Guarantees {
		if g := s.Guarantee; g.Trust == trust {
			return model.Promise{Epsilon: g.Epsilon, Delta: g.Delta, Adjacency: string(g.Adjacency), Trust: string(g.Trust), Method: g.Method, Rounds: 1, Respondents: t.respondents()}, nil
		}
	}
	return model.Promise{}, fmt.Errorf("the release promises nothing that rests on %q: a model without a promise is not written", trust)
}

// respondents are as many as were counted.
func (t labelled) respondents() int {
	for _, m := range t.release.Headline {
		if m.Name == "respondents" {
			return int(m.Value)
		}
	}
	return 0
}

// inClusters learns from the counts of each cluster.
func (t labelled) inClusters(r *rand.Rand, given, examples blas32.General, report featuremap.Progress) (*nn.Model, error) {
	found, err := cluster.Read(t.state)
	if err != nil {
		return nil, err
	}
	if found.Len() != len(t.Likely) {
		return nil, fmt.Errorf("%d clusters, and the release has %d", found.Len(), len(t.Likely))
	}
	if found.Features() != given.Cols {
		return nil, fmt.Errorf("inputs of %d features, and clusters of %d: give the features that these were made of (--map, --columns, --drop)", given.Cols, found.Features())
	}
	return labels.Usual.InClusters(r, examples, found.All(given), t.Likely, len(t.Classes), report)
}

// oneByOne learns from the reported label of each record.
func (t labelled) oneByOne(r *rand.Rand, _, examples blas32.General, report featuremap.Progress) (*nn.Model, error) {
	if examples.Rows != t.Records {
		return nil, fmt.Errorf("%d inputs, and the plan has %d records: give all, in the order of their numbers", examples.Rows, t.Records)
	}
	return labels.Usual.OneByOne(r, dataset.Rows(examples, t.Of), t.Said, t.Epsilon, len(t.Classes), report)
}
