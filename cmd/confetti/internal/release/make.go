package release

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/curator"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// makeLedger is where the ledger of tables lies.
type makeLedger struct {
	Ledger string `help:"Folder of the ledger; without it one of yours, apart from tables and releases." type:"path" placeholder:"DIR"`
}

func (c makeLedger) open() (*curator.Ledger, error) {
	folder := c.Ledger
	if folder == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return nil, fmt.Errorf("no place for a ledger of yours: %w: name one with --ledger", err)
		}
		folder = filepath.Join(base, "confetti", "tables")
	}
	return curator.OpenLedger(folder)
}

// holding says of every release of a table whose rows are counted, and where it goes.
type holding struct {
	People     string  `help:"Whose rows these are, by a name of yours: their budget goes by it, whatever the file is called." required:"" placeholder:"NAME"`
	AsOf       string  `help:"The version of the table, by a name of yours. The same question of the same version is answered by the release that was kept." required:"" placeholder:"NAME"`
	Holder     string  `help:"Who holds the table, for the page." default:"the holder of the table" placeholder:"NAME"`
	CapEpsilon float64 `help:"Of all releases of these people together, fixed with the first; 3 without it." placeholder:"E"`
	CapDelta   float64 `help:"The same; 1e-5 without it." placeholder:"D"`
	makeLedger
	Out  string `help:"Folder for the release." required:"" type:"path" placeholder:"DIR"`
	JSON bool   `help:"Print its numbers as JSON."`
}

// publish charges a release of a table with this text, has it drawn into the folder where it is kept, and shows it; or
// shows what was kept of the same question. Same refuses what was kept where the question has more than its plan says.
func (c holding) publish(std terminal.Streams, proto *protocol.Protocol, text []byte, same func(folder string) error, draw func(curator.Charged) error) error {
	ledger, err := c.open()
	if err != nil {
		return err
	}
	defer ledger.Close()
	charged, err := ledger.Charge(proto, sha256.Sum256(text), curator.Cap{Epsilon: c.CapEpsilon, Delta: c.CapDelta}, time.Now())
	if err != nil {
		return err
	}
	if charged.Again {
		if same != nil {
			if err := same(charged.Folder); err != nil {
				return err
			}
		}
		fmt.Fprintln(std.Err, "note: this was asked before, and is shown as it was kept; nothing is charged")
		if charged.Changed {
			fmt.Fprintln(std.Err, "note: the table is not the one that was counted then: give its version another name with --as-of, which is charged")
		}
	} else if err := draw(charged); err != nil {
		return err
	} else if err := ledger.Keep(charged); err != nil {
		return err
	}
	if err := show(std, charged.Folder, c.Out); err != nil {
		return err
	}
	return releaseShow{File: c.Out, JSON: c.JSON}.Run(std)
}

// keep writes a release that was drawn where it is kept.
func keep(std terminal.Streams, folder string, r release.Release, sheet results.Sheet, p plan.Plan) error {
	r.Created = time.Now()
	r.Provenance = release.Provenance{Software: std.Version, Randomness: "fresh randomness"}
	return releases.Save(std, folder, r, p, sheet)
}

type releaseMake struct {
	Table  string   `arg:"" help:"A table: a line of column names, then one line a person." type:"path"`
	Column []string `help:"Column to count; several share the budget, or are counted together with --joint." required:"" sep:"none" placeholder:"NAME"`
	Kind   []string `help:"Of every column, or one for each: categories; buckets, of numbers; mean, of numbers; set, items set apart by semicolons; grid, of two columns each; open, values that nobody listed and many rows hold." default:"categories" enum:"categories,buckets,mean,set,grid,open" sep:"none" placeholder:"KIND"`
	Values []string `help:"The values that are counted, set apart by commas: for every column of names, or one for each. All others count as one." sep:"none" placeholder:"A,B,C"`
	Domain []string `help:"The same from a file, one a line." type:"path" sep:"none" placeholder:"FILE"`
	Bucket []string `name:"buckets" help:"Equal buckets of numbers: for every column, or one for each (a grid has two)." sep:"none" placeholder:"LOW,HIGH,N"`
	Bounds []string `help:"The lowest and the highest number of a mean, others being taken to the nearer: for every column of means, or one for each." sep:"none" placeholder:"LOW,HIGH"`
	Most   int      `help:"Items of a set that count at most." placeholder:"N"`
	Joint  bool     `help:"Count two columns of names together: how many hold each pair."`
	Person string   `help:"Column that names the person of a row: the first row of each counts. Without it a person has one row." placeholder:"NAME"`

	Adjacency string  `help:"Neighbours differ in a row that is replaced, and the number of rows is published; or in one that is there or not (removal), and it is private. All releases of the same people have the same." enum:"replacement,removal" default:"replacement" placeholder:"NAME"`
	Epsilon   float64 `help:"Of this release." required:"" placeholder:"E"`
	Delta     float64 `help:"Of this release." default:"1e-7" placeholder:"D"`
	Law       string  `help:"Of the noise: laplace or gaussian; without it the one that errs less." enum:",laplace,gaussian" default:"" placeholder:"LAW"`
	holding
}

