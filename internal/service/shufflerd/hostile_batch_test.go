package shufflerd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

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
	p := found(w.hops[0].service, w.plan.Hash()).posts[0]
	var batch bytes.Buffer
	if _, err := p.walkBatch(ctx, 0, p.state(0), &batch); err != nil {
		t.Fatal(err)
	}
	receipt, err := relay.ParseReceipt(p.crowds[0].Receipts[0])
	if err != nil {
		t.Fatal(err)
	}
	return w, handover.MarshalHandover([]relay.SignedReceipt{receipt}, batch.Bytes())
}

func (w *world) batchRequest(body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPut, wire.BatchPath(w.plan.Hash(), 0, 1, 0), bytes.NewReader(body))
	r.Header.Set("Content-Type", wire.BatchType)
	return r
}

func TestBatchesRefused(t *testing.T) {
	w, good := caught(t)
	const prefix = 3 + relay.ReceiptSize // of what stands before the batch
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
		"longer, of no length":        {append(bytes.Clone(good), 0), func(r *http.Request) { r.ContentLength = -1 }, 413, wire.TooLarge},
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

// A hop refuses the head of a batch of fewer respondents than the plan's minimum by that alone: the
// envelopes are as many as so few send, and as the plan's honest ones do.
func TestAHeadOfTooFewIsRefused(t *testing.T) {
	w, _ := caught(t)
	post := found(w.hops[1].service, w.plan.Hash()).posts[0]
	post.plan.Budget.DishonestShare = 0.5
	size, least, _ := post.batchBounds(minimum)
	head := envelope.Head{Plan: post.hash, Instance: uint16(post.instance), Hop: uint8(post.hop), Size: size, Respondents: minimum, Envelopes: uint64(least)}
	if err := post.checkHead(head, 0); err != nil {
		t.Errorf("of the minimum: %v", err)
	}
	head.Respondents--
	if err := post.checkHead(head, 0); err == nil || !strings.Contains(err.Error(), "the plan's minimum") {
		t.Errorf("of one fewer: %v", err)
	}
}

// An entry that mixes a crowd twice, the second time without a victim, is told
// that another batch is here.
func TestSecondBatchOfACrowd(t *testing.T) {
	w, good := caught(t)
	if status, code := w.do(1, w.batchRequest(good)); status != 201 {
		t.Fatalf("%d %s", status, code)
	}
	keys, err := readKeys(w.keys(0))
	if err != nil {
		t.Fatal(err)
	}
	h, err := handover.ParseHandover(good)
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
	other := handover.MarshalHandover([]relay.SignedReceipt{receipt.Sign(keys.sign[w.plan.Route.Mix.Instances[0].Hops[0].Receipts])}, batch)
	if status, code := w.do(1, w.batchRequest(other)); status != 409 || code != wire.BatchTaken {
		t.Errorf("%d %s", status, code)
	}
}

// A batch of garbage that its entry has signed is taken, and goes no further.
func TestGarbageIsWithheld(t *testing.T) {
	w, good := caught(t)
	keys, err := readKeys(w.keys(0))
	if err != nil {
		t.Fatal(err)
	}
	h, err := handover.ParseHandover(good)
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
	garbage := handover.MarshalHandover([]relay.SignedReceipt{receipt.Sign(keys.sign[w.plan.Route.Mix.Instances[0].Hops[0].Receipts])}, batch)
	if status, code := w.do(1, w.batchRequest(garbage)); status != 201 {
		t.Fatalf("%d %s", status, code)
	}
	if err := w.hops[1].service.Step(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{})
	if st := w.hops[1].service.Statuses(t.Context())[0]; st.Crowds[0].Phase != "withheld" {
		t.Errorf("%+v", st.Crowds[0])
	}
	w.settled(1)
}
