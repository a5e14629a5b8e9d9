package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/testkit/scripts"
)

func TestMain(m *testing.M) {
	os.Setenv("GOTMPDIR", atomicfiletest.Memory()) // where scripts work
	testscript.Main(m, map[string]func(){"confetti-lab": main})
}

// TestScripts runs the sessions of testdata/script, with the commands exits and json.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": scripts.Exits, "json": scripts.JSON},
	})
}

// Without a command the program shows its help and fails for no reason.
func TestHelp(t *testing.T) {
	var out, bad strings.Builder
	if code := run(nil, terminal.Streams{Out: &out, Err: &bad}); code != 0 || !strings.Contains(out.String(), "kde") || bad.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), bad.String())
	}
}
