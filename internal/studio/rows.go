package studio

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// rows are those of a sheet as a choice takes them: what is asked and of which crowds, and how many
// rows hold the same. Neither epsilon nor people change them.
type rows struct {
	of     Choice // what of it decides them
	asked  []plan.Attribute
	crowds []string // none: there is one
	alike  distribution.Alike
	crowd  []int     // of each group of alike
	sizes  []int     // rows of each crowd
	truth  [][][]int // of the rows, by crowd, attribute and cell
	n      int
	left   int // rows that were left out for empty cells
}

// rows finds those of a choice, or has them.
func (s *Sheet) rows(c Choice) (*rows, error) {
	of := c
	of.Epsilon, of.People, of.Seed, of.Title, of.Answer, of.Beside, of.Collect = 1, 100_000, 0, "", "one-hot", [2]string{}, "" // which change no row
	of.Route, of.Noise, of.Suite, of.Parties = "", "", "", Parties{}
	if s.taken != nil && reflect.DeepEqual(s.taken.of, of) {
		return s.taken, nil
	}
	r := &rows{of: of}
	held, counts, err := r.count(s, c)
	if err != nil {
		return nil, err
	}
	if err := r.ask(s, c, held, counts); err != nil {
		return nil, err
	}
	if err := r.reveal(of, held, counts); err != nil {
		return nil, err
	}
	s.taken = r
	return r, nil
}

// count returns how many rows hold the same cells, after what empty ones mean: of the crowd first, where
// there is one, and then of each thing that is asked.
func (r *rows) count(s *Sheet, c Choice) (held [][]string, counts []int, err error) {
	missing, err := table.ParseMissing(c.Missing)
	if err != nil {
		return nil, nil, err
	}
	instead, fill := missing.Instead()
	type column struct {
		cells []string
		empty bool // an empty cell says something: a set may be empty
	}
	var columns []column
	if c.Crowd != nil {
		columns = append(columns, column{cells: s.cells[*c.Crowd]})
	}
	for _, a := range c.Asked {
		columns = append(columns, column{s.cells[a.Column], a.Kind == "set"})
	}
	at, row := map[string]int{}, make([]string, len(columns))
rows:
	for i := range s.Rows {
		for k, col := range columns {
			switch row[k] = col.cells[i]; {
			case row[k] != "" || col.empty:
			case missing.Skips():
				r.left++
				continue rows
			case fill:
				row[k] = instead
			default:
				return nil, nil, fmt.Errorf("%d of %d rows are empty: choose what that means", c.empty(s), s.Rows)
			}
		}
		key := strings.Join(row, "\x00") // which no cell has
		g, there := at[key]
		if !there {
			g = len(held)
			at[key], held, counts = g, append(held, slices.Clone(row)), append(counts, 0)
		}
		counts[g]++
		r.n++
	}
	if r.n == 0 {
		return nil, nil, errors.New("no row is left: count empty ones as a value of their own, or choose another column")
	}
	return held, counts, nil
}

// empty returns how many rows have an empty cell that says nothing.
func (c Choice) empty(s *Sheet) (n int) {
	for i := range s.Rows {
		if c.Crowd != nil && s.cells[*c.Crowd][i] == "" || slices.ContainsFunc(c.Asked, func(a Asked) bool { return a.Kind != "set" && s.cells[a.Column][i] == "" }) {
			n++
		}
	}
	return n
}

// ask makes the attributes and the crowds.
func (r *rows) ask(s *Sheet, c Choice, held [][]string, counts []int) error {
	first := 0
	if c.Crowd != nil {
		first = 1
		sizes := often(held, counts, 0)
		for name := range sizes {
			r.crowds = append(r.crowds, name)
		}
		if slices.Sort(r.crowds); len(r.crowds) < 2 || len(r.crowds) > maxCrowds {
			return fmt.Errorf("column %q names %d crowds: choose one that names 2 to %d", s.Columns[*c.Crowd].Name, len(r.crowds), maxCrowds)
		}
	}
	for i, a := range c.Asked {
		asked, err := a.attribute(s.Columns[a.Column].Name, often(held, counts, first+i))
		if err != nil {
			return err
		}
		r.asked = append(r.asked, asked)
	}
	return nil
}

// often returns how many rows hold each text of a column.
func often(held [][]string, counts []int, column int) map[string]int {
	out := map[string]int{}
	for i, row := range held {
		out[row[column]] += counts[i]
	}
	return out
}

// reveal reads the rows as a device reads its own, and counts who holds what.
func (r *rows) reveal(of Choice, held [][]string, counts []int) error {
	if len(r.asked) > 1 {
		of.Collect = plan.CollectSample // whichever: nothing needs to be compared to read rows
	}
	p, err := of.draft(r.asked, r.crowds)
	if err != nil {
		return err
	}
	_, proto, err := designed(p)
	if err != nil {
		return err
	}
	q, ok := proto.Question.(question.Parser)
	if !ok {
		return fmt.Errorf("a question of kind %s takes no rows", proto.Plan.Question.Kind)
	}
	r.sizes = make([]int, max(1, len(r.crowds)))
	for i, row := range held {
		fields := make([]any, len(row))
		for k, text := range row {
			fields[k] = text
		}
		v, errs := q.Value(fields)
		for k, err := range errs {
			if err != nil {
				return fmt.Errorf("a row of column %q %w: ask it as names", r.asked[max(0, k-(len(row)-len(r.asked)))].Name, err)
			}
		}
		crowd := 0
		if len(r.crowds) > 0 {
			crowd, _ = slices.BinarySearch(r.crowds, row[0])
		}
		r.sizes[crowd] += counts[i]
		r.crowd, r.alike = append(r.crowd, crowd), append(r.alike, distribution.Group{Value: v, Respondents: counts[i]})
	}
	truth, err := r.alike.Reveal(proto)
	if err != nil {
		return err
	}
	for crowd := range r.sizes {
		var all [][]int
		for attribute := range r.asked {
			all = append(all, truth.Table(crowd, attribute).Counts)
		}
		r.truth = append(r.truth, all)
	}
	return nil
}

// population is of people who answer as the rows do, so many that the smallest crowd has those: every
// group is as large a part of its crowd as of the rows, to one.
func (r *rows) population(people int) (distribution.Alike, []int, error) {
	smallest := slices.Min(r.sizes)
	came, total := make([]int, len(r.sizes)), 0
	for i, n := range r.sizes {
		came[i] = n * people / smallest
		total += came[i]
	}
	if total > math.MaxInt32 {
		return nil, nil, errors.New("with so many in the smallest crowd the others are too many to be drawn: choose fewer people")
	}
	out, left, order := slices.Clone(r.alike), slices.Clone(came), make([]int, len(r.alike))
	rest := make([]int, len(out))
	for i := range out {
		crowd := r.crowd[i]
		n := r.alike[i].Respondents * came[crowd]
		out[i].Respondents, rest[i], order[i] = n/r.sizes[crowd], n%r.sizes[crowd], i
		left[crowd] -= out[i].Respondents
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, i := range order { // who is left goes to the largest remainders
		if crowd := r.crowd[i]; left[crowd] > 0 {
			out[i].Respondents++
			left[crowd]--
		}
	}
	return slices.DeleteFunc(out, func(g distribution.Group) bool { return g.Respondents == 0 }), came, nil
}
