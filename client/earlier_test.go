package client_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/client/native"
)

// A ledger of an earlier version reads as it did, and becomes one of this version with
// the next record: nothing that was spent is forgotten.
func TestLedgersOfEarlierVersionsAreRead(t *testing.T) {
	then := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	for name, said := range map[string][]byte{"v1": {0, 0, 0, 7, 1}, "v1-backed": nil, "v2": {0, 0, 0, 7, 1, 0, 0}, "v2-backed": nil, "v3": {0, 0, 0, 7, 1}, "v3-backed": nil} {
		old, err := os.ReadFile("testdata/ledger-" + name)
		if err != nil {
			t.Fatal(err)
		}
		f := native.Folder{Path: filepath.Join(t.TempDir(), "device")}
		if err := os.Mkdir(f.Path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := f.Replace(journal.Name, old); err != nil {
			t.Fatal(err)
		}
		l, err := client.ReadLedger(f)
		if err != nil || len(l.Entries) != 1 || l.Backstops() != 1 || l.Entries[0].Charge.Epsilon != 2 {
			t.Fatalf("%s: %+v, %v", name, l, err)
		}
		if got := l.Entries[0].Parts[0].Messages; said != nil && (len(got) != 1 || !bytes.Equal(got[0], said)) {
			t.Errorf("%s said %x", name, got)
		}
		if err := client.Consent(f, true); err != nil {
			t.Fatal(err)
		}
		now, err := f.Load(journal.Name)
		kept := append(journal.Line([]byte(journal.Head), []byte("0 00000000")), old[len(journal.Head):]...)
		if err != nil || !bytes.HasPrefix(now, kept) || len(now) == len(kept) {
			t.Errorf("%s: %v, the journal is now\n%s", name, err, now)
		}
		if again, err := client.ReadLedger(f); err != nil || !again.OptedIn || len(again.Entries) != 1 || again.Spent(then, time.Hour) != l.Spent(then, time.Hour) {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
	if _, _, _, err := journal.Parse([]byte("confetti-ledger/v5\n")); err != journal.ErrLater {
		t.Errorf("of a later version: %v", err)
	}
}
