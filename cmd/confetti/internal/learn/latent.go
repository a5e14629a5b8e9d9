// Package learn implements confetti learn: what a release teaches of records that are public. Used by cmd/confetti, for
// analysts.
package learn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/learn/fitted"
	"github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Command groups what learns from releases.
type Command struct {
	Latent fromLatent `cmd:"" help:"A classifier, or a line, from what records told that are private as a whole (LTN)."`
	Choose choose     `cmd:"" help:"The best of several models, by what respondents told who taught none of them."`
}

// Files that are written into a folder.
const (
	modelFile = "latent.model"
	pageFile  = "learned.html"
)

type fromLatent struct {
	Release string `arg:"" help:"The folder of a release of private records (confetti plan new latent, or collect simulate with --encoder or --clusters)." type:"path"`

	Public   string   `help:"Records that are public, without classes (.csv, .parquet, .npy): what was said of private ones is read by these." type:"path" placeholder:"TABLE"`
	Novel    string   `help:"A class, or a group, that no public record is of: tells it from all others." placeholder:"NAME"`
	Join     string   `help:"In the place of --public, of a release of numbered records: a table of other columns of the same records, with the numbers of records and with --label (.csv, .parquet). Learns the class from these columns and what was told of the record." type:"path" placeholder:"TABLE"`
	Key      string   `help:"With --join: the column of the numbers." default:"record" placeholder:"NAME"`
	Decoder  string   `help:"With --join, of vectors: a decoder of the encoder's codes (confetti-lab encoder --decoder). Its columns are joined in the place of codes." type:"path" placeholder:"FILE"`
	Features []string `help:"Columns that are features, by name or pattern (likes_*): of --public as clusters or encoder were made of; without, all." placeholder:"NAME,..."`
	Drop     []string `help:"Columns that are none, likewise." placeholder:"NAME,..."`
	State    string   `help:"Clusters or encoder that the plan names; without, the file state in the release's folder." type:"path" placeholder:"FILE"`
	Loss     string   `help:"Of vectors: prototypes, by how likely each report came of each public prototype; paper, LTN's own (equation 8), of noisy vectors." enum:"prototypes,paper" default:"prototypes"`
	Number   string   `help:"Classes are numbers: predict their mean, by a line, under this name." placeholder:"NAME"`

	Test    string `help:"Public records with classes, which are learned from in no way: prints how often the model is right, or how much it explains." type:"path" placeholder:"TABLE"`
	Label   string `help:"With --test or --join: the column of classes." placeholder:"NAME"`
	Records string `help:"Of vectors: also write records that reports may have come of (.csv or .parquet); the file's name begins with noisy-, or is made to." type:"path" placeholder:"FILE"`
	Judged  string `help:"Also write the model in the form that devices fetch, who then say privately whether it is right (confetti plan new latent --model FILE)." type:"path" placeholder:"FILE"`
	Out     string `help:"Folder for the model and its page." default:"learned" type:"path" placeholder:"DIR"`
	Seed    uint64 `help:"The same seed gives the same model." default:"1"`
	JSON    bool   `help:"Print one JSON object."`
}

func (fromLatent) Help() string {
	return `Learns what a real or a simulated collection brought back, and writes a model (latent.model, which confetti predict reads)
and a page. Each public record counts with how likely each class is for it. It reads the release and what is public, so
that nothing more is charged: what the release promised holds of all that is written.

With --join records are those of a party that has other columns of them. One in five is held back, and the model is tested on these with
what was told and without. Its own columns and classes are promised nothing.

Examples:
  confetti learn latent trial/release --public public.csv --features 'likes_*' --test test.csv --label class
  confetti learn latent trial/release --join ours.csv --label class
  confetti learn latent trial/release --public public.csv --novel new --test test.csv --label class`
}

func (c fromLatent) check() error {
	var faults terminal.Faults
	faults.Require((c.Public == "") != (c.Join == ""), "--public and --join: give one of them")
	if c.Join != "" {
		faults.Require(c.Label != "", "--join without --label: name the column of classes")
		faults.Require(c.Novel+c.Number+c.Test+c.Records+c.Judged == "" && c.Loss == "prototypes", "--join tests by records that it holds back, and learns classes alone: leave out --novel, --number, --test, --records, --judged and --loss")
	} else {
		faults.Require((c.Test == "") == (c.Label == ""), "--test and --label go together: give both, or none")
		faults.Require(c.Decoder == "", "--decoder is of columns that are joined: give --join, or leave it out")
	}
	faults.Require(c.Number == "" || c.Judged == "", "--judged is of classes: leave out --number")
	faults.Require(c.Novel == "" || c.Number+c.Records == "" && c.Loss == "prototypes", "--novel tells one class from all others: leave out --number, --records and --loss")
	ext := filepath.Ext(c.Records)
	faults.Require(c.Records == "" || ext == ".csv" || ext == ".parquet", "--records %s: name a file that ends in .csv or .parquet", c.Records)
	faults = append(faults, terminal.Writable(c.Out))
	return errors.Join(faults...)
}

