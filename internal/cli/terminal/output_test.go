package terminal

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"testing"
)

func files(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// What is typed again is what was typed.
func TestTyped(t *testing.T) {
	if got := Typed([]string{"collect", "simulate", "a b.csv", "--features", "likes_*", "it's", "", "--epsilon=1e-3"}); got != `confetti collect simulate 'a b.csv' --features 'likes_*' 'it'\''s' '' --epsilon=1e-3` {
		t.Error(got)
	}
}

func TestWritableLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, good := range []string{dir, filepath.Join(dir, "a", "b")} {
		if err := Writable(good); err != nil {
			t.Error(err)
		}
	}
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files were left", n)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nothing", link); err != nil {
		t.Skip(err)
	}
	for _, bad := range []string{file, filepath.Join(file, "below"), link, filepath.Join(link, "below")} {
		if err := Writable(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestWritableSeesModes(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("modes do not stop this user, or say nothing on this system")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := Writable(dir); err == nil {
		t.Error("a folder that cannot be written to was accepted")
	}
}

// An interrupt in the middle of a write does not stop it, and is not forgotten.
func TestUninterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself an interrupt here")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, os.Interrupt)
	defer signal.Stop(arrived)
	finished := false
	err = Uninterrupted(func() error {
		if err := self.Signal(os.Interrupt); err != nil {
			return err
		}
		<-arrived
		finished = true
		return nil
	})
	if !finished || !errors.Is(err, errInterrupted) {
		t.Errorf("finished: %v, error %v", finished, err)
	}
	failure := errors.New("failure")
	if err := Uninterrupted(func() error { return failure }); !errors.Is(err, failure) || errors.Is(err, errInterrupted) {
		t.Errorf("without an interrupt: %v", err)
	}
	if err := Uninterrupted(func() error { return nil }); err != nil {
		t.Errorf("without anything: %v", err)
	}
}

// Bars are for terminals: a pipe or a file gets nothing.
func TestProgressIsQuietInPipes(t *testing.T) {
	var b bytes.Buffer
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, w := range []interface{ Write([]byte) (int, error) }{&b, f} {
		report, finish := Progress(w)
		report("devices", 1, 2)
		report("devices", 2, 2)
		finish()
	}
	if info, err := f.Stat(); err != nil || info.Size() > 0 || b.Len() > 0 {
		t.Errorf("something was drawn: %v, %q", info.Size(), &b)
	}
}
