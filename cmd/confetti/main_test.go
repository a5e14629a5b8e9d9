package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/cmd/internal/commands"
	"github.com/confetti-dp/confetti/cmd/internal/server"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	document "github.com/confetti-dp/confetti/release"
)

// run is confetti without the process: where it would start confetti-server, that is in this process too.
func run(args []string, std terminal.Streams) int {
	if beside.Has(commands.About(args)) {
		return server.Program.Run(args, std)
	}
	return program.Run(args, std)
}

// programs are those whose commands are documented as one command line.
var programs = []commands.Program{program, server.Program}

// typedWords are those of a command line, of which a shell takes some between quotes for one.
var typedWords = regexp.MustCompile(`"[^"]*"|\S+`)

// parser reads the whole table of a program, and fails the test where a line ends it at once.
func parser(t *testing.T, p commands.Program) *kong.Kong {
	t.Helper()
	return p.Parser(p.All(), terminal.Streams{Out: io.Discard, Err: io.Discard}, func(int) { t.Errorf("a line ends %s at once", p.Name) })
}

// confetti-server has what confetti starts it for, and nothing that confetti has itself.
func TestTheOtherProgramHasItsCommands(t *testing.T) {
	if got := server.Program.Names(); !slices.Equal(got, beside.Commands) {
		t.Errorf("confetti-server has %v, and confetti starts it for %v", got, beside.Commands)
	}
	for _, name := range program.Names() {
		if slices.Contains(beside.Commands, name) {
			t.Errorf("both programs have %s", name)
		}
	}
}

// wordless are the commands without --json, and why.
var wordless = map[string]string{
	"help": "its words are for people", "completion": "a shell reads it",
	"rows":           "a table in its own form",
	"publishers add": "it prints nothing", "publishers require": "it prints nothing", "publishers log": "it prints nothing",
	"serve shuffler": "a service: it logs", "serve analyzer": "a service: it logs", "serve issuer": "a service: it logs", "serve log": "a service: it logs",
	"serve leader": "a service: it logs", "serve helper": "a service: it logs", "serve console": "a service: it logs",
	"serve example": "a configuration in its own form",
	"parquet read":  "confetti reads it", "parquet write": "a file of its own form", "parquet compare": "its exit code is all",
	"complete-words": "a shell reads it",
	"metrics code":   "it prints nothing", "metrics page": "it prints nothing",
}

// Every command that prints a result prints it as JSON too.
func TestEveryResultIsJSONToo(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range programs {
		for _, c := range leaves(parser(t, p).Model.Node) {
			path := strings.Join(strings.Fields(c.FullPath())[1:], " ")
			seen[path] = true
			has := slices.ContainsFunc(c.AllFlags(false), func(group []*kong.Flag) bool {
				return slices.ContainsFunc(group, func(f *kong.Flag) bool { return f.Name == "json" && f.IsBool() })
			})
			if why := wordless[path]; has == (why != "") {
				t.Errorf("%s has --json: %v; why it has none: %q", c.FullPath(), has, why)
			}
		}
	}
	for path := range wordless {
		if !seen[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}

// The list of commands begins with those for newcomers, and each command stands in a group.
func TestHelpBeginsWithWhereToStart(t *testing.T) {
	for _, p := range programs {
		all := parser(t, p).Model.Children
		if g := all[0].Group; g == nil || g.Key != commands.First || p.Begin == "" {
			t.Errorf("%s begins with %s, in %v", p.Name, all[0].Name, g)
		}
		for _, c := range all {
			if c.Group == nil && !c.Hidden {
				t.Errorf("%s is in no group", c.FullPath())
			}
		}
		var out bytes.Buffer
		p.Run([]string{"help"}, terminal.Streams{Out: &out, Err: &out})
		if strings.Contains(out.String(), "Commands:") || !strings.Contains(out.String(), "\n"+commands.First+"\n") {
			t.Errorf("%s", &out)
		}
	}
}

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
	for _, p := range programs {
		fresh := func(table any) *kong.Kong { // a parser remembers the flags of the line before
			return p.Parser(table, terminal.Streams{Out: io.Discard, Err: io.Discard}, func(int) { t.Error("an example ended the program") })
		}
		commands := leaves(fresh(p.All()).Model.Node)
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
				if !found || !strings.HasPrefix(line, p.Name+" ") {
					continue
				}
				examples++
				if !strings.HasPrefix(line, path+" ") && line != path {
					t.Errorf("%s: the example is of another command: %s", path, line)
				}
				args := typedWords.FindAllString(line, -1)[1:]
				for i := range args {
					args[i] = strings.Trim(args[i], `"`)
				}
				if _, err := fresh(p.Only(args)).Parse(args); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			if examples == 0 || !strings.Contains(c.Detail, "Example") {
				t.Errorf("%s: the help has no example", path)
			}
		}
	}
}

// The help of every command is printed to stdout and is no failure.
func TestHelp(t *testing.T) {
	for _, p := range programs {
		for _, args := range [][]string{nil, {"--help"}, {"help"}} {
			checkHelp(t, p, args)
		}
		for _, c := range leaves(parser(t, p).Model.Node) {
			path := strings.Fields(c.FullPath())[1:]
			checkHelp(t, p, append(path, "--help"))
			checkHelp(t, p, append([]string{"help"}, path...))
		}
	}
}

// A command's help and its errors are the same whether the others are read or not.
func TestACommandByItselfIsTheSame(t *testing.T) {
	for _, p := range programs {
		var out bytes.Buffer
		read := func(table any) *kong.Kong {
			return p.Parser(table, terminal.Streams{Out: &out, Err: &out, Version: "1"}, func(int) {})
		}
		all, alone := read(p.All()), 0
		var every func(n *kong.Node, path []string)
		every = func(n *kong.Node, path []string) {
			for _, c := range n.Children {
				path := append(path[:len(path):len(path)], c.Name)
				for _, last := range []string{"--help", "--none", "none"} {
					args := append(path[:len(path):len(path)], last)
					said := func(k *kong.Kong) string {
						out.Reset()
						_, err := k.Parse(args)
						return fmt.Sprint(&out, err)
					}
					own := read(p.Only(args))
					if own := said(own); own != said(all) {
						t.Errorf("%v: by itself %q, among all %q", args, own, said(all))
					}
					if n := own.Model.Children[0]; len(path) > 1 && len(n.Children) == 1 {
						alone++
					}
				}
				every(c, path)
			}
		}
		every(all.Model.Node, nil)
		if alone < 50 {
			t.Errorf("%s reads only %d commands by themselves", p.Name, alone)
		}
	}
}

func checkHelp(t *testing.T, p commands.Program, args []string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := p.Run(args, terminal.Streams{Out: &out, Err: &err}); code != 0 || err.Len() > 0 || !strings.Contains(out.String(), "Usage: "+p.Name) {
		t.Errorf("%v: exit code %d, stderr %q, stdout %q", args, code, &err, &out)
	}
}

func TestVersion(t *testing.T) {
	for _, p := range programs {
		for _, args := range [][]string{{"--version"}, {"version"}} {
			var out, err bytes.Buffer
			if code := p.Run(args, terminal.Streams{Out: &out, Err: &err, Version: document.Software()}); code != 0 || !strings.HasPrefix(out.String(), "confetti ") || err.Len() > 0 {
				t.Errorf("%s %v: exit code %d, stderr %q, stdout %q", p.Name, args, code, &err, &out)
			}
		}
	}
}
