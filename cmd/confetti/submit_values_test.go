package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/internal/costtest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// everything asks an attribute of each kind.
var everything = plan.Plan{Question: plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
	Crowds: []string{"north", "south"},
	Attributes: []plan.Attribute{
		{Name: "colour", Kind: "categories", Values: []string{"red", "green"}},
		{Name: "floor", Kind: "categories", Size: 9},
		{Name: "age", Kind: "buckets", Low: 0, High: 100, Cells: 10},
		{Name: "apps", Kind: "set", Values: []string{"a", "b", "c"}, Most: 2},
		{Name: "rooms", Kind: "set", Size: 5, Most: 2},
		{Name: "place", Kind: "grid", X: &plan.Axis{High: 1, Cells: 4}, Y: &plan.Axis{High: 1, Cells: 4}},
		{Name: "word", Kind: "prefixes", Values: []string{"he", "wo"}},
	},
}}}

func read(t *testing.T, name, text string, p plan.Plan) ([]protocol.Value, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return columns{Label: "class", Crowd: "crowd"}.answers(path, p)
}

// The same answers in both languages are the same values.
func TestAnswersOfEveryKind(t *testing.T) {
	want := []protocol.Value{
		protocol.Answers{Crowd: 1, Values: []any{"green", 3, 41.5, []string{"a", "c"}, []int{0, 4}, encode.Point{X: 0.25, Y: 0.75}, "he said \"x\""}},
		protocol.Answers{Crowd: 0, Values: []any{"red", 0, -2.0, []string{}, []int{}, encode.Point{X: 1, Y: 0}, ""}},
	}
	for name, text := range map[string]string{
		"bom.csv": "\ufeffcrowd,colour,floor,age,apps,rooms,place,word,other\r\nsouth,green,3,41.5,a; c,0;4,0.25;0.75,\"he said \"\"x\"\"\",1\r\nnorth,red,0,-2,,,1;0,,2\r\n",
		"a.jsonl": `{"crowd":"south","colour":"green","floor":3,"age":41.5,"apps":["a","c"],"rooms":[0,4],"place":[0.25,0.75],"word":"he said \"x\""}` + "\n" +
			`{"crowd":"north","colour":"red","floor":0,"age":-2,"apps":[],"rooms":[],"place":[1,0],"word":"","other":null}`,
	} {
		got, err := read(t, name, text, everything)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAnswersInAMatrix(t *testing.T) {
	p := plan.Plan{Question: plan.Question{Histogram: &plan.Histogram{Attributes: []plan.Attribute{everything.Question.Histogram.Attributes[5], everything.Question.Histogram.Attributes[2]}}}}
	x := [][]float32{{0.25, 0.75, 41.5}, {1, 0, 7}}
	got, err := read(t, "x.npy", string(npyMatrix(x)), p)
	want := []protocol.Value{
		protocol.Answers{Values: []any{encode.Point{X: 0.25, Y: 0.75}, 41.5}},
		protocol.Answers{Values: []any{encode.Point{X: 1, Y: 0}, 7.0}},
	}
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if _, err := read(t, "x.npy", string(npyMatrix(x)), everything); err == nil {
		t.Error("names in a matrix of numbers")
	}
	p.Question.Histogram.Attributes = p.Question.Histogram.Attributes[:1]
	if _, err := read(t, "x.npy", string(npyMatrix(x)), p); err == nil {
		t.Error("a column too many")
	}
}

func TestLabelledAnswers(t *testing.T) {
	p := plan.Plan{Question: plan.Question{Density: &plan.Density{Dimension: 2, Classes: []string{"a", "b"}}}}
	want := []protocol.Value{protocol.Labelled{Features: []float32{1, 2.5}, Class: 1}}
	for name, text := range map[string]string{"x.csv": "x,class,y\n1,b,2.5\n", "x.jsonl": `{"features":[1,2.5],"class":"b"}`} {
		if got, err := read(t, name, text, p); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(want, got))
		}
	}
}

// What is wrong is named by row and column, and what is there is not said.
func TestAnswersSayNoValue(t *testing.T) {
	row := `{"crowd":"south","colour":"green","floor":3,"age":41.5,"apps":["a"],"rooms":[0],"place":[0,0],"word":"he"}`
	for change, where := range map[string]string{
		`"south"->"SECRET"`:   "column crowd",
		`"green"->["SECRET"]`: "column colour",
		`3->"SECRET"`:         "column floor",
		`3->3.5`:              "column floor",
		`41.5->"SECRET"`:      "column age",
		`41.5->"NaN"`:         "column age",
		`["a"]->{"SECRET":1}`: "column apps",
		`["a"]->[1]`:          "column apps",
		`[0]->["SECRET"]`:     "column rooms",
		`[0,0]->[1,2,3]`:      "column place",
		`[0,0]->"SECRET"`:     "column place",
		`"word"->"SECRET"`:    "no column word",
		`}->,"SECRET"`:        "not a JSON object",
	} {
		old, replaced, _ := strings.Cut(change, "->")
		text := row + "\n" + strings.Replace(row, old, replaced, 1)
		_, err := read(t, "x.jsonl", text, everything)
		if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), "row 2") || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", change, err)
		}
	}
	for name, text := range map[string]string{"x.csv": "", "y.csv": "colour\nred,SECRET\n", "z.csv": "colour\n\"SECRET", "x.txt": "SECRET", "x.jsonl": ""} {
		if _, err := read(t, name, text, everything); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The later of two columns of one name would answer for both.
func TestColumnsAreToldApart(t *testing.T) {
	if _, err := rows(".csv", strings.NewReader("floor,floor\n1,2\n")); err == nil || !strings.Contains(err.Error(), "told apart") {
		t.Error(err)
	}
}

// Whatever is in a file, reading it ends with values or an error.
func FuzzAnswers(f *testing.F) {
	f.Add(true, "crowd,colour,floor\nsouth,green,3\n")
	f.Add(true, "\ufeff\"a\n")
	f.Add(false, `{"crowd":"south","colour":"green","floor":3,"age":41.5,"apps":["a"],"rooms":[0],"place":[0,0],"word":"he"}`)
	f.Add(false, `{"place":[[]],"floor":1e300}`)
	f.Fuzz(func(t *testing.T, comma bool, text string) {
		costtest.Heap(t, costtest.Factor, len(text), func() {
			extension := ".jsonl"
			if comma {
				extension = ".csv"
			}
			next, err := rows(extension, strings.NewReader(text))
			if err != nil {
				return
			}
			for range len(text) + 2 {
				fields, err := next()
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					return
				}
				v, err := columns{Crowd: "crowd"}.answersOf(fields, *everything.Question.Histogram)
				if a, ok := v.(protocol.Answers); err == nil && (!ok || len(a.Values) != 7 || a.Crowd < 0 || a.Crowd > 1) {
					t.Fatalf("%v", v)
				}
			}
			t.Fatal("more rows than bytes")
		})
	})
}
