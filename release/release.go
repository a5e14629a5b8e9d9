// Package release holds the published document: what was asked, the answer with its errors, who was protected from
// whom and by how much, and what it cost. Used by internal/release, release/verify, internal/service and
// cmd/confetti/internal.
//
// A release is data: metrics, tables, lists and figures, with nothing of the
// mechanism that made them. What is stored (WriteJSON, Read) are its numbers, each under a
// name. Words are not, since they follow from these and from its plan: whoever shows a release, as
// text (internal/release/textpage) or as a page (internal/release/page), has internal/release/statement write them first.
package release

import (
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
)

// Source is where the answers of a release came from.
type Source string

const (
	Collection Source = "collection" // devices, through parties of several operators
	Trial      Source = "trial"      // devices, through parties that one operator has every key of
	Simulation Source = "simulation" // a table in one place, which knows the truth; see Release.Full
	OwnTable   Source = "table"      // rows of a table, which its holder counted
)

// Release is one published answer.
type Release struct {
	Plan string `json:"plan"` // SHA-256 of the canonical plan, 64 hex digits
	// Created is when the release was made.
	Created time.Time `json:"created"`
	// Synthetic says that the respondents were generated, not people; every
	// rendering says so at the top.
	Synthetic bool `json:"synthetic"`
	// Source says where the answers came from; every rendering says so at the top
	// where that is not a collection.
	Source Source `json:"source"`
	// Full says of a simulation that devices, hops and the analyzer ran in it, and every
	// message was sealed, mixed and opened. Otherwise the counts were drawn from their law.
	Full bool `json:"full,omitempty"`

	// Rounds are those of a study whose answers it is learned from, where these are several: it is
	// withdrawn with any of them.
	Rounds []Round `json:"rounds,omitempty"`

	Crowds  []Crowd `json:"crowds"`            // in the plan's order
	Ledger  *Ledger `json:"ledger,omitempty"`  // of a table: what its holder's ledger had
	Dropped int     `json:"dropped,omitempty"` // fragments, or reports of a sum, that are in no number
	Cells   int     `json:"cells,omitempty"`   // of which the table has the largest; 0: it has all

	Headline   []Metric            `json:"headline"`           // the answer in a few numbers
	Guarantees []account.Statement `json:"-"`                  // of which numbers are stored
	Sections   []Section           `json:"sections,omitempty"` // the answer in detail
	Remarks    []string            `json:"remarks,omitempty"`  // of whoever simulated it; none of what was collected
	Provenance Provenance          `json:"provenance"`

	Words `json:"-"`
}

// Words are what a release says and does not store, since it follows from its plan and its numbers.
type Words struct {
	Title       string
	Question    string    // what was asked of the respondents, in a sentence
	Answer      string    // what may be decided, in sentences; "" where rows of numbers say it
	Kind        string    // the plan's kind of question
	Protection  []Section // what the guarantees come to in other cases
	Cost        []Metric  // what one device spent
	Withheld    []string  // what is not published, and why
	Assumptions []string  // what the guarantees rest on
	Notes       []string
	Untested    bool // it teaches classes, and how often it is right of them was not measured
}

// Crowd is what came of one.
type Crowd struct {
	Smallest int  `json:"smallest"`          // contributions in its smallest batch; 0: it is withheld
	Lacks    int  `json:"lacks,omitempty"`   // answers that a withheld one is short of the plan's minimum; 0: not known
	Failed   bool `json:"failed,omitempty"`  // the sum of a withheld one can never be had
	Batches  int  `json:"batches,omitempty"` // that came of a withheld one, each with a part of all its reports; 0: of no matter
}

// Ledger is what the holder of a table has published of the same people, and the cap that its ledger
// keeps for all of it together.
type Ledger struct {
	Releases int     `json:"releases"` // this one among them
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
}

// Round is one of a study.
type Round struct {
	Number  int    `json:"number"`            // from 1
	Plan    string `json:"plan"`              // its name
	Dropped int    `json:"dropped,omitempty"` // as of a release
	Without []int  `json:"without,omitempty"` // crowds, from 1, of which too few batches came
	Deleted bool   `json:"deleted,omitempty"` // its counts were deleted before, and are not in it
}

// Noted returns the notes of a release, those of whoever simulated it last.
func (r Release) Noted() []string { return slices.Concat(r.Notes, r.Remarks) }

