package account_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
)

func TestEpsilonIsNeverFlattered(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta   float64
		adjacency        account.Adjacency
		verdict, meaning string
	}{
		{1, 1e-6, account.Replacement, "epsilon 1, delta 1e-6 (replacement)", "2.8 times as likely, or as unlikely, with one person's true data as with any other data in its place"},
		{1, 0, account.Replacement, "epsilon 1, delta 0 (replacement)", "2.8 times"},
		{0.69999999, 1e-9, account.Replacement, "epsilon 0.7, delta 1e-9 (replacement)", "2.1 times"},
		{0, 0, account.Replacement, "epsilon 0, delta 0 (replacement)", "1 times"},
		{1.00001, 1.0001e-6, account.Replacement, "epsilon 1.001, delta 1.01e-6 (replacement)", "one in 999,900"},
		{0.00001234567, 0, account.Replacement, "epsilon 1.235e-5, delta 0 (replacement)", "1.1 times"},
		{20, 0, account.Replacement, "epsilon 20, delta 0 (replacement)", "490,000,000 times"},
		{20.01, 0, account.Replacement, "no meaningful protection (epsilon 20.01, replacement)", "protects nobody"},
		{1129.4, 0, account.Replacement, "no meaningful protection (epsilon 1,130, replacement)", "protects nobody"},
		{math.Inf(1), 0, account.Replacement, "no meaningful protection (no epsilon is proved)", "No limit"},
		{1, 1, account.Replacement, "no meaningful protection (delta is 1)", "empty"},
		// Against a draw of the reference e, against any other record e^2: not the same.
		{1, 1e-6, account.Removal, "epsilon 1, delta 1e-6 (removal), that is epsilon 2, delta 3.72e-6 (replacement)",
			"2.8 times as likely, or as unlikely, with one person's true data as with a draw from the public reference law in its place"},
		{1, 1e-6, account.Removal, "epsilon 1, ", "Compared with any other data it is at most 7.4 times as likely, or as unlikely, save for a slack of delta: about one in 268,941."},
		{11, 0, account.Removal, "epsilon 11, delta 0 (removal), that is no meaningful protection (epsilon 22, replacement)", "Compared with any other data there is no meaningful protection"},
		{21, 0, account.Removal, "no meaningful protection (epsilon 21, removal)", "protects nobody"},
	} {
		g := account.Guarantee{Epsilon: c.epsilon, Delta: c.delta, Adjacency: c.adjacency, Bound: account.Upper}
		if got := g.Verdict(); !strings.HasPrefix(got, c.verdict) {
			t.Errorf("verdict of %v, %v: %q, want %q", c.epsilon, c.delta, got, c.verdict)
		}
		if got := g.Meaning(); !strings.Contains(got, c.meaning) {
			t.Errorf("meaning of %v, %v: %q, want %q", c.epsilon, c.delta, got, c.meaning)
		}
	}
}

// Any two removals, of likelihoods over three outcomes, lie within the replacement
// guarantee; epsilon alone, as the old words had it, is left by some of them.
// Of a table that its holder releases, what is composed are numbers that a row moves, and no rounds.
func TestFactsNameWhatIsComposed(t *testing.T) {
	for trust, want := range map[account.Trust]string{account.Central: "Numbers that a row moves", account.Shuffled: "Rounds"} {
		found := ""
		for _, f := range (account.Guarantee{Trust: trust, Rounds: 5, Users: 1}).Facts() {
			if f.Value == "5" {
				found = f.Name
			}
		}
		if found != want {
			t.Errorf("%s: %q, want %q", trust, found, want)
		}
	}
}

func TestTwoRemovalsAreAReplacement(t *testing.T) {
	broken := false
	rapid.Check(t, func(t *rapid.T) {
		epsilon, delta := rapid.Float64Range(0.1, 3).Draw(t, "epsilon"), rapid.Float64Range(0, 0.05).Draw(t, "delta")
		g, err := account.Guarantee{Epsilon: epsilon, Delta: delta, Adjacency: account.Removal, Bound: account.Upper}.Under(account.Replacement)
		if err != nil || g.Adjacency != account.Replacement {
			t.Fatal(g, err)
		}
		// The reference spreads over three outcomes; x and y lean towards one each, as far
		// as (epsilon, delta) lets them, up to what the others have.
		ref := [3]float64{rapid.Float64Range(0.01, 0.3).Draw(t, "r0"), rapid.Float64Range(0.01, 0.3).Draw(t, "r1")}
		ref[2] = 1 - ref[0] - ref[1]
		lean := func(to, from int) [3]float64 {
			p := ref
			moved := min(math.Expm1(epsilon)*ref[to]+delta, -math.Expm1(-epsilon)*(ref[2]+ref[from]))
			scale := 1 - moved/(ref[2]+ref[from])
			p[to] += moved
			p[2] *= scale
			p[from] *= scale
			return p
		}
		x, y := lean(0, 1), lean(1, 0)
		beyond := func(epsilon float64) (sum float64) {
			for i := range x {
				sum += max(0, x[i]-math.Exp(epsilon)*y[i])
			}
			return sum
		}
		if got := beyond(g.Epsilon); got > g.Delta+1e-12 {
			t.Fatalf("x and y are (%v, %v) apart, beyond delta %v", g.Epsilon, got, g.Delta)
		}
		broken = broken || beyond(epsilon) > delta+1e-9
	})
	if !broken {
		t.Error("no pair is further apart than a removal's own epsilon: the test cannot fail")
	}
}

