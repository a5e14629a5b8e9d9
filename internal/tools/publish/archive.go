package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one of an archive. A folder has a name that ends in a slash.
type file struct {
	name  string
	mode  int64
	owner int
	text  []byte
	link  string // what it leads to, in its own folder, in the place of a text
}

func (f file) folder() bool { return strings.HasSuffix(f.name, "/") }

// level is how hard gzip works; a test that unpacks everything again has it work less.
var level = gzip.BestCompression

// packed returns text by gzip, without a name or a time.
func packed(text []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		panic("publish: " + err.Error()) // of a level that there is
	}
	z.Write(text)
	z.Close()
	return b.Bytes()
}

// tarred returns files in their order, of one time and of nobody of this machine.
func tarred(at time.Time, all []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range all {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, ModTime: at, Size: int64(len(f.text)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if f.folder() {
			h.Typeflag = tar.TypeDir
		} else if f.link != "" {
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.link, 0o777
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// zipped returns what tarred does, as a zip.
func zipped(at time.Time, all []file) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, level) })
	for _, f := range all {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(f.mode))
		to, err := w.CreateHeader(h)
		if err == nil {
			_, err = to.Write(f.text)
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// withFolders puts each folder above a file before it.
func withFolders(all []file) (out []file) {
	seen := map[string]bool{}
	for _, f := range all {
		var above []file
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "." && !seen[dir+"/"]; dir = path.Dir(dir) {
			seen[dir+"/"] = true
			above = append(above, file{name: dir + "/", mode: 0o755})
		}
		slices.Reverse(above)
		seen[f.name] = true
		out = append(append(out, above...), f)
	}
	return out
}

// pages returns what people read beside the programs: the texts of the root, and docs with its examples.
func pages() (texts []file, err error) {
	shown := []string{".md", ".svg", ".png", ".yaml", ".html", ".jsx", ".mjs", ".json", ".ipynb"}
	for _, root := range []string{"CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md", "LICENSE", "README.md", "SECURITY.md", "docs"} {
		err = errors.Join(err, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || root == "docs" && !slices.Contains(shown, path.Ext(name)) {
				return err
			}
			text, err := os.ReadFile(name)
			texts = append(texts, file{name: filepath.ToSlash(name), mode: 0o644, text: text})
			return err
		}))
	}
	return texts, err
}

// archives writes one a platform: programs, what shells read, the texts, and the package for pages beside the examples
// that take it.
func (e edition) archives(ctx context.Context) error {
	texts, err := e.completions(ctx)
	if err != nil {
		return err
	}
	read, err := pages()
	if err != nil {
		return err
	}
	client, err := os.ReadFile(filepath.Join(e.out, e.client()))
	if err != nil {
		return err
	}
	texts = append(append(texts, read...), file{name: path.Join("docs/examples", e.client()), mode: 0o644, text: client})
	for _, t := range e.targets {
		name := "confetti_" + e.version + "_" + t.os + "_" + t.arch
		var all []file
		for _, one := range programs {
			text, err := e.read(t, one)
			if err != nil {
				return err
			}
			all = append(all, file{name: name + "/" + t.program(one), mode: 0o755, text: text})
		}
		others, err := e.licenses(ctx, t, programs...)
		if err != nil {
			return err
		}
		all = append(all, file{name: name + "/" + notices, mode: 0o644, text: others})
		for _, f := range texts {
			f.name = name + "/" + f.name
			all = append(all, f)
		}
		pack, end := func(all []file) ([]byte, error) {
			b, err := tarred(e.at, withFolders(all))
			return packed(b), err
		}, ".tar.gz"
		if t.os == "windows" {
			pack, end = func(all []file) ([]byte, error) { return zipped(e.at, all) }, ".zip"
		}
		text, err := pack(all)
		if err == nil {
			err = os.WriteFile(filepath.Join(e.out, name+end), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
