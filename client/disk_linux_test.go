package client_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A full disk, as nearly as a test without a disk of its own can have one: in a
// process of its own no file may grow beyond a limit, so that a write really
// fails half-way. A small limit stops the ledger's record, a larger one the
// spooled contribution.
func TestFullDisk(t *testing.T) {
	const variable = "CLIENT_TEST_LIMIT"
	if limit := os.Getenv(variable); limit != "" {
		onFullDisk(t, os.Getenv("CLIENT_TEST_DIR"), map[string]uint64{"ledger": 120, "spool": 4000}[limit])
		return
	}
	for _, limit := range []string{"ledger", "spool"} {
		dir := filepath.Join(t.TempDir(), "device")
		c := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
		c.Env = append(os.Environ(), variable+"="+limit, "CLIENT_TEST_DIR="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", limit, err, out)
		}
	}
}

func onFullDisk(t *testing.T, dir string, limit uint64) {
	p, _ := sample(t, "rr", 1, 75)
	s := newService(t, &p, false)
	o := device(t, s)
	o.Store = native.Folder{Path: dir}
	if err := client.Consent(native.Folder{Path: dir}, true); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(ledgerPath(o))
	if err != nil {
		t.Fatal(err)
	}
	c := opened(t, p, o)
	var old syscall.Rlimit
	if err := errors.Join(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old), syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max})); err != nil {
		t.Fatal(err)
	}
	s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "busy") })
	err = c.Report(t.Context(), value(1))
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("error %v", err)
	}
	if _, requests, _ := s.counts(); requests > 0 || spooled(t, o) > 0 {
		t.Errorf("%d requests, %d spooled, though it could not be kept", requests, spooled(t, o))
	}
	after, err := os.ReadFile(ledgerPath(o))
	if err != nil {
		t.Fatal(err)
	}
	if spent := strings.Contains(string(after), "spent"); spent != (limit > 500) || !spent && !bytes.Equal(before, after) {
		t.Errorf("the ledger has grown from %d to %d bytes", len(before), len(after))
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	s.setFail(nil)
	if err := c.Report(t.Context(), value(1)); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if kept, _, _ := s.counts(); kept != 1 {
		t.Errorf("%d contributions", kept)
	}
}
