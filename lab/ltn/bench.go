package ltn

import (
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/encoder"
)

var choices = append([]string{"mnist", "fashion-mnist", LoansName}, ShiftNames()...)

// kind is what these measurements have in common.
var kind = &experiments.Kind{
	Takes: func(set string) (takes, folder bool) {
		return slices.Contains(choices, set), true
	},
	Choices: choices,
	Bench:   func(d experiments.Data) experiments.Bench { return &bench{data: d} },
}

// bench measures cells, and holds the last data set with what was made of it.
type bench struct {
	data experiments.Data
	set  *dataset.Set
	name string
	made *shared
}

func (b *bench) Shared(c experiments.Cell) string {
	return fmt.Sprint(c.Records.Noise, " ", c.Records.Length, " ", c.Records.Mechanism, " ", c.Records.Level)
}

// Measure takes a seed of its own for each run.
func (b *bench) Measure(c experiments.Cell) (experiments.Measured, error) {
	if b.set == nil || b.name != c.Dataset {
		b.set, b.made = nil, nil // let go of the memory before more is taken
		set, err := b.data.Set(c.Dataset)
		if err != nil {
			return experiments.Measured{}, err
		}
		b.set, b.name, b.made = set, c.Dataset, newShared()
	}
	var clean, private, told, plain, paper, alone, clusters, stated []float64
	var out experiments.Result
	for run := range c.Runs {
		res, err := b.one(Cell{Dataset: c.Dataset, Records: c.Records, Seed: c.Seed + uint64(run)})
		if err != nil {
			return experiments.Measured{}, err
		}
		clean, private, told = append(clean, res.AccuracyClean), append(private, res.AccuracyPrivate), append(told, res.AccuracyLatent)
		plain, alone = append(plain, res.AccuracyNoPrivacy), append(alone, res.AccuracyAlone)
		clusters, stated = append(clusters, res.AccuracyClusters), append(stated, res.Stated)
		if res.AccuracyPaper != nil {
			paper = append(paper, *res.AccuracyPaper)
		}
		out.Seconds += res.Seconds
		if run > 0 {
			continue
		}
		out.Data, out.Synthetic = b.set.Checksum, b.set.Synthetic
		out.Dataset, out.Respondents, out.Users, out.Runs, out.Seed, out.Plan = c.Dataset, res.Respondents, res.Respondents, c.Runs, c.Seed, res.Plan
		out.Epsilon, out.EpsilonLocal, out.Delta, out.Adjacency, out.Trust = &res.EpsilonCentral, &res.EpsilonLocal, res.Delta, string(account.Replacement), account.ShufflerHonest
		if c.Records.Application == experiments.Joining { // nothing is shuffled
			out.Trust = string(account.Local)
		}
		out.Recorded = &experiments.Recorded{Clusters: res.Clusters, Tests: b.set.Test.Len(), EpsilonMade: res.EpsilonMade, Claim: res.Claim}
	}
	r := out.Recorded
	r.AccuracyClean, r.AccuracyCleanStd = experiments.MeanStd(clean)
	r.AccuracyPrivate, r.AccuracyPrivateStd = experiments.MeanStd(private)
	r.AccuracyTold, r.AccuracyToldStd = experiments.MeanStd(told)
	r.AccuracyNoPrivacy, _ = experiments.MeanStd(plain)
	r.AccuracyPaper, _ = experiments.MeanStd(paper)
	r.AccuracyAlone, _ = experiments.MeanStd(alone)
	r.AccuracyClusters, r.AccuracyClustersStd = experiments.MeanStd(clusters)
	r.Stated, r.StatedStd = experiments.MeanStd(stated)
	return experiments.Measured{Cell: c, Result: &out}, nil
}

// one returns a run, which leaves a picture where there is a folder.
func (b *bench) one(c Cell) (Result, error) {
	res, err := run(c, b.set, b.made, func(string, int, int) {})
	if err == nil && b.data.Out != "" {
		err = b.draw(c)
	}
	return res, err
}

// pictureOf returns the file of what the codes of a data set keep.
func pictureOf(set string) string { return "ltn-codes-" + set + ".png" }

// draw leaves a picture of test records, of what their codes stand for, and of what noisy codes do.
func (b *bench) draw(c Cell) error {
	path := filepath.Join(b.data.Out, pictureOf(c.Dataset))
	if _, err := os.Stat(path); err == nil || c.Dataset == LoansName {
		return nil
	}
	for _, e := range b.made.made {
		if e.back == nil || c.Noise > 0 || c.Central > 0 || c.Application != experiments.Collecting {
			continue
		}
		const shown, forPicture = 10, 100
		x := b.set.Test.X
		x = encoder.Greys(blas32.General{Rows: min(shown, x.Rows), Cols: x.Cols, Stride: x.Stride, Data: x.Data})
		t := task{Cell: c}
		side := 1
		for side*side < x.Cols {
			side++
		}
		m, err := encoder.Picture(t.stream(forPicture), e.Encoder, e.back, e.likelihood, x, side, side)
		if err != nil {
			return err
		}
		return experiments.WriteWhole(path, grey{m}.Write)
	}
	return nil
}

type grey struct{ *image.Gray }

func (g grey) Write(w io.Writer) error { return png.Encode(w, g.Gray) }
