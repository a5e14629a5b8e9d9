// Package witness cosigns a public log once it has seen that the log only grows (c2sp.org/tlog-witness). Used by
// internal/service/shufflerd, so that whoever runs a hop watches the log.
package witness

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/transparency-dev/formats/log"
	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// maxRequest bounds a request: 63 hashes and a checkpoint, in bytes.
const maxRequest = plan.MaxEvidenceBytes

// Witness cosigns the checkpoints of one log. It is safe for concurrent use.
type Witness struct {
	log  note.Verifier
	key  *cosignature.Signer
	path string

	mu   sync.Mutex
	last log.Checkpoint // that it has cosigned; of size 0 before the first
}

// Settings are those of a witness in a service's configuration.
type Settings struct {
	Log  string     `toml:"log" or:"log.example/plans+5d5bb2a4+AXY1Tm90IGEga2V5LCBhbiBleGFtcGxlIG9mIGEga2V5" help:"A public log of plans whose checkpoints the operator cosigns: its key (confetti log show). None without it."`
	Name string     `toml:"name" or:"hop.example" help:"Under which name, and with which of the folder of keys, a public key of receipts."`
	Key  string     `toml:"key" or:"ed25519:3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"`
	File serve.Path `toml:"file" or:"cosigned" help:"The last checkpoint that was cosigned. If it is lost for good, take another key and name."`
}

// Open returns the witness that the settings name; nil if there is none.
func (s Settings) Open(keys string) (*Witness, error) {
	if s == (Settings{}) {
		return nil, nil
	}
	if s.Log == "" || s.File == "" {
		return nil, errors.New("set all of log, name, key and file")
	}
	key, err := serve.SigningKey(keys, s.Key)
	if err != nil {
		return nil, err
	}
	return Open(s.Log, key, s.Name, string(s.File))
}

// Open takes up what an earlier process has cosigned. The log's key is a verifier key,
// key the witness's own, which signs under the name, and path a file of its own. A
// file that is lost or put back as it was earlier would let the log fork unseen.
func Open(logKey string, key relay.SignKey, name, path string) (*Witness, error) {
	w := &Witness{path: path}
	var err error
	if w.log, err = note.NewVerifier(logKey); err != nil {
		return nil, errors.New("witness: the log's key is no verifier key such as confetti log show prints")
	}
	private, err := key.Note(name)
	if err != nil {
		return nil, err
	}
	if w.key, err = cosignature.NewSignerForCosignatureV1(private); err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err == nil {
		_, err = w.parse(text, &w.last)
	}
	if err != nil {
		return nil, fmt.Errorf("witness: %s, the last checkpoint that was cosigned: %w: put it back as it was; if it is lost for good, take a new key with a new name", path, err)
	}
	return w, nil
}

// parse reads a checkpoint that the log has signed.
func (w *Witness) parse(text []byte, into *log.Checkpoint) (*note.Note, error) {
	c, rest, signed, err := log.ParseCheckpoint(text, w.log.Name(), w.log)
	switch {
	case err != nil:
		return nil, errors.New("it is not signed by the log")
	case len(rest) > 0 || len(c.Hash) != tlog.HashSize || c.Size > 1<<62:
		return nil, errors.New("it has more than an origin, a size and a root")
	}
	*into = *c
	return signed, nil
}

// request is what a log asks: to cosign a checkpoint that follows one of size old.
type request struct {
	old        uint64
	proof      tlog.TreeProof
	checkpoint []byte
}

var errRequest = errors.New(`the body is not "old SIZE", the lines of a proof of consistency, an empty line and a checkpoint`)

func parseRequest(body []byte) (request, error) {
	head, checkpoint, found := bytes.Cut(body, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	size, is := strings.CutPrefix(lines[0], "old ")
	old, err := strconv.ParseUint(size, 10, 62)
	if !found || !is || err != nil || strconv.FormatUint(old, 10) != size || len(lines) > 64 {
		return request{}, errRequest
	}
	r := request{old: old, checkpoint: checkpoint}
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != tlog.HashSize {
			return request{}, errRequest
		}
		r.proof = append(r.proof, tlog.Hash(h))
	}
	return r, nil
}

// conflict is that the log and its witness do not agree on what was cosigned last.
type conflict struct{ size uint64 }

func (c conflict) Error() string {
	return fmt.Sprintf("the last that was cosigned has %d entries", c.size)
}

var (
	errUnknown      = errors.New("another log than is witnessed here, or not signed by it")
	errInconsistent = errors.New("the proof does not show that the log has only grown")
	errOld          = errors.New("the checkpoint is older than what it is said to follow")
)

// cosign returns the line of the witness's signature, once what it has seen is on disk.
func (w *Witness) cosign(r request) ([]byte, error) {
	var next log.Checkpoint
	signed, err := w.parse(r.checkpoint, &next)
	if err != nil {
		return nil, errUnknown
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r.old > next.Size:
		return nil, errOld
	case r.old != w.last.Size:
		return nil, conflict{w.last.Size}
	case r.old == next.Size && w.last.Hash != nil && !bytes.Equal(next.Hash, w.last.Hash):
		return nil, conflict{w.last.Size}
	case !follows(w.last, next, r.proof):
		return nil, errInconsistent
	}
	if err := atomicfile.Replace(w.path, r.checkpoint, 0o600); err != nil {
		return nil, err
	}
	w.last = next
	text, err := note.Sign(&note.Note{Text: signed.Text}, w.key)
	if err != nil {
		return nil, err
	}
	return text[len(signed.Text)+1:], nil // the signatures alone
}

// follows says whether the proof shows that the later log begins with the earlier one.
func follows(earlier, later log.Checkpoint, proof tlog.TreeProof) bool {
	if earlier.Size == 0 || earlier.Size == later.Size {
		return len(proof) == 0
	}
	return tlog.CheckTree(proof, int64(later.Size), tlog.Hash(later.Hash), int64(earlier.Size), tlog.Hash(earlier.Hash)) == nil
}

// Routes returns the path of a witness, for serve.Config. The log's signature is the
// authentication.
func (w *Witness) Routes() map[string]serve.Handler {
	return map[string]serve.Handler{wire.WitnessPattern: w.answer}
}

// answer has the statuses that c2sp.org/tlog-witness gives.
func (w *Witness) answer(out http.ResponseWriter, in *http.Request) error {
	body, err := serve.ReadBody(out, in, maxRequest)
	if err != nil {
		return err
	}
	r, err := parseRequest(body)
	if err != nil {
		return wire.Problemf(wire.BadRequest, "%w", err)
	}
	line, err := w.cosign(r)
	if c, ok := errors.AsType[conflict](err); ok {
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		fmt.Fprintln(out, c.size)
		return nil
	}
	switch {
	case errors.Is(err, errUnknown):
		return wire.Problemf(wire.NotFound, "%w", err)
	case errors.Is(err, errInconsistent):
		return wire.Problemf(wire.PlanRefused, "%w", err)
	case errors.Is(err, errOld):
		return wire.Problemf(wire.BadRequest, "%w", err)
	case err != nil:
		return err
	}
	out.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = out.Write(line)
	return err
}
