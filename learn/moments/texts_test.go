package moments_test

import (
	"compress/gzip"
	"encoding/csv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode/lsa"
	"github.com/confetti-dp/confetti/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/dp/vector"
	"github.com/confetti-dp/confetti/dp/vector/record"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/moments"
)

// news reads classes and texts.
func news(t *testing.T, name string) (classes []int, texts []string) {
	t.Helper()
	dir := os.Getenv("CONFETTI_DATA")
	if dir == "" {
		dir = "../../../shared/data"
	}
	f, err := os.Open(filepath.Join(dir, "agnews_csv", name))
	if err != nil {
		t.Skipf("%v; name the data folder with CONFETTI_DATA", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if len(row[0]) == 1 && row[0] >= "1" && row[0] <= "4" {
			classes = append(classes, int(row[0][0]-'1'))
			texts = append(texts, row[1]+" "+row[2])
		}
	}
	return classes, texts
}

// One round of 2,048 bits of each of 40,000 respondents at epsilon 0.5, with a third as
// many public texts without labels.
func TestOneRoundOnNews(t *testing.T) {
	if testing.Short() {
		t.Skip("draws a hundred million bits")
	}
	labels, texts := news(t, "train.csv.gz")
	testLabels, testTexts := news(t, "test.csv.gz")
	const public, dimension = 12_406, 256
	state, err := lsa.Fit(replay.New(1), texts[:public], dimension, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	features := func(texts []string) blas32.General {
		x := blas32.General{Rows: len(texts), Cols: dimension, Stride: dimension, Data: make([]float32, len(texts)*dimension)}
		inParallel(len(texts), func() int { return 0 }, func(_, i int) { state.Apply(texts[i], row(x, i)) })
		return x
	}
	white, err := principal.Fit(features(texts[:public]), dimension, 0.3, principal.Full)
	if err != nil {
		t.Fatal(err)
	}
	labels = labels[public:]
	train, test := whitened(white, features(texts[public:])), whitened(white, features(testTexts))
	shape, n := record.Shape{Dimension: dimension, Classes: 4}, train.Rows
	need := vector.Need{Respondents: n, Honest: n, Dimension: shape.ClassLen(), Bits: 2048, SquaredDistance: record.ClassDistance}
	for _, c := range []struct{ epsilon, least float64 }{{0.5, 0.854}, {1, 0.857}} {
		spec, err := need.Design(c.epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		if g, err := account.Epsilon(spec.Event(n), delta); err != nil || g.Epsilon > c.epsilon {
			t.Fatalf("%v, %v", g, err)
		}
		m, err := vector.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		counts := m.DrawAll(n, func(i int, v []float32) { shape.ClassMessage(row(train, i), labels[i], v) },
			func(part int) *rand.Rand { return replay.New(2, uint64(part)) }, nil)
		sum, err := m.Estimate(counts, n)
		if err != nil {
			t.Fatal(err)
		}
		l, err := moments.ClassSums(shape, sum.Vector)
		if err != nil {
			t.Fatal(err)
		}
		if got := accuracy(l, test, testLabels); got < c.least {
			t.Errorf("epsilon %v: accuracy %.4f, want %v", c.epsilon, got, c.least)
		} else {
			t.Logf("epsilon %v, %d of %d rows: accuracy %.4f, error %.2f", c.epsilon, spec.Answered, spec.Rows, got, sum.Error)
		}
	}
}
