package shufflerd

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/plan"
)

// tokenWorld is a cascade of two hops that both demand tokens.
type tokenWorld struct {
	*world
	keys []token.PrivateKey
}

func newTokenWorld(t *testing.T) tokenWorld {
	var keys []token.PrivateKey
	for range 2 {
		k, err := token.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	return tokenWorld{newWorld(t, 2, func(p *plan.Plan) {
		p.Route.Mix.Issuer = &plan.Party{Operator: "issuer", URL: "https://issuer.test"}
		for h, k := range keys {
			p.Route.Mix.Instances[0].Hops[h].Tokens = k.Public().String()
		}
	}), keys}
}

// token is a device's for a hop.
func (w tokenWorld) token(device, hop int) []byte {
	w.t.Helper()
	q, err := token.NewRequest(token.Seed{byte(device)}, w.keys[hop].Public(), token.Context{Plan: w.plan.Hash(), Hop: uint8(hop)})
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := w.keys[hop].Sign(q.Blinded)
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := q.Finish(answer)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// request is a contribution that spends a device's tokens, that of the second
// hop inside the first envelope.
func (w tokenWorld) request(crowd uint32, device, tokensOf int) *http.Request {
	w.t.Helper()
	layers := envelope.Route(w.plan.Hash(), 0, crowd, w.opening[0].Public(), w.opening[1].Public(), w.analyzer.Public())
	for h, slot := range w.plan.Slots(0) {
		layers[h].Slot = slot
	}
	s, err := envelope.NewSealer(layers[1:], payload)
	if err != nil {
		w.t.Fatal(err)
	}
	var envelopes [][]byte
	for i := range perDevice {
		slots := [][]byte{nil, nil}
		if i == 0 && tokensOf >= 0 {
			slots[0] = w.token(tokensOf, 1)
		}
		e, err := s.SealWith(message(device, i), slots)
		if err != nil {
			w.t.Fatal(err)
		}
		envelopes = append(envelopes, e)
	}
	body, err := example.Form(w.plan, 0).Seal(w.opening[0].Public(), crowd, envelopes)
	if err != nil {
		w.t.Fatal(err)
	}
	r := w.world.request("device1", body)
	r.Header.Set("Authorization", tokenwire.Authorization(w.token(device, 0)))
	return r
}

func TestTokens(t *testing.T) {
	w := newTokenWorld(t)
	take := func(r *http.Request, want int, wantCode wire.Code) {
		t.Helper()
		if status, code := w.do(0, r); status != want || code != wantCode {
			t.Errorf("%d %s, want %d %s", status, code, want, wantCode)
		}
	}
	bearer := w.world.request("device1", w.contribution(0, 1))
	take(bearer, 401, wire.Unauthenticated)
	forged := w.request(0, 1, 1)
	made := w.token(1, 0)
	made[100] ^= 1
	forged.Header.Set("Authorization", tokenwire.Authorization(made))
	take(forged, 403, wire.TokenRefused)
	elsewhere := w.request(0, 1, 1)
	elsewhere.Header.Set("Authorization", tokenwire.Authorization(w.token(1, 1))) // good at the other hop
	take(elsewhere, 403, wire.TokenRefused)

	for d := range 4 {
		take(w.request(0, d, d), 201, "")
	}
	take(w.request(0, 2, 9), 409, wire.AlreadyContributed) // a token spent a second time
	take(w.request(1, 2, 9), 409, wire.AlreadyContributed) // in another crowd likewise
	// Crowd 1: three who paid the entry, and no more than two tokens inside.
	for d, inside := range map[int]int{4: 4, 5: 5, 6: 4} {
		take(w.request(1, d, inside), 201, "")
	}
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.restart(1)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w.world, map[uint32][]string{0: sent(0, 1, 2, 3)})
	for h, r := range w.receipts[0] {
		if r.Tokens != 4 {
			t.Errorf("hop %d counted %d tokens", h, r.Tokens)
		}
	}
	if st := w.hops[1].service.Statuses(t.Context())[0]; st.Crowds[1].Phase != "withheld" {
		t.Errorf("the second hop lets a crowd of two tokens go: %+v", st.Crowds[1])
	}
	if len(found(w.hops[1].service, w.plan.Hash()).posts[0].spent[0]) != 4 {
		t.Error("spent tokens are forgotten after a restart")
	}
}

// Where sizes are private, nothing that the entry tells anybody has the true one:
// receipts, batches, pages and metrics know those that stayed.
func TestPrivateSizes(t *testing.T) {
	const n = 10
	for attempt := range 20 {
		w := newWorld(t, 2, func(p *plan.Plan) {
			p.Title = fmt.Sprint("attempt ", attempt)
			p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 0.1, Noise: 0.5, Threshold: 3}
		})
		all := make([]int, n)
		for d := range n {
			all[d] = d
		}
		w.contribute(0, all...)
		if st := w.hops[0].service.Statuses(t.Context())[0]; st.Crowds[0].About != "private" || st.Crowds[1].About != "private" {
			t.Errorf("%+v", st.Crowds)
		}
		onDisk := func() string { return w.hops[0].service.Status(t.Context()).Facts[0].Value }
		if !strings.Contains(onDisk(), "private") {
			t.Errorf("contributions are of one length, and the page says how many bytes there are: %s", onDisk())
		}
		rec := httptest.NewRecorder()
		w.hops[0].server.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for line := range strings.Lines(rec.Body.String()) {
			if strings.HasPrefix(line, "confetti_") && strings.Contains(line, "ontribution") {
				t.Errorf("the metrics count contributions: %s", line)
			}
		}
		w.end()
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(onDisk(), "MiB") {
			t.Errorf("on disk when nothing tells more than batches do: %s", onDisk())
		}
		stayed := len(w.read(0)) / perDevice
		if stayed == 0 || stayed == n { // withheld, or none deleted: tells little
			continue
		}
		if stayed < minimum {
			t.Errorf("%d stayed", stayed)
		}
		got := map[string]int{}
		for _, p := range w.read(0) {
			got[p[:4]]++
		}
		for _, k := range got {
			if k != perDevice {
				t.Errorf("%d envelopes of a device stayed", k)
			}
		}
		for h, r := range w.receipts[0] {
			if int(r.Respondents) != stayed || int(r.In) != stayed*perDevice || r.Dropped+r.Duplicates != 0 {
				t.Errorf("receipt of hop %d: %+v", h, r.Receipt)
			}
			if st := w.hops[h].service.Statuses(t.Context())[0]; int(st.Crowds[0].Respondents) != stayed {
				t.Errorf("status of hop %d: %+v", h, st)
			}
		}
		return
	}
	t.Error("no attempt showed anything")
}

