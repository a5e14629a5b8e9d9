package module

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"
)

// Inside names the modules that a released program has in itself, each with the import path of what it is made of.
var Inside = map[string]string{
	"confetti.wasm":        "github.com/confetti-dp/confetti/cmd/confetti-web",
	"confetti-studio.wasm": "github.com/confetti-dp/confetti/cmd/confetti-web/studio",
}

// packed is the end of the name of a file by gzip.
const packed = ".gz"

// inside has the modules, packed, of a program that was built with them; nil in all others.
var inside fs.FS

// Overlay returns what go build -tags=withmodules -overlay reads, in the root of the repository, to put modules into
// a program: those that lie in a folder, packed, beside the script that starts them.
func Overlay(dir string) ([]byte, error) {
	to, err := filepath.Abs(filepath.Join("internal", "webmodule"))
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	names := []string{wasmExec}
	for name := range Inside {
		names = append(names, name+packed)
	}
	for _, name := range names {
		if replace[filepath.Join(to, name)], err = filepath.Abs(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{"Replace": replace})
}

// unpacked has files that lie packed, plain too.
type unpacked struct{ fs.FS }

// Open implements fs.FS.
func (u unpacked) Open(name string) (fs.File, error) {
	f, err := u.FS.Open(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	from, failed := u.FS.Open(name + packed)
	if failed != nil {
		return nil, err
	}
	defer from.Close()
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	return &plain{bytes.NewReader(text), name}, err
}

// plain is a file in memory.
type plain struct {
	*bytes.Reader
	name string
}

// Stat implements fs.File.
func (p *plain) Stat() (fs.FileInfo, error) { return p, nil }

// Close implements fs.File.
func (p *plain) Close() error { return nil }

// Name implements fs.FileInfo.
func (p *plain) Name() string { return p.name }

// Mode implements fs.FileInfo.
func (p *plain) Mode() fs.FileMode { return 0o444 }

// ModTime implements fs.FileInfo: a module has no time of its own.
func (p *plain) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (p *plain) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (p *plain) Sys() any { return nil }
