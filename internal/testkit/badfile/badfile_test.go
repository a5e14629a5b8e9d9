package badfile

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// reader is a command of one file, whose line of help is an example.
type reader struct {
	File string `arg:"" type:"path"`
	Out  string `type:"path"`
}

func (reader) Help() string { return "Example:\n  tool read good.csv" }

// A program that reads its file well passes, and writes over any; one that does not is caught, in whatever way it does not.
func TestFaultsAreCaught(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("good.csv", []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse := func(std terminal.Streams, file string) int {
		fmt.Fprintf(std.Err, "tool: %s is no table\n", file)
		return 1
	}
	kept := []byte(nil)
	for name, c := range map[string]struct {
		read func(std terminal.Streams, file string) int
		want string
	}{
		"well":         {refuse, ""},
		"a panic":      {func(std terminal.Streams, file string) int { return int(file[1000]) }, "panic: "},
		"an exit code": {func(std terminal.Streams, file string) int { refuse(std, file); return 3 }, "exit code 3"},
		"a trace": {func(std terminal.Streams, file string) int {
			fmt.Fprintf(std.Err, "tool: %s: goroutine 1 [running]\n", file)
			return 1
		}, "a stack trace"},
		"two errors": {func(std terminal.Streams, file string) int { refuse(std, file); return refuse(std, file) }, "2 lines of errors"},
		"silence":    {func(std terminal.Streams, file string) int { return 1 }, "0 lines of errors"},
		"no name":    {func(std terminal.Streams, file string) int { return refuse(std, "something") }, "no file is named"},
		"everything": {func(std terminal.Streams, file string) int { return 0 }, "it was taken"},
		"all memory": {func(std terminal.Streams, file string) int {
			if info, err := os.Stat(file); err == nil && info.Size() > most {
				kept = make([]byte, most+1)
			}
			return refuse(std, file)
		}, "bytes of memory"},
		"no end": {func(std terminal.Streams, file string) int { time.Sleep(time.Second); return refuse(std, file) }, hung},
	} {
		var tree struct {
			Read reader `cmd:""`
		}
		parser, err := kong.New(&tree, kong.Name("tool"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
		if err != nil {
			t.Fatal(err)
		}
		p := Program{Name: "tool", Tree: parser.Model.Node, Run: func(args []string, std terminal.Streams) int { return c.read(std, args[1]) }}
		if c.want == hung {
			p.patience = time.Millisecond
		}
		command := leaves(p.Tree)[0]
		files := filesOf(command)
		if len(files) != 2 || files[0].name() != "file" || files[1].name() != "--out" {
			t.Fatalf("%d files", len(files))
		}
		told, faults := p.spoil(p.examples(command), files[0])
		switch {
		case c.want == "" && (len(faults) > 0 || told < 8):
			t.Errorf("%s: %d told, and %v", name, told, faults)
		case c.want != "" && (len(faults) == 0 || !strings.Contains(faults[0], c.want)):
			t.Errorf("%s: %v", name, faults)
		}
	}
	_ = kept
	over := Program{Name: "tool", Run: func(args []string, std terminal.Streams) int {
		if err := os.WriteFile(strings.TrimPrefix(args[2], "--out="), []byte("written"), 0o600); err != nil {
			return refuse(std, args[2])
		}
		return 0
	}}
	if _, faults := over.spoil([]line{{path: []string{"read"}, args: []string{"good.csv"}}}, file{flag: &kong.Flag{Value: &kong.Value{Name: "out", Tag: &kong.Tag{}}}, value: &kong.Value{Name: "out", Tag: &kong.Tag{}}}); len(faults) > 0 {
		t.Errorf("written over: %v", faults)
	}
}
