package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/registry"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
)

// everything asks an attribute of each kind.
var everything = plan.Plan{Question: plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
	Attributes: []plan.Attribute{
		{Name: "colour", Kind: "categories", Values: []string{"red", "green"}},
		{Name: "floor", Kind: "categories", Size: 9},
		{Name: "age", Kind: "buckets", Low: 0, High: 100, Cells: 10},
		{Name: "apps", Kind: "set", Values: []string{"a", "b", "c"}, Most: 2},
		{Name: "rooms", Kind: "set", Size: 5, Most: 2},
		{Name: "place", Kind: "grid", X: &plan.Axis{High: 1, Cells: 4}, Y: &plan.Axis{High: 1, Cells: 4}},
		{Name: "word", Kind: "categories", Values: []string{"he", "wo"}, Others: true},
	},
	Randomizer: plan.Randomizer{Name: "one-hot", Keep: 0.75, Flip: 0.25},
}}, Crowd: plan.Crowd{Names: []string{"north", "south"}, Minimum: 10}}

// asking are the attributes of everything with these numbers, of everybody.
func asking(t testing.TB, attributes ...int) question.Parser {
	p := everything
	p.Crowd.Names = nil
	h := *p.Question.Histogram
	h.Attributes = nil
	for _, i := range attributes {
		h.Attributes = append(h.Attributes, everything.Question.Histogram.Attributes[i])
	}
	p.Question.Histogram = &h
	return histogramOf(t, p)
}