func (releaseMake) Help() string {
	return `Publishes counts of a table that you hold, with noise: discrete Laplace or discrete
Gaussian, by the exact accountant, so that whoever reads the release learns little
of any one row. Neighbours differ in one row that is replaced, and how many rows
there are is published; with --adjacency removal a row is there or not, and it is
private. You see all rows, and nothing here protects them from you.

Of buckets the page has quantiles; --kind mean errs less of a mean. The values that
are counted, the bounds and the buckets must not be taken from the table. What
nobody could list is --kind open: values appear that many rows hold.

A ledger of yours charges each release to its people, before anything is drawn, and
refuses what is beyond their cap. What was asked before is shown again as it was
kept. The ledger stops mistakes, and not its owner.

Example:
  confetti release make people.csv --column drink --values tea,coffee,mate --people guests --as-of 2026-11 --epsilon 1 --out page`
}

func (c releaseMake) Run(std terminal.Streams) error {
	ask, columns, err := c.ask()
	if err != nil {
		return err
	}
	p, err := ask.Plan()
	if err != nil {
		return err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return err
	}
	rows, err := curator.Read(c.Table, p.Question.Histogram.Attributes, columns, c.Person, ask.RowsHidden)
	if err != nil {
		return err
	}
	text, err := atomicfile.Read(c.Table)
	if err != nil {
		return err
	}
	return c.publish(std, proto, text, nil, func(charged curator.Charged) error {
		r, model, err := curator.Release(proto, rows, charged.Ledger, rng.New())
		if err != nil {
			return err
		}
		sheet, err := results.Beside(model, results.Public{})
		if err != nil {
			return err
		}
		return keep(std, charged.Folder, r, sheet, proto.Plan)
	})
}

// mostOpen bounds delta where values come from the rows.
const mostOpen = 1e-6

// ask returns what is counted, with the columns of each attribute.
func (c releaseMake) ask() (curator.Ask, [][]string, error) {
	var faults terminal.Faults
	faults.Require(c.Epsilon > 0 && c.Epsilon <= account.Meaningless, "--epsilon is %v: give a number above 0, up to %v", c.Epsilon, account.Meaningless)
	faults.Require(c.Delta > 0 && c.Delta < 1e-3, "--delta is %v: give a number above 0, far below one in the number of rows", c.Delta)
	faults.Require(!slices.Contains(c.Kind, "open") || c.Delta <= mostOpen, "--delta is %v: give at most %v with --kind open, since each value that one row holds alone is published with that probability", c.Delta, mostOpen)
	faults.Require(!slices.Contains(c.Column[:len(c.Column)-1], c.Column[len(c.Column)-1]), "--column %s is given twice", c.Column[len(c.Column)-1])
	faults.Require(len(c.Values) == 0 || len(c.Domain) == 0, "--values and --domain say the same: give one of them")
	faults.Require(!c.Joint || len(c.Column) == 2, "--joint counts two columns of names together: give two with --column")
	faults = append(faults, terminal.Writable(c.Out))
	if err := errors.Join(faults...); err != nil {
		return curator.Ask{}, nil, err
	}
	attributes, err := flags.Histogram{Kind: c.Kind, Domain: c.Domain, Buckets: c.Bucket, Most: c.Most, Others: true}.Attributes(c.Column)
	if err != nil {
		return curator.Ask{}, nil, err
	}
	var columns [][]string
	left, named, means, opens := c.Column, 0, 0, 0
	for i := range attributes {
		a, width := &attributes[i], 1
		switch a.Kind {
		case "grid":
			width = 2
		case "mean":
			a.Others = false
			faults.Require(len(c.Bounds) == 1 || means < len(c.Bounds), "column %s: name the lowest and the highest number of a mean with --bounds, from elsewhere than the table: a bound that is there because one person holds it tells of that person", a.Name)
			if len(c.Bounds) > 0 {
				var err error
				a.Low, a.High, err = flags.Bounds(c.Bounds[min(means, len(c.Bounds)-1)])
				faults = append(faults, err)
			}
			means++
		case "open":
			a.Others, opens = false, opens+1
		case "categories", "set":
			if len(c.Values) > 0 {
				a.Values = distinct(c.Values[min(named, len(c.Values)-1)])
			}
			named++
			faults.Require(len(a.Values) > 0, "column %s: name the values that are counted, with --values or --domain, from elsewhere than the table: a value that is there because one person holds it tells of that person", a.Name)
			faults.Require(a.Kind != "set" || a.Most > 0, "column %s: say with --most how many items of a set count at most", a.Name)
		}
		columns, left = append(columns, left[:width]), left[width:]
	}
	faults.Require(len(c.Bounds) <= means, "--bounds is given %d times, and columns of means are %d", len(c.Bounds), means)
	faults.Require(means+opens == 0 || c.Law != plan.LawGaussian, "--law gaussian is of counts alone: a mean, and values that nobody listed, have discrete Laplace noise; leave it out")
	faults.Require(len(c.Values) <= named, "--values is given %d times, and columns of names are %d", len(c.Values), named)
	if c.Joint {
		faults.Require(len(attributes) == 2 && attributes[0].Kind == "categories" && attributes[1].Kind == "categories", "--joint counts two columns of names together, and none of numbers or sets")
	}
	if err := errors.Join(faults...); err != nil {
		return curator.Ask{}, nil, err
	}
	if c.Joint {
		attributes, columns = []plan.Attribute{curator.Joint(attributes[0], attributes[1])}, [][]string{c.Column}
	}
	return curator.Ask{Holder: c.Holder, People: c.People, AsOf: c.AsOf, RowsHidden: c.Adjacency == string(account.Removal), Attributes: attributes, Law: c.Law, Epsilon: c.Epsilon, Delta: c.Delta}, columns, nil
}

