package audit

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/release"
)

// Written is a finding in JSON.
type Written struct {
	Observer   string            `json:"observer,omitempty"`
	Lower      float64           `json:"epsilon_lower"`
	Claimed    float64           `json:"epsilon_claimed"`
	Delta      float64           `json:"delta"`
	Adjacency  account.Adjacency `json:"adjacency"`
	Trust      account.Trust     `json:"trust"`
	Confidence float64           `json:"confidence"`
	Attack     string            `json:"attack"`
	Assumes    Assumption        `json:"assumes"`
	Runs       int               `json:"runs"`
	Guesses    int               `json:"guesses"`
	Verdict    string            `json:"verdict"`
}

// Written is the finding in JSON.
func (f Finding) Written() Written {
	g := f.Claimed
	return Written{f.Observer, f.Lower, g.Epsilon, g.Delta, g.Adjacency, g.Trust, Confidence, f.Attack, f.Assumes, f.Runs, f.Guesses, f.Verdict()}
}

// String says what was found by whom, and what it rests on.
func (f Finding) String() string {
	in := fmt.Sprintf("%d collections", f.Runs)
	if f.Runs == 1 {
		in = "one collection"
	}
	return fmt.Sprintf("epsilon above %.4g of %.4g, %s: %s (%d guesses in %s)", f.Lower, f.Claimed.Epsilon, f.Assumes, f.Attack, f.Guesses, in)
}

// Section is what a release says of an audit of its plan, made with that seed.
func Section(findings []Finding, seed uint64) release.Section {
	t := release.Table{
		Title:   "Epsilon found and claimed",
		Columns: []release.Column{{Label: "Observer"}, {Label: "Attack"}, {Label: "Rests on"}, {Label: "Found: above"}, {Label: "Claimed: at most"}},
		Note:    fmt.Sprintf("Each is found with confidence %s, at the delta of the claim, under %s. Seed %d.", account.Percent(Confidence), account.Replacement, seed),
	}
	worst := "None is above the claim."
	for _, f := range findings {
		observer := f.Observer
		if observer == "" {
			observer = string(f.Claimed.Trust)
		}
		t.Rows = append(t.Rows, []release.Cell{
			release.Text(observer), release.Text(f.Attack), release.Text(string(f.Assumes)), release.Number(f.Lower, 0), release.Number(f.Claimed.Epsilon, 0),
		})
		if f.Doubtful() {
			worst = f.Verdict()
		}
	}
	return release.Section{
		Title:  "What an attacker finds",
		Text:   "The devices of this plan were attacked before anything was published: one of two records was put to them, again and again, and guessed from what each observer sees. Right guesses prove that so much privacy is lost at least; the guarantees prove how much at most. " + worst,
		Tables: []release.Table{t},
	}
}
