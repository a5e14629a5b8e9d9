// Package plans reads plans from files, signed or not, and lists the parties that they name. Used by
// cmd/confetti/internal, by each command that takes one.
package plans

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Read reads a plan that people write, in TOML or JSON.
func Read(file string) (plan.Plan, error) {
	text, err := atomicfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return plan.Plan{}, fmt.Errorf("there is no plan at %s: check the path, or author one with confetti plan new", file)
	}
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := author.Parse(text)
	if err == nil {
		err = protocol.Validate(p)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// Columns reads the columns of a table from a file that people write.
func Columns(file string) ([]plan.Column, error) {
	text, err := atomicfile.Read(file)
	if err != nil {
		return nil, err
	}
	columns, err := author.Columns(text)
	if err != nil {
		return nil, terminal.Usage(fmt.Errorf("%s: %w", file, err))
	}
	return columns, nil
}

// ReadDraft reads a plan as Read does, for who gives its parties new keys: one that has none, as
// the console's page of a new question writes it, gets some that nobody can open with.
func ReadDraft(file string) (plan.Plan, error) {
	text, err := atomicfile.Read(file)
	if err != nil {
		return Read(file) // which says what to do
	}
	p, err := author.Parse(text)
	if err == nil {
		lend(&p)
		err = protocol.Validate(p)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// lend gives keys to each party without some, and forgets the private halves. Of an unknown suite
// there is none, which Validate says.
func lend(p *plan.Plan) {
	parties := []*plan.Party{&p.Analyzer}
	for _, in := range p.Route.Instances() {
		for h := range in.Hops {
			parties = append(parties, &in.Hops[h])
		}
	}
	if s := p.Route.Sum; s != nil {
		parties = append(parties, &s.Leader, &s.Helper)
	}
	for _, party := range parties {
		if key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite)); err == nil && party.Key == "" {
			party.Key = key.Public().String()
		}
	}
	if key, err := relay.GenerateSignKey(); err == nil && p.Version == plan.Version && p.Analyzer.Releases == "" {
		p.Analyzer.Releases = key.Public().String()
	}
}

// ReadAny reads a plan that is signed or not, with its study if it is a round of one. A signature
// must be the publisher's who is named; whether anybody trusts that one is not asked here.
func ReadAny(file string) (p plan.Plan, study *plan.Study, publisher string, err error) {
	text, err := atomicfile.Read(file)
	if err != nil || !plan.IsSigned(text) {
		p, err = Read(file)
		return p, nil, "", err
	}
	signed, err := ReadSigned(file)
	if err != nil {
		return p, nil, "", err
	}
	if err := signed.Verify(plan.Trust(signed.Signers()...)); err != nil {
		return p, nil, "", fmt.Errorf("%s: %w", file, err)
	}
	return signed.Plan, signed.Study, strings.Join(signed.Signers(), " "), nil
}

// ReadSigned reads a signed plan. Whose the signatures are is not asked here.
func ReadSigned(path string) (plan.Signed, error) {
	signed, err := plan.ReadSigned(path)
	if errors.Is(err, fs.ErrNotExist) {
		return plan.Signed{}, fmt.Errorf("%w: start a trial there with confetti up, which signs one, or sign a plan with confetti plan sign", err)
	} else if err != nil {
		return plan.Signed{}, fmt.Errorf("%w: sign a plan with confetti plan sign", err)
	}
	if err := protocol.Validate(signed.Plan); err != nil {
		return plan.Signed{}, fmt.Errorf("%s: %w", path, err)
	}
	return signed, nil
}
