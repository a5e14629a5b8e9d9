//go:build unix

package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// Who has the archive for C alone types its lines: its example is compiled as pkg-config says, shared and static, and
// answers a trial. The library names the interface's version, and is the same where it is linked again.
func TestTheArchiveForC(t *testing.T) {
	packed := found(t, "confetti-c-", ".tar.gz")
	needs(t, "pkg-config")
	text, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, text, dir)
	dir = filepath.Join(dir, strings.TrimSuffix(filepath.Base(packed), ".tar.gz"))
	shared := filepath.Join(dir, "lib", soname)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/embedding.md")
	if _, lines, found := strings.Cut(string(readme), "```sh\n"); err != nil || !found || !strings.Contains(string(page), "```sh\n"+lines[:strings.Index(lines, "```")]) {
		t.Errorf("docs/embedding.md prints other lines than the archive: %v", err)
	}

	again := edition{made: t.TempDir(), targets: []target{native}}
	if err := again.libraries(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{soname: library, static: static} {
		a, err := os.ReadFile(filepath.Join(dir, "lib", name))
		b, missing := os.ReadFile(filepath.Join(again.folder(native), from))
		if err != nil || missing != nil || !bytes.Equal(a, b) || bytes.Contains(a, []byte(scratch)) {
			t.Errorf("%s is another one where it is linked again, or names the folder where it was made: %v, %v", name, err, missing)
		}
		if least, err := glibc(a); name == soname && (err != nil || !strings.Contains(string(readme), fmt.Sprintf("glibc %d.%d or later", least[0], least[1]))) {
			t.Errorf("README.md names another glibc than %v: %v", least, err)
		}
	}
	made, err := elf.Open(shared)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if names, err := made.DynString(elf.DT_SONAME); err != nil || !slices.Equal(names, []string{soname}) {
		t.Errorf("the library is called %q: %v", names, err)
	}
	header, err := os.ReadFile(filepath.Join(dir, "include", "confetti.h"))
	if err != nil || !strings.Contains(string(header), `says "abi": `+strings.TrimPrefix(soname, library+".")) {
		t.Errorf("%s is not the interface's version: %v", soname, err)
	}

	others, err := os.ReadFile(filepath.Join(dir, "LICENSES-of-others"))
	for _, name := range []string{"Go: LICENSE\n", "golang.org/x/crypto v", "gonum.org/v1/gonum v", "circl, copied: LICENSE\n", "Copyright (c) 2019 Cloudflare"} {
		if !bytes.Contains(others, []byte(name)) {
			t.Errorf("LICENSES-of-others lacks %q: %v", name, err)
		}
	}
	if _, err := licensesIn("somebody's", t.TempDir()); err == nil {
		t.Error("code without a licence is published")
	}

	if err := os.Symlink(filepath.Join(started(t).dir, "trial"), filepath.Join(dir, "trial")); err != nil {
		t.Fatal(err)
	}
	s := doctest.NewSession(t, dir, doctest.Patience(t))
	said := ""
	for _, line := range doctest.CommandsIn(t, dir, "README.md") {
		if said, err = s.Run(line.Text); err != nil {
			t.Fatalf("%s\n%v", line, err)
		}
	}
	if !strings.HasPrefix(said, `{"ok":{"status":"sent"`) {
		t.Errorf("the example says %s", said)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(shared); err != nil {
		t.Fatal(err)
	}
	app, err := os.ReadFile(filepath.Join(dir, "trial", "app.json"))
	if err != nil {
		t.Fatal(err)
	}
	alone := func(program string) (string, error) {
		c := exec.CommandContext(t.Context(), filepath.Join(dir, program), string(app))
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := alone("alone"); err != nil || !strings.Contains(out, `"answered"`) {
		t.Errorf("one file, and without the library it says %s, %v", out, err)
	}
	if out, err := alone("answer"); err == nil || !strings.Contains(out, soname) {
		t.Errorf("without the library a program that is linked with it says %s", out)
	}
}
