package shufflerd

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/plan"
)

// inboxFile is a file of the entry's inbox.
func (w *world) inboxFile(kind string) string {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.folder(0), shelves.InFolder, "in-*."+kind))
	if err != nil || len(paths) != 1 {
		w.t.Fatal(paths, err)
	}
	return paths[0]
}

// spoil changes a file of the entry's inbox; nil: removes it.
func (w *world) spoil(kind string, how func([]byte) []byte) {
	w.t.Helper()
	path := w.inboxFile(kind)
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if bad := how(text); bad == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, bad, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) alarms(hop int) string {
	return strings.Join(w.hops[hop].service.Status(context.Background()).Alarms, "\n")
}

// middle is within the third of five contributions, which stand behind a title.
func middle(b []byte) int {
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	return len(b) - len(rest)/2
}

// One byte that rots in the entry's queue while it is stopped cost a whole crowd,
// and a file cut in half cost half of it without a word. The entry says what it is
// and what to do, and the step costs what is damaged and no more.
func TestAnEntryWithADamagedInbox(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		spoil func([]byte) []byte
		lost  string
		left  []int // of five devices
	}{
		"a byte is changed": {"rows", func(b []byte) []byte { b[middle(b)] ^= 0xff; return b }, "1", []int{0, 1, 3, 4}},
		"half is gone":      {"rows", func(b []byte) []byte { return b[:middle(b)] }, "3", nil}, // below n_min
		"all is gone":       {"rows", func([]byte) []byte { return []byte{} }, "5", nil},
		"the rows are gone": {"rows", func([]byte) []byte { return nil }, "5", nil},
		"the key is gone":   {"key", func([]byte) []byte { return nil }, "5", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, nil)
			w.contribute(0, 0, 1, 2, 3, 4)
			w.stop(0)
			w.spoil(c.kind, c.spoil)
			err := w.tryStart(0, false)
			if !errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), "--set-aside") {
				t.Fatalf("it started: %v", err)
			}
			if err := w.tryStart(0, true); err != nil {
				t.Fatal(err)
			}
			w.restart(0)
			if st := w.hops[0].service.Statuses(t.Context())[0]; st.Lost != c.lost || !strings.Contains(w.alarms(0), "set aside, "+c.lost+" in number") {
				t.Errorf("%q were lost; alarms: %s", st.Lost, w.alarms(0))
			}
			w.end()
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
			want := map[uint32][]string{}
			if c.left != nil {
				want[0] = sent(c.left...)
			}
			wantCrowds(t, w, want)
			w.settled(0)
			w.restart(0)
			if st := w.hops[0].service.Statuses(t.Context())[0]; st.Lost != c.lost {
				t.Errorf("after the epoch it says that %q were lost", st.Lost)
			}
		})
	}
}

// stubborn is a store that sets nothing aside.
type stubborn struct{ keep.Store }

func (stubborn) SetAside(context.Context, string) (keep.Shelf, error) { return nil, keep.ErrDamaged }

// What rots between the last contribution and the mixing is set aside too, in a folder and in a database: the crowd
// leaves if it still has n_min respondents, and not if it has fewer. Where nothing is set aside all crowds are held.
func TestAnInboxThatRotsBeforeItIsMixed(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"folder":   func(w *world) { w.rotLast() },
		"database": func(w *world) { w.execute("v = set_bit(v, 300, 1 - get_bit(v, 300))") },
		// Of a row that has another key its respondent is not known any more.
		"key": func(w *world) { w.execute("k = set_bit(k, 3, 1 - get_bit(k, 3))") },
	} {
		for _, twin := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, twin %t", name, twin), func(t *testing.T) {
				w := newWorld(t, 1, nil)
				if name != "folder" {
					w.url = postgrestest.Postgres(t)
					w.stop(0)
					w.fresh(0)
				}
				if twin {
					w.around = func(s keep.Store) keep.Store { return stubborn{s} }
					w.restart(0)
				}
				w.contribute(0, 0, 1, 2, 3, 4)
				w.contribute(1, 5, 6, 7)
				spoil(w) // the last, in crowd 1
				w.end()
				if err := w.step(); !errors.Is(err, keep.ErrDamaged) {
					t.Errorf("mixed: %v", err)
				}
				err := w.step()
				if twin {
					if err == nil || len(w.batches) > 0 {
						t.Errorf("nothing is set aside, and %d crowds have left: %v", len(w.batches), err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3, 4)})
				if alarms := w.alarms(0); !strings.Contains(alarms, "set aside, 1 in number") {
					t.Errorf("alarms: %s", alarms)
				}
				if log := w.log.String(); !strings.Contains(log, "crowds=2") || !strings.Contains(log, w.plan.Name()) {
					t.Errorf("the log does not say whose they were: %s", log)
				}
				w.settled(0)
			})
		}
	}
}

