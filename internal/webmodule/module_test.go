package module

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whoever builds a module by a printed line gets the one that is served, of packages that are compiled already.
func TestPrintedLinesBuildWhatIsServed(t *testing.T) {
	for file, times := range map[string]int{"../../docs/browsers.md": 1, "../../deploy/Dockerfile": 2} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), " "+strings.Join(sparing, " ")+" -ldflags="); n != times || strings.Count(string(text), "GOOS=js") != n {
			t.Errorf("%s: %d lines build a module with %q", file, n, sparing)
		}
	}
}

// Modules pass vet where they run. It compiles what they stand on as they are compiled, so that this is done once.
func TestModulesPassVet(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the modules")
	}
	vet := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"vet", "-trimpath", "-buildvcs=false"}, sparing, slices.Sorted(maps.Values(Inside)))...)
	vet.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A module is the same where one lies there already, and is made anew where that is none of these sources.
func TestAModuleIsMadeWhereThereIsOne(t *testing.T) {
	if testing.Short() {
		t.Skip("links a module")
	}
	kept, err := run(t.Context(), nil, "go", "env", "GOCACHE") // what is compiled already
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", kept)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	m := Module{Wasm: "draw.wasm", Command: "github.com/confetti-dp/confetti/internal/tools/architecture/draw"}
	made := func() (file string, text []byte) {
		t.Helper()
		dir, err := m.build(t.Context())
		if err == nil {
			file = filepath.Join(dir, m.Wasm)
			text, err = os.ReadFile(file)
		}
		if err != nil {
			t.Fatal(err)
		}
		return file, text
	}
	file, first := made()
	if _, again := made(); !bytes.Equal(again, first) {
		t.Error("a module is another one where it lies there already")
	}
	older := m
	older.Command = "github.com/confetti-dp/confetti/internal/tools/sbom"
	if err := older.Make(t.Context(), filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	if _, again := made(); !bytes.Equal(again, first) {
		t.Error("a module of other sources is served")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, again := made(); !bytes.Equal(again, first) {
		t.Error("an empty file is served")
	}
	files, err := m.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "") // there is no go command any more
	again, err := m.Files(t.Context())
	if err != nil {
		t.Fatal("a process makes a module twice: ", err)
	}
	for _, all := range []fs.FS{files, again} {
		if text, err := fs.ReadFile(unpacked{withoutPlain{all, m.Wasm}}, m.Wasm); err != nil || !bytes.Equal(text, first) {
			t.Errorf("what is packed is another module: %v", err)
		}
	}
}

// withoutPlain has a file only as it is packed.
type withoutPlain struct {
	fs.FS
	name string
}

// Open implements fs.FS.
func (w withoutPlain) Open(name string) (fs.File, error) {
	if name == w.name {
		return nil, fs.ErrNotExist
	}
	return w.FS.Open(name)
}
