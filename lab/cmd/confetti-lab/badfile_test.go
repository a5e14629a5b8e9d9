package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/testkit/badfile"
)

// Every command that takes a file meets eight files that nobody should give it, as those of confetti do.
func TestBadFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CONFETTI_DATA", "")
	if err := os.WriteFile("public.csv", []byte("class,a,b\n"+strings.Repeat("tea,1,2\ncoffee,2,1\nmilk,3,3\n", 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := newParser(terminal.Streams{Out: io.Discard, Err: io.Discard}, func(int) {}).Model.Node
	if told := (badfile.Program{Name: "confetti-lab", Tree: tree, Run: run, Beside: beside}).Try(t); told < 10 {
		t.Errorf("only %d lines said which file was bad", told)
	}
}

// beside has a command read the folder of data sets.
var beside = map[string]map[string]string{
	"advise":                {"users": "20", "domain": "4"},
	"histogram --data":      {"dataset": "nz-addresses"},
	"clusters fit":          {"images": "100", "clusters": "2"},
	"clusters fit --data":   {"dataset": "mnist"},
	"clusters learn --data": {"dataset": "mnist"},
	"encoder":               {"images": "100", "epochs": "1", "hidden": "4", "group": "10"},
	"encoder --data":        {"dataset": "mnist"},
	"strings --data":        {"of": "words"},
}