// distinct returns the values of a list, set apart by commas.
func distinct(list string) (values []string) {
	for v := range strings.SplitSeq(list, ",") {
		if v = strings.TrimSpace(v); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// show copies a release as it was kept, its numbers last.
func show(std terminal.Streams, kept, out string) error {
	files, err := os.ReadDir(kept)
	if err != nil {
		return fmt.Errorf("the release that the ledger has is not where it was kept: %w: put it back from a backup, or ask as of another version, which is charged", err)
	}
	slices.SortFunc(files, func(a, b fs.DirEntry) int {
		return cmp.Compare(strings.Count(a.Name(), release.JSONFile), strings.Count(b.Name(), release.JSONFile))
	})
	return terminal.Uninterrupted(func() error {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		for _, f := range files {
			text, err := atomicfile.Read(filepath.Join(kept, f.Name()))
			if err == nil {
				err = atomicfile.Replace(filepath.Join(out, f.Name()), text, 0o644)
			}
			if err != nil {
				return err
			}
		}
		fmt.Fprintf(std.Err, "page: %s\n", filepath.Join(out, release.PageFile))
		return nil
	})
}

// releaseLedger shows the ledger of tables.
type releaseLedger struct {
	makeLedger
	JSON bool `help:"Print JSON."`
}

func (releaseLedger) Help() string {
	return "Shows what your releases of tables have spent, by their people.\n\nExample:\n  confetti release ledger"
}

func (c releaseLedger) Run(std terminal.Streams) error {
	ledger, err := c.open()
	if err != nil {
		return err
	}
	defer ledger.Close()
	type one struct {
		AsOf    string    `json:"as_of"`
		Title   string    `json:"title"`
		Epsilon float64   `json:"epsilon"`
		Delta   float64   `json:"delta"`
		At      time.Time `json:"at"`
		Kept    bool      `json:"kept"`
	}
	type people struct {
		Name  string         `json:"people"`
		Cap   curator.Cap    `json:"cap"`
		Taken account.Shares `json:"taken"`
		Have  []one          `json:"releases"`
	}
	all := []people{}
	err = ledger.Each(func(name string, limit curator.Cap, taken account.Shares, entries []curator.Entry) error {
		p := people{Name: name, Cap: limit, Taken: taken, Have: []one{}}
		for _, e := range entries {
			p.Have = append(p.Have, one{e.AsOf, e.Title, e.Spent.Epsilon, e.Spent.Delta, e.At, e.Kept})
		}
		all = append(all, p)
		return nil
	})
	switch {
	case err != nil:
		return err
	case c.JSON:
		return terminal.WriteJSON(std.Out, all)
	case len(all) == 0:
		_, err := fmt.Fprintln(std.Out, "no release of a table yet")
		return err
	}
	var b bytes.Buffer
	for _, p := range all {
		fmt.Fprintf(&b, "%s: at most epsilon %s at delta %s in all (%s); %s of it is spent\n", sanitize.Text(p.Name), account.AtMost(p.Cap.Epsilon, 4), account.AtMost(p.Cap.Delta, 3), cmp.Or(p.Cap.Neighbours, account.Replacement), account.Percent(min(1, min(p.Taken.Box(), p.Taken.Sums()))))
		for _, e := range p.Have {
			shown := ""
			if !e.Kept {
				shown = ", charged and never shown"
			}
			fmt.Fprintf(&b, "  %s  as of %s  %s  epsilon %s%s\n", e.At.Format(time.DateOnly), sanitize.Text(e.AsOf), sanitize.Text(e.Title), account.AtMost(e.Epsilon, 4), shown)
		}
	}
	_, err = std.Out.Write(b.Bytes())
	return err
}
