package flags

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// Histogram describe a histogram question, beside its columns.
type Histogram struct {
	Kind      []string `help:"Of every column, or one for each: categories; buckets, of numbers; set, items set apart by semicolons; grid, of two columns each. Of a simulation also strings, which nobody listed." default:"categories" sep:"none" placeholder:"KIND"`
	Domain    []string `help:"File with the values that are asked about, one a line: for every column that has some, or one for each." type:"path" sep:"none" placeholder:"FILE"`
	Buckets   []string `help:"Equal buckets of numbers: for every column of buckets or grids, or one for each (a grid has two)." sep:"none" placeholder:"LOW,HIGH,N"`
	Most      int      `help:"Items that a set holds at most." placeholder:"N"`
	Others    bool     `help:"Ask with one more cell, for all that is not declared."`
	Encoding  string   `help:"one-hot, one-hot-asymmetric, krr, subset, local-hash, hadamard, or one-hot in the rows of a sketch: count-mean, count; or of a sum, none: cells as they are. Without flag, of one-hot, one-hot-asymmetric and krr what errs least at this epsilon." default:""`
	Fragments int      `help:"Report fragments, each behind the device's backstop (one-hot)." default:"1" placeholder:"TAU"`
	Hashes    int      `help:"Of the sketches count-mean and count." default:"64"`
	Width     int      `help:"Of the sketches count-mean and count." default:"1024"`
	Functions *int     `help:"Public hash functions of local-hash; without flag as many as it takes to err as if every device had its own, to a tenth." placeholder:"N"`
	Adjacency string   `help:"Neighbours differ by a replaced respondent, or by a removed one, which one-hot alone has; without flag replacement, and removal with --encoding one-hot, count-mean or count, or for sets and fragments." placeholder:"NAME"`
	Sample    bool     `help:"Of several columns each respondent answers one, drawn at random." xor:"collect"`
	Split     bool     `help:"Of several columns each respondent answers all. With neither flag, what errs less."  xor:"collect"`

	CrowdEpsilon float64 `help:"Keep the sizes of crowds private, by randomized deletion." placeholder:"E"`
}

// encoding is what --encoding names: a randomizer, in the rows of a sketch if it has one.
type encoding struct{ randomizer, sketch string }

// sketches are what a plan may name.
var sketches = []string{"count-mean", "count"}

// encodings are what --encoding may be.
var encodings = slices.Concat(plan.Randomizers, sketches, []string{plan.RandomizerNone})

// encoding returns what is asked for. Without --encoding its randomizer is left open, unless
// one alone can do: it is "" then.
func (f Histogram) encoding() encoding {
	switch {
	case slices.Contains(sketches, f.Encoding):
		return encoding{"one-hot", f.Encoding}
	case f.Encoding == "" && f.Fragments > 1:
		return encoding{randomizer: "one-hot"}
	}
	return encoding{randomizer: f.Encoding}
}

