package planlog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
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
// plan whose signatures are right, of whomever, or the receipts of a release of a plan that
// stands before it. one is called for each.
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
	before := map[[32]byte]bool{} // plans
	return checkpoint.Size, entries(ctx, read.ReadEntryBundle, checkpoint.Size, func(i uint64, entry []byte) error {
		l := Logged{Index: i}
		if l.Entry, err = plan.ParseEntry(entry); err != nil {
			return err
		}
		text, err := get(ctx, web, at.JoinPath("v1", "log", "texts", fmt.Sprintf("%x", l.Entry.Digest)).String(), max(plan.MaxSignedBytes, wire.MaxReceiptsBytes))
		if err != nil {
			return err
		}
		if l.Signed, err = check(text, l.Entry); err != nil {
			return err
		}
		if l.Entry.Release && !before[l.Entry.Plan] {
			return errors.New("it is the release of a plan that does not stand before it")
		}
		before[l.Entry.Plan] = true
		return one(l)
	})
}

// fixed reads the tree below one checkpoint, which the log may have left behind meanwhile.
type fixed struct {
	*client.HTTPFetcher
	checkpoint []byte
}

func (f fixed) ReadCheckpoint(context.Context) ([]byte, error) { return f.checkpoint, nil }

// check reads the text of an entry.
func check(text []byte, e plan.Entry) (plan.Signed, error) {
	if sha256.Sum256(text) != e.Digest {
		return plan.Signed{}, errors.New("its text is another than was logged")
	}
	if e.Release {
		return plan.Signed{}, checkRelease(text, e)
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

// get reads a text of at most so many bytes.
func get(ctx context.Context, through *http.Client, address string, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := through.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if p := web.ReadProblem(answer); p != nil {
		return nil, fmt.Errorf("%s: %w", address, p)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: longer than what stands in logs", address)
	}
	return text, err
}

// hashes are those of a bundle's entries as leaves.
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
	if err == nil {
		_, err = check(text, e)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: put it back as it was", s.text(e.Digest), err)
	}
	return nil
}
