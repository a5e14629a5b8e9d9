package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// PutIntoLog has a public log at an address such as https://log.example take a signed
// plan, which is no error if it has it, and returns the log's evidence. It waits until
// the log's witnesses have signed.
func PutIntoLog(ctx context.Context, client *http.Client, address string, signed plan.Signed) (plan.Evidence, error) {
	signed.Evidence = nil
	return putIntoLog(ctx, client, address+wire.PlanPath(signed.Plan.Hash()), wire.PlanType(signed), signed.Marshal())
}

// PutReleaseIntoLog has a public log take the receipts of a plan's release with the signature
// of its analyzer, and returns the log's evidence. The log must have the plan.
func PutReleaseIntoLog(ctx context.Context, client *http.Client, address string, name [32]byte, signature, receipts []byte) (plan.Evidence, error) {
	return putIntoLog(ctx, client, address+wire.LogReleasePath(name), wire.SignedReleaseType, slices.Concat(signature, receipts))
}

// PutWithdrawalIntoLog has a public log take the withdrawal of a plan, which is no error if it
// has one. The log must have the plan.
func PutWithdrawalIntoLog(ctx context.Context, client *http.Client, address string, w plan.SignedWithdrawal) error {
	_, err := putText(ctx, client, address+wire.WithdrawalPath(w.Plan), wire.WithdrawalType, w.Marshal())
	return err
}

// AskLog asks a public log which entries it has of a plan, in the order in which they came, and
// for the publisher's withdrawal, nil where it has none. That it is a publisher's of the plan
// is not checked: see plan.SignedWithdrawal.Of.
func AskLog(ctx context.Context, client *http.Client, address string, name [32]byte) (all []relay.LogEntry, w *plan.SignedWithdrawal, err error) {
	text, err := GetText(ctx, client, address+wire.LogPlanPath(name), relay.MaxLogEntriesBytes)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, nil, fmt.Errorf("%s: not the entries of a log", address)
	}
	for _, e := range all {
		if e.Kind != plan.WithdrawalEntry {
			continue
		}
		text, err := GetText(ctx, client, address+wire.LoggedPath(e.Digest), plan.MaxWithdrawalBytes)
		if err != nil {
			return nil, nil, err
		}
		one, err := plan.ParseWithdrawal(text)
		if err == nil && (one.Plan != name || relay.FileDigest(text) != e.Digest) {
			err = errors.New("what the log shows as a withdrawal is another one")
		}
		return all, &one, err
	}
	return all, nil, nil
}

// GetText reads a text of at most so many bytes.
func GetText(ctx context.Context, client *http.Client, address string, most int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
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

// putText brings a text to an address, and returns what is answered.
func putText(ctx context.Context, client *http.Client, address, kind string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", kind)
	answer, err := client.Do(r)
	if err != nil {
		return nil, err // names the address
	}
	defer answer.Body.Close()
	if p := web.ReadProblem(answer); p != nil {
		return nil, fmt.Errorf("%s: %w", address, p)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, plan.MaxEvidenceBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return text, nil
}

func putIntoLog(ctx context.Context, client *http.Client, address, kind string, body []byte) (plan.Evidence, error) {
	text, err := putText(ctx, client, address, kind, body)
	if err != nil {
		return plan.Evidence{}, err
	}
	e, err := plan.ParseEvidence(text)
	if err != nil {
		return plan.Evidence{}, fmt.Errorf("%s: %w", address, err)
	}
	return *e, nil
}

// Address reports that a text is not the address of a service.
func Address(text string) error {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Path != "" || at.RawQuery != "" || at.User != nil || at.Scheme != "https" && !(at.Scheme == "http" && Local(at.Hostname())) {
		return errors.New("not an address such as https://log.example")
	}
	return nil
}
