package kde

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/seeded"
)

var seedsApart = flag.Int("seeds", 1, "how often what features drawn for each class apart do is measured; the first is compared")

// KDE's Gaussian rows fall with the labels' epsilon whatever the records' epsilon is, from 80 to 17 % on DBPedia-14. The
// authors' program draws features for each class anew, and that does it: their errors differ from class to class, while
// noise of labels takes from what the classes differ by. A plan's features are drawn once for all classes.
func TestPrintedGaussiansAreAsOfFeaturesApart(t *testing.T) {
	asPrinted(t, "table2", madeUp, 7, 88)
}

// By the paper's own encoder one draw of features for each class is what is printed, at each epsilon of labels, and one for all
// classes is far better.
func TestPrintedTextsAreAsOfFeaturesApart(t *testing.T) {
	for name, table := range map[string]string{"dbpedia14": "table2", "agnews": "table3", "sst2_glue": "table4"} {
		t.Run(name, func(t *testing.T) {
			dir := os.Getenv("CONFETTI_DATA")
			if _, err := os.Stat(filepath.Join(dir, name+encoded)); dir == "" || err != nil {
				t.Skip("no data folder with " + name + encoded + ", which sentences.py writes")
			}
			set, err := dataset.Load(dir, name+encoded)
			if err != nil {
				t.Fatal(err)
			}
			const respondents = 10_000
			train := dataset.Labelled{X: set.Train.X, Y: set.Train.Y[:respondents]}
			train.X.Rows = respondents
			asPrinted(t, table, func(uint64) (_, _ dataset.Labelled) { return train, set.Test }, 6, 82)
		})
	}
}

// asPrinted fails where accuracies with features drawn for each class are further than off from what a table prints of 3NB at
// epsilon 7, where noise of sums costs nothing, or those with features that classes share are below least.
func asPrinted(t *testing.T, table string, records func(seed uint64) (train, test dataset.Labelled), off, least float64) {
	shared, apart := make([][]float64, len(labelLevels)), make([][]float64, len(labelLevels))
	for seed := range *seedsApart {
		train, test := records(uint64(seed + 1))
		estimates, right := drawnForEachClass(t, train, test, uint64(seed+1))
		for l, epsilon := range labelLevels {
			shared[l] = append(shared[l], labelled(slices.Repeat(estimates[:1], len(estimates)), right, epsilon))
			apart[l] = append(apart[l], labelled(estimates, right, epsilon))
		}
	}
	for l, epsilon := range labelLevels {
		printed, _, ok := Printed(table, "gaussian", "3nb", 7, epsilon)
		t.Logf("labels at %g (0: as they are): printed %.1f, apart %.1f ± %.1f, shared %.1f ± %.1f", epsilon, printed,
			stat.Mean(apart[l], nil), stat.StdDev(apart[l], nil), stat.Mean(shared[l], nil), stat.StdDev(shared[l], nil))
		if !ok || math.Abs(apart[l][0]-printed) > off || shared[l][0] < least {
			t.Errorf("labels at %g: %.1f with features apart, %.1f with features that are shared, %.1f printed", epsilon, apart[l][0], shared[l][0], printed)
		}
	}
}

// madeUp returns records to learn from and to test in the shape of DBPedia-14.
func madeUp(seed uint64) (train, test dataset.Labelled) {
	s := shapes[dbpediaLike]
	s.perClass, s.test = 200, 100
	if *seedsApart > 1 { // as docs/results-kde.md has it: every share moves by a point at most
		s.perClass = 500
	}
	rec := s.records(dbpediaLike, seed)
	train = dataset.Labelled{X: matrix(s.perClass*s.classes, s.dimension), Y: rec.Train.Y}
	for i := range train.X.Rows {
		copy(row(train.X, i), rec.row(i))
	}
	return train, rec.Test
}

func matrix(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

// drawnForEachClass estimates at each test record (row), by each class's own features, the mean kernel of each class
// (column), and returns the classes of the test records.
func drawnForEachClass(t *testing.T, train, test dataset.Labelled, seed uint64) (estimates []blas32.General, right []int) {
	classes, dimension := slices.Max(train.Y)+1, train.X.Cols
	sizes := make([]float32, classes)
	for _, y := range train.Y {
		sizes[y]++
	}
	for class := range classes {
		spec := kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: dimension, Repetitions: dimension, Bandwidth: 1, Normalize: true}
		r := seeded.New(seed, uint64(class))
		for i := range spec.Seed {
			spec.Seed[i] = byte(r.Uint32())
		}
		f, err := kernelmap.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		maps, queries, means := matrix(train.X.Rows, f.Channels()), matrix(test.Len(), f.Channels()), matrix(classes, f.Channels())
		if err := f.MapAll(train.X, maps); err != nil {
			t.Fatal(err)
		}
		if err := f.QueryAll(test.X, queries); err != nil {
			t.Fatal(err)
		}
		for i := range maps.Rows {
			blas32.Axpy(1/sizes[train.Y[i]], blas32.Vector{N: maps.Cols, Inc: 1, Data: row(maps, i)}, blas32.Vector{N: means.Cols, Inc: 1, Data: row(means, train.Y[i])})
		}
		e := matrix(test.Len(), classes)
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, queries, means, 0, e)
		estimates = append(estimates, e)
	}
	return estimates, test.Y
}

// labelled is the percentage of test records at which the class of highest density is theirs, each by its own estimates,
// where labels are told by k-ary response: in expectation.
func labelled(estimates []blas32.General, right []int, epsilon float64) float64 {
	told := randomize.KRR{K: len(estimates), Epsilon: epsilon}
	n := 0
	for i, class := range right {
		densities := make([]float64, len(estimates))
		for y := range densities {
			for from, v := range row(estimates[y], i) {
				switch {
				case epsilon > 0:
					densities[y] += told.Prob(y, from) * float64(v)
				case y == from: // as they are
					densities[y] = float64(v)
				}
			}
		}
		if floats.MaxIdx(densities) == class {
			n++
		}
	}
	return 100 * float64(n) / float64(len(right))
}
