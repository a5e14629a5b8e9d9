package analyzerd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A process that dies at any step loses nothing that it acknowledged and counts
// nothing twice, whoever sends again; the release comes out all the same.
func TestACrashAtAnyStep(t *testing.T) {
	c := collect(t, nil)
	points := slices.Clone(analyzerd.Failpoints)
	for _, point := range rows.Failpoints {
		// Others are not this service's steps, or come later.
		if !strings.Contains(point, "backup") && !strings.Contains(point, "restore") && !strings.Contains(point, "expire") {
			points = append(points, point)
		}
	}
	want := ""
	for kind, fresh := range databases {
		if testing.Short() && kind != "folder" {
			continue // the race detector has seen it there
		}
		for _, point := range points {
			t.Run(kind+"/"+point, func(t *testing.T) {
				r := start(t, fresh(t), c)
				r.fail(point, errCrash)
				crashed := 0
				// try does something until it is done, with a new process after each crash.
				try := func(do func() (done bool)) {
					for range 3 {
						if do() {
							return
						}
						crashed++
						r.fail("", nil)
						r.restart()
					}
					t.Fatal("not done after a crash")
				}
				try(func() bool { return r.register(c).Code < 300 })
				for _, h := range c.handovers {
					try(func() bool { return r.put(h).Code < 300 })
				}
				r.at(closes.Add(time.Hour))
				try(func() bool {
					err := r.service.Step(t.Context())
					if err != nil && !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
					return err == nil
				})
				if crashed != 1 {
					t.Errorf("%d crashes", crashed)
				}
				r.countedOnce(c, 4)
				w := r.get("/v1/releases/" + c.name + ".json")
				r.wants(w, ok, "")
				if want == "" {
					want = w.Body.String()
				}
				if w.Body.String() != want {
					t.Error("another release came out")
				}
				if b, err := r.service.Budget(t.Context(), "residents"); len(b.Plans) != 1 || err != nil {
					t.Errorf("%d plans in the ledger, %v", len(b.Plans), err)
				}
			})
		}
	}
}

// Run closes on time by itself, and ends with its context.
func TestRun(t *testing.T) {
	c := collect(t, nil)
	r := start(t, t.TempDir()+"/shelves", c)
	r.wants(r.register(c), created, "")
	for _, h := range c.handovers {
		r.wants(r.put(h), created, "")
	}
	r.at(closes.Add(2 * time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.service.Run(ctx) }()
	for r.get("/v1/releases/"+c.name+".json").Code == 409 {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.wants(r.get("/v1/releases/"+c.name+".html"), ok, "")
	r.wants(r.get("/readyz"), ok, "")
	for _, path := range []string{"/", "/metrics", "/status.json"} {
		r.wants(r.get(path), ok, "")
	}
	r.wants(r.get("/v1/releases/"+c.name+".xml"), 404, wire.NotFound)
}

// A hop that hangs up while its batch is being counted finds it counted.
func TestAHopThatLosesPatience(t *testing.T) {
	c := collect(t, nil)
	both(t, func(t *testing.T, dsn string) {
		r := start(t, dsn, c)
		r.wants(r.register(c), created, "")
		ctx, hangUp := context.WithCancel(t.Context())
		r.hook("batch-opened", func() error { hangUp(); return nil })
		if o, err := r.service.Take(ctx, c.handovers[0]); o != rows.New || err != nil {
			t.Error(o, err)
		}
		r.wants(r.put(c.handovers[0]), ok, "")
	})
}
