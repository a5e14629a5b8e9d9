package shufflerd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
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
		"another version":         {put(good, header("Content-Type", strings.Replace(wire.ContributionType, "=2", "=1", 1))), 415, wire.UnsupportedMediaType},
		"no credential":           {put(good, header("Authorization", "")), 401, wire.Unauthenticated},
		"a wrong credential":      {put(good, header("Authorization", "Bearer "+strings.Repeat("x", 47))), 401, wire.Unauthenticated},
		"a token where none is":   {put(good, header("Authorization", tokenwire.Authorization(make([]byte, 288)))), 401, wire.Unauthenticated},
		"one byte short":          {put(good[:len(good)-1], nil), 422, wire.ContributionRefused},
		"one byte more":           {put(append(bytes.Clone(good), 0), nil), 413, wire.TooLarge},
		"empty":                   {put(nil, nil), 422, wire.ContributionRefused},
		"of unknown length":       {put(append(bytes.Clone(good), 0), func(r *http.Request) { r.ContentLength = -1 }), 413, wire.TooLarge},
		"another format version":  {put(edit(0, 1), nil), 422, wire.ContributionRefused},
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

func TestRateOfARespondent(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.rates = Limits{Visits: serve.Visits{Rate: 1e-9, Burst: 2}}
	w.restart(0)
	body := w.contribution(0, 1)
	for i, want := range []int{201, 200, 429, 429} {
		if status, _ := w.do(0, w.request("device1", body)); status != want {
			t.Errorf("time %d: %d, want %d", i, status, want)
		}
	}
	w.contribute(0, 2) // others go on
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
	st := w.hops[0].service.Statuses(t.Context())[0]
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
