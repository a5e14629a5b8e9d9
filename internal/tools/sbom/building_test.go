//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// Whoever types what docs/building.md prints gets the same programs, byte for byte, in
// whatever folder and as whatever user, and a bill of what is in them.
func TestBuildingTwiceGivesTheSamePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs twice")
	}
	first := doctest.Clone(t, "../../..")
	printed := doctest.CommandsIn(t, first, "docs/building.md")
	if len(printed) != 4 {
		t.Fatalf("%d commands are printed", len(printed))
	}
	s := doctest.NewSession(t, first, doctest.Patience(t))
	said := map[string]string{} // by the command's first words
	for _, p := range printed {
		out, err := s.Run(p.Text)
		if err != nil {
			t.Fatalf("%s\n%v", p, err)
		}
		said[strings.Join(strings.Fields(p.Text)[:2], " ")] = out
	}

	second := filepath.Join(t.TempDir(), "a rather longer", "folder")
	if err := os.MkdirAll(filepath.Dir(second), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(doctest.Clone(t, "../../.."), second); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("bash", "-c", "umask 077; "+printed[0].Text)
	other.Dir = second
	for _, v := range doctest.Environment(t) {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains([]string{"GOFLAGS", "GOCACHE", "TMPDIR", "TZ", "LANG", "USER", "HOME", "PWD"}, name) {
			other.Env = append(other.Env, v)
		}
	}
	other.Env = append(other.Env, "GOFLAGS=-p=1", "GOCACHE="+withoutOurs(t, first), "TMPDIR="+t.TempDir(), "TZ=Asia/Tokyo", "LANG=C", "USER=other", "HOME="+t.TempDir())
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, command := range commands {
		name := path.Base(command)
		a, b := read(t, first, name), read(t, second, name)
		if !bytes.Equal(a, b) {
			t.Errorf("%s, %d bytes, is another one where it is built anew, of %d", name, len(a), len(b))
		}
		for _, dir := range []string{first, second} {
			if bytes.Contains(a, []byte(dir)) {
				t.Errorf("%s names the folder where it was built", name)
			}
		}
		out, err := exec.Command("go", "version", "-m", filepath.Join(first, "out", name)).Output()
		if err != nil {
			t.Fatal(err)
		}
		linked := linkedModules(string(out))
		if name == "confetti" && strings.TrimSpace(said["go version"]) != strings.TrimSpace(strings.ReplaceAll(string(out), first+"/", "")) {
			t.Errorf("as printed: %s", said["go version"])
		}
		if billed := billedModules(t, filepath.Join(first, "out/confetti.cdx.json"), name); !slices.Equal(linked, billed) || len(linked) < 5 {
			t.Errorf("%s is made of\n%s\nand its bill says\n%s", name, strings.Join(linked, "\n"), strings.Join(billed, "\n"))
		}
	}
	if sums := strings.Fields(said["sha256sum out/confetti"]); len(sums) != 2*len(commands) || len(sums[0]) != 64 {
		t.Errorf("%q", sums)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "out", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withoutOurs is a cache of the go command in which everything is that our programs
// are built of, as it was compiled here, but for our own packages. Where the cache has
// another form than this expects it is emptier, and the build takes longer.
func withoutOurs(t *testing.T, root string) string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-export", "-trimpath", "-buildvcs=false", "-f", "{{if not (and .Module .Module.Main)}}{{.BuildID}}{{end}}", "./cmd/...")
	list.Dir, list.Env = root, append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	ids, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	from, to := strings.TrimSpace(string(out)), t.TempDir()
	kept := 0
	for id := range strings.FieldsSeq(string(ids)) {
		action, _, _ := strings.Cut(id, "/")
		raw, err := base64.RawURLEncoding.DecodeString(action)
		if err != nil || len(raw) < 4 {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(from, hex.EncodeToString(raw[:1]), hex.EncodeToString(raw)+"*-a"))
		if len(found) != 1 {
			continue
		}
		entry, err := os.ReadFile(found[0])
		fields := strings.Fields(string(entry))
		if err != nil || len(fields) < 3 {
			continue
		}
		output := filepath.Join(fields[2][:2], fields[2]+"-d")
		index := filepath.Join(hex.EncodeToString(raw[:1]), filepath.Base(found[0]))
		for _, file := range []string{output, index} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, file)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if os.WriteFile(filepath.Join(to, index), entry, 0o644) == nil && os.Symlink(filepath.Join(from, output), filepath.Join(to, output)) == nil {
			kept++
		}
	}
	t.Logf("%d packages of others are taken as they were compiled", kept)
	return to
}

// linkedModules are path, version and hash of the modules in a program, by what go
// version -m says, and its version of Go.
func linkedModules(said string) []string {
	var all []string
	for line := range strings.Lines(said) {
		switch f := strings.Fields(line); {
		case len(f) == 2 && strings.HasPrefix(f[1], "go1."):
			all = append(all, "std "+f[1])
		case len(f) == 4 && f[0] == "dep":
			all = append(all, strings.Join(f[1:], " "))
		}
	}
	slices.Sort(all)
	return all
}

// billedModules are those of a program in the bill, in the same form.
func billedModules(t *testing.T, path, program string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults(text) {
		t.Error(f)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, of := range d.Dependencies {
		for _, c := range d.Components {
			if strings.HasSuffix(of.Ref, "/cmd/"+program) && slices.Contains(of.On, c.Ref) {
				line := c.Name + " " + c.Version
				for _, p := range c.Properties {
					if p.Name == "go.sum" {
						line += " " + p.Value
					}
				}
				all = append(all, line)
			}
		}
	}
	slices.Sort(all)
	return all
}