// Figures returns those of all sections, in their order.
func (r Release) Figures() []Figure {
	var all []Figure
	for _, s := range slices.Concat(r.Sections, r.Protection) {
		all = append(all, s.Figures...)
	}
	return all
}

// Provenance says how the release came about.
type Provenance struct {
	Software   string `json:"software"`          // name and version
	Command    string `json:"command,omitempty"` // as typed
	Randomness string `json:"randomness"`        // "fresh randomness", or the seed of a simulation
}

// AuditFile is the name of what an attacker found of the plan, beside a release.
const AuditFile = "audit.json"

// Units that change how a number is printed; any other unit is printed after it.
const (
	Share   = "share"   // in [0, 1], printed as a percentage
	Count   = "count"   // printed as a whole number, without a unit
	Bytes   = "bytes"   // printed in kB, MB, GB (powers of ten)
	Seconds = "seconds" // printed in ms or s
)

// Metric is one number with its error.
type Metric struct {
	Name   string  `json:"name"`          // stable key, snake_case
	Key    string  `json:"key,omitempty"` // which of several it is of, by a name of the plan
	Title  string  `json:"-"`             // what a person reads
	Value  float64 `json:"value"`
	StdErr float64 `json:"std_err,omitempty"` // 0: not stated
	// Low and High bound the interval of confidence Level; Level 0 means there is none.
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	Level float64 `json:"level,omitempty"`
	// Among is how many intervals hold all at once with confidence Level, this one
	// among them: of a number that was chosen by its estimate. 0 means this one alone.
	Among int      `json:"among,omitempty"`
	Truth *float64 `json:"truth,omitempty"` // what a simulation knows
	// Records are those that it was measured on, where these are not the respondents.
	Records int    `json:"records,omitempty"`
	Unit    string `json:"-"`
	Note    string `json:"-"` // such as what the interval covers
}

