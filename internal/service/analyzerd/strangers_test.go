package analyzerd_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// away is an answer that nobody keeps.
type away struct {
	header http.Header
	status int
	length int
}

func (a *away) Header() http.Header         { return a.header }
func (a *away) WriteHeader(status int)      { a.status = status }
func (a *away) Write(b []byte) (int, error) { a.length += len(b); return len(b), nil }

// A plan of megabytes is parsed when it is registered and when a process first
// needs it, and never because a stranger asks for a list, for the plan, or sends
// what is no batch.
func TestStrangersHaveNoPlanParsed(t *testing.T) {
	c := collect(t, func(p *plan.Plan) { p.Question.Density.Vocabulary = strings.Repeat("v", 5<<20) })
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	for _, h := range c.handovers {
		r.wants(r.put(h), created, "")
	}
	r.wants(r.do("POST", wire.ClosePath(c.signed.Plan.Hash()), "", nil), ok, "")
	r.restart()
	const times = 20
	junk := bytes.Repeat([]byte{'x'}, 60)
	for _, ask := range []struct {
		method, path string
		body         []byte
		status       int
	}{
		{"GET", "/v1/plans", nil, 200},
		{"GET", "/v1/releases", nil, 200},
		{"GET", wire.PlanPath(c.signed.Plan.Hash()), nil, 200},
		{"GET", "/v1/releases/" + c.name + ".html", nil, 200},
		{"GET", "/v1/releases/" + c.name + ".json", nil, 200},
		{"PUT", path(c.handovers[0]), junk, 422},
	} {
		request := func() {
			q := httptest.NewRequest(ask.method, ask.path, bytes.NewReader(ask.body))
			q.Header.Set("Content-Type", wire.BatchType)
			w := &away{header: http.Header{}}
			if r.server.ServeHTTP(w, q); w.status != ask.status && w.status != 0 {
				t.Errorf("%s %s: status %d", ask.method, ask.path, w.status)
			}
		}
		request() // this process has not seen the plan before
		took := costlimit.Allocated(func() {
			costlimit.Processor(t, 200*time.Millisecond, func() {
				for range times {
					request()
				}
			})
		})
		if took > times*64<<10 {
			t.Errorf("%s %s: %d KiB allocated for each request", ask.method, ask.path, took/times>>10)
		}
	}
}
