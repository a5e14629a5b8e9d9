// Package services asks services, as an operator.
package services

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/plans"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/durable"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// Flags say how services are reached.
type Flags struct {
	Dir   string `help:"Folder of confetti up: it has the plan, the authorities and the tokens." type:"path" placeholder:"DIR"`
	Roots string `help:"PEM file of the services' authorities; the system's without it." type:"path" placeholder:"FILE"`
	Token string `help:"File with an operator's bearer token." type:"path" placeholder:"FILE"`
	At    string `help:"Address of the service that the token is for, https://host:port: no other is shown it. Without, every service that is asked." placeholder:"URL"`
}

// Services reaches services as an operator.
type Services struct {
	client *http.Client
	token  string // empty: none
	at     string // the address that the token is for; empty: every one
}

// Open reads the files that the flags name.
func (f Flags) Open() (*Services, error) {
	if f.Dir != "" {
		t := trial.Folder(f.Dir)
		if f.Roots == "" {
			f.Roots = t.Path(trial.Roots)
		}
		if f.Token == "" {
			f.Token = t.Path(trial.Operator)
		}
	}
	client, err := serve.Client(serve.Path(f.Roots))
	if err != nil {
		return nil, err
	}
	s := &Services{client: client, at: strings.TrimSuffix(f.At, "/")}
	if f.Token != "" {
		text, err := durable.Read(f.Token)
		if err != nil {
			return nil, fmt.Errorf("--token: %w", err)
		}
		s.token = strings.TrimSpace(string(text))
		if s.token == "" || strings.ContainsAny(s.token, " \t\r\n") {
			return nil, fmt.Errorf("--token: %s is not one token: see confetti token add", f.Token)
		}
	}
	return s, nil
}

// Credential reports whether there is an operator's token.
func (s *Services) Credential() bool { return s.token != "" }

// Stranger asks without the token, over the same connections.
func (s *Services) Stranger() *Services { return &Services{client: s.client} }

// Close ends the connections.
func (s *Services) Close() { s.client.CloseIdleConnections() }

// Reach is Open, with a context until the command is stopped; done lets go of both.
func (f Flags) Reach() (s *Services, ctx context.Context, done func(), err error) {
	if s, err = f.Open(); err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := terminal.UntilStopped()
	return s, ctx, func() { stop(); s.Close() }, nil
}

// maxAnswer bounds what a service may answer, in bytes: releases are the longest.
const maxAnswer = 256 << 20

// Do makes a request and returns the answer's status and body.
func (s *Services) Do(ctx context.Context, method, url, mediaType string, body []byte) (status int, answer []byte, err error) {
	status, err = s.ask(ctx, method, url, mediaType, body, func(from io.Reader) (err error) {
		if answer, err = io.ReadAll(io.LimitReader(from, maxAnswer+1)); err == nil && len(answer) > maxAnswer {
			err = fmt.Errorf("an answer of more than %d bytes", maxAnswer)
		}
		return err
	})
	if err != nil {
		answer = nil
	}
	return status, answer, err
}

// ask makes a request and reads the body of its answer. A problem that the service tells
// becomes an error with its remedy.
func (s *Services) ask(ctx context.Context, method, url, mediaType string, body []byte, read func(io.Reader) error) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	if s.token != "" && (s.at == "" || url == s.at || strings.HasPrefix(url, s.at+"/")) {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, err // names method and address
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		err := fmt.Errorf("%s: %w", url, p)
		if p.Remedy != "" {
			err = fmt.Errorf("%w: %s", err, p.Remedy)
		}
		return res.StatusCode, err
	}
	if err := read(res.Body); err != nil {
		return res.StatusCode, fmt.Errorf("%s: %w", url, err)
	}
	return res.StatusCode, nil
}

// Get returns the body of the answer to a GET request, as Do does.
func (s *Services) Get(ctx context.Context, url string) ([]byte, error) {
	_, answer, err := s.Do(ctx, http.MethodGet, url, "", nil)
	return answer, err
}

// State copies the public state of that name from an analyzer, and checks it as it comes.
func (s *Services) State(ctx context.Context, base, name string, to io.Writer) error {
	hash, err := wire.ParsePlanName(name)
	if err != nil {
		return fmt.Errorf("the plan's state is %w", err)
	}
	_, err = s.ask(ctx, http.MethodGet, base+wire.StatePath(hash), "", nil, func(from io.Reader) error { return plan.CopyState(to, from, name) })
	return err
}

// SignedPlan names a signed plan: a file, or the one of a trial.
type SignedPlan struct {
	Plan string `arg:"" optional:"" help:"A signed plan; with --dir the trial's." type:"path"`
}

// Read reads the plan that is named; dir is the folder of a trial, or empty.
func (f SignedPlan) Read(dir string) (plan.Signed, error) {
	switch {
	case f.Plan == "" && dir == "":
		return plan.Signed{}, terminal.Usagef("name a signed plan, or with --dir a trial that has one")
	case f.Plan == "":
		f.Plan = trial.Folder(dir).Path(trial.Plan)
	}
	return plans.ReadSigned(f.Plan)
}

// Register brings the plan to everybody whom it names. It says of each what became
// of it; one that refuses does not keep the others from being asked, but the
// analyzer does, who gets the public state that the plan names first; "": it has it. The
// operator's token goes to the analyzer alone: to others, who may belong to other organisations,
// the publishers' signatures are the authentication.
func (s *Services) Register(ctx context.Context, std io.Writer, signed plan.Signed, state string) error {
	if state != "" {
		if err := s.bringState(ctx, signed.Plan, state); err != nil {
			return err
		}
	}
	var errs []error
	seen := map[string]bool{}
	for _, p := range plans.Parties(signed.Plan) {
		if p.URL == "" {
			return terminal.Usagef("the plan gives no url for %s: a plan that is collected over a network needs one for every party", p.Name)
		}
		if seen[p.URL] {
			continue // one service, several posts
		}
		seen[p.URL] = true
		to := s.Stranger()
		if p.Role == "analyzer" {
			to = s
		}
		status, _, err := to.Do(ctx, http.MethodPut, p.URL+wire.PlanPath(signed.Plan.Hash()), wire.PlanType(signed), signed.Marshal())
		switch {
		case err != nil && p.Role == "analyzer":
			return err
		case err != nil:
			errs = append(errs, err)
		case status == http.StatusCreated:
			fmt.Fprintf(std, "%s has taken the plan\n", plain.Text(p.Name))
		default:
			fmt.Fprintf(std, "%s has the plan already\n", plain.Text(p.Name))
		}
	}
	return errors.Join(errs...)
}

// bringState gives the analyzer the public state in a file, if it is the plan's.
func (s *Services) bringState(ctx context.Context, p plan.Plan, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("the plan's public state: %w", err)
	}
	defer f.Close()
	var state bytes.Buffer
	if err := plan.CopyState(&state, f, p.State); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	name, err := wire.ParsePlanName(p.State)
	if err == nil {
		_, _, err = s.Do(ctx, http.MethodPut, p.Analyzer.URL+wire.StatePath(name), wire.StateType, state.Bytes())
	}
	return err
}
