package release

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/dp/account"
)

func paged(t testing.TB, r Release) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageSaysEverything(t *testing.T) {
	r := sample()
	html := paged(t, r)
	wants := []string{r.Title, r.Plan, "Synthetic data.", "84.62%", "95% interval 83.78% to 85.43%", "No meaningful protection", "ε = 1, δ = 10⁻⁶",
		"Confusion matrix", "1,822", "quarterback", "rank 1 to 3", "151 kB", "87.1 ms", "replacement", "9,000", "confetti plan check", "seed 7"}
	wants = append(append(wants, r.Assumptions...), r.Withheld...)
	for _, g := range r.Guarantees {
		wants = append(wants, g.Observer, g.Guarantee.Method, g.Guarantee.Source, g.Note)
	}
	for _, s := range r.Sections {
		for _, f := range s.Figures {
			wants = append(wants, f.Title, f.Alt, f.X.Label, f.Y.Label)
		}
	}
	for _, want := range wants {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	r.Synthetic = false
	if strings.Contains(paged(t, r), "Synthetic data.") {
		t.Error("data of people are called synthetic")
	}
}

// The page must open without a network, years from now.
func TestPageIsSelfContained(t *testing.T) {
	html := paged(t, sample())
	if found := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|url\(|src=|href=| on[a-z]+=|ZgotmplZ`).FindString(html); found != "" {
		t.Errorf("the page holds %q", found)
	}
	for _, c := range []string{"#1F2328", "#D9DDE2", "#0072B2", "Liberation Sans;"} {
		if strings.Contains(html, c) {
			t.Errorf("a drawing keeps %s and will not follow the reader's theme", c)
		}
	}
}

// Labels come from vocabularies and plans, which others write.
func TestPageEscapes(t *testing.T) {
	const attack = `<script>alert("x")</script>`
	r := sample()
	r.Title, r.Guarantees[0].Who, r.Provenance.Command = attack, attack, attack
	r.Sections[1].Lists[0].Items[0].Label = attack
	r.Sections[0].Tables[0].Rows[0][0].Text = attack
	f := &r.Sections[0].Figures[0]
	f.Title, f.Alt, f.Y.Label, f.Categories[1], f.Series[0].Label = attack, attack, attack, attack, attack
	if strings.Contains(paged(t, r), "<script") {
		t.Error("a label became markup")
	}
	r.Title = "\x1b[2J"
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "title holds a control character") {
		t.Errorf("a terminal could be commanded by a title: %v", err)
	}
}

func TestEpsilonIsNeverFlattered(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta   float64
		verdict, meaning string
	}{
		{1, 1e-6, "ε = 1, δ = 10⁻⁶", "2.8 times"},
		{1, 0, "ε = 1, δ = 0", "2.8 times"},
		{0.69999999, 1e-9, "ε = 0.7, δ = 10⁻⁹", "2.1 times"},
		{0, 0, "ε = 0, δ = 0", "1 times"},
		{1.00001, 1.0001e-6, "ε = 1.001, δ = 1.01×10⁻⁶", "one in 999,900"},
		{20, 0, "ε = 20, δ = 0", "490,000,000 times"},
		{20.01, 0, "No meaningful protection", "ε = 20.01"},
		{math.Inf(1), 0, "No meaningful protection", "No limit"},
		{1, 1, "No meaningful protection", "empty"},
	} {
		g := account.Guarantee{Epsilon: c.epsilon, Delta: c.delta}
		if got := verdict(g); got != c.verdict {
			t.Errorf("verdict of %v, %v: %q, want %q", c.epsilon, c.delta, got, c.verdict)
		}
		if got := meaning(g); !strings.Contains(got, c.meaning) {
			t.Errorf("meaning of %v, %v: %q, want %q", c.epsilon, c.delta, got, c.meaning)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0":             number(0),
		"1":             number(1),
		"−12,345":       number(-12345),
		"0.1235":        number(0.12345),
		"12.35":         number(12.346),
		"10⁻⁶":          number(1e-6),
		"2.5×10⁻⁷":      number(2.5e-7),
		"−10²⁰":         number(-1e20),
		"84.62%":        amount(0.8462, 0.004, Share),
		"84.6%":         amount(0.8462, 0, Share),
		"1,235 ± 12":    plusMinus(1234.6, 12.3, Count),
		"0.412 ± 0.011": plusMinus(0.412, 0.011, ""),
		"151 kB":        amount(150528, 0, Bytes),
		"1 MB":          amount(999999, 0, Bytes),
		"12 B":          amount(12, 0, Bytes),
		"87.1 ms":       amount(0.0871, 0, Seconds),
		"2 min":         amount(2, 0, "min"),
		"40,000":        amount(40000, 0, Count),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
