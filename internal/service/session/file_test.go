package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func opened(t *testing.T, path string, now *time.Time, names ...string) *Sessions {
	t.Helper()
	s, err := Open(time.Minute, func() time.Time { return *now }, path, func(name string) bool {
		for _, one := range names {
			if one == name {
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func begun(t *testing.T, s *Sessions, name string) string {
	t.Helper()
	cookie, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return cookie
}

// Sessions outlast the program, with their forms, and end when they are old, signed out, or of
// somebody who is no operator any more. The file tells no secret, and nobody but its owner.
func TestSessionsOutlastTheProgram(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "sessions.json")
	first := opened(t, path, &now, "ada", "bob")
	ada, out, bob := begun(t, first, "ada"), begun(t, first, "ada"), begun(t, first, "bob")
	before, _ := first.Find(ada)
	link := first.Link("ada")
	if err := first.End(out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{ada, out, bob, link, before.Form} {
		if strings.Contains(string(text), secret) {
			t.Error("the file has a secret")
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file may be read by others: %v, %v", info.Mode(), err)
	}

	now = now.Add(time.Hour)
	again := opened(t, path, &now, "ada") // bob has been taken off
	if one, ok := again.Find(ada); !ok || one.Name != "ada" || one.Form != before.Form {
		t.Errorf("a session is gone after a restart: %v, %q", ok, one.Name)
	}
	for what, cookie := range map[string]string{"signed out": out, "of no operator": bob, "that nobody has": "x"} {
		if _, ok := again.Find(cookie); ok {
			t.Errorf("a session %s goes on", what)
		}
	}
	if _, ok := opened(t, path, &now, "ada", "bob").Find(bob); ok {
		t.Error("who was taken off is back without having logged in")
	}
	if _, ok := again.Follow(link); ok {
		t.Error("a link outlasts the program")
	}
	now = now.Add(Time - time.Hour)
	if _, ok := opened(t, path, &now, "ada").Find(ada); ok {
		t.Error("a session is longer than it may be")
	}
	if text, _ := os.ReadFile(path); strings.Contains(string(text), "ada") {
		t.Error("an old session is still in the file")
	}
}

var errDisk = errors.New("the disk is full")

// What cannot be written down has not begun, and what has ended here has ended though the disk
// fails, which is said.
func TestADiskThatFails(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	s := opened(t, filepath.Join(t.TempDir(), "sessions.json"), &now, "ada")
	cookie := begun(t, s, "ada")
	s.keep = func(byHash) error { return errDisk }
	if _, err := s.Open("ada"); !errors.Is(err, errDisk) || len(s.open) != 1 {
		t.Errorf("%v, %d sessions", err, len(s.open))
	}
	if err := s.End(cookie); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if _, ok := s.Find(cookie); ok {
		t.Error("a session goes on that was signed out")
	}
	if _, err := Open(time.Minute, time.Now, filepath.Join(t.TempDir(), "none", "sessions.json"), nil); err == nil {
		t.Error("a folder that is not there")
	}
}

func TestADamagedFileIsRefused(t *testing.T) {
	good := `{"hash":"` + strings.Repeat("00", 32) + `","name":"ada","since":"2026-11-23T00:00:00Z"}`
	for _, text := range []string{"", "{}", `{"format":"confetti-sessions/v2","sessions":[]}`, `{"format":"confetti-sessions/v1","sessions":[` + strings.Replace(good, "00", "0", 1) + `]}`,
		`{"format":"confetti-sessions/v1","sessions":[` + strings.Replace(good, "ada", "", 1) + `]}`, `{"format":"confetti-sessions/v1","sessions":[` + strings.Repeat(good+",", most) + good + `]}`, strings.Repeat(" ", maxFile+1)} {
		path := filepath.Join(t.TempDir(), "sessions.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(time.Minute, time.Now, path, func(string) bool { return true }); !errors.Is(err, errDamaged) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

func FuzzSessions(f *testing.F) {
	f.Add([]byte(`{"format":"confetti-sessions/v1","sessions":[{"hash":"` + strings.Repeat("ab", 32) + `","name":"ada","since":"2026-11-23T00:00:00Z"}]}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var open byHash
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { open, err = parse(text) })
		if err != nil {
			return
		}
		if again, err := parse(format(open)); err != nil || len(again) != len(open) {
			t.Errorf("%v, %d of %d sessions come back", err, len(again), len(open))
		}
	})
}
