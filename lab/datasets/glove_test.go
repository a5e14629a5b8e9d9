package datasets

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/datatest"
)

func TestWordVectorsAreRead(t *testing.T) {
	w := &WordVectors{}
	if err := w.read(strings.NewReader("the -1.5 2\nof 0.25 1e-3\n")); err != nil || strings.Join(w.Words, " ") != "the of" || w.X.Rows != 2 || w.X.Cols != 2 || w.X.Data[0] != -1.5 || w.X.Data[3] != 1e-3 {
		t.Errorf("%+v, %v", w, err)
	}
	for text, want := range map[string]string{
		"":                  "no word",
		"the\n":             "line 1 is not a word",
		"the 1 2\nof 1\n":   "line 2 is not a word",
		"the 1 x\n":         `line 1: "x" is no number`,
		"the 1 NaN\n":       "is no number",
		"the 1 1e99\n":      "is no number",
		" 1 2\n":            "line 1 is not a word",
		"the 1 2\n\nof 1 2": "line 2 is not a word",
	} {
		if err := new(WordVectors).read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestThePublishedWordVectors(t *testing.T) {
	w, err := LoadWordVectors(datatest.Folder(t, "glove"))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Words) != 11925 || w.X.Cols != 25 || w.Words[0] != "the" || len(w.Checksum) != 64 {
		t.Errorf("%d words of %d numbers, the first %q", len(w.Words), w.X.Cols, w.Words[0])
	}
}

func FuzzWordVectors(f *testing.F) {
	f.Add("the -1.5 2\nof 0.25 1e-3\n")
	f.Fuzz(func(t *testing.T, text string) {
		costlimit.Heap(t, costlimit.Factor, len(text)+1<<16, func() { // and a line
			if w := new(WordVectors); w.read(strings.NewReader(text)) == nil && len(w.X.Data) != len(w.Words)*w.X.Cols {
				t.Errorf("%d numbers of %d words", len(w.X.Data), len(w.Words))
			}
		})
	})
}
