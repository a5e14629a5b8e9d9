package releases

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// Read reads a release and writes its words, which follow from its plan and, where there is one,
// from the report of an audit.
func Read(signed plan.Signed, json, audit []byte) (release.Release, error) {
	r, err := release.Read(bytes.NewReader(json))
	if err != nil {
		return r, err
	}
	words, err := statement.New(signed, audit)
	if err != nil {
		return r, err
	}
	return r, words.Write(&r)
}

// Plan reads the plan that stands beside a release: as it was signed, or else as people write it.
func Plan(signed, written []byte) (s plan.Signed, err error) {
	if signed != nil {
		return plan.ParseSigned(signed)
	}
	if written == nil {
		return s, fmt.Errorf("its words follow from its plan, which is not beside it: name a folder that has %s or %s too", verify.SignedFile, verify.PlanFile)
	}
	s.Plan, err = author.Parse(written)
	return s, err
}

// Open reads a release from its folder, or from the JSON file in it.
func Open(path string) (r release.Release, err error) {
	f, err := open(path)
	if err != nil {
		return f.release, err
	}
	words, err := statement.New(f.plan, f.audit)
	if err == nil {
		err = words.Write(&f.release)
	}
	return f.release, f.wrong(err)
}

// folder holds a release without its words, and what these follow from.
type folder struct {
	file    string
	release release.Release
	plan    plan.Signed
	audit   []byte
}

// wrong names the release's file in an error.
func (f folder) wrong(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", f.file, err)
	}
	return err
}

// open reads a release and its plan from a folder, or from beside the JSON file in it. It writes no words.
func open(path string) (f folder, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, release.JSONFile)
	}
	f.file = path
	var texts [][]byte // of the release, its plan twice, its audit
	for _, file := range []string{path, nextTo(path, verify.SignedFile), nextTo(path, verify.PlanFile), nextTo(path, release.AuditFile)} {
		text, err := atomicfile.Read(file)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && file == path:
			return f, fmt.Errorf("there is no release at %s: name its folder or its %s", path, release.JSONFile)
		case err != nil && !missing:
			return f, err
		}
		texts = append(texts, text)
	}
	if f.release, err = release.Read(bytes.NewReader(texts[0])); err == nil { // before its plan is missed
		f.plan, err = Plan(texts[1], texts[2])
	}
	f.audit = texts[3]
	return f, f.wrong(err)
}

func nextTo(path, name string) string { return filepath.Join(filepath.Dir(path), name) }

// Private reads what stands beside a release of private records: its plan, the public state that this names, from a file of
// its own or, without a name, from the folder, and the sheet.
func Private(dir, file string) (p plan.Plan, state, sheet []byte, err error) {
	written, err := atomicfile.Read(filepath.Join(dir, verify.PlanFile))
	if err == nil {
		p, err = author.Parse(written)
	}
	if err != nil {
		return p, nil, nil, err
	}
	if file == "" {
		file = filepath.Join(dir, verify.StateFile)
	}
	if p.State != "" {
		if state, err = atomicfile.Read(file); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: the clusters or the encoder that the plan names is not there: name it with --state", file)
		}
		if err != nil {
			return p, nil, nil, err
		}
	}
	if sheet, err = atomicfile.Read(filepath.Join(dir, sheets.CountsFile)); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: the release has no %s: it is no release of private records, or nothing was released", dir, sheets.CountsFile)
	}
	return p, state, sheet, err
}

// SaveState puts the public state that a plan names beside its release, as one that was fetched has it.
func SaveState(dir string, state []byte) error {
	return atomicfile.Replace(filepath.Join(dir, verify.StateFile), state, 0o644)
}
