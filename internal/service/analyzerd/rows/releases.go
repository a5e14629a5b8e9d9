package rows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// CloseCollection marks that a plan takes no more batches. Again if it did not already. Its
// shelf is sealed first: no batch comes behind what main says.
func (s *Store) CloseCollection(ctx context.Context, plan, closer string, at time.Time) (Outcome, error) {
	p, err := s.Plan(ctx, plan)
	if err != nil {
		return Failed, err
	}
	if !p.Closed.IsZero() {
		return Again, nil
	}
	if err := s.seal(ctx, plan); err != nil {
		return Failed, err
	}
	outcome := New
	err = s.write(ctx, s.main, "close", func(tx keep.Tx) error {
		outcome, err = putClosing(tx, plan, closing{closer, at.UTC().Truncate(time.Microsecond)})
		return err
	})
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

// seal has the shelf of a plan take no more batches, from whatever process.
func (s *Store) seal(ctx context.Context, plan string) error {
	shelf, err := s.made(ctx, plan)
	if errors.Is(err, errGone) {
		return nil
	}
	if err == nil {
		err = s.failpoint("rows/seal")
	}
	if err == nil {
		err = shelf.Seal(ctx)
	}
	if errors.Is(err, keep.ErrDropped) {
		err = nil
	}
	return err
}

// putClosing writes who closed a plan, once.
func putClosing(tx keep.Tx, plan string, c closing) (Outcome, error) {
	if _, there, err := tx.Get(closingsTable, plan); err != nil || there {
		return Again, err
	}
	return New, put(tx, closingsTable, plan, c)
}

// Verdict is what came of a closed collection: a release, by format, or the
// reason why there is none.
type Verdict struct {
	Files  map[string][]byte // "json", "csv", "html"; none where it is withheld
	Reason string            // why it is withheld; empty where it is released
	At     time.Time
	Missed string // of a round that is correlated with others and tells nothing: why, for the next one's state
}

// Decide writes the verdict on a closed plan together with its release. There is
// one verdict on a plan, the first: Again says that it was there.
func (s *Store) Decide(ctx context.Context, plan string, v Verdict) (Outcome, error) {
	if (v.Reason == "") != (len(v.Files) > 0) {
		return Failed, errors.New("analyzer: a verdict is either a release or the reason why there is none")
	}
	p, err := s.Plan(ctx, plan)
	switch {
	case err != nil:
		return Failed, err
	case p.Closed.IsZero():
		return Failed, errors.New("analyzer: a plan is closed before it is decided on")
	case !p.Decided.IsZero():
		return Again, nil
	}
	var contents []content
	bodies := map[string]body{}
	for _, format := range slices.Sorted(maps.Keys(v.Files)) {
		b := bodyOf(v.Files[format])
		bodies[format] = b
		contents = append(contents, content{partsTable, b.SHA256, v.Files[format]})
	}
	outcome := New
	err = s.writeParts(ctx, s.main, "decide", contents, func(tx keep.Tx) (bool, error) {
		outcome = New
		if _, there, err := tx.Get(verdictsTable, plan); err != nil || there {
			outcome = Again
			return false, err
		}
		for format, b := range bodies {
			if err := put(tx, releasesTable, plan+"/"+format, b); err != nil {
				return false, err
			}
		}
		return true, put(tx, verdictsTable, plan, verdict{v.Reason == "", v.Reason, v.At.UTC().Truncate(time.Microsecond), v.Missed})
	})
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

// Release returns a plan's release in one format, or ErrUnknown. What does not have
// the digest it was written with is not handed out.
func (s *Store) Release(ctx context.Context, plan, format string) (file []byte, digest [sha256.Size]byte, err error) {
	var known body
	there, err := of(ctx, s.main).read(releasesTable, plan+"/"+format, &known)
	if err == nil && !there {
		err = fmt.Errorf("%w: there is no release of plan %s as %s", ErrUnknown, plan, format)
	}
	if err == nil {
		file, err = readParts(of(ctx, s.main), partsTable, known.SHA256, known)
	}
	if err != nil {
		return nil, digest, err
	}
	hex.Decode(digest[:], []byte(known.SHA256)) // which readParts has compared
	return file, digest, nil
}
