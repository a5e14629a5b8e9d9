package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// serviceFlags say how services are reached.
type serviceFlags struct {
	Dir   string `help:"Folder of confetti up: it has the plan, the authorities and the tokens." type:"path" placeholder:"DIR"`
	Roots string `help:"PEM file of the services' authorities; the system's without it." type:"path" placeholder:"FILE"`
	Token string `help:"File with an operator's bearer token." type:"path" placeholder:"FILE"`
}

// services reaches services as an operator.
type services struct {
	client *http.Client
	token  string // empty: none
}

func (f serviceFlags) open() (*services, error) {
	if f.Dir != "" {
		t := trial(f.Dir)
		if f.Roots == "" {
			f.Roots = t.path(trialRoots)
		}
		if f.Token == "" {
			f.Token = t.path(trialOperator)
		}
	}
	client, err := serve.Client(serve.Path(f.Roots))
	if err != nil {
		return nil, err
	}
	s := &services{client: client}
	if f.Token != "" {
		text, err := os.ReadFile(f.Token)
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

func (s *services) close() { s.client.CloseIdleConnections() }

// reach is open, with a context until the command is stopped; done lets go of both.
func (f serviceFlags) reach() (s *services, ctx context.Context, done func(), err error) {
	if s, err = f.open(); err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := untilStopped()
	return s, ctx, func() { stop(); s.close() }, nil
}

// maxAnswer bounds what a service may answer, in bytes: releases are the longest.
const maxAnswer = 256 << 20

// do makes a request and returns the answer's status and body. A problem that the
// service tells becomes an error with its remedy.
func (s *services) do(ctx context.Context, method, url, mediaType string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, nil, err // names method and address
	}
	defer res.Body.Close()
	if p := wire.ReadProblem(res); p != nil {
		err := fmt.Errorf("%s: %w", url, p)
		if p.Remedy != "" {
			err = fmt.Errorf("%w: %s", err, p.Remedy)
		}
		return res.StatusCode, nil, err
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", url, err)
	}
	return res.StatusCode, answer, nil
}

func (s *services) get(ctx context.Context, url string) ([]byte, error) {
	_, answer, err := s.do(ctx, http.MethodGet, url, "", nil)
	return answer, err
}

// signedFlag names a signed plan: a file, or the one of a trial.
type signedFlag struct {
	Plan string `arg:"" optional:"" help:"A signed plan; with --dir the trial's." type:"path"`
}

func (f signedFlag) read(dir string) (plan.Signed, error) {
	switch {
	case f.Plan == "" && dir == "":
		return plan.Signed{}, usagef("name a signed plan, or with --dir a trial that has one")
	case f.Plan == "":
		f.Plan = trial(dir).path(trialPlan)
	}
	return readSigned(f.Plan)
}

func readSigned(path string) (plan.Signed, error) {
	signed, err := plan.ReadSigned(path)
	if err != nil {
		return plan.Signed{}, fmt.Errorf("%w: sign a plan with confetti plan sign", err)
	}
	return signed, nil
}

// party is a service that a plan names.
type party struct {
	name, url string
	role      string // "shuffler", "analyzer", "issuer"
	instance  int
	hop       int
}

// parties are all that have an address: the analyzer first, who may refuse for its
// budget, then hops and the issuer.
func parties(p plan.Plan) []party {
	all := []party{{p.Analyzer.Operator, p.Analyzer.URL, "analyzer", 0, 0}}
	for i, in := range p.Route.Mix.Instances {
		for h, hop := range in.Hops {
			all = append(all, party{hop.Operator, hop.URL, "shuffler", i, h})
		}
	}
	if issuer := p.Route.Mix.Issuer; issuer != nil {
		all = append(all, party{issuer.Operator, issuer.URL, "issuer", 0, 0})
	}
	run := map[string]int{} // parties, by their operator
	for _, one := range all {
		run[one.name]++
	}
	for i, one := range all {
		switch {
		case run[one.name] == 1: // the operator tells which it is
			all[i].name = fmt.Sprintf("%s (%s)", one.name, one.role)
		case one.role == "shuffler":
			all[i].name = fmt.Sprintf("%s, instance %d, hop %d", one.name, one.instance+1, one.hop+1)
		default:
			all[i].name = one.name + ", " + one.role
		}
	}
	return all
}

// register brings the plan to everybody whom it names. It says of each what became
// of it; one that refuses does not keep the others from being asked, but the
// analyzer does.
func (s *services) register(ctx context.Context, std io.Writer, signed plan.Signed) error {
	var errs []error
	seen := map[string]bool{}
	for _, p := range parties(signed.Plan) {
		if p.url == "" {
			return usagef("the plan gives no url for %s: a plan that is collected over a network needs one for every party", p.name)
		}
		if seen[p.url] {
			continue // one service, several posts
		}
		seen[p.url] = true
		status, _, err := s.do(ctx, http.MethodPut, p.url+wire.PlanPath(signed.Plan.Hash()), wire.PlanType(1+len(signed.Others)), signed.Marshal())
		switch {
		case err != nil && p.role == "analyzer":
			return err
		case err != nil:
			errs = append(errs, err)
		case status == http.StatusCreated:
			fmt.Fprintf(std, "%s has taken the plan\n", plain.Text(p.name))
		default:
			fmt.Fprintf(std, "%s has the plan already\n", plain.Text(p.name))
		}
	}
	return errors.Join(errs...)
}
