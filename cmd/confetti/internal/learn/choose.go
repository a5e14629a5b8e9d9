package learn

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/learn/fitted"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/table"
)

type choose struct {
	Models []string `arg:"" help:"Models of the same classes (confetti learn latent), of releases and settings that are to be compared." type:"path"`

	Validate string   `help:"The folder of a release of private records with classes, whose respondents taught none of the models." required:"" type:"path" placeholder:"RELEASE"`
	Public   string   `help:"Records that are public, without classes (.csv, .parquet, .npy)." required:"" type:"path" placeholder:"TABLE"`
	Features []string `help:"Columns that are features, by name or pattern, as the clusters or the encoder of the release were made of; without, all." placeholder:"NAME,..."`
	Drop     []string `help:"Columns that are none, likewise." placeholder:"NAME,..."`
	State    string   `help:"Clusters or encoder that the plan names; without, the file state in the release's folder." type:"path" placeholder:"FILE"`
	JSON     bool     `help:"Print one JSON object."`
}

func (choose) Help() string {
	return `Judges models by what other respondents told, and names the best. The more a score is the better; 1 is of a model
that gives everybody its class where clusters tell it. Its error is of the noise in what was told. However many models are judged, respondents told one thing once:
nothing more is charged. A choice among models follows from that release, so that its promise holds of the choice.

Example:
  confetti learn choose first/latent.model second/latent.model --validate held --public public.csv --features 'likes_*'`
}

// rank holds a model's file and how it was judged.
type rank struct {
	Model     string  `json:"model"`
	Score     float64 `json:"score"`
	StdErr    float64 `json:"std_err"`
	Behind    float64 `json:"behind"`
	BehindErr float64 `json:"behind_err"`
}

func (c choose) Run(std terminal.Streams) error {
	if len(c.Models) < 2 {
		return terminal.Usagef("one model: give at least two to choose from")
	}
	r, err := open(c.Validate, c.State)
	if err != nil {
		return err
	}
	public, err := table.ReadRecords(c.Public, table.Choice{Features: c.Features, Drop: c.Drop})
	if err != nil {
		return err
	}
	said := make([][]string, len(c.Models))
	for i, path := range c.Models {
		if said[i], err = classes(path, public); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	judged, err := results.Judge(r.plan, r.state, r.sheet, public.X, said)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Validate, err)
	}
	ranks := make([]rank, len(judged))
	for i, j := range judged {
		ranks[i] = rank{c.Models[i], j.Score, j.StdErr, j.Behind, j.BehindErr}
	}
	slices.SortStableFunc(ranks, func(a, b rank) int { return cmp.Compare(b.Score, a.Score) })
	return c.say(std, ranks, r.promise)
}

// classes returns those that a model gives public records.
func classes(path string, public *table.Records) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := model.Read(f)
	if err != nil {
		return nil, err
	}
	if m.Number != nil || m.Features.Texts() {
		return nil, errors.New("tells no classes of numbers apart: give models of confetti learn latent without --number")
	}
	given, err := fitted.Predict(m, public)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(given))
	for i, p := range given {
		out[i] = p.Class
	}
	return out, nil
}

// say prints models, the best first.
func (c choose) say(std terminal.Streams, ranks []rank, promise model.Promise) error {
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Best    string        `json:"best"`
			Models  []rank        `json:"models"`
			Promise model.Promise `json:"promise"`
		}{ranks[0].Model, ranks, promise})
	}
	for _, r := range ranks {
		behind := "the best"
		if r.Behind > 0 {
			behind = fmt.Sprintf("behind by %.4f ± %.4f", r.Behind, r.BehindErr)
			if r.Behind < 2*r.BehindErr {
				behind += ", which is no more than chance"
			}
		}
		fmt.Fprintf(std.Out, "%-20s %.4f ± %.4f  %s\n", r.Model, r.Score, r.StdErr, behind)
	}
	g := account.Guarantee{Epsilon: promise.Epsilon, Delta: promise.Delta, Adjacency: account.Adjacency(promise.Adjacency)}
	_, err := fmt.Fprintf(std.Out, "everyone colludes    %s, of the %s respondents who judged; nothing more is charged for %d models\nNow type: confetti predict %s FILE\n", g.Verdict(), terminal.Thousands(promise.Respondents), len(ranks), ranks[0].Model)
	return err
}
