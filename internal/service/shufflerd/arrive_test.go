package shufflerd

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A handover in parts that is interrupted anywhere, at either end, goes on with the parts
// that are not there: none that was acknowledged is sent again.
func TestAHandoverInPartsGoesOn(t *testing.T) {
	for _, c := range []struct {
		hop        int
		point      string
		occurrence int
	}{{1, "manifest-kept", 0}, {1, "part-kept", 0}, {1, "part-kept", 1}, {1, "batch-kept", 0}, {0, "part-sent", 0}, {0, "part-sent", 1}, {0, "next-acknowledged", 0}} {
		t.Run(fmt.Sprint(c.point, c.occurrence), func(t *testing.T) {
			w := newPartsWorld(t)
			w.partBytes = 300 // two parts of four envelopes
			w.restart(0)
			w.restart(1)
			w.contribute(0, 0, 1, 2, 3)
			seen, crashed := 0, false
			w.failpoint = func(h int, n string) error {
				if h != c.hop || n != c.point || crashed {
					return nil
				}
				if seen++; seen <= c.occurrence {
					return nil
				}
				crashed = true
				return errCrash
			}
			w.end()
			if err := w.step(); err == nil || !crashed {
				t.Fatalf("%v: nothing failed", err)
			}
			if c.point == "part-kept" {
				if st := w.hops[1].service.Statuses(t.Context())[0].Crowds[0]; st.Phase != "arriving" {
					t.Errorf("%+v", st)
				}
				held := httptest.NewRecorder()
				w.hops[1].server.ServeHTTP(held, httptest.NewRequest(http.MethodGet, wire.BatchPath(w.plan.Hash(), 0, 1, 0), nil))
				if strings.Contains(held.Body.String(), "received") {
					t.Errorf("a batch that is not whole is said to be here: %s", held.Body)
				}
			}
			w.restart(c.hop)
			for range 2 {
				if err := w.step(); err != nil {
					t.Fatal(err)
				}
			}
			wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3)})
			w.settled(0)
			w.settled(1)
			want := 2
			if c.point == "part-kept" { // that one was kept, and is not acknowledged by itself
				want = 1
			}
			if w.arrived != want || w.again > 0 {
				t.Errorf("%d parts were acknowledged, want %d, and %d again", w.arrived, want, w.again)
			}
		})
	}
}

