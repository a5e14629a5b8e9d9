package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// testRecords are public ones such as a plan's respondents hold.
func testRecords(q plan.Question) results.Records {
	width, classes := 0, 1
	switch {
	case q.Density != nil:
		width = q.Density.Dimension
	case q.Vector != nil:
		width, classes = q.Vector.Features, len(q.Vector.Classes)
	case q.Gradient != nil:
		width, classes = q.Gradient.Dimension, len(q.Gradient.Classes)
	case q.Label != nil:
		width, classes = q.Label.Features, len(q.Label.Classes)
	case q.Latent != nil:
		width, classes = q.Latent.Features, len(q.Latent.Classes)
	}
	const rows = 10
	if width == 0 {
		return results.Records{}
	}
	all := results.Records{X: blas32.General{Rows: rows, Cols: width, Stride: width, Data: make([]float32, rows*width)}}
	for i := range rows {
		all.X.Data[i*width+i%width] = 0.5
		all.Y, all.Number = append(all.Y, i%max(1, classes)), append(all.Number, float64(i))
	}
	return all
}

// learnedOf returns the numbers of a release that so many who hold the same have answered.
func learnedOf(t *testing.T, s stating) (*protocol.Protocol, release.Release) {
	t.Helper()
	p := s.plan
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	if next, ok := proto.Question.(question.Stepper); ok && s.state == nil {
		if s.state, _, err = next.Next(nil); err != nil {
			t.Fatal(err)
		}
	}
	if s.state != nil {
		p.State = plan.StateName(s.state)
		if proto, err = protocol.WithState(p, s.state); err != nil {
			t.Fatal(err)
		}
	}
	values := slices.Repeat([]question.Value{s.value}, 2*max(p.Crowd.Minimum, 50))
	col, err := simulate.Law(proto, distribution.Values(values), 1, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	model, err := proto.Learn(col.Crowds)
	if err != nil {
		t.Fatal(err)
	}
	r, err := analyzer.Numbers(proto, model, col.Crowds, results.Public{Test: testRecords(p.Question)})
	if err != nil {
		t.Fatal(err)
	}
	r.Created, r.Provenance = time.Unix(1, 0), release.Provenance{Software: "test", Randomness: "fresh randomness"}
	return proto, r
}

// Of every kind of question the words of a release follow from its plan and what is stored: a program that reads no
// state writes the same as the one that has learned. None is stored, and a name that the plan does not have is refused.
func TestWordsFollowFromPlanAndNumbers(t *testing.T) {
	all := everyRoute(t)
	for name, p := range example.Histograms() {
		if _, there := all["histogram, "+name]; !there {
			all["histogram, "+name] = stating{plan: example.Design(t, p), value: example.Answers(p, 0)}
		}
	}
	x := []float32{0.5, 0.25, 0}
	for _, sums := range []string{plan.SumsFeatures, plan.SumsMoments} {
		p := example.Vector(plan.VectorRound{Sums: sums, Answered: 4})
		if sums == plan.SumsFeatures {
			p.Question.Vector.Classes = nil
		}
		all["vector, "+sums] = stating{plan: example.Design(t, p), value: vector.Record{Features: x}}
	}
	for name, number := range map[string]*plan.Number{"ranks": nil, "predicts": {Name: "price", Low: 0, High: 20}} {
		p := example.Vector(plan.VectorRound{Sums: plan.SumsSquares, Answered: 4})
		if p.Question.Vector.Number = number; number != nil {
			p.Question.Vector.Classes = nil
		} else {
			p.Question.Vector.Classes = []string{"no", "yes"}
		}
		all["vector that "+name] = stating{plan: example.Design(t, p), value: vector.Record{Features: x, Number: 7}}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			proto, r := learnedOf(t, all[name])
			bare, err := protocol.New(proto.Plan)
			if err != nil {
				t.Fatal(err)
			}
			if err := analyzer.Write(proto, &r); err != nil {
				t.Fatal(err)
			}
			var stored, first, again bytes.Buffer
			if err := r.WriteJSON(&stored); err != nil {
				t.Fatal(err)
			}
			if err := page.WriteHTML(&first, r); err != nil {
				t.Fatal(err)
			}
			read, err := release.Read(bytes.NewReader(stored.Bytes()))
			if err == nil {
				err = analyzer.Write(bare, &read)
			}
			if err == nil {
				err = page.WriteHTML(&again, read)
			}
			if err != nil {
				t.Fatal(err)
			}
			if first.String() != again.String() {
				t.Error("read again it has another page")
			}
			var v any
			if err := json.Unmarshal(stored.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			refused := 0
			forge(v, func(what string) {
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				read, err := release.Read(bytes.NewReader(text))
				if err == nil {
					err = results.Words(bare.Plan, bare.Question, &read)
				}
				if refused++; err == nil {
					t.Errorf("with %s it is shown", what)
				}
			})
			if refused < 10 {
				t.Errorf("%d forgeries", refused)
			}
		})
	}
}

// notStored are keys of what a forger would like to be shown.
var notStored = []string{"label", "title", "text", "note", "unit", "alt", "heat", "kind"}

// free are names that follow from no plan: docs/limits-software.md lists them.
func free(section, key string) bool { return section == "model" && key == "key" }

// forge calls one for each name in the findings of a release that is another one, and for each word at each place of them;
// the value is put back behind it.
func forge(v any, one func(what string)) {
	document := v.(map[string]any)
	section, tried := "", map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for i, x := range v {
				if text, name := x.(string); name { // a category
					v[i] = text + "x"
					one("the name " + text + "x in " + at)
					v[i] = text
				}
				walk(at, x)
			}
		case map[string]any:
			if name, ok := v["name"].(string); ok && at == "sections" {
				section = name
			}
			for _, key := range []string{"name", "key"} {
				if old, ok := v[key].(string); ok && !free(section, key) {
					v[key] = old + "x"
					one("the " + key + " " + old + "x in " + at)
					v[key] = old
				}
			}
			for _, word := range notStored {
				if _, ok := v[word]; ok {
					panic(word + " is stored in " + at)
				}
				if place := word + " in " + at; !tried[place] { // what lies at one place is read alike
					tried[place] = true
					v[word] = "no risk at all"
					one("a " + place)
					delete(v, word)
				}
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(strings.TrimPrefix(at+"."+key, "."), v[key])
			}
		}
	}
	for _, part := range []string{"headline", "sections"} {
		walk(part, document[part])
	}
}
