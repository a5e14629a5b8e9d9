package planlog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"

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

// Audit reads a log at an address such as https://log.example, entry by entry. The
// checkpoint is the log's, signed by as many of its witnesses as the policy asks for; the
// tree below it has that root; each entry's text is there, has its digest and is a signed
// plan whose signatures are right, of whomever, or of a plan that stands before it a
// withdrawal by one of its publishers, or the receipts of a release that the analyzer whose
// key it names has signed. one is called for each.
func Audit(ctx context.Context, address string, policy plan.Log, web *http.Client, one func(Logged) error) (size uint64, err error) {
	if err := serve.Address(address); err != nil {
		return 0, fmt.Errorf("log: %q: %w", address, err)
	}
	at, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	checkpoints, err := client.NewHTTPFetcher(at.JoinPath("/"), web)
	if err != nil {
		return 0, fmt.Errorf("log: %w", err)
	}
	text, err := checkpoints.ReadCheckpoint(ctx)
	if err != nil {
		return 0, fmt.Errorf("log: its checkpoint: %w", err)
	}
	checkpoint, key, err := policy.Open(string(text))
	if err != nil {
		return 0, err
	}
	read := fixed{checkpoints, text}
	if checkpoint.Size == 0 {
		return 0, nil
	}
	if err := fsck.New(key.Name(), key, read, hashes, fsck.Opts{}).Check(ctx); err != nil {
		return 0, fmt.Errorf("log: its tree is not what its checkpoint says: %w", err)
	}
	before := map[[32]byte]standing{}
	return checkpoint.Size, entries(ctx, read.ReadEntryBundle, checkpoint.Size, func(i uint64, entry []byte) error {
		l := Logged{Index: i}
		if l.Entry, err = plan.ParseEntry(entry); err != nil {
			return err
		}
		beside := func(what string, most int64) ([]byte, error) {
			return serve.GetText(ctx, web, at.JoinPath("v1", "log", what, fmt.Sprintf("%x", l.Entry.Digest)).String(), most)
		}
		text, err := beside(texts, max(plan.MaxSignedBytes, relay.MaxReceiptsBytes))
		if err != nil {
			return err
		}
		if l.Signed, err = check(text, l.Entry, before[l.Entry.Plan], func() ([]byte, error) { return beside(signatures, relay.MaxSignatureBytes) }); err != nil {
			return err
		}
		if l.Entry.Kind == "" {
			before[l.Entry.Plan] = standing{l.Signed.Signers(), l.Signed.Plan.Analyzer.Releases}
		}
		return one(l)
	})
}

// fixed reads the tree below one checkpoint, which the log may have left behind meanwhile.
type fixed struct {
	*client.HTTPFetcher
	checkpoint []byte
}

func (f fixed) ReadCheckpoint(context.Context) ([]byte, error) { return f.checkpoint, nil }

// standing is what of a plan in the log its later entries depend on.
type standing struct {
	signers  []string
	releaser string
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

// hashes returns those of a bundle's entries as leaves.
func hashes(bundle []byte) (all [][]byte, err error) {
	var b api.EntryBundle
	if err := b.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	for _, e := range b.Entries {
		all = append(all, rfc6962.DefaultHasher.HashLeaf(e))
	}
	return all, nil
}

// whole reports that the text of an entry is not there as it was logged.
func (s *Service) whole(i uint64, entry []byte) error {
	e, err := plan.ParseEntry(entry)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.text(e.Digest))
	var before standing
	if err == nil && e.Kind != "" {
		var of plan.Signed
		of, err = s.signed(e.Plan)
		before = standing{of.Signers(), of.Plan.Analyzer.Releases}
	}
	if err == nil {
		_, err = check(text, e, before, func() ([]byte, error) { return os.ReadFile(s.signature(e.Digest)) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w: put it back as it was", s.text(e.Digest), err)
	}
	return nil
}
