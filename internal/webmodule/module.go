// Package module finds a WebAssembly module that a page loads, or makes it, and serves it. Used by web/client,
// internal/service/webstudio and internal/tools/publish.
package module

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Module is a program of this tree as WebAssembly, with the scripts round it.
type Module struct {
	Scripts fs.FS
	Wasm    string // its file, such as "confetti.wasm"
	Command string // the import path of what it is made of
}

// wasmExec is the toolchain's script that starts a module. Neither is in the tree.
const wasmExec = "wasm_exec.js"

// Files returns the scripts, and the module with what starts it. A released program has the module
// in itself. Otherwise it is found beside the running program, where images have it; in a checkout of the source the
// Go toolchain makes it, in the user's cache, which takes a minute at first.
func (m Module) Files(ctx context.Context) (fs.FS, error) {
	if inside != nil {
		return files{m, unpacked{inside}, nil}, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	beside := filepath.Dir(program)
	if m.there(beside) {
		return files{m, os.DirFS(beside), nil}, nil
	}
	if made, there := making.Load(m.Command); there {
		return made.(fs.FS), nil
	}
	dir, err := m.build(ctx)
	if err != nil {
		return nil, fmt.Errorf("module: %s is not beside %s, and cannot be made: %w: put both files of a release there, or run in a checkout of the source, with Go", m.Wasm, program, err)
	}
	made := os.DirFS(dir)
	first, _ := making.LoadOrStore(m.Command, files{m, made, sync.OnceValues(func() ([]byte, error) { return compress(made, m.Wasm) })})
	return first.(fs.FS), nil
}

// making has what this process has made: to ask the go command again, or to pack a module again, takes a second.
var making sync.Map

func (m Module) there(dir string) bool {
	_, module := os.Stat(filepath.Join(dir, m.Wasm))
	_, starts := os.Stat(filepath.Join(dir, wasmExec))
	return errors.Join(module, starts) == nil
}

// build makes both files with the Go toolchain, from the checkout that the program runs in,
// and returns their folder.
func (m Module) build(ctx context.Context) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	version, err := run(ctx, nil, "go", "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	source, err := run(ctx, []string{"GOOS=js", "GOARCH=wasm"}, "go", "list", "-f", "{{.Dir}}", m.Command)
	if err != nil {
		return "", err
	}
	checkout := sha256.Sum256([]byte(source)) // each has a folder of its own: another one's module is another
	dir = filepath.Join(cache, "confetti", "web", version, hex.EncodeToString(checkout[:8]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Several programs may do this at once: each makes its own, and puts it there whole.
	mine, err := os.MkdirTemp(dir, "making-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(mine)) }()
	// What the go command finds up to date it does not link again.
	if text, there := os.ReadFile(filepath.Join(dir, m.Wasm)); there == nil {
		err = os.WriteFile(filepath.Join(mine, m.Wasm), text, 0o755)
	}
	if err == nil {
		err = m.Make(ctx, mine)
	}
	for _, name := range []string{wasmExec, m.Wasm} {
		if err == nil {
			err = os.Rename(filepath.Join(mine, name), filepath.Join(dir, name))
		}
	}
	return dir, err
}

// Make builds the module with the Go toolchain into a folder, from the checkout that the program runs in, and puts
// the script that starts it beside it.
func (m Module) Make(ctx context.Context, dir string) error {
	root, err := run(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	build := append(append([]string{"build", "-trimpath", "-buildvcs=false"}, sparing...), "-ldflags=-s -w", "-o", filepath.Join(dir, m.Wasm), m.Command)
	if _, err := run(ctx, []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}, "go", build...); err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(root, "lib", "wasm", wasmExec))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, wasmExec), script, 0o644)
	}
	return err
}

// sparing has the compiler copy functions into their callers in our packages and in those that
// seal, where time goes, and nowhere else: it makes a module a twelfth smaller.
var sparing = []string{"-gcflags=all=-l", "-gcflags=github.com/confetti-dp/confetti/...=", "-gcflags=crypto/...=", "-gcflags=filippo.io/edwards25519/...="}

func run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, said.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// files are the scripts and, from a folder, the module.
type files struct {
	Module
	made fs.FS
	pack func() ([]byte, error) // the module, where no folder has it packed
}

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	if name == f.Wasm+packed && f.pack != nil {
		text, err := f.pack()
		return &plain{bytes.NewReader(text), name}, err
	}
	if name == f.Wasm || name == f.Wasm+packed || name == wasmExec {
		return f.made.Open(name)
	}
	return f.Scripts.Open(name)
}

// Handler serves Files, the module compressed for browsers that take it so. A page needs a
// content security policy that allows 'wasm-unsafe-eval' and workers of its own origin.
func (m Module) Handler(all fs.FS) http.Handler {
	plain := http.FileServerFS(all)
	small := sync.OnceValues(func() ([]byte, error) { return compress(all, m.Wasm) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Vary", "Accept-Encoding")
		if strings.TrimPrefix(r.URL.Path, "/") == m.Wasm && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			if data, err := small(); err == nil {
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Content-Type", "application/wasm")
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
				return
			}
		}
		plain.ServeHTTP(w, r)
	})
}

// compress returns a file by gzip, as it was packed when the program was made, where it was. In a checkout it is packed 1 %
// less well, in a third of the time.
func compress(all fs.FS, name string) ([]byte, error) {
	if ready, err := fs.ReadFile(all, name+packed); err == nil {
		return ready, nil
	}
	module, err := all.Open(name)
	if err != nil {
		return nil, err
	}
	defer module.Close()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = io.Copy(z, module)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}