func histogramOf(t testing.TB, p plan.Plan) question.Parser {
	q, err := histogram.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func read(t *testing.T, name, text string, q question.Parser) ([]question.Value, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	values, _, err := columns{}.read(path, q)
	return values, err
}

// The same answers in both languages are the same values.
func TestAnswersOfEveryKind(t *testing.T) {
	want := []question.Value{
		histogram.Answers{Crowd: 1, Values: []any{"green", 3, 41.5, []string{"a", "c"}, []int{0, 4}, encode.Point{X: 0.25, Y: 0.75}, "he said \"x\""}},
		histogram.Answers{Crowd: 0, Values: []any{"red", 0, -2.0, []string{}, []int{}, encode.Point{X: 1, Y: 0}, "w"}},
	}
	for name, text := range map[string]string{
		"bom.csv": "\ufeffcrowd,colour,floor,age,apps,rooms,place,word,other\r\nsouth,green,3,41.5,a; c,0;4,0.25;0.75,\"he said \"\"x\"\"\",1\r\nnorth,red,0,-2,,,1;0,w,2\r\n",
		"a.jsonl": `{"crowd":"south","colour":"green","floor":3,"age":41.5,"apps":["a","c"],"rooms":[0,4],"place":[0.25,0.75],"word":"he said \"x\""}` + "\n" +
			`{"crowd":"north","colour":"red","floor":0,"age":-2,"apps":[],"rooms":[],"place":[1,0],"word":"w","other":null}`,
	} {
		got, err := read(t, name, text, histogramOf(t, everything))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAnswersInAMatrix(t *testing.T) {
	x := [][]float32{{0.25, 0.75, 41.5}, {1, 0, 7}}
	got, err := read(t, "x.npy", string(npyFile(x)), asking(t, 5, 2))
	want := []question.Value{
		histogram.Answers{Values: []any{encode.Point{X: 0.25, Y: 0.75}, 41.5}},
		histogram.Answers{Values: []any{encode.Point{X: 1, Y: 0}, 7.0}},
	}
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if _, err := read(t, "x.npy", string(npyFile(x)), asking(t, 0, 5, 2)); err == nil {
		t.Error("names in a matrix of numbers")
	}
	if _, err := read(t, "x.npy", string(npyFile(x)), asking(t, 5)); err == nil {
		t.Error("a column too many")
	}
}

func TestLabelledAnswers(t *testing.T) {
	p := example.Density("rr")
	example.Identity(&p, 2)
	p.Crowd.Names = []string{"a", "b"}
	kind, _ := registry.Find("density")
	q, err := kind.New(p)
	if err != nil {
		t.Fatal(err)
	}
	want := []question.Value{density.Labelled{Features: []float32{1, 2.5}, Class: 1}}
	for name, text := range map[string]string{"x.csv": "x,class,y\n1,b,2.5\n", "x.jsonl": `{"features":[1,2.5],"class":"b"}`} {
		if got, err := read(t, name, text, q.(question.Parser)); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(want, got))
		}
	}
}

// What is wrong is named by row and column, and what is there is not said.
func TestAnswersSayNoValue(t *testing.T) {
	row := `{"crowd":"south","colour":"green","floor":3,"age":41.5,"apps":["a"],"rooms":[0],"place":[0,0],"word":"he"}`
	for change, where := range map[string]string{
		`"south"->"SECRET"`:   `column "crowd" is none of the plan's 2`,
		`"green"->["SECRET"]`: `column "colour" is not a text`,
		`3->"SECRET"`:         `column "floor" is not the number of a cell`,
		`3->3.5`:              `column "floor"`,
		`41.5->"SECRET"`:      `column "age" is not a finite number`,
		`41.5->"NaN"`:         `column "age"`,
		`41.5->null`:          `column "age" is empty`,
		`["a"]->{"SECRET":1}`: `column "apps" is not a list`,
		`["a"]->[1]`:          `column "apps" holds an item`,
		`[0]->["SECRET"]`:     `column "rooms"`,
		`[0,0]->[1,2,3]`:      `column "place"`,
		`[0,0]->"SECRET"`:     `column "place"`,
		`"word"->"SECRET"`:    `column "word" is empty`,
		`}->,"SECRET"`:        "not a JSON object",
	} {
		old, replaced, _ := strings.Cut(change, "->")
		text := row + "\n" + strings.Replace(row, old, replaced, 1)
		_, err := read(t, "x.jsonl", text, histogramOf(t, everything))
		if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", change, err)
		}
	}
	for name, text := range map[string]string{"x.csv": "", "y.csv": "colour\nred,SECRET\n", "z.csv": "colour\n\"SECRET", "x.txt": "SECRET", "x.jsonl": ""} {
		if _, err := read(t, name, text, histogramOf(t, everything)); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The later of two columns of one name would answer for both.
func TestColumnsAreToldApart(t *testing.T) {
	if _, err := newRows(".csv", strings.NewReader("floor,floor\n1,2\n"), table.Missing{}); err == nil || !strings.Contains(err.Error(), "told apart") {
		t.Error(err)
	}
}

// All that is wrong is told at once, and an empty cell is what the command line says.
func TestAnswersWithEmptyCells(t *testing.T) {
	q := asking(t, 0, 2, 3)
	answers := func(missing, name, text string) (values []question.Value, notes []string, err error) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return columns{Missing: missing}.read(path, q)
	}
	full := histogram.Answers{Values: []any{"red", 7.0, []string{"a"}}}
	for name, text := range map[string]string{
		"x.csv":   "colour,age,apps\nred,7,a\n ,7,a\nred,,\n",
		"x.jsonl": `{"colour":"red","age":7,"apps":["a"]}` + "\n" + `{"colour":null,"age":7,"apps":["a"]}` + "\n" + `{"colour":"red","apps":[]}`,
	} {
		last := strings.Count(strings.TrimSpace(text), "\n") + 1 // a table has a line of names before its rows
		if _, _, err := answers("refuse", name, text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`line %d, column "colour" is empty; line %d, column "age" is empty: fill empty cells in`, last-1, last)) {
			t.Errorf("%s: %v", name, err)
		}
		if got, notes, err := answers("skip", name, text); err != nil || cmp.Diff([]question.Value{full}, got) != "" || !strings.Contains(strings.Join(notes, ""), "Of 3 rows 2 with an empty cell were left out") {
			t.Errorf("%s: %v, %v, %v", name, got, notes, err)
		}
		got, notes, err := answers("value=3", name, text)
		want := []question.Value{full, histogram.Answers{Values: []any{"3", 7.0, []string{"a"}}}, histogram.Answers{Values: []any{"red", 3.0, []string{}}}}
		if err != nil || cmp.Diff(want, got) != "" || !strings.Contains(strings.Join(notes, ""), "2 empty cells") {
			t.Errorf("%s: %v, %v, %v", name, got, notes, err)
		}
		if _, _, err := answers("value=x", name, text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`line %d, column "age" is not a finite number`, last)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := answers("often", name, text); err == nil || !errors.As(err, new(terminal.UsageError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := answers("skip", "x.csv", "colour,age,apps\n,7,a\n"); err == nil || !strings.Contains(err.Error(), "every one of 1 rows") {
		t.Error(err)
	}
}

// Whatever is in a file, reading it ends with values or an error.
func FuzzAnswers(f *testing.F) {
	f.Add(true, "crowd,colour,floor\nsouth,green,3\n")
	f.Add(true, "\ufeff\"a\n")
	f.Add(false, `{"crowd":"south","colour":"green","floor":3,"age":41.5,"apps":["a"],"rooms":[0],"place":[0,0],"word":"he"}`)
	f.Add(false, `{"place":[[]],"floor":1e300}`)
	q := histogramOf(f, everything)
	f.Fuzz(func(t *testing.T, comma bool, text string) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			extension := ".jsonl"
			if comma {
				extension = ".csv"
			}
			values, _, err := lines(extension, strings.NewReader(text), table.Missing{}, q, q.Fields())
			if err == nil && (len(values) == 0 || len(values) > len(text)) || err != nil && values != nil {
				t.Fatalf("%d answers, %v", len(values), err)
			}
			for _, v := range values {
				if a, ok := v.(histogram.Answers); !ok || len(a.Values) != 7 || a.Crowd < 0 || a.Crowd > 1 || slices.Contains(a.Values, nil) {
					t.Fatalf("%v", v)
				}
			}
		})
	})
}

// npyFile is a file of the numpy array format, version 1.0: magic, version, and a
// dictionary padded so that the data begins at a multiple of 64.
func npyFile(x [][]float32) []byte {
	dict := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(x), len(x[0]))
	b := fmt.Appendf([]byte("\x93NUMPY\x01\x00\x76\x00"), "%-*s\n", 117, dict)
	for _, v := range x {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}
