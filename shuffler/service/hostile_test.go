package service

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

func TestContributionsRefused(t *testing.T) {
	w := newWorld(t, 1, nil)
	good := w.contribution(0, 1)
	put := func(body []byte, change func(*http.Request)) *http.Request {
		r := w.request("device1", body)
		if change != nil {
			change(r)
		}
		return r
	}
	edit := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	path := func(p string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = p } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	other := w.plan.Hash()
	other[0] ^= 1
	id := wire.ContributionID(good)
	for name, c := range map[string]struct {
		r      *http.Request
		status int
		code   wire.Code
	}{
		"another plan's path":     {put(good, path(wire.ContributionPath(other, 0, id))), 404, wire.UnknownPlan},
		"another instance's path": {put(good, path(wire.ContributionPath(w.plan.Hash(), 1, id))), 421, wire.WrongRole},
		"no hash":                 {put(good, path("/v1/plans/zz/instances/0/contributions/00")), 400, wire.BadRequest},
		"id of another body":      {put(good, path(wire.ContributionPath(w.plan.Hash(), 0, sha256.Sum256(nil)))), 400, wire.BadRequest},
		"another type":            {put(good, header("Content-Type", "application/json")), 415, wire.UnsupportedMediaType},
		"another version":         {put(good, header("Content-Type", strings.Replace(wire.ContributionType, "=1", "=2", 1))), 415, wire.UnsupportedMediaType},
		"no credential":           {put(good, header("Authorization", "")), 401, wire.Unauthenticated},
		"a wrong credential":      {put(good, header("Authorization", "Bearer "+strings.Repeat("x", 47))), 401, wire.Unauthenticated},
		"a token where none is":   {put(good, header("Authorization", wire.TokenAuthorization(make([]byte, 288)))), 401, wire.Unauthenticated},
		"one byte short":          {put(good[:len(good)-1], nil), 422, wire.ContributionRefused},
		"one byte more":           {put(append(bytes.Clone(good), 0), nil), 413, wire.TooLarge},
		"empty":                   {put(nil, nil), 422, wire.ContributionRefused},
		"of unknown length":       {put(append(bytes.Clone(good), 0), func(r *http.Request) { r.ContentLength = -1 }), 413, wire.TooLarge},
		"another format version":  {put(edit(0, 2), nil), 422, wire.ContributionRefused},
		"a batch":                 {put(edit(1, 2), nil), 422, wire.ContributionRefused},
		"another plan inside":     {put(edit(2, good[2]^1), nil), 422, wire.ContributionRefused},
		"another instance inside": {put(edit(35, 1), nil), 422, wire.ContributionRefused},
		"no such crowd":           {put(edit(39, 2), nil), 422, wire.ContributionRefused},
		"a number that is not":    {put(edit(43, 3), nil), 422, wire.ContributionRefused},
	} {
		if status, code := w.do(0, c.r); status != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", name, status, code, c.status, c.code)
		}
	}
	// None of that has used up the respondent's turn.
	for i, want := range []int{http.StatusCreated, http.StatusOK, http.StatusOK} {
		if status, code := w.do(0, put(good, nil)); status != want {
			t.Errorf("time %d: %d %s", i, status, code)
		}
	}
	for _, crowd := range []uint32{0, 1} {
		if status, code := w.do(0, put(w.contribution(crowd, 1), nil)); status != 409 || code != wire.AlreadyContributed {
			t.Errorf("a second one to crowd %d: %d %s", crowd, status, code)
		}
	}
	now := w.now
	for when, c := range map[time.Time]wire.Code{w.plan.Times.Opens.Add(-1): wire.NotOpen, w.plan.Times.Closes: wire.EpochOver} {
		w.now = when
		if _, code := w.do(0, put(good, nil)); code != c {
			t.Errorf("at %v: %s", when, code)
		}
	}
	w.now = now
	w.contribute(0, 2)
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{}) // two are fewer than n_min, whatever was tried
	w.now = now                             // a clock that jumps back opens nothing again
	if _, code := w.do(0, w.request("device3", w.contribution(0, 3))); code != wire.EpochOver {
		t.Errorf("after a jump of the clock: %s", code)
	}
}

// Cover traffic is answered like a contribution, and counts for nothing.
func TestCoverCountsForNothing(t *testing.T) {
	w := newWorld(t, 1, nil)
	cover := w.contribution(0, 1)
	for range 2 {
		r := w.request("device1", cover)
		r.URL.Path = wire.ContributionPath(w.plan.Hash(), 0, wire.CoverID(cover))
		if status, code := w.do(0, r); status != http.StatusCreated {
			t.Errorf("cover: %d %s", status, code)
		}
	}
	w.contribute(0, 1, 2, 3)
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})
}