// rotLast changes bytes of the last contribution in the entry's folder.
func (w *world) rotLast() {
	w.t.Helper()
	f, err := os.OpenFile(w.inboxFile("rows"), os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		w.t.Fatal(err)
	}
	end := len(bytes.TrimRight(text, "\x00")) // there may be room for more
	if _, err := f.WriteAt([]byte("rot"), int64(end)-20); err != nil {
		w.t.Fatal(err)
	}
}

// execute changes the last contribution in the entry's database.
func (w *world) execute(set string) {
	w.t.Helper()
	db, err := sql.Open("pgx", w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	var table string
	err = db.QueryRow("SELECT 'confetti_s' || number FROM confetti_shelves WHERE shelf = 'in-' || $1", postName(w.plan.Hash(), 0, 0)).Scan(&table)
	if err == nil {
		_, err = db.Exec(fmt.Sprintf("UPDATE %s SET %s WHERE n = (SELECT max(n) FROM %[1]s)", table, set))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// A database with a contribution that has changed is mended by who asks for it, while the hop is stopped. The hop
// itself starts, since a start reads no contribution.
func TestSetAsideInADatabase(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.url = postgrestest.Postgres(t)
	w.stop(0)
	w.fresh(0)
	w.contribute(0, 0, 1, 2, 3, 4)
	w.execute("v = set_bit(v, 300, 1 - get_bit(v, 300))")
	w.restart(0)
	if alarms := w.alarms(0); strings.Contains(alarms, "set aside") {
		t.Errorf("alarms: %s", alarms)
	}
	w.stop(0)
	if err := w.tryStart(0, true); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	if alarms := w.alarms(0); !strings.Contains(alarms, "set aside, 1 in number") {
		t.Errorf("alarms: %s", alarms)
	}
	w.contribute(0, 4) // whose contribution is lost
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3, 4)})
	w.settled(0)
}

// A batch that rots in the outbox is refused when the hop starts, by name; set aside,
// its crowd is lost, which the status says, and the others leave.
func TestADamagedBatch(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.contribute(0, 0, 1, 2)
	w.contribute(1, 3, 4, 5)
	w.cut = true
	w.end()
	if w.step() == nil {
		t.Fatal("the analyzer is out of reach")
	}
	w.stop(0)
	w.blot(0, outKind, 0)
	if err := w.tryStart(0, false); !errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), "--set-aside") {
		t.Fatalf("it started: %v", err)
	}
	if err := w.tryStart(0, true); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	if alarms := w.alarms(0); !strings.Contains(alarms, "the batch of crowd 1 was damaged") {
		t.Errorf("alarms: %s", alarms)
	}
	w.cut = false
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{1: sent(3, 4, 5)})
	w.settled(0)
}

// long is a plan whose batches have two chunks, of 12 devices.
func long(p *plan.Plan) { p.Envelopes.PayloadBytes = 60_000 }

// chunk is the file of a chunk of the batch of a hop's first crowd.
func (w *world) chunk(hop int, kind string, n int) string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.blobs(hop), "*", kind, "0", "*", fmt.Sprint(n)))
	if err != nil || len(files) != 1 {
		w.t.Fatal(files, err)
	}
	return files[0]
}