// Check is of the flags by themselves, before anything is read.
func (f Histogram) Check() error {
	var errs terminal.Faults
	for _, kind := range f.Kind {
		if err := plan.Ended(kind); err != nil {
			errs = append(errs, terminal.Usagef("--kind %s: %v", kind, err))
			continue
		}
		errs.Require(slices.Contains(plan.AttributeKinds, kind), "--kind is %q: give one of %s", kind, strings.Join(plan.AttributeKinds, ", "))
	}
	for _, text := range f.Buckets {
		_, err := parseBuckets(text)
		errs = append(errs, err)
	}
	set := slices.Contains(f.Kind, "set")
	errs.Require(f.Most >= 0 && f.Most <= plan.MaxItems, "--most is %d: give 1 to %d items", f.Most, plan.MaxItems)
	errs.Require(set || f.Most == 0, "--most is of sets: leave it out, or set --kind set")
	e, known := f.encoding(), true
	if f.Encoding != "" {
		err := Word("encoding", f.Encoding, encodings)
		errs, known = append(errs, err), err == nil
	}
	oneHot := !known || e.randomizer == "" || e.randomizer == plan.RandomizerNone || plan.Randomizer{Name: e.randomizer}.OneHot()
	errs.Require(f.Fragments >= 1 && f.Fragments <= plan.MaxFragments, "--fragments is %d: give 1 to %d", f.Fragments, plan.MaxFragments)
	errs.Require(!known || f.Fragments <= 1 || plan.Randomizer{Name: e.randomizer}.Alike(), "--fragments are made of one-hot reports: leave it out, or set --encoding one-hot, count-mean or count")
	errs.Require(f.Hashes >= 1 && f.Hashes <= plan.MaxCells, "--hashes is %d: give 1 to %d", f.Hashes, plan.MaxCells)
	errs.Require(f.Width >= 2 && f.Width <= plan.MaxCells, "--width is %d: give 2 to %d", f.Width, plan.MaxCells)
	if n := f.Functions; n != nil {
		errs.Require(*n >= 1 && *n <= plan.MaxCells, "--functions is %d: give 1 to %d", *n, plan.MaxCells)
	}
	errs.Require(f.Adjacency == "" || f.Adjacency == string(account.Removal) || f.Adjacency == string(account.Replacement), "--adjacency is %q: give %s or %s", f.Adjacency, account.Removal, account.Replacement)
	errs.Require(oneHot || f.Adjacency != string(account.Removal), "--encoding %s is accounted for replacement: leave out --adjacency", f.Encoding)
	errs.Require(oneHot && e.sketch == "" || !set, "--encoding %s answers with one cell, and a set has several: set --encoding one-hot", f.Encoding)
	errs.Require(e.sketch == "" || !f.Sample, "--encoding %s draws a row of the sketch for each respondent already: leave out --sample", f.Encoding)
	errs.Require(!(f.CrowdEpsilon != 0) || f.CrowdEpsilon >= 1e-6 && f.CrowdEpsilon <= 100, "--crowd-epsilon is %v: give a number above 0 (from 1e-6 to 100)", f.CrowdEpsilon)
	return errors.Join(errs...)
}

// CheckAccounting refuses an accounting that the encoding does not have.
func (f Histogram) CheckAccounting(accounting string) error {
	if e := f.encoding(); accounting == "paper" && !(plan.Randomizer{Name: e.randomizer}).Alike() && e.randomizer != "" {
		return terminal.Usagef("--accounting paper: the paper has none for --encoding %s", f.Encoding)
	}
	return nil
}

// Question returns the question, but for its crowds, noise and seeds.
func (f Histogram) Question(attributes []plan.Attribute, accounting string) plan.Histogram {
	e := f.encoding()
	if e.randomizer == "" && accounting == string(calibrate.Paper) {
		e = encoding{randomizer: "one-hot"}
	}
	h := plan.Histogram{Attributes: attributes, Randomizer: plan.Randomizer{Name: e.randomizer, Accounting: accounting}}
	if f.Fragments > 1 {
		h.Randomizer.Fragments = f.Fragments
	}
	if h.Randomizer.Seeded() && f.Functions != nil {
		h.Randomizer.Functions = *f.Functions
	}
	if e.sketch != "" {
		h.Sketch = &plan.Sketch{Name: e.sketch, Hashes: f.Hashes, Width: f.Width}
	}
	switch {
	case f.Sample:
		h.Collect = plan.CollectSample
	case f.Split || len(attributes) > 1 && h.Sketch != nil: // whose rows are drawn already
		h.Collect = plan.CollectSplit
	}
	return h
}

// Neighbours returns that of the flag, or what the encoding is compared and accounted under.
func (f Histogram) Neighbours(h plan.Histogram) string {
	set := slices.ContainsFunc(h.Attributes, func(a plan.Attribute) bool { return a.Kind == "set" })
	if z := h.Randomizer; z.Alike() || z.Name == "" && set {
		return cmp.Or(f.Adjacency, string(account.Removal)) // as in ESA
	}
	return cmp.Or(f.Adjacency, string(account.Replacement))
}