// parting is a world whose second hop was sent nothing yet, and what the first would send.
func parting(t *testing.T) (w *world, receipts []relay.SignedReceipt, m handover.Manifest, parts [][]byte) {
	w = newPartsWorld(t)
	w.partBytes = 300 // two parts of four envelopes
	w.restart(0)
	w.restart(1)
	w.contribute(0, 0, 1, 2, 3)
	w.end()
	second := w.hops[1]
	w.hops[1] = nil // out of reach
	if err := w.step(); err == nil {
		t.Fatal("nobody was there")
	}
	w.hops[1] = second
	p := found(w.hops[0].service, w.plan.Hash()).posts[0]
	state := p.state(0)
	m, err := p.walkBatch(t.Context(), 0, state, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if receipts, err = state.behind(); err != nil {
		t.Fatal(err)
	}
	read, err := p.readPart(t.Context(), 0, state, m)
	if err != nil {
		t.Fatal(err)
	}
	for n := range m.Parts {
		part, err := read(n)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	if len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	return w, receipts, m, parts
}

// hand sends a manifest, or a part, to the second hop.
func (w *world) hand(path, mediaType string, body ...[]byte) (int, wire.Code) {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodPut, path, bytes.NewReader(bytes.Join(body, nil)))
	r.Header.Set("Content-Type", mediaType)
	return w.do(1, r)
}

func TestHostileParts(t *testing.T) {
	w, receipts, m, parts := parting(t)
	leg := wire.Leg{Plan: w.plan.Hash(), Hop: 1}
	path := wire.BatchPath(leg.Plan, 0, 1, 0)
	before, behind := handover.MarshalReceipts(receipts, true), handover.MarshalReceipts(receipts, false)
	keys, err := readKeys(w.keys(0))
	if err != nil {
		t.Fatal(err)
	}
	sign := keys.sign[w.plan.Route.Mix.Instances[0].Hops[0].Receipts]
	// signed is what the first hop would send if it lied.
	signed := func(m handover.Manifest, change func(*relay.Receipt)) (prefix, behind []byte) {
		r := receipts[0].Receipt
		r.BatchOut = m.Digest()
		change(&r)
		s := []relay.SignedReceipt{r.Sign(sign)}
		return handover.MarshalReceipts(s, true), handover.MarshalReceipts(s, false)
	}
	wants := func(what string, status int, code wire.Code, gotStatus int, got wire.Code) {
		t.Helper()
		if gotStatus != status || got != code {
			t.Errorf("%s: %d %s, want %d %s", what, gotStatus, got, status, code)
		}
	}
	try := func(what string, status int, code wire.Code, path, mediaType string, body ...[]byte) {
		t.Helper()
		gotStatus, got := w.hand(path, mediaType, body...)
		wants(what, status, code, gotStatus, got)
	}
	try("a part before its manifest", 404, wire.NotFound, wire.PartPath(leg, 0), wire.PartType, behind, parts[0])
	try("without receipts", 422, wire.ReceiptRefused, path, wire.PartedType, handover.MarshalReceipts(nil, true), m.Bytes())
	try("nothing", 422, wire.BatchRefused, path, wire.PartedType)
	try("half of a manifest", 422, wire.BatchRefused, path, wire.PartedType, before, m.Bytes()[:80])
	stranger := receipts[0]
	stranger.Signature[0] ^= 1
	try("of a stranger", 422, wire.ReceiptRefused, path, wire.PartedType, handover.MarshalReceipts([]relay.SignedReceipt{stranger}, true), m.Bytes())
	try("of another crowd", 422, wire.ReceiptRefused, wire.BatchPath(leg.Plan, 0, 1, 1), wire.PartedType, before, m.Bytes())
	other := m
	other.Parts = slices.Clone(m.Parts)
	other.Parts[0], other.Parts[1] = other.Parts[1], other.Parts[0]
	try("another manifest than was signed", 422, wire.ReceiptRefused, path, wire.PartedType, before, other.Bytes())
	twice := m
	twice.Parts = append(slices.Clone(m.Parts[:1]), m.Parts[0])
	prefix, _ := signed(twice, func(*relay.Receipt) {})
	try("a part twice, and signed", 422, wire.BatchRefused, path, wire.PartedType, prefix, twice.Bytes())
	few := m
	few.Head.Respondents = minimum - 1
	prefix, _ = signed(few, func(r *relay.Receipt) { r.Respondents = minimum - 1 })
	try("fewer respondents than the minimum", 422, wire.BatchRefused, path, wire.PartedType, prefix, few.Bytes())
	try("as a whole", 422, wire.BatchRefused, path, wire.BatchType, before, m.Bytes())

	try("the manifest", 202, "", path, wire.PartedType, before, m.Bytes())
	changed := bytes.Clone(parts[0])
	changed[3] ^= 1
	try("a changed part", 422, wire.BatchRefused, wire.PartPath(leg, 0), wire.PartType, behind, changed)
	try("a part in the place of another", 422, wire.BatchRefused, wire.PartPath(leg, 1), wire.PartType, behind, parts[0])
	try("a part too long", 422, wire.BatchRefused, wire.PartPath(leg, 0), wire.PartType, behind, parts[0], []byte{0})
	try("a part too short", 422, wire.BatchRefused, wire.PartPath(leg, 0), wire.PartType, behind, parts[0][1:])
	try("a part that there is not", 422, wire.BatchRefused, wire.PartPath(leg, len(parts)), wire.PartType, behind, parts[0])
	try("a part of a stranger", 422, wire.ReceiptRefused, wire.PartPath(leg, 0), wire.PartType, handover.MarshalReceipts([]relay.SignedReceipt{stranger}, false), parts[0])
	_, otherwise := signed(other, func(*relay.Receipt) {})
	try("a part behind other receipts", 422, wire.ReceiptRefused, wire.PartPath(leg, 0), wire.PartType, otherwise, parts[0])
	try("a part as a manifest", 415, wire.UnsupportedMediaType, wire.PartPath(leg, 0), wire.PartedType, behind, parts[0])
	try("not whole", 202, "", path, wire.PartedType, before, m.Bytes())

	// Another one that the hop has signed takes its place, as nothing has left.
	prefix, otherwise = signed(other, func(*relay.Receipt) {})
	try("another manifest", 202, "", path, wire.PartedType, prefix, other.Bytes())
	try("a part of the first one", 422, wire.ReceiptRefused, wire.PartPath(leg, 0), wire.PartType, behind, parts[0])
	for n := range parts {
		try("a part", 201, "", wire.PartPath(leg, 1-n), wire.PartType, otherwise, parts[n])
		try("a part again", 200, "", wire.PartPath(leg, 1-n), wire.PartType, otherwise, parts[n])
	}
	try("whole", 201, "", path, wire.PartedType, prefix, other.Bytes())
	try("whole, again", 200, "", path, wire.PartedType, prefix, other.Bytes())
	try("the first one, too late", 409, wire.BatchTaken, path, wire.PartedType, before, m.Bytes())
	try("a part of the first one, too late", 409, wire.BatchTaken, wire.PartPath(leg, 0), wire.PartType, behind, parts[0])
	if err := w.hops[1].service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3)})
	w.settled(1)
}

// A hop of an earlier version hands over as a whole, whatever the size.
func TestAWholeBatchOfAnySize(t *testing.T) {
	w := newPartsWorld(t)
	w.contribute(0, 0, 1, 2, 3, 4)
	w.stop(0)
	w.partBytes = 0
	w.start(0)
	w.partBytes = 600
	w.end()
	for range 2 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3, 4)})
	if w.arrived > 0 {
		t.Error("it came in parts")
	}
	w.settled(1)
}