// blot changes bytes of a chunk.
func (w *world) blot(hop int, kind string, n int) {
	w.t.Helper()
	path := w.chunk(hop, kind, n)
	text, err := os.ReadFile(path)
	if err == nil {
		text[len(text)/2] ^= 0xff
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// A batch that rots while the hop that is to mix it runs, or the one that is to send
// it, loses the envelopes that are in the damaged chunk, and no others; one that is
// left with too little is lost.
func TestABatchThatRotsWhileAHopRuns(t *testing.T) {
	for name, c := range map[string]struct {
		hop   int // that has it
		chunk int
		gone  bool
		aside int
		alarm string
	}{
		"before it is mixed, the second chunk":   {1, 1, false, 7, "of the batch of crowd 1, 7 envelopes were damaged"},
		"before it is mixed, the first":          {1, 0, false, 18, "the batch of crowd 1 was damaged on disk and is lost"},
		"before it is mixed, the second is gone": {1, 1, true, 7, "of the batch of crowd 1, 7 envelopes were damaged"},
		"before it is sent, the second is gone":  {0, 1, true, 7, "of the batch of crowd 1, 7 envelopes were damaged"},
		"before it is sent, the second chunk":    {0, 1, false, 7, "of the batch of crowd 1, 7 envelopes were damaged"},
		"before it is sent, the first":           {0, 0, false, 18, "the batch of crowd 1 was damaged on disk and is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, long)
			w.contribute(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			w.end()
			hop1 := w.hops[1]
			if c.hop == 0 {
				w.hops[1] = nil // out of reach
			}
			if err := w.hops[0].service.Step(t.Context()); (err == nil) != (c.hop == 1) {
				t.Fatal(err)
			}
			w.hops[1] = hop1
			kind := []string{outKind, inKind}[c.hop]
			if c.gone {
				if err := os.Remove(w.chunk(c.hop, kind, c.chunk)); err != nil {
					t.Fatal(err)
				}
			} else {
				w.blot(c.hop, kind, c.chunk)
			}
			if err := w.step(); !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("it is not found: %v", err)
			}
			for range 3 {
				if err := w.step(); err != nil {
					t.Error(err)
				}
			}
			if alarms := w.alarms(c.hop); !strings.Contains(alarms, c.alarm) {
				t.Errorf("alarms: %s", alarms)
			}
			if c.aside == 18 {
				wantCrowds(t, w, map[uint32][]string{})
				w.settled(c.hop)
				return
			}
			if got := w.read(0); len(got) != 12*perDevice-c.aside {
				t.Errorf("%d messages are left", len(got))
			}
			if dropped := w.receipts[0][c.hop].Dropped; int(dropped) != c.aside {
				t.Errorf("the receipt says that %d were dropped", dropped)
			}
			w.settled(c.hop)
			w.restart(c.hop)
			if alarms := w.alarms(c.hop); !strings.Contains(alarms, c.alarm) {
				t.Errorf("after a restart: alarms: %s", alarms)
			}
		})
	}
}

// Marks that were lost, and with them that a crowd had left, are missed.
func TestLostRecords(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.contribute(0, 0, 1, 2)
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.stop(0)
	marks := filepath.Join(w.folder(0), shelves.InFolder, keep.Main+".rows")
	for name, spoil := range map[string]func(text []byte) []byte{
		"cut":   func(text []byte) []byte { return text[:len(text)/2] },
		"empty": func(text []byte) []byte { return nil },
		"early": func(text []byte) []byte { text[len(text)/10] ^= 0xff; return text },
		"late":  func(text []byte) []byte { text[len(text)*9/10] ^= 0xff; return text },
	} {
		copied := filepath.Join(w.dir, "copy")
		if err := os.CopyFS(copied, os.DirFS(w.folder(0))); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(marks)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(marks, spoil(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.tryStart(0, false); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
			w.stop(0)
		}
		if err := errors.Join(os.RemoveAll(w.folder(0)), os.Rename(copied, w.folder(0))); err != nil {
			t.Fatal(err)
		}
	}
	w.start(0) // as it was
}
