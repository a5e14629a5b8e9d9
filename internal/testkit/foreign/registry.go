package foreign

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// The keys of a team: what the generated code of phones trusts, and whoever signs the rounds.
var (
	Publisher   = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	Coordinator = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
)

// Public returns a key as registries and plans name it.
func Public(key ed25519.PrivateKey) string {
	return plan.Publisher(key.Public().(ed25519.PublicKey))
}

// Refused writes into a folder what an app must refuse, for one of "editor" that has seen second.json: first.json is older,
// player.json is another app's. The key that signs them is in key.txt, and the folder ahead is of a device whose clock showed a
// later day.
func Refused(t *testing.T, dir string) {
	t.Helper()
	now := time.Now().UTC()
	first, _, _ := Weekly(t, now, "editor", 1)
	second, _, _ := Weekly(t, now, "editor", 2)
	player, _, _ := Weekly(t, now, "player", 9)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"first.json": first, "second.json": second, "player.json": player, "key.txt": []byte(Public(Publisher))} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Ahead(t, filepath.Join(dir, "ahead"), second)
}

// Ahead opens a registry on a device in a folder, for somebody who agrees, and opens it again on a day that is still to come.
func Ahead(t *testing.T, folder string, registry []byte) {
	t.Helper()
	for i, days := range []int{0, 3} {
		now := time.Now().UTC().AddDate(0, 0, days)
		app := &metrics.App{Registry: registry, Publishers: []string{Public(Publisher)}}
		if err := app.Open(client.Options{Store: native.Folder{Path: folder}, Transport: &native.Transport{}, Now: func() time.Time { return now }}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := app.Consent(true); err != nil {
				t.Fatal(err)
			}
		}
		app.Step(t.Context()) // nobody is there; the clock is seen
		if err := app.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Weekly returns the registry of an app, of a version, whose season of weeks is now, with that season and its study.
func Weekly(t *testing.T, now time.Time, app string, version int) (text []byte, season int, study plan.Study) {
	t.Helper()
	one := metrics.Metric{Every: "week", Why: "Whether it is worth it", Owner: "ada@example.org", Ends: now.AddDate(0, 6, 0).Format(time.DateOnly)}
	counter, category, number := one, one, one
	counter.Name, counter.Kind, counter.Edges = "export_used", "counter", []float64{1, 2, 5, 10}
	category.Name, category.Kind, category.Values = "theme", "category", []string{"light", "dark"}
	number.Name, number.Kind, number.Edges, number.Keep = "start_seconds", "number", []float64{0.5, 1}, "highest"
	all := []metrics.Metric{counter, number, category}
	key, err := envelope.GenerateKey("x25519")
	if err != nil {
		t.Fatal(err)
	}
	p, err := design.Fill(plan.Plan{
		Version: plan.Version, Title: "editor, each week", Question: metrics.Question(all),
		Budget:    plan.Budget{Epsilon: 5, Delta: 1e-4, Adjacency: "replacement", DishonestShare: 0.1},
		Crowd:     plan.Crowd{Minimum: 40},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "North", Key: key.Public().String(), URL: "https://hop.test"}}}}}},
		Analyzer:  plan.Party{Operator: "Research", Key: key.Public().String(), URL: "https://analyzer.test", Releases: Public(Publisher)},
	})
	if err != nil {
		t.Fatal(err)
	}
	season = metrics.Next("week", now) - 1
	series := metrics.Series{From: season, Until: season, Metrics: all, Study: plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: metrics.Rounds("week"), Takes: plan.TakesOne, Withheld: plan.WithheldRepeats, Merged: true, Coordinator: Public(Coordinator),
	}}
	text, err = metrics.Registry{App: app, Version: version, Metrics: all, Series: []metrics.Series{series}}.Sign(Publisher)
	if err != nil {
		t.Fatal(err)
	}
	return text, season, series.Of(season)
}
