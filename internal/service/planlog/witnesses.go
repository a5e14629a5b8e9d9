package planlog

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

// cosigner is a witness as the log knows it.
type cosigner struct {
	key  note.Verifier
	url  string
	size atomic.Int64 // of the last checkpoint that it has signed, as far as is known
}

// group returns the witnesses, and how many of them must sign.
func group(all []Witness, least int) (witnesses []*cosigner, n int, err error) {
	for i, w := range all {
		if err := serve.Address(w.URL); err != nil {
			return nil, 0, serve.Fault(fmt.Sprintf("witnesses[%d].url", i), err)
		}
		at, err := url.JoinPath(w.URL, "v1", "log", "add-checkpoint")
		if err != nil {
			return nil, 0, err
		}
		key, err := cosignature.NewVerifierForCosignatureV1(w.Key)
		if err != nil {
			return nil, 0, serve.Fault(fmt.Sprintf("witnesses[%d].key", i), errors.New("no verifier key such as confetti log show --witness prints"))
		}
		witnesses = append(witnesses, &cosigner{key: key, url: at})
	}
	if n = cmp.Or(least, len(all)); n < 0 || n > len(all) {
		return nil, 0, serve.Fault("least", fmt.Errorf("of %d witnesses", len(all)))
	}
	return witnesses, n, nil
}

// cosigned returns a checkpoint of the tree with the signatures of the first witnesses that sign, as many as are
// asked for.
func (s *Service) cosigned(ctx context.Context, checkpoint string, t tree) (string, error) {
	if s.least == 0 {
		return checkpoint, nil
	}
	ctx, done := context.WithTimeout(ctx, patience)
	defer done() // ends the others
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, len(s.witnesses))
	for _, w := range s.witnesses {
		go func() {
			line, err := w.sign(ctx, cmp.Or(s.o.Client, http.DefaultClient), checkpoint, t)
			answers <- answer{line, err}
		}()
	}
	signed, n, errs := checkpoint, 0, error(nil)
	for range s.witnesses {
		a := <-answers
		if a.err != nil {
			errs = errors.Join(errs, a.err)
			continue
		}
		signed += a.line
		if n++; n == s.least {
			return signed, nil
		}
	}
	return "", fmt.Errorf("log: %d of %d witnesses have signed: %w", n, s.least, errs)
}

// sign returns the line of the witness's signature of a checkpoint (c2sp.org/tlog-witness). What the witness has
// signed last is guessed first, and then known.
func (w *cosigner) sign(ctx context.Context, client *http.Client, checkpoint string, t tree) (string, error) {
	for range 3 {
		old := w.size.Load()
		body := fmt.Sprintf("old %d\n", old)
		if old > 0 {
			proof, err := tlog.ProveTree(t.size, old, &t)
			if err != nil {
				return "", fmt.Errorf("witness %s has signed %d entries, and the log has %d: its folder or database is an older copy", w.key.Name(), old, t.size)
			}
			for _, h := range proof {
				body += base64.StdEncoding.EncodeToString(h[:]) + "\n"
			}
		}
		status, kind, answer, err := w.ask(ctx, client, body+"\n"+checkpoint)
		switch {
		case err != nil:
			return "", err
		case status == http.StatusOK:
			signed, err := note.Open([]byte(checkpoint+answer), note.VerifierList(w.key))
			if err != nil {
				return "", fmt.Errorf("witness %s answers with no signature of its own", w.key.Name())
			}
			w.size.Store(t.size)
			return fmt.Sprintf("— %s %s\n", signed.Sigs[0].Name, signed.Sigs[0].Base64), nil
		case status == http.StatusConflict && kind == "text/x.tlog.size":
			size, err := strconv.ParseInt(strings.TrimSuffix(answer, "\n"), 10, 64)
			if err == nil && size != old {
				w.size.Store(size)
				continue
			}
		}
		return "", fmt.Errorf("witness %s does not sign: status %d", w.key.Name(), status)
	}
	return "", fmt.Errorf("witness %s names another size each time", w.key.Name())
}

// ask brings a checkpoint to the witness.
func (w *cosigner) ask(ctx context.Context, client *http.Client, body string) (status int, kind, answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	got, err := client.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, 4096))
	return got.StatusCode, got.Header.Get("Content-Type"), string(text), err
}
