package release

import (
	"bytes"
	"encoding/gob"
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func written(t testing.TB, r Release) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// golden compares with testdata/name, or rewrites it under -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", name, d)
	}
}

// worded compares a release with all its words with testdata/worded.gob, or rewrites it under -update.
func worded(t *testing.T, r Release) {
	t.Helper()
	const name = "testdata/worded.gob"
	if *update {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got Release
	if err := gob.NewDecoder(f).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, got); d != "" {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", name, d)
	}
}

func TestJSON(t *testing.T) {
	want := sample()
	want.Guarantees[0].Guarantee.Epsilon = math.Inf(1)
	data := written(t, want)
	golden(t, "release.json", data)
	worded(t, want) // of which the tests of pages are
	got, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wordless(want), got); d != "" {
		t.Errorf("a release changed on its way through JSON:\n%s", d)
	}
}

// wordless is a release as it is stored.
func wordless(r Release) Release {
	r.Words, r.Guarantees = Words{}, slices.Clone(r.Guarantees)
	for i := range r.Guarantees {
		s := &r.Guarantees[i]
		s.Who, s.Note, s.Guarantee.Method, s.Guarantee.Source, s.Guarantee.Certified = "", "", "", "", ""
	}
	metrics := func(all []Metric) []Metric {
		all = slices.Clone(all)
		for i := range all {
			all[i].Title, all[i].Unit, all[i].Note = "", "", ""
		}
		return all
	}
	r.Headline, r.Sections = metrics(r.Headline), slices.Clone(r.Sections)
	for i := range r.Sections {
		s := &r.Sections[i]
		s.Title, s.Text, s.Metrics, s.Tables, s.Lists, s.Figures = "", "", metrics(s.Metrics), slices.Clone(s.Tables), slices.Clone(s.Lists), slices.Clone(s.Figures)
		for j := range s.Tables {
			t := &s.Tables[j]
			t.Title, t.Note, t.Columns, t.Heat, t.Rows = "", "", nil, false, slices.Clone(t.Rows)
			for k := range t.Rows {
				t.Rows[k] = slices.Clone(t.Rows[k])
				for l := range t.Rows[k] {
					t.Rows[k][l].Text = ""
				}
			}
		}
		for j := range s.Lists {
			s.Lists[j].Title, s.Lists[j].Note = "", ""
		}
		for j := range s.Figures {
			f := &s.Figures[j]
			f.Title, f.Alt, f.Kind, f.X, f.Y, f.Series = "", "", "", Axis{}, Axis{}, slices.Clone(f.Series)
			for k := range f.Series {
				f.Series[k].Title = ""
			}
		}
	}
	return r
}

