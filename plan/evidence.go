package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Log says in which public log a plan and its release must stand before a party takes it, and who must
// have seen the log as it was then. Whoever shows a plan to one device alone needs the
// log's key and those of so many witnesses.
type Log struct {
	Key       string   // verifier key of the log, NAME+HASH+KEY as in signed notes; "": none is asked for
	Witnesses []string // verifier keys of those who sign what the log is, likewise (cosignature/v1)
	Least     int      // how many of them must have; 0 is all
}

// maxWitnesses bounds the witnesses of a log.
const maxWitnesses = 32

// Evidence is that a signed plan stands in a log: an inclusion proof and a checkpoint
// that the log and its witnesses have signed.
type Evidence struct {
	Index      int64       // of the entry in the log, from 0
	Proof      []tlog.Hash // from the entry to the tree's root
	Checkpoint string      // a signed note: origin, size and root, and signatures
}

// Evidence stands behind a signed plan as its last member, a string in the form of a
// tlog-proof:
//
//	c2sp.org/tlog-proof@v1
//	index 73894
//	HASH
//	...
//
//	CHECKPOINT
//
// Hashes are base64. No signature is over it, and the plan's name does not depend on it.
const (
	evidenceBegins = `,"evidence":`
	proofFormat    = "c2sp.org/tlog-proof@v1"

	// MaxEvidenceBytes bounds its text in a signed plan.
	MaxEvidenceBytes = 16 << 10
)

var errEvidence = errors.New("plan: the evidence behind the signed plan is not a tlog-proof in its one form: fetch the plan again, or have the log give its evidence anew")

// NotLoggedError is a plan, or a release, of which it is not shown that it stands in the
// log that a party asks for.
type NotLoggedError struct{ why string }

// Error says what is missing.
func (e *NotLoggedError) Error() string {
	return "plan: " + e.why + ": it may be shown to you alone; have the publisher put the plan into the log (confetti log add), and the analyzer its release (log in its configuration)"
}

func notLogged(format string, a ...any) error { return &NotLoggedError{fmt.Sprintf(format, a...)} }

// Entry returns the entry of a signed plan in a log: its name, and the SHA-256 of its text
// without evidence. A log keeps the texts beside its entries.
func (s Signed) Entry() []byte {
	s.Evidence = nil
	return entry(s.Plan.Hash(), s.Marshal())
}

func entry(name [32]byte, text []byte) []byte {
	return Entry{Plan: name, Digest: sha256.Sum256(text)}.Marshal()
}

// Entry is what stands in a log: of a plan, of its release, or of its withdrawal.
type Entry struct {
	Kind   string   // ReleaseEntry, WithdrawalEntry; "": of a plan
	Plan   [32]byte // its name
	Digest [32]byte // SHA-256 of the signed plan without evidence, of the release's receipts, which name its files, or of the signed withdrawal
}

// The kinds of entries that stand behind that of their plan.
const (
	ReleaseEntry    = "release"
	WithdrawalEntry = "withdrawal"

	planEntry = "plan"
)

// Marshal writes the entry's one form.
func (e Entry) Marshal() []byte {
	return fmt.Appendf(nil, "confetti/log/v1\n%s %x %x\n", cmp.Or(e.Kind, planEntry), e.Plan, e.Digest)
}

// ParseEntry reads what Marshal writes.
func ParseEntry(text []byte) (Entry, error) {
	var of string
	var name, digest []byte
	if _, err := fmt.Sscanf(string(text), "confetti/log/v1\n%s %x %x\n", &of, &name, &digest); err == nil && len(name) == 32 && len(digest) == 32 {
		e := Entry{of, [32]byte(name), [32]byte(digest)}
		if of == planEntry {
			e.Kind = ""
		}
		if slices.Contains([]string{"", ReleaseEntry, WithdrawalEntry}, e.Kind) && bytes.Equal(text, e.Marshal()) {
			return e, nil
		}
	}
	return Entry{}, errors.New("plan: not an entry of a log of plans")
}

// Verify reports that the evidence does not show the entry to stand in the log. The
// error is a *NotLoggedError. A log that asks for nothing is content with none.
func (l Log) Verify(entry []byte, e *Evidence) error {
	if l.Key == "" {
		return nil
	}
	if e == nil {
		return notLogged("there is no evidence that it stands in a log, and one is asked for here")
	}
	checkpoint, _, err := l.Open(e.Checkpoint)
	if err != nil {
		return err
	}
	hash := tlog.RecordHash(entry)
	if checkpoint.Size > 1<<62 || len(checkpoint.Hash) != len(hash) ||
		tlog.CheckRecord(e.Proof, int64(checkpoint.Size), tlog.Hash(checkpoint.Hash), e.Index, hash) != nil {
		return notLogged("its evidence is of another plan, or was changed on its way")
	}
	return nil
}

// Open reads a checkpoint that the log and enough of its witnesses have signed. The error
// is a *NotLoggedError.
func (l Log) Open(text string) (*log.Checkpoint, note.Verifier, error) {
	key, witnesses, err := l.verifiers()
	if err != nil {
		return nil, nil, err
	}
	checkpoint, _, signed, err := log.ParseCheckpoint([]byte(text), key.Name(), key, witnesses...)
	if err != nil {
		return nil, nil, notLogged("the log that is asked for here, %s, has not signed its checkpoint", key.Name())
	}
	if seen, least := len(signed.Sigs)-1, l.Cosigned(); seen < least {
		return nil, nil, notLogged("%d of the witnesses who are trusted here have signed its checkpoint, and %d are needed", seen, least)
	}
	return checkpoint, key, nil
}