func TestRateOfARespondent(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.rates = Limits{Rate: 1e-9, Burst: 2}
	w.restart(0)
	body := w.contribution(0, 1)
	for i, want := range []int{201, 200, 429, 429} {
		if status, _ := w.do(0, w.request("device1", body)); status != want {
			t.Errorf("time %d: %d, want %d", i, status, want)
		}
	}
	w.contribute(0, 2) // others go on
}

// caught is what the entry of a world hands to the second hop, for one crowd.
func caught(t testing.TB) (*world, []byte) {
	t.Helper()
	w := newWorld(t, 2, nil)
	w.contribute(0, 1, 2, 3, 4)
	w.end()
	second := w.hops[1]
	w.hops[1] = nil // out of reach
	if err := w.step(); err == nil {
		t.Fatal("nobody was there")
	}
	w.hops[1] = second
	ctx := context.Background()
	p := w.hops[0].service.plans[w.plan.Hash()].posts[0]
	box, err := w.hops[0].queue.Box(ctx, p.outName(0))
	if err != nil {
		t.Fatal(err)
	}
	batch, err := io.ReadAll(readBox(ctx, box))
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := wire.ParseReceipt(p.crowds[0].Receipts[0])
	if err != nil {
		t.Fatal(err)
	}
	return w, wire.MarshalHandover([]wire.SignedReceipt{receipt}, batch)
}

func (w *world) batchRequest(body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPut, wire.BatchPath(w.plan.Hash(), 0, 1, 0), bytes.NewReader(body))
	r.Header.Set("Content-Type", wire.BatchType)
	return r
}

func TestBatchesRefused(t *testing.T) {
	w, good := caught(t)
	const prefix = 3 + wire.ReceiptSize // of what stands before the batch
	edit := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] ^= to
		return b
	}
	path := func(hop uint8, crowd uint32) func(*http.Request) {
		return func(r *http.Request) { r.URL.Path = wire.BatchPath(w.plan.Hash(), 0, hop, crowd) }
	}
	for name, c := range map[string]struct {
		body   []byte
		change func(*http.Request)
		status int
		code   wire.Code
	}{
		"to a hop that is not there":  {good, path(2, 0), 421, wire.WrongRole},
		"as another crowd":            {good, path(1, 1), 422, wire.BatchRefused},
		"as no crowd":                 {good, path(1, 9), 400, wire.BadRequest},
		"another type":                {good, func(r *http.Request) { r.Header.Set("Content-Type", wire.ContributionType) }, 415, wire.UnsupportedMediaType},
		"empty":                       {nil, nil, 422, wire.BatchRefused},
		"only receipts":               {good[:prefix+10], nil, 422, wire.BatchRefused},
		"truncated":                   {good[:len(good)-1], nil, 422, wire.BatchRefused},
		"truncated, of no length":     {good[:len(good)-1], func(r *http.Request) { r.ContentLength = -1 }, 422, wire.ReceiptRefused},
		"longer":                      {append(bytes.Clone(good), 0), nil, 422, wire.BatchRefused},
		"longer, of no length":        {append(bytes.Clone(good), 0), func(r *http.Request) { r.ContentLength = -1 }, 408, wire.RequestTimeout},
		"another format":              {edit(0, 2), nil, 422, wire.BatchRefused},
		"receipts left out":           {edit(2, 1), nil, 422, wire.BatchRefused},
		"a signature changed":         {edit(prefix-1, 1), nil, 422, wire.ReceiptRefused},
		"a receipt changed":           {edit(3+60, 1), nil, 422, wire.BatchRefused},
		"respondents changed":         {edit(prefix+49+3, 1), nil, 422, wire.ReceiptRefused},
		"fewer respondents than nmin": {edit(prefix+49+3, 4^2), nil, 422, wire.BatchRefused},
		"more envelopes than bytes":   {edit(prefix+43, 1), nil, 422, wire.BatchRefused},
		"a million envelopes":         {edit(prefix+41, 16), func(r *http.Request) { r.ContentLength = -1 }, 422, wire.BatchRefused},
		"another length of envelopes": {edit(prefix+47, 1), nil, 422, wire.BatchRefused},
		"an envelope changed":         {edit(len(good)-1, 1), nil, 422, wire.ReceiptRefused},
		"another plan inside":         {edit(prefix+2, 1), nil, 422, wire.BatchRefused},
	} {
		r := w.batchRequest(c.body)
		if c.change != nil {
			c.change(r)
		}
		if status, code := w.do(1, r); status != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", name, status, code, c.status, c.code)
		}
		w.settled(1)
	}
	entry := w.batchRequest(good)
	entry.URL.Path = wire.BatchPath(w.plan.Hash(), 0, 0, 0)
	if status, code := w.do(0, entry); code != wire.WrongRole {
		t.Errorf("a batch at the entry: %d %s", status, code)
	}
	// What was refused has not taken the crowd's place; what is taken stays.
	for i, want := range []int{201, 200} {
		if status, code := w.do(1, w.batchRequest(good)); status != want {
			t.Errorf("time %d: %d %s", i, status, code)
		}
	}
	w.restart(1)
	if status, _ := w.do(1, w.batchRequest(good)); status != 200 {
		t.Errorf("again, after a restart: %d", status)
	}
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3, 4)})
}

