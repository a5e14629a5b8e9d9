package services

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release/verify"
)

// Published gets what there is of the release of a plan, by name, at its analyzer, and the
// withdrawal of the plan if it has one.
func (s *Services) Published(ctx context.Context, base, name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, file := range verify.Published {
		text, err := s.Get(ctx, fmt.Sprintf("%s/v1/releases/%s.%s", base, name, verify.Format(file)))
		var problem *wire.Problem
		if errors.As(err, &problem) && problem.Code == wire.NotFound && file != page.JSONFile {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[file] = text
	}
	text, err := s.Get(ctx, base+"/v1/plans/"+name+"/withdrawal")
	var problem *wire.Problem
	if errors.As(err, &problem) && problem.Code == wire.NotFound {
		return files, nil
	}
	files[relay.WithdrawalFile] = text
	return files, err
}

// Release returns what is published of a plan, with the plan and its public state, for
// releases.Keep.
func (s *Services) Release(ctx context.Context, signed plan.Signed) (map[string][]byte, error) {
	p := signed.Plan
	files, err := s.Published(ctx, p.Analyzer.URL, p.Name())
	if err != nil {
		return nil, err
	}
	files[verify.SignedFile], files[verify.PlanFile] = append(signed.Marshal(), '\n'), author.TOML(p)
	if p.State != "" {
		var state bytes.Buffer
		if err := s.State(ctx, p.Analyzer.URL, p.State, &state); err != nil {
			return nil, err
		}
		files[verify.StateFile] = state.Bytes()
	}
	return files, nil
}