// open keeps each row in the clear too, as a store would that seals nothing.
type open struct {
	keep.Store
	file string
}

func (s open) Create(ctx context.Context, name string) (keep.Shelf, error) {
	shelf, err := s.Store.Create(ctx, name)
	return openShelf{shelf, s.file}, err
}

func (s open) Open(ctx context.Context, name string) (keep.Shelf, error) {
	shelf, err := s.Store.Open(ctx, name)
	return openShelf{shelf, s.file}, err
}

type openShelf struct {
	keep.Shelf
	file string
}

func (s openShelf) Insert(ctx context.Context, rows ...keep.Row) (again bool, err error) {
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for _, r := range rows {
		if _, err := fmt.Fprintf(f, "%s %s\n", r.Key, r.Value); err != nil {
			return false, err
		}
	}
	return s.Shelf.Insert(ctx, rows...)
}

// What the entry's disk has of a contribution is under a key, its body and who sent it alike. The twin is a store that
// writes rows as they are.
func TestTheEntrysDiskIsSealed(t *testing.T) {
	for _, twin := range []bool{false, true} {
		w := newWorld(t, 1, nil)
		folder := w.folder(0)
		if twin {
			w.around = func(s keep.Store) keep.Store { return open{s, filepath.Join(folder, "rows")} }
			w.restart(0)
		}
		body := w.contribution(0, 1)
		if status, _ := w.do(0, w.request("device1", body)); status != 201 {
			t.Fatal(status)
		}
		shelf, err := w.hops[0].store.Open(t.Context(), inbox.ShelfName(found(w.hops[0].service, w.plan.Hash()).posts[0].name))
		if err != nil {
			t.Fatal(err)
		}
		traces := []string{string(body[100:140])}
		if err := shelf.Each(t.Context(), 1, "", func(key string, _ []byte) error {
			traces = append(traces, key)
			return nil
		}); err != nil || len(traces) != 2 {
			t.Fatal(len(traces), err)
		}
		for i, text := range traces {
			if files := grep(t, folder, text); len(files) > 0 != twin {
				t.Errorf("twin %v: what tells the contribution, %d, is in %v", twin, i, files)
			}
		}
	}
}

// Nothing that was mixed has left traces of who came when: after the epoch's end
// no file of the queue holds a contribution, and no key of a respondent.
func TestArrivalIsForgotten(t *testing.T) {
	w := newWorld(t, 1, nil)
	body := w.contribution(0, 1)
	if status, _ := w.do(0, w.request("device1", body)); status != 201 {
		t.Fatal(status)
	}
	w.contribute(0, 2, 3)
	p := found(w.hops[0].service, w.plan.Hash()).posts[0]
	shelf, err := w.hops[0].store.Open(t.Context(), inbox.ShelfName(p.name))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := shelf.Secret(t.Context(), "respondents")
	if err != nil {
		t.Fatal(err)
	}
	traces := []string{string(body[100:140]), string(secret)}
	if err := shelf.Each(t.Context(), 1, "", func(key string, _ []byte) error {
		traces = append(traces, key)
		return nil
	}); err != nil || len(traces) != 5 {
		t.Fatal(len(traces), err)
	}
	folder := filepath.Join(w.dir, "queue0")
	for _, text := range traces { // all of it is under a key
		if files := grep(t, folder, text); len(files) > 0 {
			t.Errorf("%q is in %v", text, files)
		}
	}
	key, err := os.ReadFile(filepath.Join(folder, shelves.InFolder, inbox.ShelfName(p.name)+".key"))
	if err != nil {
		t.Fatal(err)
	}
	traces = append(traces, string(key[len(key)-20:]))
	if files := grep(t, folder, traces[5]); len(files) != 1 {
		t.Errorf("the test looks in the wrong place for the key: %v", files)
	}
	w.cut = true
	w.end()
	if w.step() == nil {
		t.Fatal("the analyzer is out of reach")
	}
	for _, text := range traces {
		if files := grep(t, folder, text); len(files) > 0 {
			t.Errorf("traces are in %v", files)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, shelves.InFolder, "in-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}