// An entry that mixes a crowd twice, the second time without a victim, is told
// that another batch is here.
func TestSecondBatchOfACrowd(t *testing.T) {
	w, good := caught(t)
	if status, code := w.do(1, w.batchRequest(good)); status != 201 {
		t.Fatalf("%d %s", status, code)
	}
	keys, err := ReadKeys(w.keys(0))
	if err != nil {
		t.Fatal(err)
	}
	h, err := wire.ParseHandover(good)
	if err != nil {
		t.Fatal(err)
	}
	h.Batch.Envelopes = slices.Clone(h.Batch.Envelopes)
	slices.Reverse(h.Batch.Envelopes)
	batch, err := h.Batch.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	receipt := h.Receipts[0].Receipt
	receipt.BatchOut = sha256.Sum256(batch)
	other := wire.MarshalHandover([]wire.SignedReceipt{receipt.Sign(keys.Sign[w.plan.Route.Mix.Instances[0].Hops[0].Receipts])}, batch)
	if status, code := w.do(1, w.batchRequest(other)); status != 409 || code != wire.BatchTaken {
		t.Errorf("%d %s", status, code)
	}
}

// A batch of garbage that its entry has signed is taken, and goes no further.
func TestGarbageIsWithheld(t *testing.T) {
	w, good := caught(t)
	keys, err := ReadKeys(w.keys(0))
	if err != nil {
		t.Fatal(err)
	}
	h, err := wire.ParseHandover(good)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Batch.Envelopes {
		h.Batch.Envelopes[i] = bytes.Repeat([]byte{byte(i)}, len(h.Batch.Envelopes[i]))
	}
	batch, err := h.Batch.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	receipt := h.Receipts[0].Receipt
	receipt.BatchOut = sha256.Sum256(batch)
	garbage := wire.MarshalHandover([]wire.SignedReceipt{receipt.Sign(keys.Sign[w.plan.Route.Mix.Instances[0].Hops[0].Receipts])}, batch)
	if status, code := w.do(1, w.batchRequest(garbage)); status != 201 {
		t.Fatalf("%d %s", status, code)
	}
	if err := w.hops[1].service.Step(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{})
	if st := w.hops[1].service.Statuses()[0]; st.Crowds[0].Phase != "withheld" {
		t.Errorf("%+v", st.Crowds[0])
	}
	w.settled(1)
}

func TestPlansRefused(t *testing.T) {
	w := newWorld(t, 1, nil)
	ctx := context.Background()
	s := w.hops[0].service
	change := func(f func(*plan.Plan)) plan.Signed {
		p := w.plan
		p.Route.Mix = &plan.Mix{Instances: []plan.Instance{{Hops: slices.Clone(w.plan.Route.Mix.Instances[0].Hops)}}}
		f(&p)
		return plan.Sign(p, w.publish)
	}
	stranger, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	forged := change(func(p *plan.Plan) { p.Title = "forged" })
	forged.Signature = w.signed.Signature
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	untrusted := plan.Sign(forged.Plan, other)
	for name, signed := range map[string]plan.Signed{
		"changed after it was signed": forged,
		"by somebody else":            untrusted,
		"without an end":              change(func(p *plan.Plan) { p.Times.Closes = time.Time{} }),
		"over for long":               change(func(p *plan.Plan) { p.Times.Closes = w.now.Add(-defaultRetention) }),
		"without our key":             change(func(p *plan.Plan) { p.Route.Mix.Instances[0].Hops[0].Key = stranger.Public().String() }),
		"without receipts":            change(func(p *plan.Plan) { p.Route.Mix.Instances[0].Hops[0].Receipts = "" }),
		"nowhere to forward to":       change(func(p *plan.Plan) { p.Analyzer.URL = "" }),
		"contributions too long":      change(func(p *plan.Plan) { p.Envelopes.PerDevice, p.Question.Density.Repetitions = 1<<18, 2 }),
	} {
		r := httptest.NewRequest(http.MethodPut, wire.PlanPath(signed.Plan.Hash()), bytes.NewReader(signed.Marshal()))
		r.Header.Set("Content-Type", wire.SignedPlanType)
		status, code := w.do(0, r)
		if err := s.Load(ctx, signed); err == nil || status != 422 || code != wire.PlanRefused {
			t.Errorf("%s: %v; %d %s", name, err, status, code)
		}
	}
	fine := change(func(p *plan.Plan) { p.Title = "another" })
	register := func() int {
		r := httptest.NewRequest(http.MethodPut, wire.PlanPath(fine.Plan.Hash()), bytes.NewReader(fine.Marshal()))
		r.Header.Set("Content-Type", wire.SignedPlanType)
		status, _ := w.do(0, r)
		return status
	}
	if a, b := register(), register(); a != 201 || b != 200 {
		t.Errorf("a good plan, twice: %d, %d", a, b)
	}
	w.restart(0)
	rec := httptest.NewRecorder()
	w.hops[0].server.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, wire.PlanPath(fine.Plan.Hash()), nil))
	if rec.Code != 200 || !bytes.Equal(rec.Body.Bytes(), fine.Marshal()) {
		t.Errorf("the plan after a restart: %d", rec.Code)
	}
}

