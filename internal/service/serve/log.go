package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/confetti-dp/confetti/internal/wire"
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

// PutReleaseIntoLog has a public log fetch what the analyzer of a plan publishes as its
// release, and returns the log's evidence. The log must have the plan.
func PutReleaseIntoLog(ctx context.Context, client *http.Client, address string, name [32]byte) (plan.Evidence, error) {
	return putIntoLog(ctx, client, address+wire.LogReleasePath(name), "", nil)
}

func putIntoLog(ctx context.Context, client *http.Client, address, kind string, body []byte) (plan.Evidence, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		return plan.Evidence{}, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	answer, err := client.Do(r)
	if err != nil {
		return plan.Evidence{}, err // names the address
	}
	defer answer.Body.Close()
	if p := web.ReadProblem(answer); p != nil {
		return plan.Evidence{}, fmt.Errorf("%s: %w", address, p)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, plan.MaxEvidenceBytes+1))
	if err != nil {
		return plan.Evidence{}, fmt.Errorf("%s: %w", address, err)
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
