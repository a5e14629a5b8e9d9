package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// headBytes is the length of what stands before a plan that has one signature.
var headBytes = entryLength + len(`"plan":`)

// parseFactor is how many bytes Parse allocates at most for each byte of its text,
// garbage included: docs/operating-roles.md says so. Most are those of a slice of names
// that grows, 16 bytes for an empty one of 3.
const parseFactor = 64

// bombs are texts of eight megabytes in which little becomes much: elements that
// are structures, names that are empty, twice there or of one letter, and elements
// of another type than the list's, each of which is an error of its own.
func bombs() map[string]string {
	const room = 8_370_000
	list := func(before, one, after string) string {
		n := (room - len(before) - len(after)) / (len(one) + 1)
		return before + strings.Repeat(one+",", n-1) + one + after
	}
	const density = `{"version":2,"title":"t","question":{"kind":"density","density":{"dimension":1,"kernel":{"name":"x"}}},"crowd":{"names":[`
	const histogram = `{"version":2,"title":"t","question":{"kind":"histogram","histogram":{"attributes":[`
	const mix = `{"version":2,"title":"t","question":{"kind":"x"},"route":{"kind":"mix","mix":{"instances":[`
	distinct := &strings.Builder{}
	for i := range room / 8 {
		fmt.Fprintf(distinct, `"%05x",`, i)
	}
	deep := strings.Repeat("[", room/2)
	return map[string]string{
		"empty names":           list(density, `""`, `]}}`),
		"one name, often":       list(density, `"a"`, `]}}`),
		"numbers for names":     list(density, `0`, `]}}`),
		"lists for names":       list(density, `[]`, `]}}`),
		"instances":             list(mix, `{}`, `]}}}`),
		"hops":                  list(mix+`{"hops":[`, `{}`, `]}]}}}`),
		"nothing for hops":      list(mix+`{"hops":[`, `null`, `]}]}}}`),
		"numbers for hops":      list(mix+`{"hops":[`, `0`, `]}]}}}`),
		"names for hops":        list(mix+`{"hops":[`, `""`, `]}]}}}`),
		"attributes":            list(histogram, `{}`, `]}}}`),
		"numbers for them":      list(histogram, `0`, `]}}}`),
		"empty values":          list(histogram+`{"name":"a","kind":"categories","values":[`, `""`, `]}]}}}`),
		"one value, often":      list(histogram+`{"name":"a","kind":"categories","values":[`, `"a"`, `]}]}}}`),
		"short distinct values": histogram + `{"name":"a","kind":"categories","values":[` + strings.TrimSuffix(distinct.String(), ",") + `]}]}}}`,
		"one long name":         histogram + `{"name":"a","kind":"categories","values":["` + strings.Repeat("\x7f", room/2) + `","` + strings.Repeat("\x7f", room/2) + `"]}]}}}`,
		"unknown keys":          list(`{"version":2,`, `"a":0`, `}`),
		"numbers as text":       list(`{"version":2,"crowd":{`, `"minimum":""`, `}}`),
		"lists in lists":        `{"version":2,"title":` + deep,
		"text that goes on":     `{"version":2}` + strings.Repeat("}", room),
		"one string":            `{"version":2,"title":"` + strings.Repeat("a", room) + `"}`,
		"escapes":               `{"version":2,"title":"` + strings.Repeat(`<`, room/6) + `"}`,
	}
}

func TestBombsTakeLittleMemory(t *testing.T) {
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			if len(text) > MaxBytes {
				t.Fatalf("%d bytes: too long to be looked into", len(text))
			}
			var err error
			costlimit.Heap(t, parseFactor, len(text), func() { _, err = Parse([]byte(text)) })
			if err == nil {
				t.Fatal("it is a plan")
			}
			if n := len(err.Error()); n > 1<<16 && name != "one string" {
				t.Errorf("an error of %d bytes", n)
			}
			if ps, ok := errors.AsType[Problems](err); ok && len(ps) > MaxProblems {
				t.Errorf("%d problems", len(ps))
			}
		})
	}
}

// A signed plan of a stranger costs no more than looking at its beginning.
func TestNothingOfAStrangersPlanIsParsed(t *testing.T) {
	text := append(Sign(sample(), publisher()).Marshal()[:headBytes:headBytes], bombs()["hops"]+"}"...)
	costlimit.Heap(t, 0, len(text), func() {
		u, err := SplitSigned(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Verify(Trust("ed25519:another")); err == nil || !strings.Contains(err.Error(), "nobody here trusts") {
			t.Error(err)
		}
	})
	// Who copies a known publisher's key and signature makes us hash what it sent.
	costlimit.Heap(t, 2, len(text), func() {
		u, err := SplitSigned(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Verify(Trust(u.Signers()...)); err == nil || !strings.Contains(err.Error(), "does not belong") {
			t.Error(err)
		}
	})
}

// A plan as large as the limits allow is read: nothing of it is taken for a bomb.
func TestTheLargestPlansAreRead(t *testing.T) {
	p := sample()
	p.Route.Mix.Instances = nil
	for range MaxInstances {
		hops := make([]Party, MaxHops)
		for h := range hops {
			hops[h] = sample().Analyzer
		}
		p.Route.Mix.Instances = append(p.Route.Mix.Instances, Instance{hops})
	}
	p.Crowd.Names = nil
	for i := range MaxClasses {
		p.Crowd.Names = append(p.Crowd.Names, fmt.Sprintf(`{"class, %d"}[`, i))
	}
	if _, err := Parse(p.Canonical()); err != nil {
		t.Error(err)
	}
	h := histogram()
	h.Question.Histogram.Attributes = nil
	h.Question.Histogram.Collect = CollectSample
	for i := range MaxAttributes {
		h.Question.Histogram.Attributes = append(h.Question.Histogram.Attributes, Attribute{
			Name: fmt.Sprint("place ", i), Kind: "grid", X: &Axis{0, 1, 2}, Y: &Axis{0, 1, 2},
		})
	}
	if _, err := Parse(h.Canonical()); err != nil {
		t.Error(err)
	}
	h.Question.Histogram.Attributes = []Attribute{{Name: "address", Kind: "categories"}}
	for i := range 100_000 {
		h.Question.Histogram.Attributes[0].Values = append(h.Question.Histogram.Attributes[0].Values, fmt.Sprintf(`https://www.example-%d.org/"x",[{`, i))
	}
	h.Question.Histogram.Collect = ""
	text := h.Canonical()
	costlimit.Heap(t, parseFactor, len(text), func() {
		if _, err := Parse(text); err != nil {
			t.Error(err)
		}
	})
}
