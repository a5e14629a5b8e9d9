package results

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/plan"
)

// Taught holds what a release of private records teaches about public ones.
type Taught struct {
	Classes []string  // of the plan, or its groups where it has no classes
	Shares  []float32 // how likely each class is for each public record, a row each
	// Records has one record for each report, read by public ones (learn.Decoded), and Told its class as it was told.
	// Both are empty where the release has counts of symbols alone.
	Records blas32.General
	Told    []int
}

// toldReports holds reports of an encoder's vectors.
type toldReports struct {
	encoder *device.Encoder
	how     device.Report
	bodies  [][]byte
	told    []int   // class, or group where there are no classes
	epsilon float64 // that these were told with
}

// reportsOf returns the reports of vectors in a release. A release of symbols has none.
func reportsOf(m *latent.Model) (r toldReports) {
	switch n, v := m.Numbered, m.Vectors; {
	case v != nil:
		r = toldReports{encoder: v.Encoder, how: v.How, epsilon: v.How.Class.Epsilon}
		grouped := len(m.Asked.Classes) == 0
		if grouped {
			r.epsilon = surely
		}
		for _, report := range v.Reports {
			class := report.Class
			if grouped {
				class = report.Crowd
			}
			r.bodies, r.told = append(r.bodies, report.Vector), append(r.told, class)
		}
	case n != nil && n.Vectors:
		r = toldReports{encoder: m.Encoder, how: n.How, epsilon: n.How.Class.Epsilon}
		for _, report := range n.Reports {
			r.bodies, r.told = append(r.bodies, report.Body), append(r.told, report.Class)
		}
	}
	return r
}

// surely stands for the epsilon of a group, which is told as it is.
const surely = 30

// Teach learns from a release of private records, by its plan, its public state and the sheet beside it. With noisy it
// learns from the noisy vectors themselves, as LTN does. Otherwise it learns from public prototypes, by how likely each
// report came of each. With novel, a class or a group, it learns to tell this from all others.
func Teach(p plan.Plan, state, sheet []byte, public blas32.General, noisy bool, novel string, r *rand.Rand, tell func(stage string, done, total int)) (Taught, error) {
	m, err := readLatent(p, state, bytes.NewReader(sheet))
	if err != nil {
		return Taught{}, err
	}
	if novel != "" {
		return teachNovel(m, p.Crowd.Names, public, novel, r, tell)
	}
	return teach(m, public, noisy, r, tell)
}

// teach learns from a release that was read.
func teach(m *latent.Model, public blas32.General, noisy bool, r *rand.Rand, tell func(stage string, done, total int)) (t Taught, err error) {
	if t.Classes = m.Asked.Classes; len(t.Classes) == 0 && m.Vectors != nil {
		t.Classes = m.Vectors.Groups
	} else if len(t.Classes) == 0 && m.Counts != nil {
		t.Classes = m.Counts.Crowds
	}
	reports := reportsOf(m)
	switch {
	case m.Asked.Report == plan.LatentRight:
		return t, errors.New("the release says how often a published model is right, and nothing of records")
	case public.Cols != m.Asked.Features:
		return t, fmt.Errorf("public records of %d numbers, and the plan has %d: give the columns that clusters or encoder were made of, in their order (--features, --drop)", public.Cols, m.Asked.Features)
	case len(t.Classes) == 0:
		return t, errors.New("the plan has neither classes nor groups to tell apart: confetti release join puts numbered records beside columns of yours")
	case m.Counts != nil && noisy:
		return t, errors.New("the release counts symbols, and has no noisy vectors: leave out --loss paper")
	case m.Counts != nil:
		t.Shares, err = ofClusters(m, public)
		return t, err
	case len(reports.bodies) == 0:
		return t, errors.New("numbered sets of symbols teach no model: confetti release join puts them beside columns of yours")
	}
	weights := learn.Reported(reports.encoder, reports.how.Vector, reports.bodies)
	var c *learn.Classifier
	if noisy {
		if c, err = learn.ByNoisy(r, reports.how.Vector, reports.bodies, reports.told, reports.epsilon, len(t.Classes), tell); c == nil && err == nil {
			err = errors.New("a direction is no noisy vector, which LTN's own loss learns from: leave out --loss paper")
		}
	} else {
		c, err = learn.ByPrototypes(r, reports.encoder.Prototypes, weights, reports.told, reports.epsilon, len(t.Classes), tell)
	}
	if err != nil {
		return t, err
	}
	t.Shares = c.Shares(learn.Codes(reports.encoder, public))
	if i := slices.IndexFunc(t.Shares, func(v float32) bool { return v-v != 0 }); i >= 0 {
		return t, fmt.Errorf("public record %d has numbers that are too large for the encoder", i/len(t.Classes)+1)
	}
	t.Records, t.Told = learn.Decoded(reports.encoder, weights, public), reports.told
	return t, nil
}

// ofClusters returns how likely each class is in the cluster of each record, or each group, if all had equally many
// members. In a cluster of which nothing is known all are alike.
func ofClusters(m *latent.Model, public blas32.General) ([]float32, error) {
	shares, err := m.Targets(m.Counts.Tables[0])
	k := len(m.Asked.Classes)
	if k == 0 {
		k = len(m.Counts.Crowds)
		shares, err = ofGroups(m)
	}
	if err != nil {
		return nil, err
	}
	out := make([]float32, 0, public.Rows*k)
	for i := range public.Rows {
		at, ok := m.Finder.Find(public.Data[i*public.Stride:][:public.Cols])
		if !ok {
			return nil, fmt.Errorf("public record %d lies in no cluster: its numbers are too large", i+1)
		}
		for y := range k {
			if shares[at] == nil {
				out = append(out, 1/float32(k))
			} else {
				out = append(out, float32(shares[at][y]))
			}
		}
	}
	return out, nil
}

// ofGroups returns for each cluster the shares of groups, as if these had equally many members.
func ofGroups(m *latent.Model) ([][]float64, error) {
	shares := make([][]float64, m.Asked.Clusters)
	if len(m.Counts.Tables) < len(m.Counts.Crowds) {
		return nil, errors.New("a group was withheld: nothing is told apart")
	}
	for _, t := range m.Counts.Tables {
		alike := make([]estimate.Value, len(t.Values))
		for c, v := range t.Values {
			alike[c] = estimate.Value{Mean: v.Mean, StdErr: 1}
		}
		held, err := estimate.Project(alike, float64(t.Respondents))
		if err != nil {
			return nil, err
		}
		for c, n := range held {
			shares[c] = append(shares[c], n/float64(t.Respondents))
		}
	}
	for c, of := range shares {
		sum := 0.0
		for _, s := range of {
			sum += s
		}
		if sum == 0 {
			shares[c] = nil
		}
		for y := range of {
			of[y] /= sum
		}
	}
	return shares, nil
}
