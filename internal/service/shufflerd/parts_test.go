package shufflerd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newPartsWorld is a world of two hops that lay out crowds of more than some envelopes.
func newPartsWorld(t testing.TB) *world {
	w := newWorld(t, 2, nil)
	w.partBytes = 610 // two contributions a part, so three parts, and two buckets: five steps
	for h := range w.hops {
		w.restart(h)
	}
	return w
}

// blobsOf lists the files that a hop has in its store.
func (w *world) blobsOf(hop int) (names []string) {
	filepath.WalkDir(w.blobs(hop), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return nil
	})
	return names
}

func pick(t testing.TB, names []string, part string) string {
	t.Helper()
	for _, name := range names {
		if strings.Contains(filepath.ToSlash(name), part) {
			return name
		}
	}
	t.Fatalf("no blob has %s in its name", part)
	return ""
}

// Killed at any step of a crowd in parts, nothing is lost or doubled, and no blob stays.
func TestCrashInParts(t *testing.T) {
	for hop := range 2 {
		for _, name := range slices.Concat(partFailpoints, []string{"epoch-mixed", "batch-kept", "inbox-purged", "outbox-written", "mixed"}) {
			comes := name == "manifest-kept" || name == "part-kept" || name == "batch-kept"
			leaves := name == "epoch-mixed" || name == "inbox-purged" || name == "parts-written" || name == "parts-marked" || name == "part-sent"
			if hop == 0 && comes || hop == 1 && leaves {
				continue
			}
			for _, occurrence := range []int{0, 1, 3, 5} {
				if occurrence > 1 && name != "step-done" {
					continue
				}
				t.Run(fmt.Sprintf("%d/%s/%d", hop, name, occurrence), func(t *testing.T) {
					w := newPartsWorld(t)
					w.contribute(0, 0, 2, 4, 6)
					w.contribute(1, 1, 3, 5, 7)
					seen, crashed := 0, false
					w.failpoint = func(h int, n string) error {
						if h != hop || n != name || crashed {
							return nil
						}
						if seen++; seen <= occurrence {
							return nil
						}
						crashed = true
						return errCrash
					}
					w.end()
					for range 4 {
						if err := w.step(); err != nil {
							w.restart(hop)
						}
					}
					if !crashed && occurrence == 0 {
						t.Fatal("the failpoint was not reached")
					}
					if err := w.step(); err != nil {
						t.Fatal(err)
					}
					wantCrowds(t, w, map[uint32][]string{0: sent(0, 2, 4, 6), 1: sent(1, 3, 5, 7)})
					w.settled(0)
					w.settled(1)
				})
			}
		}
	}
}

// What lies in parts, or has begun to come in parts, counts among what the queue keeps until
// it has gone.
func TestPartsCountAsKept(t *testing.T) {
	w := newPartsWorld(t)
	w.contribute(0, 0, 1, 2, 3, 4)
	seen := map[string]int64{}
	w.failpoint = func(h int, name string) error {
		if name == "parts-marked" || name == "manifest-kept" {
			s := w.hops[h].service
			laid := s.inBlobs()
			size, _, _ := found(s, w.plan.Hash()).posts[0].batchBounds(5)
			kept, err := s.quota.Bytes(t.Context())
			if want := int64(5 * perDevice * size); laid != want || kept < want || err != nil {
				t.Errorf("at hop %d %d bytes lie in parts and not %d, of %d that are kept, %v", h, laid, want, kept, err)
			}
			seen[name] = laid
		}
		return nil
	}
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || w.hops[0].service.inBlobs() != 0 || w.hops[1].service.inBlobs() != 0 {
		t.Errorf("%v, then %d and %d", seen, w.hops[0].service.inBlobs(), w.hops[1].service.inBlobs())
	}
}

// Once a crowd is laid out, every way to its end hands on the same bytes.
func TestACrowdHasOneOrder(t *testing.T) {
	w := newPartsWorld(t)
	w.contribute(0, 0, 1, 2, 3, 4)
	w.endAndCrash(1, "step-done")
	w.stop(1)
	copied := t.TempDir()
	for _, dir := range []string{"queue1"} {
		if err := os.CopyFS(filepath.Join(copied, dir), os.DirFS(filepath.Join(w.dir, dir))); err != nil {
			t.Fatal(err)
		}
	}
	var first []byte
	for crashAt := range 8 {
		for _, dir := range []string{"queue1"} {
			if err := errors.Join(os.RemoveAll(filepath.Join(w.dir, dir)), os.CopyFS(filepath.Join(w.dir, dir), os.DirFS(filepath.Join(copied, dir)))); err != nil {
				t.Fatal(err)
			}
		}
		clear(w.batches)
		seen := 0
		w.failpoint = func(h int, n string) error {
			if n == "step-done" || n == "outbox-written" {
				if seen++; seen == crashAt {
					return errCrash
				}
			}
			return nil
		}
		w.start(1)
		for range 2 {
			if err := w.step(); err != nil {
				w.restart(1)
			}
		}
		w.stop(1)
		switch got := w.batches[0]; {
		case len(got) == 0:
			t.Fatalf("crash %d: nothing left", crashAt)
		case first == nil:
			first = got
		case !bytes.Equal(first, got):
			t.Errorf("after a crash at step %d another order left", crashAt)
		}
	}
	if got := w.read(0); !slices.Equal(got, sent(0, 1, 2, 3, 4)) {
		t.Errorf("the analyzer reads %d", len(got))
	}
}

