package aggregated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

// places runs a test with reports in a folder, in PostgreSQL, and in a bucket beside PostgreSQL.
func places(t *testing.T, test func(t *testing.T)) {
	engines(t, test)
	t.Run("bucket", func(t *testing.T) {
		inBucket(t, blobtest.Start(t))
		test(t)
	})
}

// inBucket has worlds keep reports in a bucket beside PostgreSQL, until the test ends.
func inBucket(t *testing.T, service *blobtest.Service) {
	folder, rows := database, reportsIn
	database = func(t testing.TB) string { return postgrestest.Postgres(t) }
	n := 0
	reportsIn = func(t testing.TB) blob.Store { n++; return service.Open(t, fmt.Sprint("reports", n)) }
	t.Cleanup(func() { database, reportsIn = folder, rows })
}

// Machines of the leader's are lost for good in the middle of what they do, with all that they had but the database and the
// bucket, which is busy, breaks off and forgets to answer. Every report that was acknowledged counts once, and the bucket is
// empty in the end.
func TestLostNodesBesideABucket(t *testing.T) {
	service := blobtest.Start(t)
	inBucket(t, service)
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, nil)
			r := seeded.New(seed, 43)
			service.Break(func(*http.Request) blobtest.Fault {
				w.mu.Lock()
				defer w.mu.Unlock()
				if r.IntN(10) > 0 {
					return blobtest.None
				}
				return []blobtest.Fault{blobtest.Refuse, blobtest.Half, blobtest.Cut, blobtest.Forget, blobtest.Flip}[r.IntN(5)]
			})
			defer service.Break(nil)
			lost := func(points ...string) *beside {
				b := w.beside(dap.Leader, "")
				dead, at := false, points[r.IntN(len(points))]
				b.dies = func(point string) error {
					if dead = dead || point == at; dead {
						return errKilled
					}
					return nil
				}
				return b
			}
			for d, cell := range said { // each on a machine that is lost, which may have kept it
				report, b := w.report(cell), lost("rows/take", "rows/take/committed", "reports-kept", "none")
				send := func() int {
					w.nodes[dap.Leader].service, w.nodes[dap.Leader].server = b.Service, b.server
					return w.upload(d, report)
				}
				for send() != http.StatusOK {
					b = w.beside(dap.Leader, "")
				}
			}
			w.close()
			for step := 0; ; step++ {
				if step == 200 {
					t.Fatal("nothing comes to an end")
				}
				b := lost("rows/jobs", "job-verified", "rows/add", "rows/add/committed", "rows/share", "share-drawn", "rows/forget", "rows/forget/committed", "none")
				if step > 12 {
					b.dies = nil
				}
				b.worker.once(t.Context(), 0)
				b.Step(t.Context())
				time.Sleep(w.brief() / 8)
				w.nodes[dap.Leader].service, w.nodes[dap.Leader].server = b.Service, b.server
				if status, _, _ := w.collected(); status == http.StatusOK && step > 12 {
					break
				}
			}
			w.want(want, uint64(len(said)))
			service.Break(nil)
			w.beside(dap.Leader, "") // who starts sweeps
			if names, err := w.blobs.List(t.Context(), ""); err != nil || len(names) > 0 {
				t.Errorf("the bucket has %v: %v", names, err)
			}
		})
	}
}

