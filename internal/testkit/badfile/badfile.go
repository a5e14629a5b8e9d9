// Package badfile gives every command of a program bad files, and reports which command panics, hangs, accepts one,
// or does not name it. Used by tests of cmd/confetti and lab/cmd/confetti-lab.
//
// Commands, their files and lines to begin with are those of the program's own command tree: its flags and its
// examples.
package badfile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// Program is a command-line program.
type Program struct {
	Name string
	Tree *kong.Node
	Run  func(args []string, std terminal.Streams) (exit int)
	// Beside are flags of lines of a command, or of those in which one of its files is tried ("clusters fit --data"): that
	// make a line short, or have it read the file.
	Beside map[string]map[string]string

	patience time.Duration // 0: patience
}

// patience is how long a command may take with a file that is wrong, on however busy a machine: one that takes longer has
// hung.
const patience = 2 * time.Minute

// Try runs the program in the current folder, where files lie that are good, under the names that examples
// have. It returns how many lines said what is wrong with the very file that was bad, and not with another one.
func (p Program) Try(t *testing.T) (told int) {
	for _, c := range leaves(p.Tree) {
		lines := p.examples(c)
		for _, f := range filesOf(c) {
			t.Run(strings.Join(append(path(c), f.name()), " "), func(t *testing.T) {
				n, faults := p.spoil(lines, f)
				for _, fault := range faults {
					t.Error(fault)
				}
				told += n
			})
		}
	}
	return told
}

// spoil puts each bad file in the place of one that a command takes.
func (p Program) spoil(lines []line, f file) (told int, faults []string) {
	written := false
	for _, l := range f.lines(lines) {
		good := f.has(l)
		for _, bad := range kinds {
			if f.folder() && (bad.missing || bad.folder) || written && !bad.folder {
				continue // a folder that is asked for is none that is bad, nor is a file that is written over
			}
			for _, name := range bad.names(good) {
				err := bad.write(name, good)
				before := standing(name)
				args := l.beside(p.Beside[strings.Join(append(l.path, f.name()), " ")]).with(f, name)
				fault, ended := p.attempt(args, bad.huge)
				switch {
				case err != nil:
					fault = err.Error()
				case fault != "":
				case ended.exit == 0 && standing(name) == before:
					fault = "it was taken, and nothing was written there"
				case ended.exit == 0:
					written = true
				case strings.Contains(ended.said, name):
					told++
				case ended.exit == 1 && !namesOne(ended.said, args):
					fault = "no file is named: " + ended.said
				}
				if fault != "" {
					faults = append(faults, fmt.Sprintf("%s %s, where %s %s: %s", p.Name, strings.Join(args, " "), name, bad.is, fault))
				}
				sweep(name)
				if fault == hung {
					return told, faults // it may still be at work there
				}
			}
		}
	}
	return told, faults
}

// namesOne says whether an error names anything of a line.
func namesOne(said string, args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		_, value, _ := strings.Cut(a, "=")
		return strings.Contains(said, filepath.Base(cmp.Or(value, a)))
	})
}

// ended is how a command ended, and what it said to a person.
type ended struct {
	exit int
	said string
}

// most is how much memory a command may take for a file of hugeSize, whatever the file says of itself.
const most = 1 << 30

const hung = "it has not ended"

// attempt runs a line, and says what is wrong with how it ended.
func (p Program) attempt(args []string, huge bool) (fault string, e ended) {
	var before, after runtime.MemStats
	if huge {
		runtime.ReadMemStats(&before)
	}
	var out, said bytes.Buffer
	var exit int
	done := make(chan string, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Sprintf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		exit = p.Run(args, terminal.Streams{Out: &out, Err: &said, Version: "test"})
		done <- ""
	}()
	select {
	case fault = <-done:
	case <-time.After(cmp.Or(p.patience, patience)):
		return hung, ended{}
	}
	if fault != "" {
		return fault, e
	}
	if huge {
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > most {
			return fmt.Sprintf("it took %d bytes of memory", after.TotalAlloc-before.TotalAlloc), e
		}
	}
	e = ended{exit, said.String()}
	errors := 0
	for l := range strings.Lines(e.said) {
		if strings.HasPrefix(l, p.Name+": ") {
			errors++
		}
	}
	switch {
	case e.exit == 0:
	case e.exit != 1 && e.exit != 2:
		return fmt.Sprintf("exit code %d", e.exit), e
	case strings.Contains(e.said, "goroutine ") || strings.Contains(e.said, "runtime error"):
		return "a stack trace: " + e.said, e
	case errors != 1:
		return fmt.Sprintf("%d lines of errors: %s", errors, e.said), e
	}
	return "", e
}

// standing says what is in the current folder under names that begin as this one does.
func standing(name string) string {
	stem, all := strings.TrimSuffix(name, filepath.Ext(name)), ""
	found, _ := filepath.Glob(stem + "*")
	for _, f := range found {
		info, err := os.Lstat(f)
		if err != nil {
			continue
		}
		text := []byte(nil)
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			text, _ = os.ReadFile(f)
		}
		below, _ := filepath.Glob(filepath.Join(f, "*"))
		all += fmt.Sprint(f, info.Mode(), info.Size(), below, string(text))
	}
	return all
}

