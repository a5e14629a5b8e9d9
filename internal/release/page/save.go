package page

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/release"
)

// Names of what Save writes, beside NAME.svg and NAME.png of every figure.
const (
	JSONFile = release.JSONFile
	PageFile = release.PageFile
)

// Save writes the release into the folder dir, which it makes if need be: JSONFile,
// PageFile and every figure. It is all or nothing: every file is complete on the
// disk under a temporary name before the first takes its own, JSONFile last, so a
// folder that holds JSONFile holds the whole release. After an error nothing that
// Save wrote remains, nor any folder it made.
func Save(dir string, r release.Release) error {
	files, err := render(r)
	if err != nil {
		return err
	}
	made, err := makeAll(dir)
	ours := made // what to take back, oldest first
	if err == nil {
		err = place(dir, files, &ours)
	}
	if err == nil {
		return nil
	}
	for i := len(ours) - 1; i >= 0; i-- {
		err = errors.Join(err, ignoreMissing(os.Remove(ours[i])))
	}
	advice := "choose another folder"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		advice = "free some space or choose another folder"
	}
	return fmt.Errorf("saving the release in %s: %w; nothing of it was kept: %s", dir, err, advice)
}

type file struct {
	name string
	data []byte
}

// render makes everything in memory, before the disk is touched; JSONFile is last.
func render(r release.Release) ([]file, error) {
	var files []file
	add := func(name string, write func(io.Writer) error) error {
		var b bytes.Buffer
		err := write(&b)
		files = append(files, file{name, b.Bytes()})
		return err
	}
	if err := add(PageFile, func(w io.Writer) error { return WriteHTML(w, r) }); err != nil {
		return nil, err
	}
	for _, f := range r.Figures() {
		if err := errors.Join(add(f.Name+".svg", func(w io.Writer) error { return WriteSVG(w, f) }), add(f.Name+".png", func(w io.Writer) error { return WritePNG(w, f) })); err != nil {
			return nil, err
		}
	}
	if err := add(JSONFile, r.WriteJSON); err != nil {
		return nil, err
	}
	return files, nil
}

// makeAll makes dir and its missing parents, and says which those were, outermost first.
func makeAll(dir string) (made []string, err error) {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = makeAll(parent); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// place writes the files into dir, noting in ours what it leaves there.
func place(dir string, files []file, ours *[]string) error {
	var staged []string
	for _, f := range files {
		name, err := stage(dir, f.data)
		if name != "" {
			*ours = append(*ours, name)
		}
		if err != nil {
			return err
		}
		staged = append(staged, name)
	}
	// The JSON of an earlier release must not stand beside the page of this one.
	if err := ignoreMissing(os.Remove(filepath.Join(dir, JSONFile))); err != nil {
		return err
	}
	for i, f := range files {
		final := filepath.Join(dir, f.name)
		if err := os.Rename(staged[i], final); err != nil {
			return err
		}
		*ours = append(*ours, final)
	}
	return atomicfile.SyncFolder(dir)
}

// stage writes data to a temporary file in dir, down to the disk.
func stage(dir string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, ".release-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644) // temporary files are private, releases are not
	}
	if err == nil {
		err = f.Sync()
	}
	return f.Name(), errors.Join(err, f.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
