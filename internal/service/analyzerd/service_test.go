package analyzerd_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/release/textpage"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// A collection from registration to release, over HTTP, on both databases.
func TestACollectionIsCountedClosedAndReleased(t *testing.T) {
	c := collect(t, nil)
	both(t, func(t *testing.T, dsn string) {
		r := start(t, dsn, c)
		releases := "/v1/releases/" + c.name
		r.wants(r.get(releases+".json"), 404, wire.UnknownPlan)
		r.wants(r.put(c.handovers[0]), 404, wire.UnknownPlan)
		r.wants(r.register(c), created, "")
		r.wants(r.register(c), ok, "")
		for _, h := range c.handovers {
			r.wants(r.put(h), created, "")
			r.wants(r.put(h), ok, "")
		}
		r.wants(r.get(releases+".json"), 409, wire.NotClosed)
		if w := r.get(wire.PlanPath(c.signed.Plan.Hash())); w.Body.String() != string(c.signed.Marshal()) {
			t.Errorf("the signed plan came back as %.100s", w.Body)
		}
		var progress progress.Progress
		if err := json.Unmarshal(r.get(wire.StatusPath(c.signed.Plan.Hash())).Body.Bytes(), &progress); err != nil {
			t.Fatal(err)
		}
		respondents := 0
		for _, b := range progress.Batches {
			respondents += b.Respondents
			if b.Whole != b.Respondents || b.Dropped != 0 {
				t.Errorf("%+v", b)
			}
		}
		if respondents != devices || progress.Status != analyzerd.Open || progress.Crowds != 2 || progress.Instances != 2 {
			t.Errorf("%+v", progress)
		}

		// Not before times.closes and the grace after it.
		r.at(closes.Add(time.Hour - time.Second))
		if err := r.service.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wants(r.get(releases+".json"), 409, wire.NotClosed)
		r.at(closes.Add(time.Hour))
		if err := r.service.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := r.get(releases + ".json")
		r.wants(w, ok, "")
		got, err := release.Read(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		words, err := statement.New(c.signed, nil)
		if err == nil {
			err = words.Write(&got)
		}
		if err != nil {
			t.Fatal(err)
		}

		// The same that the analyzer says in memory of the same batches.
		a, err := analyzer.New(c.protocol, c.analyzer)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range c.handovers {
			if err := a.Add(h.Batch); err != nil {
				t.Fatal(err)
			}
		}
		want, _, err := a.Release(results.Public{})
		if err != nil {
			t.Fatal(err)
		}
		want.Created, want.Provenance = got.Created, got.Provenance
		if show(t, got) != show(t, want) {
			t.Errorf("another release came out than in memory:\n%s\nwant\n%s", show(t, got), show(t, want))
		}
		if !got.Created.Equal(closes.Add(time.Hour)) || got.Provenance.Software != "confetti test" {
			t.Errorf("created %v by %q", got.Created, got.Provenance.Software)
		}

		page := r.get(releases + ".html")
		r.wants(page, ok, "")
		if !strings.Contains(page.Body.String(), "A tiny collection") || !strings.Contains(page.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("page: %.200s", page.Body)
		}
		// Its receipts are of the same bytes, and bear it out.
		w = r.get(releases + ".receipts.json")
		r.wants(w, ok, "")
		receipts, err := relay.ParseReceipts(w.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		batches, err := receipts.Check(c.signed.Plan)
		if err != nil || len(batches) != len(c.handovers) {
			t.Errorf("%+v, %v", batches, err)
		}
		for _, format := range []string{"json", "html"} {
			if sum := relay.FileDigest(r.get(releases + "." + format).Body.Bytes()); receipts.Files[format] != sum {
				t.Errorf("%s has the digest %s, and the receipts say %v", format, sum, receipts.Files)
			}
		}
		var list []analyzerd.Plan
		if err := json.Unmarshal(r.get("/v1/releases").Body.Bytes(), &list); err != nil || len(list) != 1 || list[0].Status != analyzerd.Released {
			t.Errorf("%+v, %v", list, err)
		}
		for _, path := range []string{releases, releases + ".pdf", releases + ".csv", releases + ".counts.csv", "/v1/releases/x.json", releases + ".json.json"} {
			r.wants(r.get(path), 404, wire.NotFound)
		}

		// It stays what it is.
		first := r.get(releases + ".json").Body.String()
		r.at(closes.Add(40 * 24 * time.Hour))
		r.wants(r.do("POST", wire.ClosePath(c.signed.Plan.Hash()), "", nil), ok, "")
		if err := r.service.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.restart()
		if again := r.get(releases + ".json").Body.String(); again != first {
			t.Error("a release changed")
		}
		if b, err := r.store.Batches(t.Context(), c.name); len(b) != 0 || err != nil {
			t.Errorf("%d batches are still there after their retention, %v", len(b), err)
		}
		r.wants(r.put(c.handovers[0]), 410, wire.EpochOver)
		r.wants(r.register(c), ok, "")

		// Withdrawn afterwards, it stays, and the list says by whom, when and why.
		said, err := plan.Withdraw(plan.Withdrawal{Plan: c.signed.Plan.Hash(), At: closes.Add(50 * 24 * time.Hour), Reason: "the question was misleading"}, publisher)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.service.Withdraw(t.Context(), said); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if again := r.get(releases + ".json").Body.String(); again != first {
				t.Error("a release changed as it was withdrawn")
			}
			list = nil
			if err := json.Unmarshal(r.get("/v1/plans").Body.Bytes(), &list); err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if p := list[0]; p.Status != analyzerd.Released || p.Standing() != analyzerd.Withdrawn || p.Withdrawal == nil || p.Withdrawal.Publisher != said.Publisher || !p.Withdrawal.At.Equal(said.At) || p.Withdrawal.Reason != said.Reason {
				t.Errorf("%+v", p)
			}
			r.restart()
		}
	})
}

func show(t *testing.T, r release.Release) string {
	t.Helper()
	var b strings.Builder
	if err := textpage.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What people read in the status has its numbers beside it, with types and whole names.
func TestTheStatusHasTypedFields(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	r.wants(r.put(c.handovers[0]), created, "")
	text, err := json.Marshal(r.service.Status(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	var status struct {
		Facts []struct {
			Name string
			Data int
		}
		Gauges []struct {
			Data struct {
				Population string
				Allowed    struct{ Epsilon float64 }
				Shares     struct{ Shift float64 }
				Plans      int
			}
		}
		Tables []struct {
			Data []struct {
				Plan, State                    string
				Batches, Expected, Respondents int
				Closes                         time.Time
			}
		}
	}
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	plan := status.Tables[0].Data[0]
	if plan.Plan != c.name || plan.State != "open" || plan.Batches != 1 || plan.Expected < 2 || plan.Respondents != int(c.handovers[0].Batch.Respondents) || plan.Closes.IsZero() {
		t.Errorf("%+v", plan)
	}
	if status.Facts[0].Name != "plans open" || status.Facts[0].Data != 1 {
		t.Errorf("%+v", status.Facts)
	}
	if b := status.Gauges[0].Data; b.Population == "" || b.Plans != 1 || !(b.Allowed.Epsilon > 0 && b.Shares.Shift > 0 && b.Shares.Shift <= 1) {
		t.Errorf("%+v", b)
	}
}