// Cosigned returns how many witnesses must have signed what the log is.
func (l Log) Cosigned() int {
	if l.Least == 0 {
		return len(l.Witnesses)
	}
	return l.Least
}

// verifiers returns those of the log and of its witnesses. A checkpoint is opened with all of
// them: each signs once, and those of others are passed over.
func (l Log) verifiers() (key note.Verifier, witnesses []note.Verifier, err error) {
	if key, err = note.NewVerifier(l.Key); err != nil {
		return nil, nil, fmt.Errorf("plan: the log's key is no verifier key such as confetti log show prints")
	}
	for _, text := range l.Witnesses {
		w, err := parseCosigner(text)
		if err != nil {
			return nil, nil, fmt.Errorf("plan: the key of a witness is no verifier key of cosignatures such as confetti log show prints")
		}
		witnesses = append(witnesses, w)
	}
	return key, witnesses, nil
}

// Marshal writes the one form of a tlog-proof.
func (e Evidence) Marshal() []byte {
	b := fmt.Appendf(nil, "%s\nindex %d\n", proofFormat, e.Index)
	for _, h := range e.Proof {
		b = fmt.Appendln(b, h)
	}
	return append(append(b, '\n'), e.Checkpoint...)
}

// ParseEvidence reads what Marshal writes, strictly. It verifies nothing.
func ParseEvidence(text []byte) (*Evidence, error) {
	head, checkpoint, found := strings.Cut(string(text), "\n\n")
	lines := strings.Split(head, "\n")
	if len(text) > MaxEvidenceBytes || !found || len(lines) < 2 || len(lines) > 2+64 {
		return nil, errEvidence
	}
	number, _ := strings.CutPrefix(lines[1], "index ")
	index, err := strconv.ParseInt(number, 10, 64)
	if err != nil || index < 0 {
		return nil, errEvidence
	}
	e := &Evidence{Index: index, Checkpoint: checkpoint}
	for _, line := range lines[2:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != tlog.HashSize {
			return nil, errEvidence
		}
		e.Proof = append(e.Proof, tlog.Hash(h))
	}
	for line := range strings.Lines(checkpoint) {
		// Whoever opens a note passes over the last bits of a signature.
		if _, sum, is := strings.Cut(strings.TrimPrefix(line, "— "), " "); is {
			if _, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(sum, "\n")); err != nil {
				return nil, errEvidence
			}
		}
	}
	if !bytes.Equal(e.Marshal(), text) {
		return nil, errEvidence
	}
	return e, nil
}

// appendEvidence writes it behind a signed plan, before the brace that closes that.
func appendEvidence(b []byte, e *Evidence) []byte {
	if e == nil {
		return b
	}
	text, err := json.Marshal(string(e.Marshal()))
	if err != nil {
		panic("plan: " + err.Error()) // strings always encode
	}
	return append(append(b, evidenceBegins...), text...)
}

// splitEvidence sets it apart from what stands before it, which is searched for in the
// last bytes alone. The brace that closes the signed plan is not in the text.
func splitEvidence(text []byte) (rest []byte, e *Evidence, err error) {
	from := max(0, len(text)-MaxEvidenceBytes)
	// No member of a plan has the name, and in its strings a quotation mark is escaped.
	at := bytes.LastIndex(text[from:], []byte(evidenceBegins))
	if at < 0 {
		return text, nil, nil
	}
	at += from
	var proof string
	if json.Unmarshal(text[at+len(evidenceBegins):], &proof) != nil {
		return nil, nil, errEvidence
	}
	if e, err = ParseEvidence([]byte(proof)); err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(appendEvidence(nil, e), text[at:]) {
		return nil, nil, errEvidence
	}
	return text[:at], e, nil
}

// line reads a line of a file of publishers, if it is one of a log.
func (l *Log) line(text string) (ours bool, err error) {
	word, value, _ := strings.Cut(text, " ")
	switch word {
	case "log":
		if l.Key != "" {
			return true, errors.New("names another log: one is asked for")
		}
		l.Key = value
	case "witness":
		if l.Witnesses = append(l.Witnesses, value); len(l.Witnesses) > maxWitnesses {
			return true, fmt.Errorf("is one witness too many: %d fit", maxWitnesses)
		}
	case "witnesses":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxWitnesses || strconv.Itoa(n) != value || l.Least > 0 {
			return true, fmt.Errorf("does not say, once, how many witnesses are needed, 1 to %d", maxWitnesses)
		}
		l.Least = n
		return true, nil
	default:
		return false, nil
	}
	return true, l.check()
}

// check reports keys that are none, and two of one name: signatures are found by it.
func (l Log) check() error {
	if l.Key == "" {
		return errors.New("names a witness before its log")
	}
	key, witnesses, err := l.verifiers()
	if err != nil {
		return err
	}
	names := map[string]bool{key.Name(): true}
	for _, w := range witnesses {
		if names[w.Name()] {
			return fmt.Errorf("has the name %s, which another key has", w.Name())
		}
		names[w.Name()] = true
	}
	return nil
}

// appendLines writes the lines of a file of publishers.
func (l Log) appendLines(b []byte) []byte {
	if l.Key == "" {
		return b
	}
	b = fmt.Appendf(b, "log %s\n", l.Key)
	for _, w := range l.Witnesses {
		b = fmt.Appendf(b, "witness %s\n", w)
	}
	if l.Least > 0 {
		b = fmt.Appendf(b, "witnesses %d\n", l.Least)
	}
	return b
}
