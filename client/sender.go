package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client/internal/spool"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/plan"
)

// requestTime bounds one request with its answer.
const requestTime = 2 * time.Minute

// sender speaks to the services that a plan names.
type sender struct {
	entries []string // address of each instance's entry hop
	tokens  []bool   // whether it demands a token
	issuer  string   // address of the token issuer, where the plan has one
	bearer  string
	bytes   int64 // of all contributions of one answer

	transport Transport
}

// earlierType is what a contribution to a plan before version 4 goes as. It was promised so, and goes so, whatever an
// entry takes by now: where that refuses, it waits until the plan closes.
const earlierType = "application/vnd.confetti.contribution; version=1"

// contributionBytes returns the length of a contribution to an instance.
func contributionBytes(p plan.Plan, instance int) int {
	f := formOf(p, [32]byte{}, instance)
	if p.SealedOnce() {
		return f.Bytes()
	}
	return p.Envelopes.PerDevice * (f.Size + f.Suite.Overhead()) // but for its header
}

// maxErrors is how long the answer of who takes a contribution may be, in bytes: a leader
// may say in it what it has not taken.
const maxErrors = 1 << 10

// networkError is one that may pass by itself.
type networkError struct{ cause error }

// Error names the cause, which may name the service's address and nothing of the
// device's.
func (e *networkError) Error() string {
	return fmt.Sprintf("client: the service cannot be reached: %v: see that it runs, and that its address is right", e.cause)
}

// Unwrap returns the cause.
func (e *networkError) Unwrap() error { return e.cause }

func newSender(p plan.Plan, o Options) (*sender, error) {
	by := &relayed{o.Transport, map[string]relay{}}
	s := &sender{bearer: o.Bearer, transport: by}
	if strings.ContainsAny(o.Bearer, " \t\r\n\"") {
		return nil, as("bad-options", errors.New("client: the bearer token has blanks or quotes: copy it whole and alone"))
	}
	tasks, err := tasksOf(p)
	if err != nil {
		return nil, err
	}
	for i, hops := range p.Route.Ways() {
		entry := hops[0]
		if entry.URL == "" {
			return nil, fmt.Errorf("client: the plan gives no address for the entry hop of instance %d (%s): it can be simulated, but not answered", i+1, entry.Operator)
		}
		s.entries = append(s.entries, strings.TrimSuffix(entry.URL, "/"))
		s.tokens = append(s.tokens, entry.Tokens != "")
		if tasks != nil {
			s.bytes = int64(tasks[0].ReportSize())
			if err := by.hide(entry, s.bytes); err != nil {
				return nil, err
			}
			continue
		}
		one := int64(contributionBytes(p, i))
		if err := by.hide(entry, one); err != nil {
			return nil, err
		}
		if p.Contributions() > 1 {
			s.bytes += one
		} else {
			s.bytes = max(s.bytes, one)
		}
	}
	if issuer := p.Route.Issuer(); issuer != nil {
		if issuer.URL == "" {
			return nil, fmt.Errorf("client: the plan gives no address for the token issuer (%s)", issuer.Operator)
		}
		s.issuer = strings.TrimSuffix(issuer.URL, "/")
		if err := by.hide(*issuer, 0); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// contribute hands a contribution to its entry hop; nil means that it is on the
// hop's disk.
func (s *sender) contribute(ctx context.Context, c spool.Contribution) error {
	return s.put(ctx, c, c.ID)
}

// put sends a body under an id. The token that a hop demands says by itself that
// the sender may contribute; who it is, this hop is not told.
func (s *sender) put(ctx context.Context, c spool.Contribution, id [32]byte) error {
	r := Request{Method: "PUT", URL: s.entries[c.Instance] + wire.ContributionPath(c.Plan, c.Instance, id), Type: wire.ContributionType, Body: c.Body, Authorization: s.authorization(), Known: true}
	if c.Body[0] == 1 {
		r.Type = earlierType
	}
	if c.Task != (dap.TaskID{}) {
		r.Method, r.URL, r.Type = "POST", s.entries[c.Instance]+dap.ReportsPath(c.Task), dap.UploadType
	}
	if s.tokens[c.Instance] {
		r.Authorization, r.Known = tokenwire.Authorization(c.Token), false
	}
	answer, err := do(ctx, s.transport, r, maxErrors)
	if err == nil && c.Task != (dap.TaskID{}) && len(answer) > 0 { // a leader of others, that names what it did not take
		err = wire.Problemf(wire.ContributionRefused, "the leader has not taken the report")
	}
	return err
}

func (s *sender) authorization() string {
	if s.bearer == "" {
		return ""
	}
	return "Bearer " + s.bearer
}

// do makes one request and returns its answer's body, of at most so many bytes.
// Errors are *networkError, *wire.Problem, the context's, or a fault of ours.
func do(ctx context.Context, t Transport, r Request, most int64) (answer []byte, err error) {
	err = exchange(ctx, t, r, func(from io.Reader) error {
		answer, err = atMost(from, most)
		return err
	})
	return answer, err
}

// atMost reads an answer of at most so many bytes; 0: of which none is looked at.
func atMost(from io.Reader, most int64) ([]byte, error) {
	answer, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, &networkError{err}
	}
	if int64(len(answer)) > most && most > 0 {
		return nil, fmt.Errorf("client: the service's answer has more than %d bytes", most)
	}
	return answer, nil
}

// exchange makes a request and reads the answer's body, if it is one of success.
func exchange(ctx context.Context, t Transport, r Request, read func(io.Reader) error) error {
	within, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	answer, err := t.Do(within, r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &networkError{err}
	}
	defer answer.Body.Close()
	if answer.Status >= 400 {
		return refused(wire.ReadProblem(answer.Status, answer.Type, answer.RetryAfter, answer.Body))
	}
	if answer.Status >= 300 {
		return fmt.Errorf("client: the service answers with status %d, where nothing but the answer is expected", answer.Status)
	}
	return read(answer.Body)
}

// wait returns after d, or earlier with the context's error.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
