package linked

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/tools/architecture"
)

var update = flag.Bool("update", false, "write the lists of modules anew")

// modules returns, by program, the modules of others of which it has packages in it, without versions, on any of the
// systems that it is built for. The packages of all programs are listed at once, which takes as long as those of one.
var modules = sync.OnceValues(func() (of map[string][]string, err error) {
	of = map[string][]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		args := []string{"list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}} {{join .Imports \" \"}}"}
		for _, program := range architecture.Programs {
			args = append(args, "./"+program)
		}
		c := exec.Command("go", args...)
		c.Dir, c.Env = "../../../..", append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS="+system)
		out, err := c.Output()
		if err != nil {
			return nil, err
		}
		module, imports := map[string]string{}, map[string][]string{}
		for line := range strings.Lines(string(out)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
			module[fields[0]], imports[fields[0]] = fields[1], fields[2:]
		}
		for _, program := range architecture.Programs {
			met := map[string]bool{}
			var meet func(name string)
			meet = func(name string) {
				if met[name] {
					return
				}
				met[name] = true
				if module[name] != "" {
					of[program] = append(of[program], module[name])
				}
				for _, next := range imports[name] {
					meet(next)
				}
			}
			meet(architecture.Module + program)
		}
	}
	for program := range of {
		slices.Sort(of[program])
		of[program] = slices.Compact(of[program])
	}
	return of, nil
})

// Each program is made of the modules that its list has, and of no others: one that comes with a change is
// seen in that change.
func TestModulesOfEachProgram(t *testing.T) {
	of, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range architecture.Programs {
		t.Run(path.Base(program), func(t *testing.T) {
			got := strings.Join(of[program], "\n") + "\n"
			list := filepath.Join("testdata", path.Base(program)+".txt")
			if *update {
				if err := os.WriteFile(list, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(list); err != nil || string(want) != got {
				t.Errorf("%s is made of other modules than %s says (%v): is each needed there? then go test ./internal/tools/architecture/linked -run Modules -args -update\n%s", program, list, err, got)
			}
		})
	}
}

// What is heavy is linked where it is used, and in no other program.
func TestWhatIsHeavyStandsInOneProgram(t *testing.T) {
	of, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range architecture.Programs {
		for _, module := range of[program] {
			if programs, is := heavy[module]; is && !slices.Contains(programs, path.Base(program)) {
				t.Errorf("%s links %s, which belongs to %v", program, module, programs)
			}
		}
	}
}

// heavy are the programs that may link a module.
var heavy = map[string][]string{
	"github.com/coreos/go-oidc/v3":     {"confetti-server"},
	"github.com/parquet-go/parquet-go": {"confetti-server"},
	"rsc.io/qr":                        {"confetti-server"},
}

// mostBytes are what a program may weigh, stripped, for 64-bit Linux on the common processor. Metrics of every kind, their trends,
// code in other languages, learning from private records and choosing among models brought .5 MB, joined columns and novel classes .05, columns by a decoder .01, an accountant that remembers .02.
var mostBytes = map[string]int64{"cmd/confetti": 25.59e6}

// mostOfOthers are the lines that a device compiles of other modules, on 64-bit Linux on the common processor, comments
// among them: as bars of our own, it may only fall. Asked: 9,800.
const mostOfOthers = 8388

// What a device believes of others stays small too.
func TestADeviceIsMadeOfFewLinesOfOthers(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "-f", "{{$at := .}}{{with .Module}}{{if not .Main}}{{range $at.GoFiles}}{{$at.Dir}}/{{.}}\n{{end}}{{end}}{{end}}", "./client")
	c.Dir, c.Env = "../../../..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines > mostOfOthers || lines < mostOfOthers/2 {
		t.Errorf("a device compiles %d lines of others, and at most %d: what does it import that it does not need?", lines, mostOfOthers)
	}
}

// What a newcomer builds stays small. Its packages are compiled for other tests too, so this only links.
func TestWhatPeopleRunIsSmall(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("sizes are of one system")
	}
	for program, most := range mostBytes {
		out := filepath.Join(t.TempDir(), "program")
		c := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, "./"+program)
		c.Dir, c.Env = "../../../..", append(os.Environ(), "CGO_ENABLED=0")
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s: %d bytes, and at most %d: what does it link that it does not need?", program, info.Size(), most)
		}
		t.Logf("%s: %d bytes of %d", program, info.Size(), most)
	}
}
