package page

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// drawn is the page of a ledger with one answer to a plan.
func drawn(t *testing.T, change func(*client.Ledger, *Options)) string {
	t.Helper()
	p := example.Runnable(t, example.Design(t, example.Histograms()["categories"])).Plan
	p.Analyzer.URL = "https://analyzer.example"
	said := tally.NewMessages(2)
	said.Say(0, 0)
	said.Say(1, 0)
	l := &client.Ledger{OptedIn: true, Since: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC), Entries: []client.Entry{{
		At: time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC), Plan: p.Name(), Title: "<b>Which drink?</b>", Publisher: "ed25519:abc", CrowdName: "everybody",
		Charge: client.Charge{Epsilon: 1, Delta: 1e-6, Local: -1},
		Statements: []account.Statement{
			{Observer: account.EveryoneColludes, Guarantee: account.Guarantee{Epsilon: math.Inf(1), Adjacency: account.Replacement}},
			{Observer: account.ShufflerHonest, Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Replacement}},
		},
		Said: "<coffee>; one such word in five is the coin's", Parts: []client.Part{{Status: client.Sent, Messages: said.Bodies}},
	}}}
	o := Options{Prior: 0.5, Plans: []plan.Plan{p}, Off: "confetti ledger opt-out device", Remaining: []client.Remaining{l.Remaining(l.Entries[0].At, client.DefaultCaps, nil)}}
	if change != nil {
		change(l, &o)
	}
	var b bytes.Buffer
	if err := Write(&b, l, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestThePageSaysWhatWasSaid(t *testing.T) {
	text := drawn(t, nil)
	for _, want := range []string{"You said: &lt;coffee&gt;; one such word in five is the coin&#39;s.", "<details><summary>The messages", "&lt;b&gt;Which drink?", "between 26.8\u00a0% and 73.2\u00a0%", "no limit", "confetti ledger opt-out device", "https://analyzer.example/v1/releases/", "sent", "% spent"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if counted := drawn(t, func(l *client.Ledger, _ *Options) {
		e := &l.Entries[0]
		e.Study, e.Events, e.Most = strings.Repeat("ab", 32), 1, 2
		e.From, e.Until = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).Add(plan.LastRow)
	}); !strings.Contains(counted, "one charge for the year 2027, 1 of 2 events said. It counts on no aggregator") || strings.Contains(text, "one charge for") {
		t.Error("the page does not say what a study's one charge is for")
	}
	if strings.Contains(text, "<script") || regexp.MustCompile(`(src|href)="http:`).MatchString(text) {
		t.Error("the page loads something")
	}
	// Each promise has its strength, by word and colour; a plan whose keys one operator has is called a trial.
	for _, want := range []string{`<p class="strength strong">`, `<p class="strength none">`, "</span>Strong</p>", "</span>None</p>"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the page says %q %d times", want, strings.Count(text, want))
		}
	}
	one := func(l *client.Ledger, o *Options) {
		p := &o.Plans[0]
		for h := range p.Route.Mix.Instances[0].Hops {
			p.Route.Mix.Instances[0].Hops[h].Operator = p.Analyzer.Operator
		}
		l.Entries[0].Plan = p.Name()
	}
	if strings.Contains(text, "Trial.") || strings.Count(drawn(t, one), "<strong>Trial.</strong>") != 1 {
		t.Error("a trial is not called one, or what is none is")
	}
	// What an earlier version wrote down without words stands there as it was sent.
	if text := drawn(t, func(l *client.Ledger, _ *Options) { l.Entries[0].Said = "" }); strings.Contains(text, "You said") || !strings.Contains(text, "<details open><summary>The messages") {
		t.Errorf("without words:\n%s", text)
	}
	// Whose relay hid the address is said where there was one.
	if strings.Contains(text, "Network address") {
		t.Error("a relay is named where there was none")
	}
	if text := drawn(t, func(l *client.Ledger, o *Options) {
		o.Plans[0].Route.Mix.Instances[0].Hops[0].Relay = &plan.Relay{Operator: "Hide<away>"}
		l.Entries[0].Plan = o.Plans[0].Name()
	}); !strings.Contains(text, "Hide&lt;away&gt; sees the network address, cannot read what it carries, and hides the address from ") {
		t.Errorf("behind a relay:\n%s", text)
	}
	if text := drawn(t, func(l *client.Ledger, _ *Options) { l.OptedIn = false }); !strings.Contains(text, "what was waiting is gone") || strings.Contains(text, "opt-out") {
		t.Errorf("switched off:\n%s", text)
	}
	if err := Write(&bytes.Buffer{}, &client.Ledger{}, Options{Prior: 1}); err == nil {
		t.Error("a prior of 1 is taken")
	}
}
