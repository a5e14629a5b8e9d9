package kde

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/testkit/datatest"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/plan"
)

// Descriptions of things, as vectors of latent directions of others' descriptions, lie near to the mean of
// their class: 0.927 by all words of the training file, says the README of the data.
func TestTextsAreVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("short: fits directions of 12,000 texts")
	}
	dir := datatest.Folder(t, "dbpedia14")
	load := withTexts(experiments.Data{Texts: func(name string) (*datasets.Texts, error) {
		texts, err := datasets.LoadTexts(dir, name)
		if err == nil { // a quarter of the public ones, in all classes
			texts.Public.Texts, texts.Public.Y = texts.Public.Texts[:3_000], texts.Public.Y[:3_000]
		}
		return texts, err
	}})
	set, err := load("dbpedia14")
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Classes) != 14 || set.Dimension() != textDimensions || set.Train.Len() < 25_000 || set.Test.Len() < 3_900 || len(set.Checksum) != 64 {
		t.Fatalf("%s, %q", set, set.Checksum)
	}
	for i := range set.Train.Y {
		length := 0.0
		for _, v := range row(set.Train.X, i) {
			length += float64(v) * float64(v)
		}
		if math.Abs(length-1) > 1e-5 {
			t.Fatalf("row %d has length %v", i, math.Sqrt(length))
		}
	}
	got := nearMeans(set)
	if t.Logf("accuracy of inner products with means: %.3f", got); got < 0.85 {
		t.Errorf("accuracy %.3f, want 0.85", got)
	}
}

// Texts by the means of their words' vectors say what they are about, and so do words.
func TestTextsAreMeansOfWords(t *testing.T) {
	datatest.Folder(t, "agnews_csv")
	dir := datatest.Folder(t, "glove")
	load := withTexts(experiments.Data{
		Texts: func(name string) (*datasets.Texts, error) { return datasets.LoadTexts(dir, name) },
		Words: func() (*datasets.WordVectors, error) { return datasets.LoadWordVectors(dir) },
	})
	set, err := load("agnews_glove")
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Classes) != 4 || set.Dimension() != 25 || set.Train.Len() < 39_000 || set.Train.Len() != set.Train.X.Rows || set.Test.Len() < 7_500 || len(set.Words) != 11_925 || set.WordX.Rows != len(set.Words) || len(set.Checksum) != 64 {
		t.Fatalf("%s, %q", set, set.Checksum)
	}
	got := nearMeans(set)
	if t.Logf("accuracy of inner products with means: %.3f", got); got < 0.6 {
		t.Errorf("accuracy %.3f, want 0.6", got)
	}
}

// nearMeans is the accuracy of the class whose mean has the largest inner product with a record.
func nearMeans(set *dataset.Set) float64 {
	classes := len(set.Classes)
	means := blas32.General{Rows: classes, Cols: set.Dimension(), Stride: set.Dimension(), Data: make([]float32, classes*set.Dimension())}
	counts := set.Train.Counts(classes)
	for i, y := range set.Train.Y {
		for j, v := range row(set.Train.X, i) {
			means.Data[y*means.Stride+j] += v / float32(counts[y])
		}
	}
	scores := blas32.General{Rows: set.Test.Len(), Cols: classes, Stride: classes, Data: make([]float32, set.Test.Len()*classes)}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, set.Test.X, means, 0, scores)
	right := 0
	for i, y := range set.Test.Y {
		best := 0
		for c, v := range row(scores, i) {
			if v > row(scores, i)[best] {
				best = c
			}
		}
		if best == y {
			right++
		}
	}
	return float64(right) / float64(set.Test.Len())
}

