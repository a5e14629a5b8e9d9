package crosstabs

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
)

//go:embed rivals.py
var rivals string

// Cell asks for the tables of every two columns of some people.
type Cell struct {
	Columns  []plan.Column
	Held     [][]any // a text for each column, by respondent
	Epsilon  float64
	Delta    float64
	Noise    string // who adds the noise of sums by two aggregators (plan.Route.Noise); empty: answers are mixed
	Seed     uint64
	Progress func(stage string, done, all int)
}

// Way is how far one way leaves tables from the truth.
type Way struct {
	Name   string  `json:"way"`
	Off    float64 `json:"off"`              // share of respondents whom a table has in another cell, in the mean
	RMSE   float64 `json:"rmse,omitempty"`   // of a count
	Rounds int     `json:"rounds,omitempty"` // tables of two columns that were measured
	Missed string  `json:"missed,omitempty"` // why there is no number
}

// Ours measures what our release tells beside what is known of it exactly: as columns by themselves would tell, and
// histograms of a curator whom all trust. The plan is that which was asked.
func Ours(c Cell) ([]Way, plan.Plan, error) {
	s := collection.Table{
		Title: "Tables beside rivals", Asked: plan.Crosstab{Columns: c.Columns}, Noise: c.Noise, Seed: c.Seed,
		Budget: plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"},
	}
	out, err := s.Run("rivals", c.Held, c.Progress)
	if err != nil {
		return nil, plan.Plan{}, err
	}
	x := out.Result.Crosstabs
	return []Way{
		{Name: "best guesses", Off: x.Off, RMSE: x.RMSE},
		{Name: "counts as they are", Off: x.OffRaw, RMSE: out.Result.Unbiased},
		{Name: "columns by themselves, without noise", Off: x.OffIndependent},
		{Name: "curator: a histogram of each pair", Off: x.OffCurator},
		{Name: "columns by themselves, of the same release", Off: x.OffColumns},
	}, out.Plan, nil
}

// Curators lists the ways of rivals whom all trust with their records.
func Curators() []string { return []string{"mst", "aim"} }

// Limits bound what a rival takes.
type Limits struct {
	Rounds    int     // for each column, that AIM plans for
	Megabytes float64 // of AIM's model
	Time      time.Duration
}

// Curated runs a rival in Python. A way that has no number says why.
func Curated(python, way string, c Cell, p plan.Plan, limits Limits) (Way, error) {
	q, err := table.New(p)
	if err != nil {
		return Way{}, err
	}
	asked := struct {
		Way       string  `json:"way"`
		Sizes     []int   `json:"sizes"`
		Records   [][]int `json:"records"`
		Epsilon   float64 `json:"epsilon"`
		Delta     float64 `json:"delta"`
		Seed      uint64  `json:"seed"`
		Rounds    int     `json:"rounds"`
		Megabytes float64 `json:"megabytes"`
	}{way, q.Code().Sizes, nil, c.Epsilon, c.Delta, c.Seed, limits.Rounds, limits.Megabytes}
	for _, held := range c.Held {
		record, err := q.Record(held)
		if _, failed := question.Fits(err); failed != nil {
			return Way{}, failed
		}
		for _, v := range record {
			if v == crosscode.None {
				return Way{}, errors.New("crosstabs: rivals know no missing value: list all values, or ask for others")
			}
		}
		asked.Records = append(asked.Records, record)
	}
	given, err := json.Marshal(asked)
	if err != nil {
		return Way{}, err
	}
	ctx, stop := context.WithTimeout(context.Background(), limits.Time)
	defer stop()
	run := exec.CommandContext(ctx, python, "-c", rivals)
	run.Stdin, run.WaitDelay = bytes.NewReader(given), time.Second
	var said, trouble strings.Builder
	run.Stdout, run.Stderr = &said, &trouble
	err = run.Run()
	w := Way{Name: "curator: " + strings.ToUpper(way)}
	switch {
	case ctx.Err() != nil:
		w.Missed = fmt.Sprintf("did not end in %v", limits.Time)
		return w, nil
	case errors.Is(err, exec.ErrNotFound):
		w.Missed = "there is no " + python
		return w, nil
	case err != nil:
		return w, fmt.Errorf("crosstabs: %s: %w: %s", way, err, last(trouble.String()))
	}
	err = json.Unmarshal([]byte(said.String()), &w)
	return w, err
}

// last returns the last line.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
