package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// CloseCollection marks that a plan takes no more batches. Again if it did not already.
func (s *Store) CloseCollection(ctx context.Context, plan, closer string, at time.Time) (Outcome, error) {
	outcome := New
	err := s.write(ctx, "close", func(tx *sql.Tx) error {
		p, err := planNamed(ctx, tx, plan)
		if err != nil {
			return err
		}
		if !p.Closed.IsZero() {
			outcome = Again
			return nil
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO closings (plan, closer, closed) VALUES ($1, $2, $3)", plan, closer, stamp(at)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	})
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

// Verdict is what came of a closed collection: a release, by format, or the
// reason why there is none.
type Verdict struct {
	Files  map[string][]byte // "json", "csv", "html"; none where it is withheld
	Reason string            // why it is withheld; empty where it is released
	At     time.Time
}

// Decide writes the verdict on a closed plan together with its release. There is
// one verdict on a plan, the first: Again says that it was there.
func (s *Store) Decide(ctx context.Context, plan string, v Verdict) (Outcome, error) {
	if (v.Reason == "") != (len(v.Files) > 0) {
		return Failed, errors.New("store: a verdict is either a release or the reason why there is none")
	}
	outcome := New
	err := s.write(ctx, "decide", func(tx *sql.Tx) error {
		p, err := planNamed(ctx, tx, plan)
		switch {
		case err != nil:
			return err
		case p.Closed.IsZero():
			return errors.New("store: a plan is closed before it is decided on")
		case !p.Decided.IsZero():
			outcome = Again
			return nil
		}
		released := 0
		if len(v.Files) > 0 {
			released = 1
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO verdicts (plan, released, reason, decided) VALUES ($1, $2, $3, $4)", plan, released, v.Reason, stamp(v.At)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		for _, format := range slices.Sorted(maps.Keys(v.Files)) {
			body := v.Files[format]
			digest := sha256.Sum256(body)
			if _, err := tx.ExecContext(ctx, "INSERT INTO releases (plan, format, sha256, body) VALUES ($1, $2, $3, $4)", plan, format, digest[:], body); err != nil {
				return fmt.Errorf("store: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

// Release returns a plan's release in one format, or ErrUnknown. What does not have
// the digest it was written with is not handed out.
func (s *Store) Release(ctx context.Context, plan, format string) (body []byte, digest [sha256.Size]byte, err error) {
	var stored []byte
	switch err := s.reader.QueryRowContext(ctx, "SELECT body, sha256 FROM releases WHERE plan = $1 AND format = $2", plan, format).Scan(&body, &stored); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, digest, fmt.Errorf("%w: there is no release of plan %s as %s", ErrUnknown, plan, format)
	case err != nil:
		return nil, digest, fmt.Errorf("store: %w", err)
	}
	digest = sha256.Sum256(body)
	if string(stored) != string(digest[:]) {
		return nil, digest, errors.New("store: a release is damaged: restore a backup")
	}
	return body, digest, nil
}