// Section is one part of the answer in detail.
type Section struct {
	Name    string   `json:"name"`          // stable key, such as "answers"
	Key     string   `json:"key,omitempty"` // what it is of, where that does not follow from the plan
	Title   string   `json:"-"`
	Text    string   `json:"-"`
	Metrics []Metric `json:"metrics,omitempty"`
	Tables  []Table  `json:"tables,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
	Lists   []List   `json:"lists,omitempty"`
}

// Table has one cell per column in every row.
type Table struct {
	Name    string   `json:"name"`          // stable key, such as "largest"
	Key     string   `json:"key,omitempty"` // which of several of this name it is
	Title   string   `json:"-"`
	Columns []Column `json:"-"`
	Rows    [][]Cell `json:"rows"`
	// Heat shades each number by its share of its row's sum (a confusion matrix);
	// the first column must then be text and the rest non-negative numbers.
	Heat bool   `json:"-"`
	Note string `json:"-"`
}

// Column heads a column; its unit holds for every number below it.
type Column struct {
	Title string
	Unit  string
}

// Cell is a number with its standard error (0: not stated), an interval from Low to
// High, of which one end may be missing, or text.
type Cell struct {
	Key    string   `json:"key,omitempty"` // a name of the plan, such as of a value or a class
	Text   string   `json:"-"`
	Value  *float64 `json:"value,omitempty"`
	StdErr float64  `json:"std_err,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}

// Named returns a cell of something that the plan has a name for.
func Named(key string) Cell { return Cell{Key: key} }

// Text returns a cell of words, which are not stored.
func Text(s string) Cell { return Cell{Text: s} }

// Number returns a cell with a value and its standard error, 0 where none is stated.
func Number(value, stdErr float64) Cell { return Cell{Value: &value, StdErr: stdErr} }

// Interval returns a cell of an interval.
func Interval(low, high float64) Cell { return Cell{Low: &low, High: &high} }

// List is a ranking, best first.
type List struct {
	Name  string `json:"name"`          // stable key
	Key   string `json:"key,omitempty"` // which of several of this name it is
	Title string `json:"-"`
	Items []Item `json:"items"`
	// Level and Among are of the items' intervals, as in Metric. A list is chosen by its
	// scores, so that Among counts everything that it was chosen from.
	Level float64 `json:"level,omitempty"`
	Among int     `json:"among,omitempty"`
	Note  string  `json:"-"`
}

// Item is one entry of a ranking. RankLow to RankHigh, counted from 1, is the
// interval its true rank lies in; both are 0 where no interval is known.
type Item struct {
	Key      string   `json:"key"` // a name of the plan, or of a public vocabulary
	Score    float64  `json:"score"`
	StdErr   float64  `json:"std_err,omitempty"`
	Low      float64  `json:"low,omitempty"` // of the score, at the list's Level
	High     float64  `json:"high,omitempty"`
	Truth    *float64 `json:"truth,omitempty"` // what a simulation knows
	RankLow  int      `json:"rank_low,omitempty"`
	RankHigh int      `json:"rank_high,omitempty"`
}

// FigureKind is how the series of a figure are drawn.
type FigureKind string

const (
	Lines  FigureKind = "lines"  // joined points; Low and High make a band
	Points FigureKind = "points" // Low and High make error bars
	Bars   FigureKind = "bars"   // one group per category; Low and High make error bars
	Heat   FigureKind = "heat"   // the cells of a grid, shaded by their value
)

// Figure is a plot as data.
type Figure struct {
	Name  string     `json:"name"` // file stem: lower-case letters, digits, hyphens
	Title string     `json:"-"`
	Alt   string     `json:"-"` // what it shows, for readers who cannot see it
	Kind  FigureKind `json:"-"`
	X     Axis       `json:"-"`
	Y     Axis       `json:"-"`
	// Signed says that numbers may be below zero: bars are ranges around it, and have no length.
	Signed bool `json:"-"`
	// Categories name the groups of a bar figure along x; empty for other kinds.
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series,omitempty"` // at most MaxSeries; none in a heat figure
	Grid       *Grid    `json:"grid,omitempty"`   // of a heat figure only
}

// Grid is numbers over a rectangle that is cut into cells of one size. Shades go
// from zero, which what is below it gets too, to the largest value.
type Grid struct {
	Columns int     `json:"columns"` // along x
	Left    float64 `json:"left"`    // where the rectangle begins and ends along x
	Right   float64 `json:"right"`
	Bottom  float64 `json:"bottom"`
	Top     float64 `json:"top"`
	// Values are listed row by row from the bottom, each from the left.
	Values []float64 `json:"values"`
	// Within says how far from its value each number may lie; 0: there is none. It is as long as Values, or empty. Whoever
	// draws the grid lists these values too.
	Within []float64 `json:"within,omitempty"`
}

// Rows returns the number of cells along y.
func (g Grid) Rows() int { return len(g.Values) / g.Columns }

// Largest returns what the darkest shade stands for, 0 if no value is above it.
func (g Grid) Largest() float64 { return max(0, slices.Max(g.Values)) }

// Coarse returns the grid in fewer cells, at most so many along x and along y: each the
// mean of a block, of which the last of a row or column may be cut short.
func (g Grid) Coarse(columns, rows int) Grid {
	x, y := (g.Columns+columns-1)/columns, (g.Rows()+rows-1)/rows
	if x == 1 && y == 1 {
		return g
	}
	out := g
	out.Within = nil
	out.Columns = (g.Columns + x - 1) / x
	out.Values = make([]float64, out.Columns*((g.Rows()+y-1)/y))
	block := func(i int) int { return i/g.Columns/y*out.Columns + i%g.Columns/x }
	cells := make([]float64, len(out.Values))
	for i := range g.Values {
		cells[block(i)]++
	}
	for i, v := range g.Values {
		out.Values[block(i)] += v / cells[block(i)] // a sum of all might overflow
	}
	// Blocks that are cut short take as much room as the others.
	out.Right += (g.Right - g.Left) / float64(g.Columns) * float64(out.Columns*x-g.Columns)
	out.Top += (g.Top - g.Bottom) / float64(g.Rows()) * float64(out.Rows()*y-g.Rows())
	return out
}

// Axis is titled by what is counted, or with its unit, such as "wait (s)".
type Axis struct {
	Title string
	Log   bool
}

// Series is one colour of a figure. X is empty for bars, where Y has one number
// per category. Low, High and Truth are empty or as long as Y, Low and High both.
type Series struct {
	Key   string    `json:"key,omitempty"` // a name of the plan
	Title string    `json:"-"`
	X     []float64 `json:"x,omitempty"`
	Y     []float64 `json:"y"`
	Low   []float64 `json:"low,omitempty"`
	High  []float64 `json:"high,omitempty"`
	Truth []float64 `json:"truth,omitempty"` // what a simulation knows: hollow marks
	Gaps  []float64 `json:"gaps,omitempty"`  // along x, where lines have no number: marks on the axis
}