func parseBuckets(text string) (plan.Axis, error) {
	wrong := terminal.Usagef("--buckets is %q: give two numbers, the lower first, and how many buckets, such as 0,100,20", text)
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return plan.Axis{}, wrong
	}
	low, errLow := strconv.ParseFloat(strings.TrimSpace(fields[0]), 64)
	high, errHigh := strconv.ParseFloat(strings.TrimSpace(fields[1]), 64)
	cells, errCells := strconv.Atoi(strings.TrimSpace(fields[2]))
	if errors.Join(errLow, errHigh, errCells) != nil || !(-encode.MaxEnd <= low && low < high && high <= encode.MaxEnd) || cells < 1 || cells > plan.MaxCells {
		return plan.Axis{}, wrong
	}
	return plan.Axis{Low: low, High: high, Cells: cells}, nil
}

// Bounds returns the ends of a mean's numbers.
func Bounds(text string) (low, high float64, err error) {
	first, last, two := strings.Cut(text, ",")
	low, errLow := strconv.ParseFloat(strings.TrimSpace(first), 64)
	high, errHigh := strconv.ParseFloat(strings.TrimSpace(last), 64)
	if !two || errLow != nil || errHigh != nil || !(-encode.MaxEnd <= low && low < high && high <= encode.MaxEnd) {
		return 0, 0, terminal.Usagef("--bounds is %q: give two numbers, the lower first, such as 0,100", text)
	}
	return low, high, nil
}

// SeveralValues refuses a domain that leaves nothing to ask.
func SeveralValues(a plan.Attribute, from string) error {
	if (a.Kind == "categories" || a.Kind == "set") && len(a.Values) == 1 && !a.Others {
		return fmt.Errorf("%s has one value, and a question has two or more: declare others with --domain, or count all that is not declared with --others", from)
	}
	return nil
}

// Attributes returns those of the columns. What flags give once holds for every column
// that it is of. Where no domain is declared, values and most are empty.
func (f Histogram) Attributes(columns []string) ([]plan.Attribute, error) {
	var all []plan.Attribute
	kinds, domains, buckets := 0, 0, 0
	kindOf := take(f.Kind, &kinds)
	for len(columns) > 0 {
		a := plan.Attribute{Name: columns[0], Kind: kindOf(), Others: f.Others}
		columns = columns[1:]
		axis := func() (plan.Axis, error) {
			text := take(f.Buckets, &buckets)()
			if text == "" {
				return plan.Axis{}, terminal.Usagef("--buckets are needed for column %q, one for every column of numbers or one for all", a.Name)
			}
			return parseBuckets(text)
		}
		var err error
		switch a.Kind {
		case "":
			err = terminal.Usagef("--kind is given %d times: once for all, or once for each of what the columns ask", len(f.Kind))
		case "buckets":
			var x plan.Axis
			x, err = axis()
			a.Low, a.High, a.Cells = x.Low, x.High, x.Cells
		case "grid":
			if len(columns) == 0 {
				err = terminal.Usagef("--kind grid takes two columns each: column %q has none beside it", a.Name)
				break
			}
			var x, y plan.Axis
			x, err = axis()
			if err == nil {
				y, err = axis()
			}
			a.Name, a.X, a.Y = a.Name+" and "+columns[0], &x, &y
			columns = columns[1:]
		case "mean", "open": // of a table alone, which nothing here describes
		default:
			if a.Kind == "set" {
				a.Most = f.Most
			}
			if file := take(f.Domain, &domains)(); file != "" {
				if a.Values, err = table.ReadDomain(file); err == nil {
					err = SeveralValues(a, file)
				}
			} else if len(f.Domain) > 0 {
				err = terminal.Usagef("--domain is given %d times: once for all, or once for each column of names", len(f.Domain))
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	for _, left := range []struct {
		flag        string
		given, used int
	}{{"--kind", len(f.Kind), kinds}, {"--domain", len(f.Domain), domains}, {"--buckets", len(f.Buckets), buckets}} {
		if left.given > left.used {
			return nil, terminal.Usagef("%s is given %d times, and columns ask for %d", left.flag, left.given, left.used)
		}
	}
	return all, nil
}

// take gives one of several in turn, or the only one again and again; "" where there
// are no more. used counts.
func take(of []string, used *int) func() string {
	return func() string {
		*used++
		switch {
		case len(of) == 1:
			return of[0]
		case *used <= len(of):
			return of[*used-1]
		}
		return ""
	}
}