// Nothing of what is stored is a word that follows from the plan.
func TestWordsAreNotStored(t *testing.T) {
	r := sample()
	data := string(written(t, r))
	words := slices.Concat([]string{r.Title, r.Question, r.Protection[0].Title, r.Cost[0].Note}, r.Withheld, r.Assumptions, r.Notes)
	for _, m := range r.Headline {
		words = append(words, m.Title)
	}
	for _, s := range r.Sections {
		words = append(words, s.Title)
		for _, t := range s.Tables {
			words = append(words, t.Title, t.Columns[0].Title)
		}
		for _, f := range s.Figures {
			words = append(words, f.Title, f.Alt)
		}
	}
	for _, g := range r.Guarantees {
		words = append(words, g.Who, g.Guarantee.Method, g.Guarantee.Source, g.Guarantee.Verdict(), g.Guarantee.Meaning())
	}
	for _, w := range words {
		if w == "" || strings.Contains(data, w) {
			t.Errorf("%q is stored", w)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	good := string(written(t, sample()))
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown key":           {`"crowds"`, `"kind"`, `unknown field "kind"`},
		"a title":               {`"synthetic": true,`, `"synthetic": true, "title": "What?",`, `unknown field "title"`},
		"a verdict":             {`"observer"`, `"verdict": "none", "observer"`, `unknown field "verdict"`},
		"remarks of people":     {`"source": "simulation"`, `"source": "collection"`, "remarks are made of what is no simulation"},
		"withheld and not":      {`"lacks": 417`, `"lacks": 417, "smallest": 3`, "crowds[4] is no number of answers"},
		"unknown guarantee key": {`"adjacency"`, `"neighbours"`, `unknown field "neighbours"`},
		"older schema":          {`"schema": 3`, `"schema": 2`, "use the confetti that wrote it"},
		"no schema":             {`"schema": 3,`, ``, "schema 0"},
		"synthetic unsaid":      {`"synthetic": true,`, ``, "whether it is synthetic"},
		"full, and of people":   {`"source": "simulation",`, `"source": "trial", "full": true,`, "full is said of what is no simulation"},
		"source unsaid":         {`"source": "simulation",`, ``, "source is none of collection, trial, simulation"},
		"a label":               {`"name": "accuracy",`, `"name": "accuracy", "label": "Accuracy",`, `unknown field "label"`},
		"a section's title":     {`"name": "classifier",`, `"name": "classifier", "title": "Sure",`, `unknown field "title"`},
		"a table's note":        {`"name": "confusion",`, `"name": "confusion", "note": "Sure.",`, `unknown field "note"`},
		"a cell's text":         {`"key": "World"`, `"text": "World"`, `unknown field "text"`},
		"a finding twice":       {`"name": "devices"`, `"name": "accuracy"`, "headline has two findings of one name"},
		"epsilon unsaid":        {`"epsilon": 1129.4,`, ``, "lacks its epsilon"},
		"epsilon null":          {`"epsilon": 1129.4`, `"epsilon": null`, "lacks its epsilon"},
		"delta unsaid":          {`"delta": 0.000001,`, ``, "or its delta"},
		"epsilon negative":      {`"epsilon": 1129.4`, `"epsilon": -1`, "guarantees[0].guarantee.epsilon is negative"},
		"cell missing":          {"\"key\": \"World\"\n", "\"key\": \"World\", \"value\": 3\n", "has both text and a number"},
		"not a hash":            {`"plan": "9f`, `"plan": "9`, "plan is not a SHA-256"},
		"number too large":      {`"value": 40000`, `"value": 1e999`, "1e999"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: the sample has no %s", name, c.old)
		}
		_, err := Read(strings.NewReader(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for name, data := range map[string]string{"empty": "", "trailing": good + "{}", "cut": good[:len(good)/2], "array": "[]"} {
		if _, err := Read(strings.NewReader(data)); err == nil {
			t.Errorf("%s: read without an error", name)
		}
		if _, err := Head([]byte(data), false); err == nil {
			t.Errorf("%s: the head is read without an error", name)
		}
	}
}

// What Head returns is what Read does, and it refuses what is wrong of that. The rest it leaves to Read.
func TestHeadIsThatOfTheWhole(t *testing.T) {
	good := written(t, sample())
	whole, err := Read(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	want := Release{Plan: whole.Plan, Created: whole.Created, Synthetic: whole.Synthetic, Source: whole.Source, Headline: whole.Headline}
	for _, detail := range []bool{false, true} {
		if detail {
			want.Sections = whole.Sections
		}
		got, err := Head(good, detail)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v: %s", err, d)
		}
	}
	for old, c := range map[string]struct {
		new, want string
		detail    bool
	}{
		`"schema": 3`:             {`"schema": 2`, "use the confetti that wrote it", false},
		`"synthetic": true,`:      {``, "whether it is synthetic", false},
		`"source": "simulation",`: {``, "source is none of", false},
		`"plan": "9f`:             {`"plan": "9`, "plan is not a SHA-256", false},
		`"value": 40000`:          {`"value": 1e999`, "1e999", false},
		`"level": 0.95`:           {`"level": 2`, "headline[0].level is outside", false},
		"\"key\": \"World\"\n":    {"\"key\": \"World\", \"value\": 3\n", "has both text and a number", true},
	} {
		text := strings.Replace(string(good), old, c.new, 1)
		if _, err := Head([]byte(text), c.detail); err == nil || !strings.Contains(err.Error(), c.want) || text == string(good) {
			t.Errorf("%s: got %v, want %q", old, err, c.want)
		}
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: Read takes what Head refuses", old)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, spoil := range map[string]func(*Release){
		"headline[1].value is not a finite number":                        func(r *Release) { r.Headline[1].Value = inf },
		"cost[2].high is not a finite number":                             func(r *Release) { r.Cost[2].High = nan },
		"guarantees[2].guarantee.epsilon is not a finite number":          func(r *Release) { r.Guarantees[2].Guarantee.Epsilon = nan },
		"guarantees[2].guarantee.delta is not a finite number":            func(r *Release) { r.Guarantees[2].Guarantee.Delta = inf },
		"sections[0].tables[0].rows[1][2].value is not a finite number":   func(r *Release) { *r.Sections[0].Tables[0].Rows[1][2].Value = nan },
		"sections[2].figures[0].series[3].y[17] is not a finite number":   func(r *Release) { r.Sections[2].Figures[0].Series[3].Y[17] = nan },
		"sections[1].lists[0].items[2].key is not valid UTF-8":            func(r *Release) { r.Sections[1].Lists[0].Items[2].Key = "\xff" },
		"guarantees is empty":                                             func(r *Release) { r.Guarantees = nil },
		"guarantees[0].guarantee.bound is not an upper bound or exact":    func(r *Release) { r.Guarantees[0].Guarantee.Bound = "lower bound" },
		"headline[0].level is missing":                                    func(r *Release) { r.Headline[0].Level = 0 },
		"sections[0].tables[1].rows[0] does not have one cell per column": func(r *Release) { r.Sections[0].Tables[1].Rows[0] = r.Sections[0].Tables[1].Rows[0][1:] },
		"sections[0].tables[0].rows[0][0] does not fit a heat map":        func(r *Release) { r.Sections[0].Tables[0].Rows[0][0] = Number(1, 0) },
		"figure density has the name of an earlier one":                   func(r *Release) { r.Sections[2].Figures[1].Name = "density" },
		"sections[2].figures[1].name is not a file stem":                  func(r *Release) { r.Sections[2].Figures[1].Name = "../density" },
		"sections[2].figures[1].series[0] is not positive":                func(r *Release) { r.Sections[2].Figures[1].Series[0].Low[0] = 0 },
		"sections[1].lists[1].among is not the number":                    func(r *Release) { r.Sections[1].Lists[1].Among = 0 },
		"sections[1].lists[0].items[1] has an interval":                   func(r *Release) { r.Sections[1].Lists[0].Level, r.Sections[1].Lists[0].Among = 0, 0 },
		"headline[2].among is not a number of intervals":                  func(r *Release) { r.Headline[2].Among = -1 },
		"sections[0].figures[0].series[1].truth is not as long":           func(r *Release) { r.Sections[0].Figures[0].Series[1].Truth = []float64{1} },
		"sections[1].lists[1].items[0] has ranks":                         func(r *Release) { r.Sections[1].Lists[1].Items[0].RankLow = 9 },
	} {
		r := sample()
		spoil(&r)
		err := r.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if err := r.WriteJSON(&bytes.Buffer{}); err == nil {
			t.Errorf("%s: written all the same", want)
		}
	}
	if err := sample().Validate(); err != nil {
		t.Errorf("the sample: %v", err)
	}
}

// Whatever is read is valid, and reads the same after being written.
func FuzzRead(f *testing.F) {
	short := sample()
	short.Sections = nil // mutations of the long part find little
	good := written(f, short)
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("1129.4"), []byte(`"infinity"`)))
	f.Add([]byte(`{"schema": 3, "synthetic": false, "guarantees": [{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			head, refused := Head(data, true)
			r, err := Read(bytes.NewReader(data))
			if err != nil {
				return
			}
			if refused != nil || head.Plan != r.Plan || len(head.Headline) != len(r.Headline) {
				t.Fatalf("its head is not that of the whole: %v", refused)
			}
			again, err := Read(bytes.NewReader(written(t, r)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(written(t, r), written(t, again)) {
				t.Error("changed by being written and read")
			}
		})
	})
}
