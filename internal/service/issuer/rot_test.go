package issuer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/token"
)

// rotten is what a test does to a file of a stopped issuer: nil is a file that is gone.
type rotten struct {
	file  string // of filepath.Glob
	spoil func([]byte) []byte
	want  string // of the refusal to start; "" where the damage can be mended
	said  string // of the log
}

func flip(share float64) func([]byte) []byte {
	return func(b []byte) []byte {
		b = bytes.Clone(b)
		b[int(share*float64(len(b)-1))] ^= 0xff
		return b
	}
}

func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

func empty([]byte) []byte { return []byte{} }

func gone([]byte) []byte { return nil }

// Whatever a disk does to a file of the issuer while it is stopped: it refuses to
// start, and says which file it is and what to do, or everybody who has a token is
// still known.
func TestRot(t *testing.T) {
	const shelf = shelves.InFolder + "/" + shelfPrefix + "*"
	for name, c := range map[string]rotten{
		"the title is changed":       {file: shelf + ".rows", spoil: flip(0), want: "end the plan"},
		"one in the middle":          {file: shelf + ".rows", spoil: flip(0.7), want: "end the plan"},
		"the last one":               {file: shelf + ".rows", spoil: flip(0.99), want: "end the plan"},
		"a length":                   {file: shelf + ".rows", spoil: flipAtLength, want: "end the plan"},
		"the last byte is gone":      {file: shelf + ".rows", spoil: cut(1), want: "end the plan"},
		"the last marks are gone":    {file: shelf + ".rows", spoil: cut(150), want: "end the plan"},
		"there are none":             {file: shelf + ".rows", spoil: empty, want: "end the plan"},
		"the marks are gone":         {file: shelf + ".rows", spoil: gone, want: "end the plan"},
		"a piece of a write follows": {file: shelf + ".rows", spoil: func(b []byte) []byte { return append(bytes.Clone(b), 0, 0, 0, 200, 7) }, said: "was cut off"},
		"their key is changed":       {file: shelf + ".key", spoil: flip(0.5), want: "end the plan"},
		"their key is gone":          {file: shelf + ".key", spoil: gone, want: "end the plan"},
		"how far they were is half":  {file: shelf + ".check", spoil: flip(0.1)},
		"and not known":              {file: shelf + ".check", spoil: empty, want: "end the plan"},
		"nor there":                  {file: shelf + ".check", spoil: gone, want: "end the plan"},
		"what is there is changed":   {file: shelves.InFolder + "/main.rows", spoil: flip(0.9), want: "end the plan"},
		"what is there is gone":      {file: shelves.InFolder + "/main.rows", spoil: gone, want: "end the plan"},
		"its key is changed":         {file: shelves.InFolder + "/main.key", spoil: flip(0.5), want: "end the plan"},
		"its key is gone":            {file: shelves.InFolder + "/main.key", spoil: gone, want: "end the plan"},
		"plans and claims are short": {file: shelves.InFolder + "/main.rows", spoil: cut(1), want: "end the plan"},
	} {
		t.Run(name, func(t *testing.T) { testRot(t, c) })
	}
}

func flipAtLength(b []byte) []byte {
	b = bytes.Clone(b)
	at := bytes.IndexByte(b, '\n') + 1
	binary.BigEndian.PutUint32(b[at:], 1<<20)
	return b
}

func testRot(t *testing.T, c rotten) {
	w := newWorld(t)
	var said bytes.Buffer
	w.options.Log = slog.New(slog.NewTextHandler(&said, nil))
	asks, _ := w.ask(token.Seed{1})
	other, _ := w.ask(token.Seed{2})
	for _, who := range []string{"alice", "bob"} {
		if _, p := w.issue(who, asks); p != nil {
			t.Fatal(p)
		}
	}
	if err := w.service.Close(); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(w.options.Folder, c.file))
	if err != nil || len(paths) == 0 {
		t.Fatal("no such file", err)
	}
	path := paths[0]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bad := c.spoil(text); bad == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, bad, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := disk(t, w.options.Folder)
	service, err := New(w.options)
	if c.want != "" {
		if err == nil { // the plan alone is not served, and an alarm says why
			err = errors.New(strings.Join(service.Status(t.Context()).Alarms, "\n"))
			if _, serves := service.plans.Find(w.plan.Hash()); serves {
				t.Error("it serves the plan")
			}
			service.Close()
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), strings.TrimPrefix(filepath.Ext(path), ".")) {
			t.Errorf("it says: %v", err)
		}
		if after := disk(t, w.options.Folder); after != before {
			t.Error("it changed the folder that it refused")
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if service, err = New(w.options); err != nil {
			t.Fatal("put back as it was: ", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	service.Close()
	w.open()
	if !strings.Contains(said.String(), c.said) {
		t.Errorf("the log says %q", said.String())
	}
	if err := w.service.Load(w.signed); err != nil { // again, if its file was gone
		t.Fatal(err)
	}
	for _, who := range []string{"alice", "bob"} {
		if _, p := w.issue(who, other); p == nil {
			t.Errorf("%s got a second token", who)
		}
		if _, p := w.issue(who, asks); p != nil {
			t.Errorf("%s did not get the answer again: %v", who, p)
		}
	}
}

// disk is all that a folder holds.
func disk(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
