package witness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	os.Exit(m.Run())
}

// tree is a log in memory.
type tree struct {
	t      testing.TB
	signer note.Signer
	hashes []tlog.Hash
	n      int64
}

func (l *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		found[i] = l.hashes[at]
	}
	return found, nil
}

func (l *tree) add(entry string) {
	hashes, err := tlog.StoredHashes(l.n, []byte(entry), l)
	if err != nil {
		l.t.Fatal(err)
	}
	l.hashes, l.n = append(l.hashes, hashes...), l.n+1
}

// checkpoint is what the log was with n entries.
func (l *tree) checkpoint(n int64) []byte {
	root, err := tlog.TreeHash(n, l)
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := note.Sign(&note.Note{Text: string(log.Checkpoint{Origin: l.signer.Name(), Size: uint64(n), Hash: root[:]}.Marshal())}, l.signer)
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

// grown is the request of a log that had old entries and has n.
func (l *tree) grown(old, n int64) []byte {
	body := fmt.Appendf(nil, "old %d\n", old)
	if 0 < old && old < n {
		proof, err := tlog.ProveTree(n, old, l)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, h := range proof {
			body = fmt.Appendln(body, h)
		}
	}
	return append(append(body, '\n'), l.checkpoint(n)...)
}

// watched is a log and a witness of it.
func watched(t testing.TB) (*tree, func() (*Witness, error)) {
	own, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := own.Note("log.example")
	if err != nil {
		t.Fatal(err)
	}
	public, err := own.Public().Note("log.example")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "checkpoint")
	return &tree{t: t, signer: signer}, func() (*Witness, error) { return Open(public, key, "hop.example", path) }
}

// must is the witness that an earlier process left.
func must(w *Witness, err error) *Witness {
	if err != nil {
		panic(err)
	}
	return w
}

func ask(w *Witness, body []byte) error {
	r, err := parseRequest(body)
	if err == nil {
		_, err = w.cosign(r)
	}
	return err
}

// From every size to every larger one, across starts: what has only grown is signed.
func TestALogThatOnlyGrowsIsCosigned(t *testing.T) {
	for old := range int64(20) {
		for n := old; n < 20; n++ {
			l, open := watched(t)
			for i := range n {
				l.add(fmt.Sprint(i))
			}
			if err := ask(must(open()), l.grown(0, old)); err != nil {
				t.Fatalf("to %d: %v", old, err)
			}
			w := must(open())
			if err := ask(w, l.grown(old, n)); err != nil {
				t.Fatalf("from %d to %d: %v", old, n, err)
			}
			if err := ask(w, l.grown(n, n)); err != nil {
				t.Errorf("%d again: %v", n, err)
			}
		}
	}
}

func TestAnotherHistoryIsRefused(t *testing.T) {
	l, open := watched(t)
	other := &tree{t: t, signer: l.signer}
	for i := range 8 {
		l.add(fmt.Sprint(i))
		other.add(fmt.Sprint(min(i, 4))) // parts from it after the fifth
	}
	w := must(open())
	if err := ask(w, l.grown(0, 7)); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		body []byte
		want error
	}{
		"a fork of a larger size":       {other.grown(7, 8), errInconsistent},
		"a fork of the same size":       {other.grown(7, 7), conflict{7}},
		"from an earlier size":          {l.grown(5, 8), conflict{7}},
		"from nothing":                  {other.grown(0, 8), conflict{7}},
		"an older one":                  {append([]byte("old 7\n\n"), l.checkpoint(6)...), errOld},
		"without a proof":               {append([]byte("old 7\n\n"), l.checkpoint(8)...), errInconsistent},
		"of another log":                {bytes.Replace(l.grown(7, 8), []byte("log.example\n"), []byte("log.example/2\n"), 1), errUnknown},
		"not signed":                    {bytes.Replace(l.grown(7, 8), []byte("\n8\n"), []byte("\n9\n"), 1), errUnknown},
		"no request":                    {[]byte("old 7\n"), errRequest},
		"a number in another form":      {append([]byte("old 07\n\n"), l.checkpoint(8)...), errRequest},
		"a proof that is no line of it": {append([]byte("old 7\n?\n\n"), l.checkpoint(8)...), errRequest},
		"a proof of too many lines":     {append(append([]byte("old 7\n"), bytes.Repeat([]byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"), 64)...), append([]byte("\n"), l.checkpoint(8)...)...), errRequest},
	} {
		if err := ask(w, c.body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if err := ask(must(open()), l.grown(7, 8)); err != nil {
		t.Error("the log as it is, after all that: ", err)
	}
}

// A file that is not what was cosigned does not start anew.
func TestADamagedFileIsRefused(t *testing.T) {
	l, open := watched(t)
	l.add("one")
	w := must(open())
	if err := ask(w, l.grown(0, 1)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	for what, bad := range map[string][]byte{"empty": {}, "cut": text[:len(text)/2], "changed": bytes.Replace(text, []byte("\n1\n"), []byte("\n2\n"), 1)} {
		if err := os.WriteFile(w.path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(); err == nil {
			t.Errorf("%s: it starts", what)
		} else if !strings.Contains(err.Error(), w.path) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(w.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(); err != nil {
		t.Error("put back as it was: ", err)
	}
}

func FuzzRequest(f *testing.F) {
	l, open := watched(f)
	for i := range 5 {
		l.add(fmt.Sprint(i))
	}
	w := must(open())
	for old := range int64(5) {
		f.Add(l.grown(old, 5))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var r request
		var err error
		costlimit.Heap(t, costlimit.Factor, len(body), func() { r, err = parseRequest(body) })
		if err != nil {
			return
		}
		if len(r.proof) > 63 {
			t.Error("a proof of more hashes than any has")
		}
		before := w.last.Size
		if _, err := w.cosign(r); err == nil && w.last.Size < before {
			t.Error("it has signed that the log shrank")
		}
	})
}
