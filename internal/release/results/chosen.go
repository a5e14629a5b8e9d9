package results

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/plan"
)

// Judged is how well a model agrees with what respondents told who taught it nothing.
type Judged struct {
	// Score is the mean over respondents of 2 q - |q|^2, without bias: q are the shares of classes that the model gives
	// the public records where the respondent is, in a cluster or near the prototypes of a report, and the first q is
	// of the respondent's class. No other shares have a larger mean than the true ones, and 1 is the most.
	Score, StdErr float64
	// Behind is how much less it is than the largest, and BehindErr the error of the difference.
	Behind, BehindErr float64
}

// Judge judges models by a release of private records, of its plan, its public state and the sheet beside it. Of each model
// the classes stand that it gives public records.
func Judge(p plan.Plan, state, sheet []byte, public blas32.General, said [][]string) ([]Judged, error) {
	m, err := readLatent(p, state, bytes.NewReader(sheet))
	if err != nil {
		return nil, err
	}
	places := make([][]int, len(said))
	for i, names := range said {
		for _, name := range names {
			at := slices.Index(m.Asked.Classes, name)
			if at < 0 {
				return nil, fmt.Errorf("model %d tells other classes apart than the plan of the release", i+1)
			}
			places[i] = append(places[i], at)
		}
	}
	return judged(m, public, places)
}

// judged judges models by a release that was read.
func judged(m *latent.Model, public blas32.General, said [][]int) ([]Judged, error) {
	k, reports := len(m.Asked.Classes), reportsOf(m)
	var places []int
	var count int
	switch {
	case m.Asked.Report == plan.LatentRight || k < 2:
		return nil, errors.New("the release tells no classes of records, which models are judged by")
	case public.Cols != m.Asked.Features:
		return nil, fmt.Errorf("public records of %d numbers, and the plan has %d: give the columns that clusters or encoder were made of, in their order (--features, --drop)", public.Cols, m.Asked.Features)
	case m.Counts != nil:
		count = len(m.Finder.Sizes)
		for i := range public.Rows {
			at, ok := m.Finder.Find(public.Data[i*public.Stride:][:public.Cols])
			if !ok {
				return nil, fmt.Errorf("public record %d lies in no cluster: its numbers are too large", i+1)
			}
			places = append(places, at)
		}
	case len(reports.bodies) > 0:
		count, places = reports.encoder.Prototypes.Rows, learn.Nearest(reports.encoder, public)
	default:
		return nil, errors.New("numbered sets of symbols judge no model")
	}
	gives := make([][]float64, len(said))
	for i, classes := range said {
		gives[i] = sharesAt(places, count, classes, k)
	}
	if m.Counts != nil {
		t := m.Counts.Tables[0]
		return ranked(gives, func(shares []float64) []float64 { return pays(shares, k) }, func(pay []float64) (mean, err float64) {
			all, squares, centre := 0.0, 0.0, 0.0
			for _, v := range pay {
				centre += v / float64(len(pay))
			}
			n := float64(t.Respondents)
			spread := 0.0
			for i, v := range pay {
				all += v * t.Values[i].Mean / n
				squares += v * v * t.Values[i].Mean / n
				spread += (v - centre) * (v - centre) * t.Values[i].StdErr * t.Values[i].StdErr / n / n
			}
			// Cells of one report push each other aside, all of them alike; who was asked is chance as well.
			cells := float64(len(pay))
			return all, math.Sqrt(spread*cells/(cells-1) + math.Max(0, squares-all*all)/n)
		}), nil
	}
	weights := learn.Reported(reports.encoder, reports.how.Vector, reports.bodies)
	response := randomize.KRR{K: k, Epsilon: reports.epsilon}
	lie := response.Prob(0, 1)
	gap := response.Prob(0, 0) - lie
	return ranked(gives, func(shares []float64) []float64 {
		each := make([]float64, len(reports.told))
		for i, told := range reports.told {
			at := make([]float64, k)
			for j, w := range weights[i*count:][:count] {
				for y := range at {
					at[y] += float64(w) * shares[j*k+y]
				}
			}
			squares := 0.0
			for _, q := range at {
				squares += q * q
			}
			each[i] = 2*(at[told]-lie)/gap - squares
		}
		return each
	}, func(each []float64) (mean, err float64) {
		squares, n := 0.0, float64(len(each))
		for _, v := range each {
			mean += v / n
		}
		for _, v := range each {
			squares += (v - mean) * (v - mean) / n
		}
		return mean, math.Sqrt(squares / n)
	}), nil
}

// sharesAt returns those of the classes that a model gives the records at each place: all alike where there is none.
func sharesAt(places []int, count int, classes []int, k int) []float64 {
	shares, held := make([]float64, count*k), make([]float64, count)
	for i, at := range places {
		shares[at*k+classes[i]]++
		held[at]++
	}
	for at, n := range held {
		for y := range k {
			if n == 0 {
				shares[at*k+y] = 1 / float64(k)
			} else {
				shares[at*k+y] /= n
			}
		}
	}
	return shares
}

// pays returns what a respondent of each cell, of a place and a class, adds to the score.
func pays(shares []float64, k int) []float64 {
	pay := make([]float64, len(shares))
	for at := 0; at < len(shares); at += k {
		squares := 0.0
		for _, q := range shares[at : at+k] {
			squares += q * q
		}
		for y, q := range shares[at : at+k] {
			pay[at+y] = 2*q - squares
		}
	}
	return pay
}

// ranked compares models by what each pays, of which mean gives the mean over respondents.
func ranked(gives [][]float64, pay func(shares []float64) []float64, mean func(pay []float64) (mean, err float64)) []Judged {
	all, out, best := make([][]float64, len(gives)), make([]Judged, len(gives)), 0
	for i, shares := range gives {
		all[i] = pay(shares)
		out[i].Score, out[i].StdErr = mean(all[i])
		if out[i].Score > out[best].Score {
			best = i
		}
	}
	for i := range out {
		if i == best {
			continue
		}
		apart := make([]float64, len(all[i]))
		for j := range apart {
			apart[j] = all[best][j] - all[i][j]
		}
		out[i].Behind, out[i].BehindErr = mean(apart)
	}
	return out
}
