//go:build unix

package doctest

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A command that fails, one that never ends and a service that never serves are errors,
// and nothing that was started is left.
func TestASessionReportsFailuresAndLeavesNothing(t *testing.T) {
	s := NewSession(t, t.TempDir(), time.Minute)
	if err := s.Start("sleep 1000", ""); err != nil {
		t.Error(err)
	}
	if _, err := s.Run("echo told; sh -c 'exit 3'"); err == nil || !strings.Contains(err.Error(), "exit code 3:\ntold") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := s.Run("X=1"); err != nil {
		t.Error(err)
	}
	if _, err := s.Run(`test "$X" = 1`); err != nil {
		t.Errorf("what one command exports is not there for the next: %v", err)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	s = NewSession(t, t.TempDir(), time.Second)
	if _, err := s.Run("sleep 1000 & sleep 1000"); !errors.Is(err, errTime) {
		t.Errorf("a command that never ends: %v", err)
	}
	if err := s.End(); err == nil || strings.Contains(err.Error(), "goes on") {
		t.Errorf("the end of a session whose time was over: %v", err)
	}
}
