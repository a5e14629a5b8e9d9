package main

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/collect"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/textpage"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// asked is one collection with what it gives: a plan, a value of its kind, a release
// and, of a histogram, what collect simulate prints.
type asked struct {
	plan     plan.Plan
	value    question.Value
	release  release.Release
	terminal string
}

// everyKind are small collections of every kind of plan.
func everyKind(t *testing.T) map[string]asked {
	t.Helper()
	quiet := func(string, int, int) {}
	all := map[string]asked{}
	colours := plan.Attribute{Name: "colour", Kind: "categories", Values: []string{"red", "green", "blue", "white"}}
	survey := func(name string, change func(*collection.Survey), value any) {
		s := collection.Survey{
			Title: name, Histogram: plan.Histogram{Attributes: []plan.Attribute{colours}, Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact"}},
			Budget: plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal", DishonestShare: 0.1}, Instances: 1, Hops: 2, Suite: "x25519", Seed: 1,
		}
		change(&s)
		n := 1000
		if s.Histogram.Randomizer.Fragments > 1 {
			n = 4000 // of fewer, the fourth digit of a backstop is not that of the fragments behind it
		}
		people := make([]histogram.Answers, n)
		for i := range people {
			people[i] = histogram.Answers{Values: []any{value}}
			for range s.Histogram.Attributes[1:] {
				people[i].Values = append(people[i].Values, "red")
			}
			if crowds := len(s.Crowds); crowds > 0 {
				people[i].Crowd = i % crowds
			}
		}
		out, err := s.Run(name, people, quiet)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var b bytes.Buffer
		if err := collect.ShowSurvey(&b, out); err != nil {
			t.Fatal(err)
		}
		all[name] = asked{out.Plan, people[0], out.Release, b.String()}
	}
	survey("one-hot, removal", func(*collection.Survey) {}, "red")
	survey("one-hot, replacement", func(s *collection.Survey) { s.Budget.Adjacency = "replacement" }, "red")
	survey("asymmetric", func(s *collection.Survey) { s.Histogram.Randomizer.Name = "one-hot-asymmetric" }, "red")
	survey("k-ary", func(s *collection.Survey) { s.Histogram.Randomizer.Name, s.Budget.Adjacency = "krr", "replacement" }, "red")
	survey("subset", func(s *collection.Survey) { s.Histogram.Randomizer.Name, s.Budget.Adjacency = "subset", "replacement" }, "red")
	survey("hadamard", func(s *collection.Survey) {
		s.Histogram.Randomizer.Name, s.Budget.Adjacency = "hadamard", "replacement"
	}, "red")
	survey("local hashing", func(s *collection.Survey) {
		s.Histogram.Randomizer.Name, s.Budget.Adjacency, s.Histogram.Randomizer.Functions = "local-hash", "replacement", 16
	}, "red")
	survey("report fragments", func(s *collection.Survey) { s.Histogram.Randomizer.Fragments = 4 }, "red")
	survey("set", func(s *collection.Survey) { s.Histogram.Attributes[0].Kind, s.Histogram.Attributes[0].Most = "set", 2 }, []string{"red", "blue"})
	survey("buckets", func(s *collection.Survey) {
		s.Histogram.Attributes[0] = plan.Attribute{Name: "age", Kind: "buckets", Low: 0, High: 100, Cells: 10}
	}, 42.0)
	survey("grid", func(s *collection.Survey) {
		s.Histogram.Attributes[0] = plan.Attribute{Name: "place", Kind: "grid", X: &plan.Axis{High: 1, Cells: 3}, Y: &plan.Axis{High: 1, Cells: 2}}
	}, encode.Point{X: 0.5, Y: 0.5})
	survey("sample", func(s *collection.Survey) {
		s.Histogram.Attributes, s.Histogram.Collect = append(s.Histogram.Attributes, plan.Attribute{Name: "other", Kind: "categories", Values: colours.Values}), "sample"
	}, "red")
	survey("split", func(s *collection.Survey) {
		s.Histogram.Attributes, s.Histogram.Collect = append(s.Histogram.Attributes, plan.Attribute{Name: "other", Kind: "categories", Values: colours.Values}), "split"
	}, "red")
	survey("crowds", func(s *collection.Survey) { s.Crowds = []string{"north", "south"} }, "red")
	survey("private sizes", func(s *collection.Survey) { s.Crowds, s.CrowdEpsilon = []string{"north", "south"}, 1 }, "red")
	survey("no protection", func(s *collection.Survey) { s.Budget.Epsilon = 15 }, "red")

	set, err := dataset.Generate(1, dataset.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	density := func(name, bitsum string, label plan.LabelEpsilon) {
		c := collection.Collection{
			Title: name, Kernel: plan.Kernel{Name: "gaussian", Bandwidth: 1.3}, Repetitions: 8, Normalize: true, Bitsum: bitsum, Accounting: "exact",
			Budget:  plan.Budget{Epsilon: 2, Delta: 1e-6, Adjacency: "replacement", LabelEpsilon: label, DishonestShare: 0.05},
			Minimum: 500, Instances: 1, Hops: 2, Suite: "x25519", Seed: 1,
		}
		out, err := c.Run(set, quiet)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x := set.Train.X
		all[name] = asked{plan: out.Plan, release: out.Release, value: density.Labelled{Features: x.Data[:x.Cols], Class: set.Train.Y[0]}}
	}
	density("density", "rr", plan.Unprotected)
	density("density, private labels", "rr", 3)
	density("density, 3nb", "3nb", plan.Unprotected)
	return all
}

// Two surfaces of one plan cannot disagree: a release in a terminal, its page and its
// JSON, collect simulate, account explain, plan check and the ledger of a device print
// the same promise of every observer, of every kind of plan.
func TestSurfacesAgree(t *testing.T) {
	for name, a := range everyKind(t) {
		t.Run(name, func(t *testing.T) {
			a.release.Provenance.Software = "test"
			var text, paged, written, checked bytes.Buffer
			file := filepath.Join(t.TempDir(), "plan.toml")
			if err := os.WriteFile(file, author.TOML(a.plan), 0o600); err != nil {
				t.Fatal(err)
			}
			if code := run([]string{"plan", "check", file}, terminal.Streams{Out: &checked, Err: &checked}); code != 0 {
				t.Fatal(&checked)
			}
			for _, err := range []error{textpage.Write(&text, a.release), page.WriteHTML(&paged, a.release), a.release.WriteJSON(&written)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			terminal, pageText := joined(text.String()), joined(html.UnescapeString(paged.String()))
			var document struct {
				Guarantees []struct {
					Observer         string
					Verdict, Meaning *string // words are written by whoever shows them
					Epsilon          any
					Adjacency        account.Adjacency
				}
			}
			if err := json.Unmarshal(written.Bytes(), &document); err != nil || len(document.Guarantees) != len(a.release.Guarantees) {
				t.Fatalf("%d guarantees in JSON, %v", len(document.Guarantees), err)
			}
			ledger := answered(t, a)
			if !strings.Contains(ledger, "you said ") || strings.Contains(ledger, "in hexadecimal") {
				t.Errorf("the ledger has no words:\n%s", ledger)
			}
			for i, s := range a.release.Guarantees {
				g := s.Guarantee
				says := func(surface, text, want string) {
					if !strings.Contains(text, want) {
						t.Errorf("%s: %s does not say %q", s.Observer, surface, want)
					}
				}
				says("the terminal", terminal, strings.ToUpper(s.Observer)+": "+g.Verdict())
				says("the terminal", terminal, g.Meaning())
				says("the page", pageText, g.Verdict())
				says("the page", pageText, g.Meaning())
				says("plan check", joined(checked.String()), s.Observer+" "+g.Verdict())
				says("account explain", account.View{Guarantee: &g}.Meaning(0.01), strings.ToUpper(g.Verdict()[:1])+g.Verdict()[1:]+". "+g.Meaning())
				if a.terminal != "" {
					says("collect simulate", joined(a.terminal), s.Observer+" "+g.Verdict())
				}
				j := document.Guarantees[i]
				if epsilon, finite := j.Epsilon.(float64); j.Observer != s.Observer || j.Verdict != nil || j.Meaning != nil || j.Adjacency != g.Adjacency || finite == math.IsInf(g.Epsilon, 1) || finite && epsilon != g.Epsilon {
					t.Errorf("%s: JSON says %+v", s.Observer, j)
				}
				says("the ledger", ledger, s.Observer+": "+g.String())
			}
		})
	}
}

// joined undoes the line breaks of a terminal.
func joined(s string) string { return strings.Join(strings.Fields(s), " ") }

// answered is what a device's ledger shows once the plan has been answered. Nothing is sent.
func answered(t *testing.T, a asked) string {
	t.Helper()
	p := a.plan
	mix := *p.Route.Mix
	p.Route.Mix = &mix
	publisher, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	for i := range mix.Instances {
		hops := append([]plan.Party(nil), mix.Instances[i].Hops...)
		for h := range hops {
			hops[h].URL, hops[h].Receipts = "https://127.0.0.1:1", publisher.Public().String()
		}
		mix.Instances = append([]plan.Instance(nil), mix.Instances...)
		mix.Instances[i].Hops = hops
	}
	p.Analyzer.URL = "https://127.0.0.1:1"
	store := native.Folder{Path: filepath.Join(t.TempDir(), "device")}
	if err := client.Consent(store, true); err != nil {
		t.Fatal(err)
	}
	signed := plan.Sign(p, publisher.Private())
	c, err := client.Open(signed, client.Options{Store: store, Transport: &native.Transport{}, Publishers: plan.Trust(publisher.Public().String()), Caps: client.Caps{Plan: client.Cap{Epsilon: 1e9}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Answer(a.value); err != nil {
		t.Fatal(err)
	}
	l, err := client.ReadLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := words.Show(&b, l, 0.5); err != nil {
		t.Fatal(err)
	}
	return joined(b.String())
}
