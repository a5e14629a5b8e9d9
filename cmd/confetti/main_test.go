package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	document "github.com/confetti-dp/confetti/release"
)

// leaves are the commands that do something.
func leaves(n *kong.Node) []*kong.Node {
	if n.Leaf() {
		return []*kong.Node{n}
	}
	var all []*kong.Node
	for _, c := range n.Children {
		all = append(all, leaves(c)...)
	}
	return all
}

// Every command's help has an example, and every example is one that the command
// line takes.
func TestHelpHasExamples(t *testing.T) {
	t.Setenv("CONFETTI_DATA", "")
	fresh := func(commands any) *kong.Kong { // a parser remembers the flags of the line before
		return newParser(commands, terminal.Streams{Out: io.Discard, Err: io.Discard}, func(int) { t.Error("an example ended the program") })
	}
	commands := leaves(fresh(&cli{}).Model.Node)
	if len(commands) < 10 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for _, c := range commands {
		path := c.FullPath()
		if strings.TrimSpace(c.Help) == "" {
			t.Errorf("%s: no help", path)
		}
		examples := 0
		for line := range strings.SplitSeq(c.Detail, "\n") {
			line, found := strings.CutPrefix(line, "  ")
			if !found || !strings.HasPrefix(line, "confetti ") {
				continue
			}
			examples++
			if !strings.HasPrefix(line, path+" ") && line != path {
				t.Errorf("%s: the example is of another command: %s", path, line)
			}
			args := strings.Fields(line)[1:]
			if _, err := fresh(named(args)).Parse(args); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		if examples == 0 || !strings.Contains(c.Detail, "Example") {
			t.Errorf("%s: the help has no example", path)
		}
	}
}

// The help of every command is printed to stdout and is no failure.
func TestHelp(t *testing.T) {
	parser := newParser(&cli{}, terminal.Streams{Out: io.Discard, Err: io.Discard}, func(int) {})
	for _, args := range [][]string{nil, {"--help"}} {
		checkHelp(t, args)
	}
	for _, c := range leaves(parser.Model.Node) {
		checkHelp(t, append(strings.Fields(c.FullPath())[1:], "--help"))
	}
}

// A command's help and its errors are the same whether the others are read or not.
func TestACommandByItselfIsTheSame(t *testing.T) {
	for _, c := range newParser(&cli{}, terminal.Streams{Out: io.Discard, Err: io.Discard}, func(int) {}).Model.Children {
		for _, flag := range []string{"--help", "none"} {
			args := []string{c.Name, flag}
			said := func(commands any) string {
				var out bytes.Buffer
				_, err := newParser(commands, terminal.Streams{Out: &out, Err: &out, Version: "1"}, func(int) {}).Parse(args)
				return fmt.Sprint(&out, err)
			}
			if alone, among := said(named(args)), said(&cli{}); alone != among {
				t.Errorf("%v: by itself %q, among all %q", args, alone, among)
			}
		}
	}
}

func checkHelp(t *testing.T, args []string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := run(args, terminal.Streams{Out: &out, Err: &err}); code != 0 || err.Len() > 0 || !strings.Contains(out.String(), "Usage: confetti") {
		t.Errorf("%v: exit code %d, stderr %q, stdout %q", args, code, &err, &out)
	}
}

func TestVersion(t *testing.T) {
	var out, err bytes.Buffer
	if code := run([]string{"--version"}, terminal.Streams{Out: &out, Err: &err, Version: document.Software()}); code != 0 || !strings.HasPrefix(out.String(), "confetti ") || err.Len() > 0 {
		t.Errorf("exit code %d, stderr %q, stdout %q", code, &err, &out)
	}
}