func (c fromLatent) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	r, err := open(c.Release, c.State)
	if err != nil {
		return err
	}
	l, err := c.learned(r, std)
	if err != nil {
		return err
	}
	l.model.Title = r.Title
	files, err := c.files(l, r.Release, std.Version)
	if err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error {
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return err
		}
		for _, f := range files {
			if err := atomicfile.Replace(f.name, f.text, 0o644); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return c.say(std, l, files)
}

// lesson carries what was learned to the files and lines that tell of it.
type lesson struct {
	model   *model.Model
	taught  results.Taught
	alone   *model.Tested   // of --join: what the party's own columns reach
	decoder *latent.Decoder // of --join: the way from codes to columns, where one was given
}

// learned learns as asked.
func (c fromLatent) learned(r opened, std terminal.Streams) (l lesson, err error) {
	report, finish := terminal.Progress(std.Err)
	defer finish()
	if c.Join != "" {
		return c.joined(r, report)
	}
	public, err := table.ReadRecords(c.Public, table.Choice{Features: c.Features, Drop: c.Drop})
	if err != nil {
		return l, err
	}
	l.taught, err = results.Teach(r.plan, r.state, r.sheet, public.X, c.Loss == "paper", c.Novel, seeded.New(c.Seed), report)
	if err == nil && c.Records != "" && len(l.taught.Told) == 0 {
		err = terminal.Usagef("--records: the release counts symbols, and has no report of one respondent: leave it out")
	}
	if err == nil {
		l.model, err = fitted.Asked{Classes: l.taught.Classes, Shares: l.taught.Shares, Number: c.Number, Seed: c.Seed}.Model(public, report)
	}
	if err != nil {
		return l, fmt.Errorf("%s: %w", c.Release, err)
	}
	if l.model.Promise = r.promise; c.Test == "" {
		return l, nil
	}
	rows, err := table.ReadRecords(c.Test, table.Choice{Label: c.Label, Features: c.Features, Drop: c.Drop})
	if err == nil && c.Novel != "" {
		err = fitted.TestNovel(l.model, c.Test, rows)
	} else if err == nil {
		err = fitted.Test(l.model, c.Test, rows)
	}
	return l, err
}

// joined learns from columns of the party's own beside what was told of the same records.
func (c fromLatent) joined(r opened, report func(stage string, done, total int)) (l lesson, err error) {
	if l.decoder, err = latent.ReadDecoder(c.Decoder); err != nil {
		return l, err
	}
	told, err := results.ReadRows(r.plan, r.state, r.sheet, l.decoder)
	if err != nil {
		return l, fmt.Errorf("%s: %w", c.Release, err)
	}
	column, err := table.ReadRecords(c.Join, table.Choice{Features: []string{c.Key}})
	if err != nil {
		return l, err
	}
	numbers, err := column.Numbers(plan.MaxRecords)
	if err != nil {
		return l, fmt.Errorf("%s: column %s: %w", c.Join, c.Key, err)
	}
	own, err := table.ReadRecords(c.Join, table.Choice{Label: c.Label, Features: c.Features, Drop: append(slices.Clone(c.Drop), c.Key)})
	if err != nil {
		return l, err
	}
	once, _ := told.Once()
	at := make([]int, len(numbers))
	for i, number := range numbers {
		if row, ok := once[number]; ok {
			at[i] = row
		} else {
			at[i] = -1
		}
	}
	l.model, l.alone, err = fitted.Joined{Own: own, Told: told.X, Names: told.Names, At: at}.Model(c.Seed, report)
	if err != nil {
		return l, fmt.Errorf("%s: %w", c.Join, err)
	}
	l.model.Promise = r.promise
	l.model.Promise.Method += "; of what was told alone: the other columns and the classes are promised nothing"
	if l.decoder != nil {
		l.model.Promise.Method += "; the decoder's records: " + l.decoder.Promise()
	}
	return l, nil
}

// opened holds a release of private records, with its plan, the public state, the sheet beside it and the promise to go by.
type opened struct {
	release.Release
	plan         plan.Plan
	state, sheet []byte
	promise      model.Promise
}

// open reads the release in a folder. It refuses one that promises nothing though everyone colludes.
func open(folder, state string) (o opened, err error) {
	if o.Release, err = releases.Open(folder); err != nil {
		return o, err
	}
	if o.plan, o.state, o.sheet, err = releases.Private(folder, state); err != nil {
		return o, err
	}
	o.promise, err = promised(o.Release)
	return o, err
}

// promised returns what a device was promised though everyone colludes: the promise to go by, which needs nobody's honesty.
func promised(r release.Release) (model.Promise, error) {
	respondents := 0
	for _, m := range r.Headline {
		if m.Name == "respondents" {
			respondents = int(m.Value)
		}
	}
	for _, s := range r.Guarantees {
		if g := s.Guarantee; g.Trust == account.Local {
			return model.Promise{Epsilon: g.Epsilon, Delta: g.Delta, Adjacency: string(g.Adjacency), Trust: string(g.Trust), Method: g.Method, Rounds: 1, Respondents: respondents}, nil
		}
	}
	return model.Promise{}, errors.New("the release promises nothing though everyone colludes: a model without a promise is not written")
}