func TestUnder(t *testing.T) {
	g := account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Replacement, Bound: account.Upper}
	if h, err := g.Under(account.Removal); err != nil || h.Epsilon != 1 || h.Adjacency != account.Removal {
		t.Errorf("%+v, %v: a replacement guarantee holds for a reference that is a record's law", h, err)
	}
	if h, err := g.Under("addition"); err == nil {
		t.Errorf("neighbours that are not known: %+v", h)
	}
	if h, err := g.Under(account.Label); err != nil || h.Epsilon != 1 || h.Delta != 1e-6 || h.Adjacency != account.Label {
		t.Errorf("%+v, %v: another label makes another record", h, err)
	}
	removed := account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Removal, Bound: account.Upper}
	replaced, err := removed.Under(account.Replacement)
	if h, err2 := removed.Under(account.Label); err != nil || err2 != nil || h.Epsilon != replaced.Epsilon || h.Delta != replaced.Delta || h.Adjacency != account.Label {
		t.Errorf("%+v, %v: labels are replaced by way of records, which is %+v (%v)", h, err2, replaced, err)
	}
	labels := account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Label, Bound: account.Upper}
	d := account.Domination{Shift: 1, Tail: 1e-6, Adjacency: account.Label}
	for _, a := range []account.Adjacency{account.Removal, account.Replacement} {
		if h, err := labels.Under(a); err == nil {
			t.Errorf("a guarantee of labels was stated under %s: %+v", a, h)
		}
		if h, err := d.Under(a); err == nil {
			t.Errorf("a domination of labels was stated under %s: %+v", a, h)
		}
		d := account.Domination{Shift: 1, Tail: 1e-6, Adjacency: a}
		if h, err := d.Under(account.Label); err != nil || h.Adjacency != account.Label || h.Shift < 1 || a == account.Removal && h.Shift < 2 {
			t.Errorf("a domination under %s, of labels: %+v, %v", a, h, err)
		}
	}
	if strings.Contains(labels.Verdict(), "that is") || !strings.Contains(labels.Meaning(), "any other label") {
		t.Errorf("%s %s", labels.Verdict(), labels.Meaning())
	}
	g.Adjacency, g.Bound = account.Removal, account.Lower
	if h, err := g.Under(account.Replacement); err == nil {
		t.Errorf("a lower bound was doubled: %+v", h)
	}
	g = account.Guarantee{Epsilon: math.Inf(1), Adjacency: account.Removal, Bound: account.Upper}
	if h, err := g.Under(account.Replacement); err != nil || !math.IsInf(h.Epsilon, 1) || h.Delta != 0 {
		t.Errorf("without a limit: %+v, %v", h, err)
	}
}

func TestStatementJSON(t *testing.T) {
	for _, epsilon := range []float64{1, math.Inf(1)} {
		want := account.Statement{Observer: account.ShufflerHonest, Who: "who", Guarantee: account.Guarantee{Epsilon: epsilon, Delta: 1e-6, Adjacency: account.Removal, Trust: account.Shuffled, Users: 7, Rounds: 1, Bound: account.Upper, Method: "m"}, Note: "n"}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got account.Statement
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", data, got, err)
		}
		// What is derived is computed anew, whatever a file says of it.
		forged := strings.Replace(string(data), `"verdict":"`, `"verdict":"safe: `, 1)
		if err := json.Unmarshal([]byte(forged), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", forged, got, err)
		}
	}
	data, err := json.Marshal(account.Statement{Guarantee: account.Guarantee{Epsilon: 1, Adjacency: account.Removal, Bound: account.Upper}})
	if err != nil || !strings.Contains(string(data), `"replacement":{"epsilon":2,"delta":0}`) {
		t.Errorf("%s, %v: want the number of a replacement", data, err)
	}
	for _, bad := range []string{`{"guarantee":{"epsilon":1}}`, `{"guarantee":{"delta":1}}`, `{"guarantee":{"epsilon":1,"delta":0},"x":1}`, `[]`} {
		var s account.Statement
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s: %+v", bad, s)
		}
	}
}