// array writes numbers as a .npy file of a shape. Labels are integers.
func array(t *testing.T, path, shape string, integers bool, numbers ...float64) {
	t.Helper()
	kind := "<f8"
	if integers {
		kind = "<i8"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", kind, shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	b = append(b, header...)
	for _, x := range numbers {
		bits := math.Float64bits(x)
		if integers {
			bits = uint64(x)
		}
		b = binary.LittleEndian.AppendUint64(b, bits)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A set as sentences.py writes it is measured, with the checksum that stands beside it. One that is not there leaves a row with
// a reason, and one that is broken is an error that says what is wrong.
func TestEncodedTexts(t *testing.T) {
	dir := t.TempDir()
	set := filepath.Join(dir, "sst2_glue"+encoded)
	in := func(name string) string { return filepath.Join(set, name) }
	made := func() {
		t.Helper()
		if err := os.MkdirAll(set, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"classes.txt": "negative\npositive\n", "vocab.txt": "bad\ngood\n"} {
			if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		array(t, in("train_x.npy"), "(4, 2)", false, 1, 0, 0.8, 0.6, 0, 1, 0.6, 0.8)
		array(t, in("train_y.npy"), "(4,)", true, 0, 0, 1, 1)
		array(t, in("test_x.npy"), "(2, 2)", false, 1, 0, 0, 1)
		array(t, in("test_y.npy"), "(2,)", true, 0, 1)
		array(t, in("vocab_x.npy"), "(2, 2)", false, 1, 0, 0, 1)
	}
	measure := func() (experiments.Measured, error) {
		return Kind.Bench(experiments.Data{Set: func(name string) (*dataset.Set, error) { return dataset.Load(dir, name) }}).Measure(experiments.Cell{
			Dataset: "sst2_glue" + encoded + "@2000", Seed: 1, Runs: 1,
			Density: experiments.Density{Kernel: plan.Kernel{Name: "ip-identity"}, Bitsum: "rr", Accounting: calibrate.Exact, Epsilon: 4, Delta: 1e-5},
		})
	}
	m, err := measure()
	if err != nil || m.Result != nil || !strings.Contains(m.Reason, "lab/kde/sentences.py") {
		t.Errorf("no such set: %+v, %v", m, err)
	}
	made()
	if m, err = measure(); err != nil || m.Result == nil || m.Result.Respondents != 4000 || m.Result.Accuracy != 1 || m.Result.Data == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	whole := m.Result.Data
	t.Run("checksum", func(t *testing.T) {
		python, err := exec.LookPath(cmp.Or(os.Getenv("PYTHON"), "python3"))
		if err != nil {
			t.Skip("there is no Python here: set PYTHON to one")
		}
		lines, err := exec.Command(python, "-B", "-c", "import sentences, sys; sys.stdout.write(sentences.checksums(sys.argv[1]))", set).Output()
		if sum := sha256.Sum256(lines); err != nil || hex.EncodeToString(sum[:]) != whole {
			t.Errorf("the checksum of %q is not %s: %v", lines, whole, err)
		}
	})
	for _, fault := range []struct {
		want  string
		plant func()
	}{
		{"train_x.npy: header announces 80 bytes", func() { array(t, in("train_x.npy"), "(5, 2)", false, 1, 0, 0.8, 0.6, 0, 1, 0.6, 0.8) }},
		{"train_y.npy does not exist", func() { os.Remove(in("train_y.npy")) }},
		{"4 rows of features but 3 labels", func() { array(t, in("train_y.npy"), "(3,)", true, 0, 0, 1) }},
		{"do not have the same number of features", func() { array(t, in("test_x.npy"), "(2, 3)", false, 1, 0, 0, 0, 1, 0) }},
		{"2 words but 1 word vectors", func() { array(t, in("vocab_x.npy"), "(1, 2)", false, 1, 0) }},
		{"row 1, column 0 is not a finite float32", func() { array(t, in("test_x.npy"), "(2, 2)", false, 1, 0, math.NaN(), 1) }},
		{"label of row 3 is outside 0 to 1", func() { array(t, in("train_y.npy"), "(4,)", true, 0, 0, 1, 2) }},
	} {
		made()
		fault.plant()
		if m, err := measure(); err == nil || !strings.Contains(err.Error(), fault.want) || m.Result != nil {
			t.Errorf("%v, want %q", err, fault.want)
		}
	}
}
