// Package course simulates a study that counts what happens from round to round, and compares what is released with the truth.
// Used by cmd/confetti/internal/study/counts.
package course

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Happened is that something happened to a person in a round, from 1: the cell of the plan's one attribute.
type Happened struct {
	Person      string
	Round, Cell int
}

// Values returns what a plan's rounds count, by name.
func Values(p plan.Plan) []string {
	if p.Question.Histogram == nil {
		return nil
	}
	a := p.Question.Histogram.Attributes[0]
	if len(a.Values) > 0 {
		return a.Values
	}
	all := make([]string, a.Domain())
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}

// Study says what is simulated.
type Study struct {
	Plan     plan.Plan // of every round, with its noise
	People   int       // devices, each of which answers every round
	Withheld []int     // rounds that tell nothing
	Seed     uint64
	// Repetitions is how often all rounds are drawn anew, to compare what totals are off by; 0: never.
	Repetitions int
}

// Outcome carries the release of a simulated study's last round, which tells of all.
type Outcome struct {
	Plan    plan.Plan        `json:"-"`
	Release release.Release  `json:"-"`
	Model   *histogram.Model `json:"-"`
	Public  results.Public   `json:"-"`

	Rounds   int     `json:"rounds"`
	Told     int     `json:"told"`         // rounds that told something
	Events   int     `json:"events"`       // of the table
	Beyond   int     `json:"beyond"`       // that devices did not say, beyond what a person counts for
	Lost     int     `json:"lost"`         // that were said in rounds which told nothing
	Stated   float64 `json:"error_stated"` // of the last running total, where values take turns of their difference; of windows, of that which errs most
	Found    float64 `json:"error_found"`  // of the running totals, root mean square over rounds and cells, or over windows
	Windows  int     `json:"windows,omitempty"`
	Largest  float64 `json:"largest_error_found,omitempty"` // of all windows
	Compared string  `json:"compared,omitempty"`
	Drawn    *Drawn  `json:"drawn,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// Run runs all rounds.
func (c Study) Run(all []Happened, progress simulate.Progress) (out Outcome, err error) {
	start := time.Now()
	of := c.Plan.Correlated()
	if of == nil || c.Plan.Question.Histogram == nil {
		return out, errors.New("course: the plan's rounds are not correlated")
	}
	study := plan.Study{Version: plan.StudyVersion, Plan: c.Plan, Rounds: of.Rounds, Takes: plan.TakesAll, Withheld: plan.WithheldRepeats}
	study.Plan.Times, study.Plan.Signatures = plan.Times{}, 0
	keys, err := simulate.NewKeys(&study.Plan)
	if err != nil {
		return out, err
	}
	out.Rounds, out.Events = study.Rounds, len(all)
	events, err := c.said(all, &out)
	if err != nil {
		return out, err
	}
	if c.Repetitions > 0 {
		if out.Drawn, err = c.draw(study, keys, events, progress); err != nil {
			return out, err
		}
	}
	proto, crowd, model, err := rows(study, keys, events, c.People, c.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Plan, out.Model = proto.Plan, model.(*histogram.Model)
	out.Public = results.Public{Truth: &results.Truth{Rounds: events}}
	course := out.Model.Course()
	out.Told = len(course.Rounds)
	if course.Windows != nil {
		out.compareWindows(course.Windows, events)
	} else {
		out.compare(course, events)
	}
	r, err := analyzer.Numbers(proto, model, []tally.Crowd{crowd}, out.Public)
	if err != nil {
		return out, err
	}
	r.Source, r.Created = release.Simulation, time.Now().UTC()
	r.Provenance.Randomness = fmt.Sprintf("simulated from seed %d", c.Seed)
	r.Remarks = append(r.Remarks, proto.InStudy(study))
	if err := analyzer.Write(proto, &r); err != nil {
		return out, err
	}
	if q, ok := proto.Question.(*histogram.Question); ok {
		for _, one := range q.Compare() {
			out.Compared = one.Says
		}
	}
	out.Release, out.Seconds = r, time.Since(start).Seconds()
	return out, nil
}

// compare finds what running totals err by.
func (out *Outcome) compare(course *histogram.Course, events [][]int) {
	truth, squares := make([]int, len(events[course.Rounds[0]-1])), 0.0
	for i, n := range course.Rounds {
		for cell, v := range course.Totals[i] {
			truth[cell] += events[n-1][cell]
			squares += (v.Mean - float64(truth[cell])) * (v.Mean - float64(truth[cell]))
		}
	}
	out.Stated, out.Found = course.Totals[out.Told-1][0].StdErr, math.Sqrt(squares/float64(out.Told*len(truth)))
	if course.On != nil {
		on, squares := 0, 0.0
		for i, n := range course.Rounds {
			on += events[n-1][0] - events[n-1][1]
			squares += (course.On[i].Mean - float64(on)) * (course.On[i].Mean - float64(on))
		}
		out.Stated, out.Found = course.On[out.Told-1].StdErr, math.Sqrt(squares/float64(out.Told))
	}
	out.Public.Truth.Tables = map[[2]int]*results.TableTruth{{}: {Counts: truth}}
}

// compareWindows finds what all windows err by.
func (out *Outcome) compareWindows(w *histogram.Windows, events [][]int) {
	until := make([][]int, w.Last+1) // by round: what was said up to it, of all cells up to each
	until[0] = make([]int, w.Of+1)
	for n := 1; n <= w.Last; n++ {
		until[n] = slices.Clone(until[n-1])
		said := 0
		for cell, k := range events[n-1] {
			said += k
			until[n][cell] += said
		}
	}
	squares := 0.0
	for first := 1; first <= w.Last; first++ {
		for i, v := range w.From(first) {
			off := v.Mean - float64(until[first+i][first-1]-until[first-1][first-1])
			squares += off * off
			out.Largest, out.Stated = max(out.Largest, math.Abs(off)), max(out.Stated, v.StdErr)
			out.Windows++
		}
	}
	out.Found = math.Sqrt(squares / float64(out.Windows))
	out.Public.Truth.Tables = map[[2]int]*results.TableTruth{{}: {Counts: until[w.Last]}}
}

// said returns how often each cell is said in each round, as devices count: of an answer that says more than a person has
// left nothing is said. It is nil of rounds that tell nothing.
func (c Study) said(all []Happened, out *Outcome) ([][]int, error) {
	of, asked := c.Plan.Correlated(), c.Plan.Question.Histogram.Attributes[0]
	events, cells := make([][]int, of.Rounds), asked.Domain()
	if of.Windows {
		cells = of.Rounds + 1
	}
	for i := range events {
		events[i] = make([]int, cells)
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Happened) int {
		return cmp.Or(cmp.Compare(a.Person, b.Person), cmp.Compare(a.Round, b.Round), cmp.Compare(a.Cell, b.Cell))
	})
	people := 0
	for from := 0; from < len(all); {
		to, left, last := from, of.Events, 0
		for to < len(all) && all[to].Person == all[from].Person {
			first := to
			for to < len(all) && all[to].Person == all[first].Person && all[to].Round == all[first].Round {
				to++
			}
			answer := slices.Compact(slices.Clone(all[first:to])) // an event in a round counts once
			if len(answer) > min(left, asked.Most) || of.Turns && answer[0].Cell != (of.Events-left)%2 {
				out.Beyond += to - first
				continue
			}
			out.Beyond += to - first - len(answer)
			left -= len(answer)
			for _, h := range answer {
				if of.Windows { // as a device says it
					h.Cell, last = last, h.Round
				}
				events[h.Round-1][h.Cell]++
			}
		}
		from = to
		people++
	}
	if people > c.People {
		return nil, fmt.Errorf("%d people are in the table, and --people is %d: give as many", people, c.People)
	}
	for _, n := range c.Withheld {
		for _, k := range events[n-1] {
			out.Lost += k
		}
		events[n-1] = nil
	}
	return events, nil
}
