// Package services asks services for their status and their plans, as an operator or as anybody. Used by
// cmd/internal/server/operate, cmd/confetti/internal/plan, cmd/confetti/internal/release and other commands.
package services

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/bearer"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// Flags say how services are reached by whoever shows them no token.
type Flags struct {
	Dir   string `help:"Folder of confetti up: it has what the other flags name." type:"path" placeholder:"DIR"`
	Roots string `help:"PEM file of the services' authorities; the system's without it." type:"path" placeholder:"FILE"`
}

// Operator are the flags of who shows services operators' tokens.
type Operator struct {
	Flags
	Tokens string `help:"File of operators' tokens, mode 0600: in each line the address of a service and its token. Each is shown its own, and others nothing." type:"path" placeholder:"FILE"`
	Token  string `help:"File with one token, in the place of --tokens: --at says of which service." type:"path" placeholder:"FILE"`
	At     string `help:"Address of the service that --token is for, https://host:port." placeholder:"URL"`
}

// Services reaches services, and shows each the token that is for it.
type Services struct {
	client *http.Client
	long   *http.Client // for answers that are read as they come, which hold up no others
	tokens bearer.Tokens
}

// Open reads the files that the flags name.
func (f Flags) Open() (*Services, error) {
	if f.Roots == "" && f.Dir != "" {
		f.Roots = trial.Folder(f.Dir).Path(trial.Roots)
	}
	client, err := serve.Client(serve.Path(f.Roots))
	if err != nil {
		return nil, err
	}
	long, err := serve.Client(serve.Path(f.Roots))
	return &Services{client: client, long: long}, err
}

// Open reads the files that the flags name.
func (f Operator) Open() (*Services, error) {
	s, err := f.Flags.Open()
	if err != nil {
		return nil, err
	}
	if f.Tokens == "" && f.Token == "" && f.Dir != "" {
		f.Tokens = trial.Folder(f.Dir).Path(trial.Tokens)
	}
	switch {
	case f.Tokens != "" && f.Token != "":
		return nil, terminal.Usagef("--token and --tokens: give one of them")
	case (f.Token == "") != (f.At == ""):
		return nil, terminal.Usagef("--token is of one service, and no other is shown it: give --at, the service's address, with it, or --tokens, a file of addresses and tokens")
	case f.Tokens != "":
		s.tokens, err = bearer.Read(f.Tokens)
	case f.Token != "":
		s.tokens, err = bearer.ReadOne(f.Token, f.At)
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return s, nil
}

// Credential reports whether there is a token of any service.
func (s *Services) Credential() bool { return !s.tokens.None() }

// Opens reports whether there is a token for the service that a URL leads to.
func (s *Services) Opens(url string) bool { return s.tokens.Opens(url) }

// Stranger asks without a token, over the same connections.
func (s *Services) Stranger() *Services { return &Services{client: s.client, long: s.long} }

// Close ends the connections.
func (s *Services) Close() {
	s.client.CloseIdleConnections()
	s.long.CloseIdleConnections()
}

// Reach opens, with a context until the command is stopped; done lets go of both.
func (f Flags) Reach() (s *Services, ctx context.Context, done func(), err error) {
	return reach(f.Open)
}

// Reach opens likewise.
func (f Operator) Reach() (s *Services, ctx context.Context, done func(), err error) {
	return reach(f.Open)
}

func reach(open func() (*Services, error)) (s *Services, ctx context.Context, done func(), err error) {
	if s, err = open(); err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := terminal.UntilStopped()
	return s, ctx, func() { stop(); s.Close() }, nil
}

// maxAnswer bounds what a service may answer, in bytes: releases are the longest.
const maxAnswer = 256 << 20

// Do makes a request and returns the answer's status and body.
func (s *Services) Do(ctx context.Context, method, url, mediaType string, body []byte) (status int, answer []byte, err error) {
	status, err = s.ask(ctx, s.client, method, url, mediaType, body, func(from io.Reader) (err error) {
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
func (s *Services) ask(ctx context.Context, client *http.Client, method, url, mediaType string, body []byte, read func(io.Reader) error) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	s.tokens.Show(req)
	res, err := client.Do(req)
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

// Read has the body of the answer to a GET request read as it comes, over connections apart. An error of the reader is one
// of the request.
func (s *Services) Read(ctx context.Context, url string, read func(io.Reader) error) error {
	_, err := s.ask(ctx, s.long, http.MethodGet, url, "", nil, read)
	return err
}

// State copies the public state of that name from an analyzer, and checks it as it comes.
func (s *Services) State(ctx context.Context, base, name string, to io.Writer) error {
	hash, err := wire.ParsePlanName(name)
	if err != nil {
		return fmt.Errorf("the plan's state is %w", err)
	}
	return s.Read(ctx, base+wire.StatePath(hash), func(from io.Reader) error { return plan.CopyState(to, from, name) })
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
	if err := plans.Addressed(signed.Plan); err != nil {
		return err
	}
	if state != "" {
		if err := s.bringState(ctx, signed.Plan, state); err != nil {
			return err
		}
	}
	var errs []error
	seen := map[string]bool{}
	for _, p := range plans.Parties(signed.Plan) {
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
		case err != nil && p.Role == "helper" && status == 0:
			errs = append(errs, fmt.Errorf("%w; a helper that answers files takes the plan from them", err))
		case err != nil:
			errs = append(errs, err)
		case status == http.StatusCreated:
			fmt.Fprintf(std, "%s has taken the plan\n", sanitize.Text(p.Name))
		default:
			fmt.Fprintf(std, "%s has the plan already\n", sanitize.Text(p.Name))
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
