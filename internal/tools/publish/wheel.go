package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// python is where the sources of the package for Python lie.
const python = "client/python"

// wheels writes a package for Python a platform, by the specification of binary distributions alone.
func (e edition) wheels(ctx context.Context) error {
	for _, t := range e.targets {
		name, text, err := e.wheel(ctx, t)
		if err == nil {
			err = os.WriteFile(filepath.Join(e.out, name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
	}
	return nil
}

// wheel returns a package with its file's name: the sources, the library where there is one, and the program where pip puts scripts.
func (e edition) wheel(ctx context.Context, t target) (name string, text []byte, err error) {
	version := pythonVersion(e.version)
	base := "confetti_dp-" + version
	about := base + ".dist-info/"
	program, err := e.read(t, "confetti")
	if err != nil {
		return "", nil, err
	}
	made, carries := [][]byte{program}, []string{"confetti"}
	all := []file{{name: base + ".data/scripts/" + t.program("confetti"), mode: 0o755, text: program}}
	if t.linked() {
		lib, err := os.ReadFile(filepath.Join(e.folder(t), library))
		if err != nil {
			return "", nil, err
		}
		made, carries = append(made, lib), append(carries, "libconfetti")
		all = append(all, file{name: "confetti/lib/" + library, mode: 0o755, text: lib})
	}
	tag, err := tagged(t, made...)
	if err != nil {
		return "", nil, err
	}
	tag = "py3-none-" + tag
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", nil, err
	}
	others, err := e.licenses(ctx, t, carries...)
	all = append(all,
		file{name: about + notices, mode: 0o644, text: others},
		file{name: about + "LICENSE", mode: 0o644, text: license},
		file{name: about + "METADATA", mode: 0o644, text: []byte("Metadata-Version: 2.1\nName: confetti-dp\nVersion: " + version +
			"\nSummary: Private statistics: a device, and what an analyst does with its releases\nHome-page: " + home +
			"\nLicense: Apache-2.0\nRequires-Python: >=3.9\nProvides-Extra: pandas\nRequires-Dist: pandas>=1.5; extra == \"pandas\"\n")},
		file{name: about + "WHEEL", mode: 0o644, text: []byte("Wheel-Version: 1.0\nGenerator: confetti\nRoot-Is-Purelib: false\nTag: " + tag + "\n")})
	err = errors.Join(err, filepath.WalkDir(filepath.Join(python, "confetti"), func(from string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".py", ".typed"}, path.Ext(from)) {
			return err
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		in, err := filepath.Rel(python, from)
		all = append(all, file{name: filepath.ToSlash(in), mode: 0o644, text: text})
		return err
	}))
	if err != nil {
		return "", nil, err
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var record strings.Builder
	for _, f := range all {
		sum := sha256.Sum256(f.text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.text))
	}
	record.WriteString(about + "RECORD,,\n")
	text, err = zipped(e.at, append(all, file{name: about + "RECORD", mode: 0o644, text: []byte(record.String())}))
	return base + "-" + tag + ".whl", text, err
}

// pythonVersion returns a version as Python orders it: what comes before 0.1.0 stays before it.
func pythonVersion(version string) string {
	number, label, before := strings.Cut(version, "-")
	if !before {
		return number
	}
	return number + ".dev0+" + label
}

// tagged returns the tag of where programs and libraries run, as they say it themselves.
func tagged(t target, all ...[]byte) (string, error) {
	if t.os == "windows" {
		return "win_" + t.arch, nil
	}
	arch := map[string]string{"linux amd64": "x86_64", "linux arm64": "aarch64", "darwin amd64": "x86_64", "darwin arm64": "arm64"}[t.os+" "+t.arch]
	oldest, form := [2]int{2, 17}, "manylinux_%d_%d_" // the oldest that every pip knows by such a tag
	if t.os == "darwin" {
		oldest, form = [2]int{}, "macosx_%d_%d_"
	}
	for _, text := range all {
		needs := glibc
		if t.os == "darwin" {
			needs = macOS
		}
		least, err := needs(text)
		if err != nil {
			return "", err
		}
		if slices.Compare(least[:], oldest[:]) > 0 {
			oldest = least
		}
	}
	return fmt.Sprintf(form, oldest[0], oldest[1]) + arch, nil
}

// glibc returns the newest version of glibc of which a file needs a symbol; zero where it needs none.
func glibc(text []byte) (newest [2]int, err error) {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return newest, err
	}
	symbols, err := f.ImportedSymbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return newest, nil // it is linked with nothing
	}
	for _, s := range symbols {
		var v [2]int
		if n, _ := fmt.Sscanf(s.Version, "GLIBC_%d.%d", &v[0], &v[1]); n == 2 && slices.Compare(v[:], newest[:]) > 0 {
			newest = v
		}
	}
	return newest, err
}

// macOS returns the oldest version of macOS that a file says it runs on.
func macOS(text []byte) (oldest [2]int, err error) {
	f, err := macho.NewFile(bytes.NewReader(text))
	if err != nil {
		return oldest, err
	}
	const buildVersion = 0x32 // LC_BUILD_VERSION of mach-o/loader.h: command, size, platform, oldest
	for _, l := range f.Loads {
		if raw := l.Raw(); len(raw) >= 16 && f.ByteOrder.Uint32(raw) == buildVersion {
			v := f.ByteOrder.Uint32(raw[12:])
			return [2]int{int(v >> 16), int(v >> 8 & 0xff)}, nil
		}
	}
	return oldest, errors.New("it does not say on which macOS it runs")
}