// What the store loses between the steps is made again; of a part nothing can be.
func TestBlobsAreLost(t *testing.T) {
	lose := map[string]func(string) error{
		"lost": os.Remove,
		"flipped": func(path string) error {
			body, err := os.ReadFile(path)
			if err == nil {
				body[len(body)/2] ^= 1
				err = os.WriteFile(path, body, 0o600)
			}
			return err
		},
		"cut": func(path string) error { return os.Truncate(path, 5) },
	}
	for _, how := range slices.Sorted(maps.Keys(lose)) {
		for _, c := range []struct {
			blob string
			at   int // steps that are done before
			gone bool
		}{
			{"/part/1", 1, true}, {"/fragment/0/1", 3, false}, {"/scattered/0/done", 4, false},
			{"/bucket/0", 4, false}, {"/gathered/0/done", 4, false},
		} {
			t.Run(how+c.blob, func(t *testing.T) {
				w := newPartsWorld(t)
				w.contribute(0, 0, 1, 2, 3, 4)
				w.contribute(1, 5, 6, 7)
				seen := 0
				w.failpoint = func(h int, n string) error {
					if h == 0 && n == "step-done" {
						if seen++; seen == c.at {
							return errCrash
						}
					}
					return nil
				}
				w.end()
				if err := w.step(); !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				var ofCrowd []string
				for _, name := range w.blobsOf(0) {
					if strings.Contains(filepath.ToSlash(name), postName(w.plan.Hash(), 0, 0)+"/0/") {
						ofCrowd = append(ofCrowd, name)
					}
				}
				if err := lose[how](pick(t, ofCrowd, c.blob)); err != nil {
					t.Fatal(err)
				}
				w.restart(0)
				for range 5 {
					w.step()
				}
				want := map[uint32][]string{0: sent(0, 1, 2, 3, 4), 1: sent(5, 6, 7)}
				if c.gone {
					delete(want, 0)
				}
				wantCrowds(t, w, want)
				st := w.hops[0].service.Statuses(t.Context())[0].Crowds[0]
				if st.Lost != c.gone {
					t.Errorf("the operator is told %+v", st)
				}
				w.settled(0)
			})
		}
	}
}

// A store that is not there, or another one, loses nobody.
func TestTheStoreIsElsewhere(t *testing.T) {
	w := newPartsWorld(t)
	w.contribute(0, 0, 1, 2, 3, 4)
	w.endAndCrash(0, "step-done")
	w.failpoint = nil
	aside := filepath.Join(w.dir, "aside")
	if err := os.Rename(w.blobs(0), aside); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	if err := w.step(); err == nil || !strings.Contains(err.Error(), "is it the one it was laid out in") {
		t.Errorf("without its store: %v", err)
	}
	w.stop(0)
	if err := errors.Join(os.RemoveAll(w.blobs(0)), os.Rename(aside, w.blobs(0))); err != nil {
		t.Fatal(err)
	}
	w.start(0)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3, 4)})
}

// Too few envelopes that open are withheld, in parts as in memory, and leave no blob.
func TestPartsAreWithheld(t *testing.T) {
	w := newPartsWorld(t)
	for d := range 5 {
		body := w.contribution(0, d)
		body[len(body)-1] ^= 1 // one of two envelopes does not open
		if status, code := w.do(0, w.request(fmt.Sprint("device", d), body)); status != http.StatusCreated {
			t.Fatalf("%d %s", status, code)
		}
	}
	w.contribute(1, 5, 6, 7)
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{1: sent(5, 6, 7)})
	if st := w.hops[0].service.Statuses(t.Context())[0].Crowds[0]; st.Phase != "withheld" || st.Lost {
		t.Errorf("%+v", st)
	}
	w.settled(0)
}

// A plan that ends while a crowd lies in parts leaves no blob.
func TestPartsAreErased(t *testing.T) {
	w := newPartsWorld(t)
	w.contribute(0, 0, 1, 2, 3)
	w.endAndCrash(1, "step-done")
	if len(w.blobsOf(1)) == 0 {
		t.Fatal("nothing is laid out")
	}
	post := found(w.hops[1].service, w.plan.Hash()).posts[0]
	if st := post.status(t.Context()).Crowds[0]; st.Phase != "mixing" {
		t.Errorf("%+v", st)
	}
	if err := post.destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := w.blobsOf(1); len(left) > 0 {
		t.Errorf("%d blobs are left", len(left))
	}
}