// An operator adds a key while another is in use, and needs no restart.
func TestKeysOverlap(t *testing.T) {
	w := newWorld(t, 1, nil)
	key, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	p := w.plan
	hop := p.Route.Mix.Instances[0].Hops[0]
	hop.Key = key.Public().String()
	p.Route.Mix = &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{hop}}}}
	next := plan.Sign(p, w.publish)
	s := w.hops[0].service
	if err := s.Load(context.Background(), next); err == nil {
		t.Fatal("served without its key")
	}
	if err := envelope.CreateKeyFile(w.keys(0)+"/next.json", envelope.KeyFile{Key: key, Purpose: "next"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(context.Background(), next); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	w.contribute(0, 1, 2, 3) // to the plan of the old key
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})
	// A key that is taken away stops its plan and no other.
	if err := os.Remove(w.keys(0) + "/next.json"); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	if s := w.hops[0].service; len(s.Statuses()) != 1 || len(s.Status(t.Context()).Alarms) != 1 {
		t.Errorf("%+v", s.Status(t.Context()))
	}
}

// After the retention nothing is left, and the plan cannot come back.
func TestRetention(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.contribute(0, 1, 2, 3)
	w.end()
	w.cut = true
	if err := w.step(); err == nil {
		t.Fatal("the analyzer is out of reach")
	}
	w.now = w.plan.Times.Closes.Add(defaultRetention)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for h, n := range w.hops {
		w.settled(h)
		n.service.records.Each(ctx, "", func(key string, _ []byte, _ uint64) error {
			t.Errorf("hop %d still has the record %s", h, key)
			return nil
		})
		if len(n.service.Statuses()) > 0 {
			t.Error("it is still served")
		}
		if err := n.service.Load(ctx, w.signed); err == nil {
			t.Error("it came back")
		}
		if _, code := w.do(h, w.batchRequest(nil)); code != wire.UnknownPlan {
			t.Errorf("hop %d: %s", h, code)
		}
	}
}

// A body that breaks off has taken nothing.
func TestBrokenBody(t *testing.T) {
	w := newWorld(t, 1, nil)
	body := w.contribution(0, 1)
	r := w.request("device1", body)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:20]), broken{}))
	if status, code := w.do(0, r); status < 400 || status == 500 {
		t.Errorf("%d %s", status, code)
	}
	if status, _ := w.do(0, w.request("device1", w.contribution(0, 1))); status != 201 {
		t.Errorf("%d", status)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("reset") }

// No respondent, and no credential, is in what a service says.
func TestStatusNamesNobody(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.contribute(0, 1, 2, 3, 4, 5)
	st := w.hops[0].service.Statuses()[0]
	if st.Crowds[0].About != "at least 4" || st.Crowds[1].About != "fewer than 3" || st.Phase != "collecting" {
		t.Errorf("%+v", st)
	}
	for _, path := range []string{"/", "/status.json", "/metrics", wire.StatusPath(w.plan.Hash())} {
		rec := httptest.NewRecorder()
		w.hops[0].server.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		text := rec.Body.String()
		if rec.Code != 200 || strings.Contains(text, "device1") || strings.Contains(text, w.tokens["device1"]) {
			t.Errorf("%s: %d %s", path, rec.Code, text)
		}
	}
}
