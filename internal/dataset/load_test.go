package dataset

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/testkit/datatest"
)

func load(t *testing.T, name string) *Set {
	t.Helper()
	s, err := Load(datatest.Folder(t, name), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nearestMean is the accuracy of the class whose mean has the largest inner
// product with the record, and that of the nearest mean.
func nearestMean(s *Set) (inner, euclid float64) {
	k := len(s.Classes)
	means := matrix(k, s.Dimension())
	counts := s.Train.Counts(k)
	for i, y := range s.Train.Y {
		m := row(means, y)
		for j, v := range row(s.Train.X, i) {
			m[j] += v / float32(counts[y])
		}
	}
	scores := matrix(s.Test.Len(), k)
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, s.Test.X, means, 0, scores)
	half := make([]float32, k)
	for c := range half {
		for _, v := range row(means, c) {
			half[c] += v * v / 2
		}
	}
	for i, y := range s.Test.Y {
		byInner, byDistance := 0, 0
		r := row(scores, i)
		for c := range r {
			if r[c] > r[byInner] {
				byInner = c
			}
			if r[c]-half[c] > r[byDistance]-half[byDistance] {
				byDistance = c
			}
		}
		if byInner == y {
			inner++
		}
		if byDistance == y {
			euclid++
		}
	}
	n := float64(s.Test.Len())
	return inner / n, euclid / n
}

// The accuracies without privacy are those of the data's own README, which
// gives three or four decimals.
func TestReferenceAccuracies(t *testing.T) {
	for _, c := range []struct {
		name          string
		train, test   int
		cols, words   int
		inner, euclid float64
	}{
		{"mnist", 60000, 10000, 784, 0, 0.766, 0.822},
		{"fashion-mnist", 60000, 10000, 784, 0, 0.631, 0.713},
		{"agnews", 11999, 3001, 256, 3580, 0.816, 0.821},
		{"sst2", 46267, 6806, 128, 4090, 0.686, 0.688},
		{"agnews_lsa256", 40000, 7600, 256, 14315, 0.8520, 0.8528},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && strings.HasSuffix(c.name, "mnist") {
				t.Skip("short")
			}
			s := load(t, c.name)
			if s.Train.Len() != c.train || s.Test.Len() != c.test || s.Dimension() != c.cols || len(s.Words) != c.words {
				t.Errorf("read %s", s)
			}
			inner, euclid := nearestMean(s)
			if math.Abs(inner-c.inner) > 6e-4 || math.Abs(euclid-c.euclid) > 6e-4 {
				t.Errorf("nearest mean %.4f (inner product), %.4f (distance), want %.4f and %.4f", inner, euclid, c.inner, c.euclid)
			}
		})
	}
}

func TestLoadSaysWhatToDo(t *testing.T) {
	empty := t.TempDir()
	os.Mkdir(filepath.Join(empty, "mnist"), 0o700)
	for _, c := range []struct{ dir, name, want string }{
		{empty, "imagenet", "choose one of"},
		{"", "mnist", "CONFETTI_DATA"},
		{empty, "agnews", "CONFETTI_DATA"},
		{empty, "mnist", "train-images-idx3-ubyte.gz does not exist"},
	} {
		if _, err := Load(c.dir, c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Load(%q, %q): error %v, want one with %q", c.dir, c.name, err, c.want)
		}
	}
}

func TestPartsKeepRowsAndLabelsTogether(t *testing.T) {
	l := Labelled{X: matrix(10, 2), Y: make([]int, 10)}
	for i := range l.Y {
		l.Y[i] = i % 3
		l.X.Data[2*i], l.X.Data[2*i+1] = float32(i), float32(i%3)
	}
	together := func(name string, part Labelled) {
		if part.X.Rows != part.Len() {
			t.Errorf("%s: %d rows, %d labels", name, part.X.Rows, part.Len())
		}
		for i, y := range part.Y {
			if row(part.X, i)[1] != float32(y) {
				t.Errorf("%s: row %d has another's label", name, i)
			}
		}
	}
	part, rest := l.Split(rand.New(rand.NewPCG(1, 1)), 0.3)
	if part.Len() != 3 || rest.Len() != 7 {
		t.Errorf("split into %d and %d", part.Len(), rest.Len())
	}
	together("part", part)
	together("rest", rest)
	together("head", l.Head(4))
	for c, b := range l.ByClass(4) {
		if want := []int{4, 3, 3, 0}[c]; b.Rows != want {
			t.Errorf("class %d has %d rows, want %d", c, b.Rows, want)
		}
		for i := range b.Rows {
			if row(b, i)[1] != float32(c) {
				t.Errorf("class %d holds a row of another", c)
			}
		}
	}
}
