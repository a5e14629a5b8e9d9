package sgd

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/simulate"
)

const (
	colourSide = 32
	// colourLength is about that of a picture of 32x32x3 with pixels from 0 to 1.
	colourLength = 27
	// xivLength is what features of pretrained layers are scaled to, beside the one of a bias.
	xivLength = 3

	epochs, minibatch = 3, 64 // seven minutes of processor time
	pretrainedFrom    = 1     // seed
)

// pretrained trains the network of ESA's Table XIV on the first half of a set's training records, which
// are public then, and gives what its layers but the last make of the other half, who are the
// respondents, and of the test records. ESA trains on CIFAR-100 instead, which shares no record either and is
// not among our data. Where keep is a folder, each epoch is kept there, and one that was stopped goes on.
func pretrained(set *dataset.Set, keep string, progress simulate.Progress) (*dataset.Set, error) {
	half := set.Train.Len() / 2
	r := seeded.New(pretrainedFrom)
	m, err := nn.New(r, nn.ESATableXIV(len(set.Classes))...)
	if err != nil {
		return nil, err
	}
	long, err := mapped(set.Train.X, set.Train.X.Cols, scaled(colourLength))
	if err != nil {
		return nil, err
	}
	for epoch := range epochs {
		order := r.Perm(half)
		kept := ""
		if keep != "" {
			kept = epochFile(keep, set.Checksum, epoch)
		}
		done, err := goOn(kept, m)
		if err != nil {
			return nil, err
		}
		if done {
			continue
		}
		adam, mean := nn.Adam{Rate: 1e-3}, make([]float32, len(m.Params)) // anew, so that nothing of it has to be kept
		for from := 0; from+minibatch <= half; from += minibatch {
			progress("pretraining", epoch*half+from, epochs*half)
			part := order[from : from+minibatch]
			for i, v := range nn.ClippedSum(m, math.Inf(1), func(i int) ([]float32, int) { return long[part[i]], set.Train.Y[part[i]] }, minibatch) {
				mean[i] = float32(v / minibatch)
			}
			adam.Step(m.Params, mean)
		}
		if kept != "" {
			text, err := m.MarshalBinary()
			if err == nil {
				err = atomicfile.Replace(kept, text, 0o644)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	tests, err := mapped(set.Test.X, set.Test.X.Cols, scaled(colourLength))
	if err != nil {
		return nil, err
	}
	out := &dataset.Set{Name: set.Name, Classes: set.Classes}
	out.Train = dataset.Labelled{X: outer(m, long[half:]), Y: set.Train.Y[half:]}
	out.Test = dataset.Labelled{X: outer(m, tests), Y: set.Test.Y}
	runtime.GC() // the pictures are large
	return out, nil
}

// epochFile names the data, too: an epoch of others is not gone on from.
func epochFile(folder, checksum string, epoch int) string {
	return filepath.Join(folder, fmt.Sprintf("table-xiv-of-%.12s-after-epoch-%d.model", checksum, epoch+1))
}

// goOn gives the model what an epoch that was kept in a file made of it; false where there is none.
func goOn(name string, m *nn.Model) (bool, error) {
	if name == "" {
		return false, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	kept := &nn.Model{}
	if err := kept.UnmarshalBinary(text); err != nil || len(kept.Params) != len(m.Params) {
		return false, fmt.Errorf("%s is not the network of Table XIV: remove it", name)
	}
	copy(m.Params, kept.Params)
	return true, nil
}

// outer returns the features of pictures, each xivLength long.
func outer(m *nn.Model, pictures [][]float32) blas32.General {
	all := nn.Outer(m, func(i int) []float32 { return pictures[i] }, len(pictures))
	size := len(all) / len(pictures)
	for row := range len(pictures) {
		x, squares := all[row*size:(row+1)*size], 0.0
		for _, v := range x {
			squares += float64(v) * float64(v)
		}
		for i := range x {
			x[i] *= float32(xivLength / math.Sqrt(math.Max(squares, 1e-12)))
		}
	}
	return blas32.General{Rows: len(pictures), Cols: size, Stride: size, Data: all}
}
