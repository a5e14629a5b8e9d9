package verify

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/all"
)

// A release has evidence of its own where a log is asked for: none, that of another release
// and that of its plan do not do.
func TestAReleaseIsInTheLog(t *testing.T) {
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := key.Note("log.example/plans")
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.Public().Note("log.example/plans")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	p, receipts := example.Density("rr"), []byte("receipts")
	// evidence is of a log with one entry, whose root is its leaf.
	evidence := func(e plan.Entry) []byte {
		root := tlog.RecordHash(e.Marshal())
		text, err := note.Sign(&note.Note{Text: string(log.Checkpoint{Origin: "log.example/plans", Size: 1, Hash: root[:]}.Marshal())}, signer)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Evidence{Checkpoint: string(text)}.Marshal()
	}
	entry := relay.ReleaseOf(p.Hash(), receipts)
	other, ofPlan := entry, entry
	other.Digest, ofPlan.Kind = sha256.Sum256([]byte("others")), ""
	for what, c := range map[string]struct {
		log      string
		evidence []byte
		findings int
		holds    bool
	}{
		"its own":             {"log " + public + "\n", evidence(entry), 1, true},
		"none":                {"log " + public + "\n", nil, 1, false},
		"no evidence":         {"log " + public + "\n", []byte("evidence"), 1, false},
		"another release's":   {"log " + public + "\n", evidence(other), 1, false},
		"the plan's":          {"log " + public + "\n", evidence(ofPlan), 1, false},
		"no log is asked for": {"", nil, 0, false},
	} {
		file := filepath.Join(t.TempDir(), "publishers.txt")
		if err := os.WriteFile(file, bytes.Join([][]byte{[]byte("confetti-publishers/v1\ned25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w"), []byte(c.log)}, []byte("\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		trusted, err := plan.ReadPublishers(file)
		if err != nil {
			t.Fatal(what, err)
		}
		all := &checks{Evidence: Evidence{Files: filesOf(receipts, c.evidence), Trusted: &trusted}, signed: plan.Signed{Plan: p}}
		all.shown()
		if len(all.Findings) != c.findings || c.findings > 0 && all.Findings[0].Holds != c.holds || len(all.Unchecked) != 1-c.findings {
			t.Errorf("%s: %+v", what, all.Report)
		}
	}
}

func filesOf(receipts, proof []byte) map[string][]byte {
	files := map[string][]byte{relay.ReceiptsFile: receipts}
	if proof != nil {
		files[relay.EvidenceFile] = proof
	}
	return files
}
