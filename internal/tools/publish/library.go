package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The C library: shared, by the name that a program linked with it looks for, and as an archive. The number is that of the
// interface, the "abi" of confetti_version.
const (
	library = "libconfetti.so"
	soname  = library + ".1"
	static  = "libconfetti.a"
)

// linked reports whether the C library is made for a platform: a compiler makes it of its own alone.
func (t target) linked() bool { return t == native && t.os == "linux" }

// libraries makes the C library, and says for which platforms it does not.
func (e edition) libraries(ctx context.Context) error {
	for _, t := range e.targets {
		if !t.linked() {
			fmt.Fprintf(os.Stderr, "no C library for %s/%s, and no device in Python: a compiler of that platform makes it, as docs/embedding.md says\n", t.os, t.arch)
			continue
		}
		if _, err := exec.LookPath("cc"); err != nil {
			return errors.New("there is no C compiler here, which makes the library that programs in C and Python call: install gcc and libc6-dev")
		}
		for name, flags := range map[string][]string{
			library: {"-buildmode=c-shared", "-ldflags=-s -w -extldflags=-Wl,-soname," + soname},
			static:  {"-buildmode=c-archive", "-ldflags=-s -w"},
		} {
			args := append([]string{"build", "-trimpath", "-buildvcs=false", "-tags=libconfetti"}, flags...)
			if _, err := e.tool(ctx, []string{"CGO_ENABLED=1"}, "go", append(args, "-o", filepath.Join(e.folder(t), name), "./cmd/libconfetti")...); err != nil {
				return err
			}
		}
	}
	return nil
}

// forC returns the name of the archive for programs in C.
func (e edition) forC(t target) string { return "confetti-c-" + e.version + "-" + t.os + "-" + t.arch }

// cArchives writes the C library, with its header, an example and what pkg-config reads, for each platform that it is made for.
func (e edition) cArchives(ctx context.Context) error {
	for _, t := range e.targets {
		if !t.linked() {
			continue
		}
		others, err := e.licenses(ctx, t, "libconfetti")
		if err != nil {
			return err
		}
		all := []file{{name: notices, mode: 0o644, text: others}, {name: "lib/" + library, link: soname}, {name: "lib/pkgconfig/confetti.pc", mode: 0o644, text: []byte(`# Where this file lies says where the others do.
prefix=${pcfiledir}/../..
libdir=${prefix}/lib
includedir=${prefix}/include

Name: confetti
Description: A device that answers and counts, behind a C interface
URL: ` + home + `
Version: ` + e.version + `
Libs: -L${libdir} -lconfetti
Libs.private: -lpthread -lresolv
Cflags: -I${includedir}
`)}}
		const c = "cmd/libconfetti/"
		for _, f := range []struct {
			name, from string
			mode       int64
		}{
			{"LICENSE", "LICENSE", 0o644}, {"README.md", c + "example/README.md", 0o644}, {"example/answer.c", c + "example/answer.c", 0o644}, {"include/confetti.h", c + "include/confetti.h", 0o644},
			{"lib/" + static, filepath.Join(e.folder(t), static), 0o644}, {"lib/" + soname, filepath.Join(e.folder(t), library), 0o755},
		} {
			text, err := os.ReadFile(f.from)
			if err != nil {
				return err
			}
			all = append(all, file{name: f.name, mode: f.mode, text: text})
		}
		for i := range all {
			all[i].name = e.forC(t) + "/" + all[i].name
		}
		text, err := tarred(e.at, withFolders(all))
		if err == nil {
			err = os.WriteFile(filepath.Join(e.out, e.forC(t)+".tar.gz"), packed(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
