package plan

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transparency-dev/formats/note"
	sumdb "golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// The vectors outlive the code: do not write them anew to make a test pass.
//
//	go test ./plan -run TestEvidenceVectors -write-evidence
var writeEvidence = flag.Bool("write-evidence", false, "write testdata/vectors/v2/evidence.json anew")

// evidenceVectors are what a log of seven entries, of which the fifth is the golden signed plan,
// and its witnesses say of it.
type evidenceVectors struct {
	Signed    string           `json:"signed"` // the plan, without evidence
	Log       string           `json:"log"`
	Witnesses []string         `json:"witnesses"` // two, of which the second's key is in the form of a note's
	Other     string           `json:"other"`     // the key of another log, and witness, of nobody's
	Cases     []evidenceVector `json:"cases"`
}

type evidenceVector struct {
	Comment  string `json:"comment"`
	Evidence string `json:"evidence"` // the text of a tlog-proof
	Least    int    `json:"least"`    // of the two witnesses; 0: all
	Good     bool   `json:"good"`
}

var evidencePath = filepath.Join("testdata", "vectors", "v2", "evidence.json")

func makeEvidenceVectors(t *testing.T) evidenceVectors {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join("testdata", "vectors", "v2", "signed.json"))
	must(err)
	signed, err := ParseSigned([]byte(strings.TrimSpace(string(text))))
	must(err)
	v := evidenceVectors{Signed: string(signed.Marshal())}
	secret := func(name string) (sumdb.Signer, string, string) {
		private, public, err := sumdb.GenerateKey(nil, name)
		must(err)
		s, err := sumdb.NewSigner(private)
		must(err)
		return s, private, public
	}
	log, _, logKey := secret("log.example/plans")
	other, _, otherKey := secret("log.example/other")
	_, first, firstKey := secret("witness.example/one")
	_, second, secondKey := secret("witness.example/two")
	v.Log, v.Other = logKey, otherKey
	firstCosigner, err := note.VKeyToCosignatureV1(firstKey)
	must(err)
	v.Witnesses = []string{firstCosigner, secondKey}
	cosigner := func(private string) sumdb.Signer {
		s, err := note.NewSignerForCosignatureV1(private)
		must(err)
		return s
	}
	one, two := cosigner(first), cosigner(second)

	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var all []tlog.Hash
		for _, i := range indexes {
			all = append(all, stored[i])
		}
		return all, nil
	})
	const size, index = 7, 4
	for i := range int64(size) {
		entry := fmt.Appendf(nil, "another entry, %d\n", i)
		if i == index {
			entry = signed.Entry()
		}
		hashes, err := tlog.StoredHashes(i, entry, reader)
		must(err)
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(size, reader)
	must(err)
	proof, err := tlog.ProveRecord(size, index, reader)
	must(err)
	checkpoint := func(origin string, size int64, root tlog.Hash, extra string, signers ...sumdb.Signer) string {
		text, err := sumdb.Sign(&sumdb.Note{Text: fmt.Sprintf("%s\n%d\n%s\n%s", origin, size, root, extra)}, signers...)
		must(err)
		return string(text)
	}
	good := Evidence{Index: index, Proof: proof, Checkpoint: checkpoint(log.Name(), size, root, "", log, one, two)}
	add := func(comment string, least int, ok bool, e Evidence) {
		v.Cases = append(v.Cases, evidenceVector{comment, string(e.Marshal()), least, ok})
	}
	with := func(change func(e *Evidence)) Evidence {
		e := good
		e.Proof = append([]tlog.Hash{}, good.Proof...)
		change(&e)
		return e
	}
	add("all have signed", 0, true, good)
	add("with a line of the log's own", 0, true, with(func(e *Evidence) { e.Checkpoint = checkpoint(log.Name(), size, root, "more\n", log, one, two) }))
	add("with the signature of a stranger too", 0, true, with(func(e *Evidence) { e.Checkpoint = checkpoint(log.Name(), size, root, "", log, other, one, two) }))
	oneSigned := with(func(e *Evidence) { e.Checkpoint = checkpoint(log.Name(), size, root, "", log, one) })
	add("one witness of one", 1, true, oneSigned)
	add("one witness of two", 0, false, oneSigned)
	add("no witness", 1, false, with(func(e *Evidence) { e.Checkpoint = checkpoint(log.Name(), size, root, "", log) }))
	add("not the log", 0, false, with(func(e *Evidence) { e.Checkpoint = checkpoint(log.Name(), size, root, "", one, two) }))
	add("another log", 0, false, with(func(e *Evidence) { e.Checkpoint = checkpoint(other.Name(), size, root, "", other, one, two) }))
	add("the origin of another log", 0, false, with(func(e *Evidence) { e.Checkpoint = checkpoint(other.Name(), size, root, "", log, one, two) }))
	add("another index", 0, false, with(func(e *Evidence) { e.Index = 3 }))
	add("an index behind the end", 0, false, with(func(e *Evidence) { e.Index = size }))
	add("another size", 0, false, with(func(e *Evidence) { e.Checkpoint = checkpoint(log.Name(), size+9, root, "", log, one, two) }))
	add("another root", 0, false, with(func(e *Evidence) { e.Checkpoint = checkpoint(log.Name(), size, tlog.Hash{1}, "", log, one, two) }))
	add("a hash too few", 0, false, with(func(e *Evidence) { e.Proof = e.Proof[1:] }))
	add("a hash too many", 0, false, with(func(e *Evidence) { e.Proof = append(e.Proof, tlog.Hash{}) }))
	add("another hash", 0, false, with(func(e *Evidence) { e.Proof[0][5] ^= 1 }))
	add("a changed checkpoint", 0, false, with(func(e *Evidence) { e.Checkpoint = strings.Replace(e.Checkpoint, "\n7\n", "\n8\n", 1) }))
	flip := func(name string) Evidence {
		return with(func(e *Evidence) {
			begins := strings.Index(e.Checkpoint, name+" ") + len(name) + 1
			line, _, _ := strings.Cut(e.Checkpoint[begins:], "\n")
			raw, err := base64.StdEncoding.DecodeString(line)
			must(err)
			raw[len(raw)-9] ^= 1
			e.Checkpoint = strings.Replace(e.Checkpoint, line, base64.StdEncoding.EncodeToString(raw), 1)
		})
	}
	add("a changed signature of the log", 1, false, flip("plans"))
	add("a changed signature of a witness", 1, false, flip("one"))
	raw := func(comment, text string) { v.Cases = append(v.Cases, evidenceVector{comment, text, 0, false}) }
	whole := string(good.Marshal())
	raw("nothing", "")
	raw("another format", strings.Replace(whole, "@v1", "@v2", 1))
	raw("no index", strings.Replace(whole, "index 4\n", "", 1))
	raw("an index with a zero before it", strings.Replace(whole, "index 4", "index 04", 1))
	raw("a negative index", strings.Replace(whole, "index 4", "index -4", 1))
	raw("no blank line", strings.Replace(whole, "\n\n", "\n", 1))
	raw("a hash that is none", strings.Replace(whole, "index 4\n", "index 4\nAAAA\n", 1))
	raw("cut off", whole[:len(whole)-1])
	raw("too long", whole+strings.Repeat("x", MaxEvidenceBytes))
	return v
}

