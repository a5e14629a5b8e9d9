package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"syscall"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// CoverTag tags cover in an inbox. A contribution is tagged with the number of its crowd, which is lower.
const CoverTag = 1<<32 - 1

// MaxCovers is how many covers of one respondent an epoch keeps, in one run of each
// process of the service: they take as much disk as answers.
const MaxCovers = 16

// respondentKey returns where a respondent's contribution lies. Its 128 bits: among 2^32
// respondents two share a key with probability 2^-65.
func respondentKey(r serve.Respondent) [16]byte { return [16]byte(r[:16]) }

// coverKey returns where a respondent's cover lies: like no respondent's key.
func coverKey(r serve.Respondent, id [32]byte) [16]byte {
	sum := sha256.Sum256(append(append([]byte("confetti/cover key"), r[:]...), id[:]...))
	return [16]byte(sum[:16])
}

// Take answers a request with a contribution: authenticated, of the plan's one length, on
// disk before it is acknowledged, and once for a respondent. id is what the path says of
// it; allow says why a respondent comes too often.
func (e *Epoch) Take(w http.ResponseWriter, r *http.Request, id [32]byte, allow func(serve.Respondent) error) error {
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.ContributionType); err != nil {
		return err
	}
	if err := e.o.IsOpen(e.plan.Times, e.Mark().Closed); err != nil {
		return err
	}
	respondent, err := e.auth.Respondent(r)
	if err != nil {
		return err
	}
	if err := allow(respondent); err != nil {
		return err
	}
	if err := serve.Enter(r, respondent); err != nil {
		return err
	}
	size := e.rules.Bytes()
	done, err := e.o.Quota.Reserve(r.Context(), int64(size))
	if err != nil {
		return Storage(err)
	}
	defer done()
	body, err := serve.ReadBody(w, r, int64(size))
	if err != nil {
		return err
	}
	if len(body) != size {
		return wire.Problemf(wire.ContributionRefused, "the body has %d bytes: the plan wants %d from everybody", len(body), size)
	}
	sum, cover := wire.ContributionID(body), id == wire.CoverID(body)
	if id != sum && !cover {
		return wire.Problemf(wire.BadRequest, "{id} in the path is not the SHA-256 of the body")
	}
	again, err := e.keep(r.Context(), respondent, id, sum, body)
	if err != nil {
		return err
	}
	serve.Created(w, again)
	return nil
}

// keep puts a contribution on disk under the respondent's key. Cover takes the same
// steps in the same order, so that how long they take does not tell it from an
// answer; it has a key and a tag of its own, is never read, and goes with the
// inbox when the epoch is over.
func (e *Epoch) keep(ctx context.Context, respondent serve.Respondent, id, sum [32]byte, body []byte) (again bool, err error) {
	crowd, err := e.rules.Check(body)
	if err != nil {
		return false, wire.Problemf(wire.ContributionRefused, "%w", err)
	}
	shelf := e.shelf()
	if shelf == nil {
		return false, wire.Problemf(wire.EpochOver, "the plan has closed")
	}
	key, tag, cover := respondentKey(respondent), crowd, id != sum
	if cover {
		if !e.coveredBy(respondent, 1) {
			return false, wire.Problemf(wire.RateLimited, "%d covers of this respondent are here, the most that are kept", MaxCovers)
		}
		key, tag = coverKey(respondent, id), CoverTag
	}
	// Insert returns once hashchain.Log.Append, or PostgreSQL, has synced the row. It goes to the end, whatever becomes of the connection: what is there decides what comes again.
	again, err = shelf.Insert(context.WithoutCancel(ctx), keep.Row{Table: contributions, Key: string(key[:]), Tag: tag, Value: tagged(tag, body)})
	if cover && (again || err != nil && !errors.Is(err, keep.ErrUnavailable)) { // there is no more of it
		e.coveredBy(respondent, -1)
	}
	switch {
	case errors.Is(err, keep.ErrTaken):
		return false, wire.Problemf(wire.AlreadyContributed, "another contribution of this respondent is here")
	case errors.Is(err, keep.ErrSealed), errors.Is(err, keep.ErrDropped):
		return false, wire.Problemf(wire.EpochOver, "the plan has closed")
	case err != nil:
		return false, Storage(err)
	}
	if !again && !cover && e.rules.Deletion == nil {
		e.o.Kept(ctx)
	}
	return again, e.o.Failpoint("contribution-kept")
}

// coveredBy counts covers of a respondent that this run keeps or is to keep: false where they would be too many.
func (e *Epoch) coveredBy(respondent serve.Respondent, more int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.covers[respondent]+more > MaxCovers {
		return false
	}
	e.covers[respondent] += more
	return true
}

// contributions keeps a tag and a contribution under each respondentKey or coverKey. Who
// reads the keys of rows cannot tell cover from answers.
const contributions keep.Table = 1

const tagBytes = 4

// tagged returns a contribution with its tag before it: Shelf.InOrder gives values without tags.
func tagged(tag uint32, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, tagBytes+len(body)), tag), body...)
}

// Storage returns the problem of a store that could not keep something.
func Storage(err error) error {
	switch {
	case errors.Is(err, keep.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return wire.Problemf(wire.StorageFull, "nothing was kept%w", quiet{err})
	case errors.Is(err, keep.ErrUnavailable), errors.Is(err, rows.ErrChanged):
		p := wire.Problemf(wire.Overloaded, "the storage does not answer%w", quiet{err})
		p.RetryAfter = time.Second
		return p
	}
	return err
}

// quiet is a cause that does not travel.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }
