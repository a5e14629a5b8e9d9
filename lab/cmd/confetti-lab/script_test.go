package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/testkit/scripts"
)

func TestMain(m *testing.M) {
	os.Setenv("GOTMPDIR", atomicfiletest.Memory()) // where scripts work
	testscript.Main(m, map[string]func(){"confetti-lab": main})
}

// TestScripts runs the sessions of testdata/script, with the commands exits, json and until, and
//
//	table FILE ROWS COLUMNS
//
// which writes made-up records of two classes, and
//
//	numbered FILE NEW-FILE
//
// which writes the class of each beside its number. The product is there as confetti and confetti-server.
func TestScripts(t *testing.T) {
	product := sync.OnceValues(func() (string, error) {
		dir := t.TempDir()
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "./cmd/confetti", "./cmd/confetti-server")
		build.Dir = "../../.."
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return dir, nil
	})
	testscript.Run(t, testscript.Params{
		Setup: func(e *testscript.Env) error {
			scripts.Sparing(e)
			dir, err := product()
			e.Setenv("PATH", dir+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return err
		},
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scripts.Exits, "json": scripts.JSON, "until": scripts.Until, "table": makeTable, "numbered": numbered,
		},
	})
}

// makeTable writes records whose numbers lie around 1 or -1, by their class.
func makeTable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: table FILE ROWS COLUMNS")
	}
	rows, err := strconv.Atoi(args[1])
	ts.Check(err)
	columns, err := strconv.Atoi(args[2])
	ts.Check(err)
	r, text := seeded.New(1), strings.Builder{}
	for j := range columns {
		fmt.Fprintf(&text, "v%d,", j)
	}
	text.WriteString("class\n")
	for i := range rows {
		for range columns {
			fmt.Fprintf(&text, "%g,", float32(1-2*(i%2))+float32(r.NormFloat64())/2)
		}
		fmt.Fprintln(&text, []string{"cats", "dogs"}[i%2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o644))
}

func numbered(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: numbered FILE NEW-FILE")
	}
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	text := "class,record\n"
	for i, row := range rows[1:] {
		text += fmt.Sprintf("%s,%d\n", row[len(row)-1], i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// Without a command the program shows its help and fails for no reason.
func TestHelp(t *testing.T) {
	var out, bad strings.Builder
	if code := run(nil, terminal.Streams{Out: &out, Err: &bad}); code != 0 || !strings.Contains(out.String(), "kde") || bad.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), bad.String())
	}
}