// Evidence of all kinds is taken or refused as the vectors say, which the library of witnesses
// has signed, and web/wire reads too.
func TestEvidenceVectors(t *testing.T) {
	if *writeEvidence {
		text, err := json.MarshalIndent(makeEvidenceVectors(t), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(evidencePath, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(evidencePath)
	if err != nil {
		t.Fatal(err)
	}
	var v evidenceVectors
	if err := json.Unmarshal(text, &v); err != nil || len(v.Cases) < 25 {
		t.Fatal(len(v.Cases), err)
	}
	signed, err := ParseSigned([]byte(v.Signed))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Cases {
		l := Log{Key: v.Log, Witnesses: v.Witnesses, Least: c.Least}
		e, err := ParseEvidence([]byte(c.Evidence))
		if err == nil {
			err = l.Verify(signed.Entry(), e)
		}
		if (err == nil) != c.Good {
			t.Errorf("%s: %v", c.Comment, err)
		}
		if other := (Log{Key: v.Other}); e != nil && other.Verify(signed.Entry(), e) == nil && c.Comment != "another log" {
			t.Errorf("%s: another log is content", c.Comment)
		}
		if e != nil && c.Good && l.Verify(entry([32]byte{1}, nil), e) == nil {
			t.Errorf("%s: it is of another entry too", c.Comment)
		}
	}
}
