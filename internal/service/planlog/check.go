package planlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// Logged is an entry of a log.
type Logged struct {
	Index  uint64
	Entry  plan.Entry
	Signed plan.Signed // where it is of a plan
}

// Check reads a log at an address such as https://log.example, entry by entry. The
// checkpoint is the log's, signed by as many of its witnesses as the policy asks for; the
// tree below it has that root; each entry's text is there, has its digest and is a signed
// plan whose signatures are right, of whomever, or of a plan that stands before it a
// withdrawal by one of its publishers, or the receipts of a release that the analyzer whose
// key it names has signed. one is called for each.
func Check(ctx context.Context, address string, policy plan.Log, web *http.Client, one func(Logged) error) (size uint64, err error) {
	if err := serve.Address(address); err != nil {
		return 0, fmt.Errorf("log: %q: %w", address, err)
	}
	get := func(most int64, path ...string) ([]byte, error) {
		at, err := url.JoinPath(address, path...)
		if err != nil {
			return nil, err
		}
		return serve.GetText(ctx, web, at, most)
	}
	text, err := get(plan.MaxEvidenceBytes, "checkpoint")
	if err != nil {
		return 0, fmt.Errorf("log: its checkpoint: %w", err)
	}
	signed, _, err := policy.Open(string(text))
	if err != nil {
		return 0, err
	}
	entries, err := fetch(checkpoint{size: int64(min(signed.Size, 1<<62)), root: signed.Hash}, get)
	if err != nil {
		return 0, fmt.Errorf("log: its tree is not what its checkpoint says: %w", err)
	}
	before := standings{}
	for i, entry := range entries {
		if err := checkEntry(Logged{Index: uint64(i)}, entry, before, get, one); err != nil {
			return 0, fmt.Errorf("log: entry %d: %w", i, err)
		}
	}
	return signed.Size, nil
}

// getter reads a file of a log of at most so many bytes.
type getter func(most int64, path ...string) ([]byte, error)

// fetch returns the entries below a checkpoint. It refuses a bundle or a tile that is not what the checkpoint says.
func fetch(shown checkpoint, get getter) (entries [][]byte, err error) {
	var t tree
	for t.size < shown.size {
		bundle := bundleAt(t.size, shown.size)
		raw, err := get(maxBundle, tilePath(bundle))
		if err != nil {
			return nil, err
		}
		more, err := splitBundle(raw, bundle.W)
		if err != nil {
			return nil, err
		}
		for _, one := range more {
			if err := t.add(one); err != nil {
				return nil, err
			}
		}
		entries = append(entries, more...)
	}
	if err := shown.of(&t); err != nil {
		return nil, err
	}
	for _, tile := range tlog.NewTiles(height, 0, shown.size) {
		is, err := get(width*tlog.HashSize, tilePath(tile))
		if err != nil {
			return nil, err
		}
		want, err := tlog.ReadTileData(tile, &t)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(is, want) {
			return nil, fmt.Errorf("%s has other hashes than its entries", tilePath(tile))
		}
	}
	return entries, nil
}

// checkEntry calls one for an entry whose text is what it says.
func checkEntry(l Logged, entry []byte, before standings, get getter, one func(Logged) error) (err error) {
	if l.Entry, err = plan.ParseEntry(entry); err != nil {
		return err
	}
	text, err := get(max(plan.MaxSignedBytes, relay.MaxReceiptsBytes), "v1", "log", "texts", digestKey(l.Entry.Digest))
	if err != nil {
		return err
	}
	l.Signed, err = before.check(text, l.Entry, func() ([]byte, error) {
		return get(relay.MaxSignatureBytes, "v1", "log", "signatures", digestKey(l.Entry.Digest))
	})
	if err != nil {
		return err
	}
	return one(l)
}

// standing is what of a plan in the log its later entries depend on.
type standing struct {
	signers  []string
	releaser string
}

// standings are the plans that stand before an entry, by name.
type standings map[[32]byte]standing

// check reads the text of the entry that comes next, and the plan where it is of one.
func (all standings) check(text []byte, e plan.Entry, signature func() ([]byte, error)) (plan.Signed, error) {
	signed, err := check(text, e, all[e.Plan], signature)
	if err == nil && e.Kind == "" {
		all[e.Plan] = standing{signed.Signers(), signed.Plan.Analyzer.Releases}
	}
	return signed, err
}

// check reads the text of an entry, and the plan where it is of one; before is the plan
// that stands before it.
func check(text []byte, e plan.Entry, before standing, signature func() ([]byte, error)) (plan.Signed, error) {
	if sha256.Sum256(text) != e.Digest {
		return plan.Signed{}, errors.New("its text is another than was logged")
	}
	if e.Kind != "" && before.signers == nil {
		return plan.Signed{}, fmt.Errorf("it is the %s of a plan that does not stand before it", e.Kind)
	}
	switch e.Kind {
	case plan.WithdrawalEntry:
		return plan.Signed{}, checkWithdrawal(text, e, before.signers)
	case plan.ReleaseEntry:
		var signs []byte
		if before.releaser != "" {
			var err error
			if signs, err = signature(); err != nil {
				return plan.Signed{}, err
			}
		}
		return plan.Signed{}, checkRelease(text, signs, e, before.releaser)
	}
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return plan.Signed{}, err
	}
	if signed.Plan.Hash() != e.Plan {
		return plan.Signed{}, errors.New("it has the name of another plan")
	}
	return signed, signed.Verify(plan.Trust(signed.Signers()...))
}

// whole reports that the text of an entry is not there as it was logged.
func (s *Service) whole(ctx context.Context, e plan.Entry, before standings) error {
	text, there, err := s.main.Get(ctx, textsTable, digestKey(e.Digest))
	if err == nil && !there {
		err = errors.New("its text is missing")
	}
	if err == nil {
		_, err = before.check(text, e, func() ([]byte, error) {
			signature, _, err := s.main.Get(ctx, signaturesTable, digestKey(e.Digest))
			return signature, err
		})
	}
	return err
}
