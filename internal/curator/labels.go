package curator

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// Resampled names the report of labels of which some stay, and others are drawn by counts of clusters.
const Resampled = label.Resampled

// Labelled holds of a row the cluster that it is in, and its label, -1 where that is none of the plan's.
type Labelled struct{ Cluster, Label int }

// Relabelled holds labels that are published in the place of those of the rows.
type Relabelled struct {
	Labels []int // by row
	// Loss has, by cluster and published label, the weights of the true loss at each label in the modified one.
	Loss [][][]float64
	// None is about how many rows have none of the plan's labels, with noise; 0 where nothing is counted.
	None int64
}

// Relabel draws other labels for the rows, and writes the release of a charge. It is drawn once, as every release.
func Relabel(p *protocol.Protocol, rows []Labelled, charged release.Ledger, r *rand.Rand) (release.Release, question.Model, Relabelled, error) {
	model, crowds, out, err := relabelled(p, rows, r)
	if err != nil {
		return release.Release{}, nil, out, err
	}
	written, err := written(p, model, crowds, charged)
	return written, model, out, err
}

// relabelled returns what is published of the labels. From here on everything is private.
func relabelled(p *protocol.Protocol, rows []Labelled, r *rand.Rand) (question.Model, []tally.Crowd, Relabelled, error) {
	q := p.Question.(*label.Question)
	counts, is := q.Inner().(*histogram.Question)
	if !is {
		return reported(q, rows, r)
	}
	var out Relabelled
	crowds, nones, err := inClusters(counts, p.Plan.Question.Label.Classes, p.Plan.Crowds(), rows, r)
	if err != nil {
		return nil, nil, out, err
	}
	model, err := q.Learn(crowds)
	if err != nil {
		return nil, nil, out, err
	}
	shares := make([][]float64, len(crowds))
	for _, t := range model.(*label.Model).Counts.Tables {
		out.None += nones[t.Crowd]
		if shares[t.Crowd], err = q.Shares(t.Values, t.Respondents, nones[t.Crowd]); err != nil {
			return nil, nil, out, err
		}
	}
	for _, row := range rows {
		out.Labels = append(out.Labels, q.Relabel(r, row.Label, shares[row.Cluster]))
	}
	out.lose(q, len(p.Plan.Question.Label.Classes), shares)
	return model, crowds, out, nil
}

// inClusters counts the labels of each cluster with noise, and those that are none of the plan's.
func inClusters(q *histogram.Question, classes []string, clusters int, rows []Labelled, r *rand.Rand) (crowds []tally.Crowd, nones []int64, err error) {
	c, err := q.Circuit()
	if err != nil {
		return nil, nil, err
	}
	crowds, nones = make([]tally.Crowd, clusters), make([]int64, clusters)
	sums := make([][]int64, clusters)
	for i := range sums {
		sums[i] = make([]int64, c.Length)
	}
	for _, row := range rows {
		var said any
		if row.Label >= 0 {
			said = classes[row.Label]
		}
		if err := add(q, r, histogram.Answers{Crowd: row.Cluster, Values: []any{said}}, sums[row.Cluster]); err != nil {
			return nil, nil, err
		}
		crowds[row.Cluster].Respondents++
	}
	for i := range crowds {
		n := crowds[i].Respondents
		for at, z := range q.HolderNoise(r) {
			sums[i][at] += z
		}
		if c.Length > len(classes) {
			nones[i] = sums[i][len(classes)]
		}
		t, err := q.Sums(sums[i], n)
		if err != nil {
			return nil, nil, err
		}
		crowds[i] = tally.Crowd{Tally: t, Respondents: n, Smallest: n}
	}
	return crowds, nones, nil
}

// reported puts every label through the plan's randomizer, as a device's would.
func reported(q *label.Question, rows []Labelled, r *rand.Rand) (question.Model, []tally.Crowd, Relabelled, error) {
	var out Relabelled
	t := q.NewTally()
	for i, row := range rows {
		symbol, err := q.Encode(label.Record{Number: i, Class: row.Label})
		if _, err := question.Fits(err); err != nil {
			return nil, nil, out, err
		}
		report, err := q.Randomize(r, symbol, nil)
		if err != nil {
			return nil, nil, out, err
		}
		for _, body := range report.Parts[0] {
			if err := t.Add(body); err != nil {
				return nil, nil, out, err
			}
		}
	}
	crowds := []tally.Crowd{{Tally: t, Respondents: len(rows), Smallest: len(rows)}}
	model, err := q.Learn(crowds)
	if err != nil {
		return nil, nil, out, err
	}
	m := model.(*label.Model)
	for _, one := range m.Reports {
		out.Labels = append(out.Labels, one.Class)
	}
	out.lose(q, len(m.Asked.Classes), make([][]float64, 1))
	return model, crowds, out, nil
}

// lose fills in the modified loss.
func (l *Relabelled) lose(q *label.Question, classes int, shares [][]float64) {
	for _, of := range shares {
		var one [][]float64
		for y := range classes {
			one = append(one, q.Loss(y, of))
		}
		l.Loss = append(l.Loss, one)
	}
}
