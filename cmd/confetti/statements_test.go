package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/cmd/internal/rounds"
	"github.com/confetti-dp/confetti/internal/belief"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/release/textpage"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/release"
)

// observed is what one surface says of one observer.
type observed struct{ observer, verdict string }

// surface is one place where a plan's promise stands.
type surface struct {
	name string
	text string // all of it
	says []observed
}

// observers are all of them, those before others that begin like them.
var observers = []string{
	account.AllSizesSeen, account.CrowdSizesSeen, account.EveryoneColludes, account.OneInstanceColludes, account.OneFragmentSeen, account.ShufflerHonest,
	account.BothAggregators, account.AllRoundsOfOne, account.OneAggregator, account.OnlyTheReader, account.AllRoundsSeen,
}

var someObserver = "(" + strings.Join(observers, "|") + ")"

// found reads what a text says of observers: what matches is the observer and the verdict, in
// either order.
func found(text, pattern string) (all []observed) {
	for _, m := range regexp.MustCompile("(?m)"+strings.ReplaceAll(pattern, "OBSERVER", "(?i:"+someObserver+")")).FindAllStringSubmatch(text, -1) {
		one := observed{strings.ToLower(m[1]), m[2]}
		if !slices.Contains(observers, one.observer) {
			one = observed{strings.ToLower(m[2]), m[1]}
		}
		one.verdict, _, _ = strings.Cut(joined(html.UnescapeString(one.verdict)), "; ")
		all = append(all, one)
	}
	return all
}

// written reads statements in JSON, each of which has all that its number depends on.
func written(t *testing.T, name, text string, at ...string) surface {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, key := range at {
		if list, is := document.([]any); is {
			document = list[0]
		}
		document = document.(map[string]any)[key]
	}
	s := surface{name: name, text: text}
	for _, one := range document.([]any) {
		if inner, nested := one.(map[string]any)["statement"]; nested {
			one = inner
		}
		statement := one.(map[string]any)
		s.says = append(s.says, observed{fmt.Sprint(statement["observer"]), fmt.Sprint(statement["verdict"])})
		for _, key := range []string{"epsilon", "delta", "adjacency", "trust", "users", "rounds", "bound", "method"} {
			if v := statement["guarantee"].(map[string]any)[key]; v == nil || v == "" || key == "users" && v == 0.0 {
				t.Errorf("%s: %v has no %s", name, statement["observer"], key)
			}
		}
	}
	return s
}

// differing lists where surfaces say something else than the first of them.
func differing(all []surface) (faults []string) {
	for _, s := range all[1:] {
		if !slices.Equal(s.says, all[0].says) {
			faults = append(faults, fmt.Sprintf("%s says %q, and %s %q", all[0].name, all[0].says, s.name, s.says))
		}
	}
	return faults
}

var (
	ofSums  = regexp.MustCompile(`(?i)\baggregators?\b`)
	ofMixes = regexp.MustCompile(`(?i)\bshufflers?\b|\bhops?\b|\bthe mixing\b|\bmixed by\b`)
)

// strangers are words of surfaces that name a party which the plan does not have.
func strangers(p plan.Plan, all []surface) (faults []string) {
	absent := ofSums
	if p.Route.Sum != nil {
		absent = ofMixes
	}
	for _, s := range all {
		for _, at := range absent.FindAllStringIndex(s.text, -1) {
			faults = append(faults, fmt.Sprintf("%s: %q", s.name, joined(s.text[max(0, at[0]-60):min(len(s.text), at[1]+60)])))
		}
	}
	return faults
}

// sideBySide prints what all surfaces say, an observer a row.
func sideBySide(name string, all []surface) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", name)
	for i, first := range all[0].says {
		fmt.Fprintf(&b, "  %-28s %s\n", first.observer, first.verdict)
		for _, s := range all {
			same := "the same"
			if i >= len(s.says) || s.says[i] != first {
				same = fmt.Sprintf("%q", s.says)
			}
			fmt.Fprintf(&b, "    %-26s %s\n", s.name, same)
		}
	}
	return b.String()
}

