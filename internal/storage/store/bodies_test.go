package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pressly/goose/v3"
)

func openSums(t testing.TB, path string, failpoint func(string) error) *Sums {
	t.Helper()
	s, err := OpenSums(context.Background(), Config{DSN: path, Failpoint: failpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// servedSums opens a database with a plan that is served.
func servedSums(t testing.TB, path string, failpoint func(string) error) *Sums {
	t.Helper()
	s := openSums(t, path, failpoint)
	if err := s.Serve(t.Context(), Served{Name: "plan", Signed: []byte{1}, Secret: []byte{2}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// nth is a report that is easy to find.
func nth(i int) Upload {
	return Upload{Plan: "plan", Respondent: [32]byte{byte(i), 1}, ID: [16]byte{byte(i), 2}, Body: fmt.Appendf(nil, "the body of report %d, <%s>", i, strings.Repeat("x", i))}
}

func take(t testing.TB, s *Sums, all ...Upload) {
	t.Helper()
	wrong, err := s.Take(context.Background(), all)
	if err = errors.Join(append(wrong, err)...); err != nil {
		t.Fatal(err)
	}
}

// waiting are the bodies that a leader adds.
func waiting(t testing.TB, s *Sums) (bodies []string) {
	t.Helper()
	if damaged, err := s.Damaged(t.Context()); err != nil || len(damaged) > 0 {
		t.Fatal(damaged, err)
	}
	_, found, err := s.Job(t.Context(), "plan", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		bodies = append(bodies, string(b))
	}
	return bodies
}

// copyAll copies what a process that dies now leaves, and returns the database's path there.
func copyAll(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, filepath.Base(path))
}

// A process that dies between any two writes leaves what was acknowledged, and nothing half
// of the rest: not with bytes of the last write missing or zero either, which a power cut
// leaves before they are synced. The same reports are then taken once.
func TestKilledWhileReportsAreTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.db")
	type image struct {
		at, path string
		synced   int64 // bytes of the file of bodies that no power cut takes
	}
	var images []image
	watched, synced, file := false, int64(0), path+".reports/plan"
	s := servedSums(t, path, func(name string) error {
		if name == "store/body/synced" {
			status, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			synced = status.Size()
		}
		if watched {
			images = append(images, image{name, copyAll(t, path), synced})
		}
		return nil
	})
	take(t, s, nth(0), nth(1))
	watched = true
	take(t, s, nth(2), nth(3), nth(4))
	watched = false
	if len(images) != 6 { // three bodies, their sync, before the commit and behind it
		t.Fatalf("%d places to die at", len(images))
	}
	for _, image := range images {
		begin, err := os.Stat(image.path + ".reports/plan")
		if err != nil {
			t.Fatal(err)
		}
		for lost := int64(0); lost <= begin.Size()-image.synced; lost++ {
			for _, zeros := range []bool{false, true} {
				dead := copyAll(t, image.path)
				err := os.Truncate(dead+".reports/plan", begin.Size()-lost)
				if err == nil && zeros { // the length was on disk, the bytes were not
					err = os.Truncate(dead+".reports/plan", begin.Size())
				}
				if err != nil {
					t.Fatal(err)
				}
				again := openSums(t, dead, nil)
				want := 2
				if image.at == "store/take/committed" {
					want = 5
				}
				if n, err := again.Reports(t.Context(), "plan", 0); n != want || err != nil {
					t.Fatalf("killed at %s with %d bytes lost: %d reports, %v; want %d", image.at, lost, n, err, want)
				}
				take(t, again, nth(2), nth(3), nth(4), nth(1))
				found := waiting(t, again)
				for i := range 5 {
					if len(found) != 5 || found[i] != string(nth(i).Body) {
						t.Fatalf("killed at %s with %d bytes lost: %q", image.at, lost, found)
					}
				}
				again.Close()
			}
		}
	}
}

// The same holds of a leader that syncs nothing only as long as the machine does not die: that
// twin is caught.
func TestBodiesThatAreNotSyncedAreMissed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.db")
	s := servedSums(t, path, nil)
	s.bodies.sync = func(*os.File) error { return nil }
	take(t, s, nth(0), nth(1))
	dead := copyAll(t, path)
	if err := os.Truncate(dead+".reports/plan", int64(len(nth(0).Body))); err != nil {
		t.Fatal(err)
	}
	if damaged, err := openSums(t, dead, nil).Damaged(t.Context()); err != nil || len(damaged) != 1 {
		t.Errorf("a report that is not on disk is not missed: %v, %v", damaged, err)
	}
}

// Whatever byte is another one, or missing, is found, and nothing is added. Bytes that no row
// names are nobody's.
func TestDamagedBodiesAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.db")
	dying := false
	s := servedSums(t, path, func(name string) error {
		if dying && name == "store/take" {
			return errors.New("killed")
		}
		return nil
	})
	take(t, s, nth(0))
	dying = true
	if _, err := s.Take(t.Context(), []Upload{nth(7)}); err == nil {
		t.Fatal("nobody died")
	}
	dying = false
	take(t, s, nth(1))
	if err := s.Serve(t.Context(), Served{Name: "other", Signed: []byte{1}, Secret: []byte{2}}); err != nil {
		t.Fatal(err)
	}
	other := nth(0)
	other.Plan = "other"
	take(t, s, other)
	file := path + ".reports/plan"
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := func(what string, want bool) {
		t.Helper()
		damaged, err := s.Damaged(t.Context())
		if err != nil || want != (len(damaged) == 1 && damaged[0] == "plan") || !want && len(damaged) > 0 {
			t.Errorf("%s: %q is damaged, %v", what, damaged, err)
		}
		if _, _, err := s.Job(t.Context(), "plan", 0, 9); want != errors.Is(err, ErrReports) {
			t.Errorf("%s: %v", what, err)
		}
	}
	found("nothing", false)
	first, unnamed := len(nth(0).Body), len(nth(0).Body)+len(nth(7).Body)
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 1 << (i % 8)
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		found(fmt.Sprint("byte ", i), i < first || i >= unnamed)
	}
	for n := range whole {
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		found(fmt.Sprint("cut to ", n), true)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	found("no file", true)
	// Of those who come together, only who asks for what is damaged learns of it.
	wrong, err := s.Take(t.Context(), []Upload{nth(0), nth(5)})
	if err != nil || !errors.Is(wrong[0], ErrReports) || wrong[1] != nil {
		t.Error(wrong, err)
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	second := nth(1)
	for _, change := range []string{"place = place + 1", "place = -1", "bytes = bytes - 1", "bytes = 9223372036854775807", "crc = crc + 1"} {
		if _, err := s.db.writer.Exec("UPDATE reports SET "+change+" WHERE id = $1", second.ID[:]); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.reports(t.Context(), s.db.reader, "plan", "id = $2", second.ID[:])
		if !errors.Is(err, ErrReports) {
			t.Errorf("%s: %v", change, err)
		}
		if _, err := s.db.writer.Exec("UPDATE reports SET place = $1, bytes = $2, crc = $3 WHERE id = $4", unnamed, len(nth(1).Body), 1, second.ID[:]); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that does not take a body leaves nothing of those who came with it, and is over when
// there is room.
func TestADiskThatDoesNotTakeBodies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.db")
	s := servedSums(t, path, nil)
	take(t, s, nth(0))
	size := func() int64 {
		status, err := os.Stat(path + ".reports/plan")
		if err != nil {
			t.Fatal(err)
		}
		return status.Size()
	}
	before := size()
	s.bodies.write = func(f *os.File, b []byte, at int64) error {
		if bytes.Equal(b, nth(2).Body) {
			f.WriteAt(b[:3], at)
			return syscall.ENOSPC
		}
		return writeAt(f, b, at)
	}
	if _, err := s.Take(t.Context(), []Upload{nth(1), nth(2)}); !errors.Is(err, ErrFull) {
		t.Error("no room:", err)
	}
	if s.Ready(t.Context()) == nil {
		t.Error("a full disk is ready")
	}
	s.bodies.write = writeAt
	s.bodies.sync = func(*os.File) error { return syscall.EIO }
	if _, err := s.Take(t.Context(), []Upload{nth(1), nth(2)}); !errors.Is(err, syscall.EIO) {
		t.Error("a disk that fails:", err)
	}
	s.bodies.sync = (*os.File).Sync
	if n, err := s.Reports(t.Context(), "plan", 0); n != 1 || err != nil || size() != before {
		t.Errorf("%d reports, %v, and %d bytes instead of %d", n, err, size(), before)
	}
	take(t, s, nth(1), nth(2))
	if found := waiting(t, s); len(found) != 3 {
		t.Errorf("%q", found)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a plan's reports said is in no file any more once they are forgotten, or the plan is
// erased, also if the process dies before the file is gone.
func TestForgottenBodiesAreGone(t *testing.T) {
	ways := map[string]func(*Sums) error{
		"end":   func(s *Sums) error { return s.Forget(context.Background(), "plan") },
		"erase": func(s *Sums) error { return s.Erase(context.Background(), "plan", nil) },
	}
	for name, do := range ways {
		for _, dies := range []string{"", "store/" + name, "store/" + name + "/committed", "store/body/removed"} {
			path, dying := filepath.Join(t.TempDir(), "sums.db"), false
			s := servedSums(t, path, func(name string) error {
				if dying && name == dies {
					return errors.New("killed")
				}
				return nil
			})
			there := func() (n int) {
				err := filepath.WalkDir(filepath.Dir(path), func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					text, err := os.ReadFile(path)
					n += bytes.Count(text, []byte("the body of report"))
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			take(t, s, nth(1), nth(2))
			if there() != 2 {
				t.Fatal("this test looks in the wrong place")
			}
			dying = true
			if err := do(s); err == nil != (dies == "") {
				t.Fatalf("%s, dying at %q: %v", name, dies, err)
			}
			dying = false
			s.Close()
			s = openSums(t, path, nil)
			want := 0
			if dies == "store/"+name {
				want = 2 // nothing was committed
			}
			if n := there(); n != want {
				t.Errorf("%s, dying at %q: %d bodies are there, want %d", name, dies, n, want)
			}
			if err := do(s); err != nil || there() != 0 {
				t.Errorf("%s again: %v, and %d are there", name, err, there())
			}
		}
	}
}

// Two processes at one database give no two bodies one place.
func TestTwoLeadersAtOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.db")
	all := []*Sums{servedSums(t, path, nil), openSums(t, path, nil)}
	var wg sync.WaitGroup
	for k, s := range all {
		wg.Go(func() {
			for i := range 20 {
				if _, err := s.Take(context.Background(), []Upload{nth(40*k + 2*i), nth(40*k + 2*i + 1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if found := waiting(t, all[0]); len(found) != 80 {
		t.Errorf("%d reports", len(found))
	}
}

// Reports of a version that kept them in their rows are added as they were.
func TestReportsOfAnEarlierVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.db")
	s := servedSums(t, path, nil)
	files, err := fs.Sub(sumsMigrations, "migrations/sums")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(s.db.dialect(), s.db.writer, files, goose.WithTableName("goose_sums_version"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	one := nth(1)
	if _, err := s.db.writer.Exec("INSERT INTO reports (plan, respondent, id, crowd, job, body) VALUES ($1, $2, $3, 0, 0, $4)", "plan", one.Respondent[:], one.ID[:], one.Body); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = openSums(t, path, nil)
	take(t, s, nth(1), nth(2))
	if found := waiting(t, s); len(found) != 2 || found[0] != string(nth(1).Body) || found[1] != string(nth(2).Body) {
		t.Errorf("%q", found)
	}
}

func TestNamesThatAreNoPlans(t *testing.T) {
	s := servedSums(t, filepath.Join(t.TempDir(), "sums.db"), nil)
	if err := s.Serve(t.Context(), Served{Name: "../../plan", Signed: []byte{1}, Secret: []byte{2}}); err != nil {
		t.Fatal(err)
	}
	up := nth(1)
	up.Plan = "../../plan"
	if _, err := s.Take(t.Context(), []Upload{up}); err == nil {
		t.Error("a body goes to another folder")
	}
}
