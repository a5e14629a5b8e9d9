package dataset

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/table"
)

func sample(t *testing.T, seed uint64, rows int) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSample(&b, rand.New(rand.NewPCG(seed, 0)), rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestASampleIsTheSameForASeed(t *testing.T) {
	first, again, other := sample(t, 1, 50), sample(t, 1, 50), sample(t, 2, 50)
	if first != again || first == other {
		t.Error("a seed does not name a sample")
	}
	for _, rows := range []int{0, -1, MaxSample + 1} {
		if err := WriteSample(&bytes.Buffer{}, rand.New(rand.NewPCG(1, 0)), rows); err == nil {
			t.Errorf("%d rows were written", rows)
		}
	}
}

// The sample has what a first hour needs: classes that can be told apart, a column of
// names, a set that may be empty, and numbers with a long tail.
func TestASampleHasWhatIsAskedOfIt(t *testing.T) {
	text := sample(t, 1, 4000)
	path := filepath.Join(t.TempDir(), "sample.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	columns, err := table.ReadColumns(path, table.Missing{}, table.Column{Name: "class"}, table.Column{Name: "drink"}, table.Column{Name: "spend"})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i := range columns.Lines {
		count[columns.Values[0][i]]++
		count[columns.Values[1][i]]++
	}
	for _, name := range append([]string{"student", "staff", "guest"}, sampleDrinks...) {
		if count[name] < 50 {
			t.Errorf("%s: %d of 4000", name, count[name])
		}
	}
	spend, err := columns.Numbers(2)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(spend)
	if median, most := spend[2000], spend[3999]; most < 5*median || spend[0] < 0 {
		t.Errorf("spend from %v to %v, median %v: no long tail", spend[0], most, median)
	}
	if !strings.Contains(text, ",,") || !strings.Contains(text, "fruit;nuts") {
		t.Error("no empty set, or none of two items")
	}
}