// surfaces are all places where the plan's promise stands: its check, a study's costs, the ledger
// and the page of a device that has answered, as text and data, the release, and the cards of pages.
func (s *stating) surfaces(t *testing.T, inRounds bool) (all []surface) {
	t.Helper()
	signed, key := s.signed(t, inRounds)
	dir := t.TempDir()
	command := func(args ...string) string {
		var out, failed bytes.Buffer
		if code := run(args, terminal.Streams{Out: &out, Err: &failed}); code != 0 {
			t.Fatalf("%v: %s", args, &failed)
		}
		return out.String()
	}
	add := func(name, text, pattern string) {
		all = append(all, surface{name, text, found(text, pattern)})
	}
	file := filepath.Join(dir, "plan.signed.json")
	if err := os.WriteFile(file, signed.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	add("plan check", command("plan", "check", file), `^OBSERVER {2,}(.*)$`)
	all = append(all, written(t, "plan check --json", command("plan", "check", "--json", file), "guarantees"))
	proto, err := protocol.New(signed.Plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range design.Compare(proto) { // of other routes, which have other parties
		for i := range all {
			all[i].text = strings.ReplaceAll(all[i].text, c.Says, "")
		}
	}
	promise := example.Promised(t, proto)
	if inRounds {
		var b bytes.Buffer
		if err := rounds.Costs(&b, signed); err != nil {
			t.Fatal(err)
		}
		add("what a study costs", b.String(), `^  OBSERVER {2,}(.*)$`)
	}

	store := native.Folder{Path: filepath.Join(dir, "device")}
	if err := client.Consent(store, true); err != nil {
		t.Fatal(err)
	}
	c, err := client.Open(signed, client.Options{Store: store, Transport: &native.Transport{}, State: s.state, Publishers: plan.Trust(key.Public().String()), Caps: client.Caps{Plan: client.Cap{Epsilon: 1e9}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Answer(s.value); err != nil {
		t.Fatal(err)
	}
	add("ledger", command("ledger", "show", store.Path), `^ +OBSERVER: (.*)$`)
	add("person's page", command("ledger", "show", "--html", store.Path), `<small class="soft">(.*?)</small>(?s:.*?)<dt>Observer</dt><dd>OBSERVER</dd>`)
	all = append(all, written(t, "ledger --json", command("ledger", "show", "--json", store.Path), "answers", "observers"))
	l, err := client.ReadLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, written(t, "ledger of a browser", string(text), "entries", "statements"))

	r := statement.Begin(proto, example.Crowds(proto), nil)
	if err := (statement.Plan{Protocol: proto, Promise: promise, Study: signed.Study}).Write(&r); err != nil {
		t.Fatal(err)
	}
	r.Provenance, r.Created = release.Provenance{Software: "test", Randomness: "fresh randomness"}, time.Now()
	var shown, paged, kept bytes.Buffer
	for _, err := range []error{textpage.Write(&shown, r), page.WriteHTML(&paged, r), r.WriteJSON(&kept)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	add("release", shown.String(), `^  OBSERVER: (.*(?:\n  \S.*)*)$`)
	add("release page", paged.String(), `<dt>OBSERVER</dt><dd>(.*?)</dd>`)
	stored, err := release.Read(&kept)
	if err != nil {
		t.Fatal(err)
	}
	numbers := surface{name: "release.json"} // whose words follow from these
	for _, s := range stored.Guarantees {
		numbers.says = append(numbers.says, observed{s.Observer, s.Guarantee.Verdict()})
	}
	all = append(all, numbers)
	cards := surface{name: "cards of pages"}
	for _, card := range belief.Cards(r.Guarantees) {
		for _, observer := range card.Observers {
			cards.says = append(cards.says, observed{observer, card.Verdict})
		}
		cards.text += strings.Join(card.Who, "") + card.Note + card.Meaning
	}
	for _, one := range append(all, cards) { // cards stand by strength
		slices.SortFunc(one.says, func(a, b observed) int {
			return slices.Index(observers, a.observer) - slices.Index(observers, b.observer)
		})
	}
	return append(all, cards)
}

// Of every kind, route and noise, plan check, ledger, the person's page, release and JSON say the
// same to each observer, alone and of all rounds of a study, and none observers a party that is not there.
func TestOneStatementAnObserver(t *testing.T) {
	for name, s := range everyRoute(t) {
		for _, rounds := range []bool{false, true} {
			title := name
			if rounds {
				title += ", three rounds"
			}
			t.Run(title, func(t *testing.T) {
				all := s.surfaces(t, rounds)
				t.Log(sideBySide(title, all))
				for _, fault := range append(differing(all), strangers(s.plan, all)...) {
					t.Error(fault)
				}
				for _, o := range all[0].says { // each for the plan's neighbours, but for sizes of crowds
					if sizes := o.observer == account.CrowdSizesSeen || o.observer == account.AllSizesSeen; !sizes && !strings.Contains(o.verdict, s.plan.Budget.Adjacency) && !strings.Contains(o.verdict, "no epsilon is proved") {
						t.Errorf("%s: %s is not of %s", o.observer, o.verdict, s.plan.Budget.Adjacency)
					}
				}
				last := []string{account.ShufflerHonest, account.OneAggregator, account.OnlyTheReader, account.CrowdSizesSeen}
				if rounds {
					last = []string{account.AllRoundsSeen, account.AllSizesSeen, account.AllRoundsOfOne}
				}
				if n := len(all[0].says); n < 2 || !slices.Contains(last, all[0].says[n-1].observer) {
					t.Errorf("%q", all[0].says)
				}
			})
		}
	}
}

// One aggregator that knows half of the noise learns more than the promise says, and every surface
// says how much: by the exact law epsilon 2.275 at delta 1e-6.
func TestOneAggregatorUnderSharedNoise(t *testing.T) {
	s := everyRoute(t)["histogram, summed with noise of shared"]
	all := s.surfaces(t, false)
	for _, one := range all {
		i := slices.IndexFunc(one.says, func(o observed) bool { return o.observer == account.OneAggregator })
		var epsilon float64
		if _, err := fmt.Sscanf(one.says[i].verdict, "epsilon %f,", &epsilon); err != nil || epsilon < 2.275 || epsilon > 2.29 {
			t.Errorf("%s says %q (%v)", one.name, one.says[i].verdict, err)
		}
	}
	// The broken twins: a ledger that has the promised number, as it had, and one that knows a shuffler.
	for i, one := range all {
		twin := slices.Clone(all)
		twin[i].says = slices.Clone(one.says)
		at := slices.IndexFunc(one.says, func(o observed) bool { return o.observer == account.OneAggregator })
		twin[i].says[at].verdict = "epsilon 1, delta 1e-6 (replacement)"
		if len(differing(twin)) == 0 {
			t.Errorf("%s says another observer's number, unseen", one.name)
		}
		twin[i].text += "shuffler honest"
		if len(strangers(s.plan, twin)) != 1 {
			t.Errorf("%s names a shuffler of a sum, unseen", one.name)
		}
	}
}
