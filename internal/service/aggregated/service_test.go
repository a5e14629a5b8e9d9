package aggregated

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

func TestWhatDevicesSayIsAddedUpOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.all(0, 1, 1, 3)
	if status := w.upload(4, w.lie()); status != http.StatusOK {
		t.Errorf("a lie is known at the door: %d", status)
	}
	if status := w.upload(1, w.report(1)); status != http.StatusConflict {
		t.Errorf("a respondent's second report is answered %d", status)
	}
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := w.collected(); status != http.StatusAccepted {
		t.Errorf("before the end the analyzer is answered %d", status)
	}
	w.close()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.want([]int64{1, 2, 0, 1}, 4)
	if status := w.upload(5, w.report(1)); status != http.StatusGone && status != http.StatusConflict {
		t.Errorf("after the end a device is answered %d", status)
	}
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		st, err := w.nodes[role].service.status(t.Context(), found(w.nodes[role].service, w.plan.Hash()))
		if err != nil || st.Crowds[0].Reports != 4 || st.Crowds[0].Refused != 1 {
			t.Errorf("%v: %v", st, err)
		}
	}
}

func TestTooFewAreWithheld(t *testing.T) {
	w := newWorld(t, nil)
	w.all(0, 1)
	w.upload(2, w.lie())
	w.close()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := w.collected(); status == http.StatusOK || status == http.StatusAccepted {
		t.Errorf("two valid reports of three at least are answered %d: %s", status, body)
	}
}

// The helper believes its own count: a leader that would sum up fewer than the plan's minimum gets no share.
func TestALeaderOfTooFewGetsNoShare(t *testing.T) {
	w := newWorld(t, nil)
	w.all(0, 1)
	w.close()
	found(w.nodes[dap.Leader].service, w.plan.Hash()).crowds[0].Minimum = 1
	refused := ""
	w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
		res := send()
		if res.StatusCode >= http.StatusBadRequest {
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Error(err)
			}
			refused, res.Body = string(text), io.NopCloser(bytes.NewReader(text))
		}
		return res, nil
	}
	if err := w.step(); err == nil {
		t.Error("the leader's step passes")
	}
	if !strings.Contains(refused, string(wire.Withheld)) {
		t.Errorf("the helper answers %q", refused)
	}
	if status, body, _ := w.collected(); status == http.StatusOK {
		t.Errorf("the analyzer gets a sum: %s", body)
	}
}

// Noise is drawn once: asked again, and by whoever was killed meanwhile, the same bytes.
func TestNoiseIsDrawnOnce(t *testing.T) {
	w := newWorld(t, func(p *plan.Plan) {
		p.Route.Sum.Noise, p.Route.Sum.Law, p.Route.Sum.Decay = plan.NoiseAggregators, plan.LawLaplace, 0.1
	})
	w.all(0, 1, 1, 3)
	w.close()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	_, first, receipts := w.collected()
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		w.kill(role)
		w.start(role)
	}
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if _, again, vouch := w.collected(); string(again) != string(first) || vouch != receipts {
		t.Error("the same sum was drawn twice")
	}
	if sums, n := w.opened(); n != 4 || sums[0] == 1 && sums[1] == 2 && sums[2] == 0 && sums[3] == 1 {
		t.Errorf("no noise: %v", sums) // each is 0 with probability 0.05^2: 4e-11 for all
	}
}

// Both aggregators keep in PostgreSQL what they keep in a file, each in a schema of its own.
func TestOnPostgreSQL(t *testing.T) {
	file := database
	database = func(t testing.TB) string { return postgrestest.Postgres(t) }
	defer func() { database = file }()
	t.Run("added up once", TestWhatDevicesSayIsAddedUpOnce)
	t.Run("too few", TestTooFewAreWithheld)
	t.Run("noise", TestNoiseIsDrawnOnce)
	t.Run("retention", TestRetention)
	// What differs from a folder is what a write leaves that is done; elsewhere internal/testkit/chaos kills processes on it.
	t.Run("killed", func(t *testing.T) {
		killedAt(t, func(point string) bool { return strings.HasSuffix(point, "/committed") })
	})
}

// Where the helper demands tokens, one counts once, and of its own hop alone; an issuer may
// ask how many did.
func TestTheHelperCountsATokenOnce(t *testing.T) {
	key, err := token.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(p *plan.Plan) {
		p.Route.Sum.Helper.Tokens = key.Public().String()
		p.Route.Sum.Issuer = &plan.Party{Operator: "issuer", URL: "https://issuer.test"}
	})
	bearing := func(seed, hop byte, cell int) dap.Report {
		request, err := token.NewRequest(token.Seed{seed}, key.Public(), token.Context{Plan: w.plan.Hash(), Hop: hop})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := key.Sign(request.Blinded)
		if err != nil {
			t.Fatal(err)
		}
		bearer, err := request.Finish(answer)
		if err != nil {
			t.Fatal(err)
		}
		vector := make([]uint64, cells)
		vector[cell] = 1
		r, err := w.task().Report(w.random, vector, w.time(), bearer)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for d, r := range []dap.Report{bearing(1, 1, 0), bearing(2, 1, 1), bearing(3, 1, 1), bearing(1, 1, 3), bearing(4, 0, 3)} {
		if status := w.upload(d, r); status != http.StatusOK {
			t.Fatalf("device %d is answered %d", d, status)
		}
	}
	w.close()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	sums, n := w.opened()
	if n != 3 || sums[1] != 2 || sums[0]+sums[3] != 1 { // of the two with one token either counts
		t.Errorf("%d reports, %v", n, sums)
	}
	for hop, want := range []uint64{0, 3} {
		url := w.plan.Route.Sum.Aggregators()[hop].URL
		n := registry.Neighbour{URL: url, Leg: wire.Leg{Plan: w.plan.Hash(), Hop: uint8(hop + 1)}}
		held, err := n.Held(t.Context(), &http.Client{Transport: w}, 0)
		if err != nil || held.Tokens != want || held.Sent == "" {
			t.Errorf("hop %d holds %+v (%v), want %d tokens", hop, held, err, want)
		}
	}
}