// sweep takes away what is under such names.
func sweep(name string) {
	found, _ := filepath.Glob(strings.TrimSuffix(name, filepath.Ext(name)) + "*")
	for _, f := range found {
		os.RemoveAll(f)
	}
}

// leaves returns the commands that do something.
func leaves(n *kong.Node) (all []*kong.Node) {
	if n.Leaf() {
		return []*kong.Node{n}
	}
	for _, c := range n.Children {
		all = append(all, leaves(c)...)
	}
	return all
}

func path(c *kong.Node) []string { return strings.Fields(c.FullPath())[1:] }

// file is something of a command line that names a file or a folder.
type file struct {
	flag  *kong.Flag // nil: the argument that stands at place
	value *kong.Value
	place int
}

func (f file) name() string {
	if f.flag != nil {
		return "--" + f.flag.Name
	}
	return f.value.Name
}

// folder says whether a folder is asked for.
func (f file) folder() bool { return f.value.Tag.PlaceHolder == "DIR" }

// filesOf returns the files of a command: flags of a type of paths, or named FILE or the like.
func filesOf(c *kong.Node) (all []file) {
	is := func(v *kong.Value) bool {
		holder := v.Tag.PlaceHolder
		return v.Tag.Type == "path" || v.Tag.Type == "existingfile" || strings.Contains(holder, "FILE") || strings.Contains(holder, "DIR") || strings.Contains(holder, "GLOB")
	}
	for i, p := range c.Positional {
		if is(p) {
			all = append(all, file{value: p, place: i})
		}
	}
	for _, f := range c.Flags {
		if is(f.Value) {
			all = append(all, file{flag: f, value: f.Value})
		}
	}
	return all
}

// line is an example of a command.
type line struct {
	path  []string
	flags []given
	args  []string
}

type given struct{ name, value string } // value "" of a flag without

// examples returns the lines of a command's help.
func (p Program) examples(c *kong.Node) (all []line) {
	flags := map[string]*kong.Flag{}
	for _, f := range c.Flags {
		flags[f.Name] = f
	}
	for text := range strings.SplitSeq(c.Detail, "\n") {
		words := strings.Fields(strings.ReplaceAll(text, "'", ""))
		if !strings.HasPrefix(text, "  "+p.Name+" ") || !slices.Equal(words[1:min(len(words), 1+len(path(c)))], path(c)) {
			continue
		}
		l := line{path: path(c)}
		for words = words[1+len(l.path):]; len(words) > 0; words = words[1:] {
			name, is := strings.CutPrefix(words[0], "--")
			name, value, whole := strings.Cut(name, "=")
			switch f := flags[name]; {
			case !is:
				l.args = append(l.args, words[0])
			case whole || f == nil || f.Value.Target.Kind() == reflect.Bool || len(words) == 1:
				l.flags = append(l.flags, given{name, value})
			default:
				l.flags = append(l.flags, given{name, words[1]})
				words = words[1:]
			}
		}
		l = l.beside(p.Beside[strings.Join(l.path, " ")])
		all = append(all, l)
	}
	return all
}

// beside returns the line with other values of flags.
func (l line) beside(flags map[string]string) line {
	l.flags = slices.Clone(l.flags)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if i := slices.IndexFunc(l.flags, func(g given) bool { return g.name == name }); i >= 0 {
			l.flags[i].value = flags[name]
		} else {
			l.flags = append(l.flags, given{name, flags[name]})
		}
	}
	return l
}

// lines returns those to put a file in: that have one there, or else all.
func (f file) lines(all []line) (some []line) {
	for _, l := range all {
		if f.has(l) != "" {
			some = append(some, l)
		}
	}
	if len(some) > 0 {
		return some
	}
	if len(all) == 0 {
		return []line{{}}
	}
	return all
}

// has returns what a line has in the place of a file; "" where it has none.
func (f file) has(l line) string {
	if f.flag == nil {
		if f.place < len(l.args) {
			return l.args[f.place]
		}
		return ""
	}
	for _, g := range l.flags {
		if g.name == f.flag.Name {
			return g.value
		}
	}
	return ""
}

// with returns the line with another file there.
func (l line) with(f file, name string) []string {
	args, flags := slices.Clone(l.args), slices.Clone(l.flags)
	if f.flag == nil {
		for len(args) <= f.place {
			args = append(args, name)
		}
		args[f.place] = name
	} else if i := slices.IndexFunc(flags, func(g given) bool { return g.name == f.flag.Name }); i >= 0 {
		flags[i].value = name
	} else {
		flags = append(flags, given{f.flag.Name, name})
	}
	out := append(slices.Clone(l.path), args...)
	for _, g := range flags {
		if out = append(out, "--"+g.name); g.value != "" {
			out[len(out)-1] += "=" + g.value
		}
	}
	return out
}