// ofFolder has worlds keep reports in a folder of blobs, and returns the store of the next.
func ofFolder(t *testing.T) {
	rows := reportsIn
	reportsIn = func(t testing.TB) blob.Store {
		f, err := blob.OpenFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Cleanup(func() { reportsIn = rows })
}

// What lies in blobs shows nothing that a device has sent, a report that comes again is there once, and one that is lost or
// changed is found out: nothing leaves.
func TestBodiesAreSealed(t *testing.T) {
	ofFolder(t)
	for name, spoil := range map[string]func(s blob.Store, name string, body []byte) error{
		"whole": func(blob.Store, string, []byte) error { return nil },
		"lost": func(s blob.Store, name string, _ []byte) error {
			return s.Delete(context.Background(), strings.Split(name, "/")[0])
		},
		"changed": func(s blob.Store, name string, b []byte) error {
			b[len(b)/2] ^= 1
			return s.Put(context.Background(), name, b)
		},
		"cut": func(s blob.Store, name string, b []byte) error {
			return s.Put(context.Background(), name, b[:len(b)-1])
		},
	} {
		w := newWorld(t, nil)
		var reports []dap.Report
		for d, cell := range said {
			r := w.report(cell)
			reports = append(reports, r)
			for range 2 {
				if status := w.upload(d, r); status != http.StatusOK {
					t.Fatal(status)
				}
			}
			if status := w.upload(d, w.report(cell)); status != http.StatusConflict {
				t.Errorf("another report of the same is answered %d", status)
			}
		}
		names, err := w.blobs.List(t.Context(), "")
		if err != nil || len(names) != len(said) {
			t.Fatalf("%d blobs of %d reports: %v", len(names), len(said), err)
		}
		body, err := w.blobs.Get(t.Context(), names[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range reports {
			if bytes.Contains(body, r.ID[:]) || bytes.Contains(body, r.Helper.Payload) {
				t.Error("a blob shows what a device has sent")
			}
		}
		if err := spoil(w.blobs, names[0], body); err != nil {
			t.Fatal(err)
		}
		w.close()
		err = w.step()
		if status, _, _ := w.collected(); (status == http.StatusOK) != (name == "whole") {
			t.Errorf("%s: the analyzer is answered %d", name, status)
		}
		if name != "whole" {
			if !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		w.want(want, uint64(len(said)))
		if left, err := w.blobs.List(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("%d blobs are left: %v", len(left), err)
		}
		if _, err := w.blobs.Get(t.Context(), names[0]); !errors.Is(err, fs.ErrNotExist) {
			t.Error("a report outlives its sum")
		}
	}
}

// What it takes of the leader's processor to keep a report of 1,024 cells, and to read it again, where bodies lie in rows of
// PostgreSQL and where they lie in a bucket beside it. What the database and the bucket take is not in it.
func BenchmarkBodies(b *testing.B) {
	many := 256
	if *benchWhole {
		many = 2048
	}
	service := blobtest.Start(b)
	folder, in := database, reportsIn
	defer func() { database, reportsIn = folder, in }()
	database = func(t testing.TB) string { return postgrestest.Postgres(t) }
	for _, place := range []string{"rows", "bucket"} {
		b.Run(place, func(b *testing.B) {
			if reportsIn = in; place == "bucket" {
				reportsIn = func(t testing.TB) blob.Store { return service.Open(t, fmt.Sprint(place, b.N)) }
			}
			w := newWorld(b, func(p *plan.Plan) { p.Route.Sum.Circuit.Length, p.Route.Sum.Chunk = 1024, 69 })
			vector := make([]uint64, 1024)
			vector[7] = 1
			report, err := w.task().Report(w.random, vector, w.time(), nil)
			if err != nil {
				b.Fatal(err)
			}
			var coming sync.WaitGroup
			before := costlimit.Used(b)
			for from := range 64 {
				coming.Go(func() {
					for i := from; i < many; i += 64 {
						one := report
						copy(one.ID[:], fmt.Sprintf("%16d", i))
						r := rows.Report{Name: one.ID, Body: one.Append(nil)}
						copy(r.Respondent[:], one.ID[:])
						if err := w.kept(dap.Leader).Take(b.Context(), r); err != nil {
							b.Error(err)
						}
					}
				})
			}
			coming.Wait()
			taken := costlimit.Used(b)
			if err := w.kept(dap.Leader).Close(b.Context()); err != nil {
				b.Fatal(err)
			}
			if _, err := w.kept(dap.Leader).Shards(b.Context(), 0, rows.Cut{Crowds: 1, Job: 256, Shard: 1}); err != nil {
				b.Fatal(err)
			}
			cut := costlimit.Used(b)
			for shard := range many / 256 {
				if _, bodies, err := w.kept(dap.Leader).Job(b.Context(), 0, shard, 0); err != nil || len(bodies) != 256 {
					b.Fatal(len(bodies), err)
				}
			}
			b.ReportMetric(float64(taken-before)/float64(many)/1e3, "take-cpu-µs/report")
			b.ReportMetric(float64(costlimit.Used(b)-cut)/float64(many)/1e3, "read-cpu-µs/report")
			if w.blobs != nil {
				names, err := w.blobs.List(b.Context(), "")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(many)/float64(len(names)), "reports/put")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
