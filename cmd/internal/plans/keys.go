package plans

import (
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// NewKeys makes a key for every party, and one for releases, writes the public ones into
// the plan, and returns by file name what writes the private ones.
func NewKeys(p *plan.Plan) (map[string]func(path string) error, error) {
	keys := map[string]func(path string) error{}
	one := func(party *plan.Party, file string) error {
		key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
		if err != nil {
			return err
		}
		party.Key = key.Public().String()
		keys[file] = func(path string) error {
			return partykey.CreateOpening(path, key, party.Operator)
		}
		return nil
	}
	if s := p.Route.Sum; s != nil {
		for i, party := range s.Aggregators() {
			if err := one(party, []string{"leader.key", "helper.key"}[i]); err != nil {
				return nil, err
			}
		}
	}
	for i, in := range p.Route.Instances() {
		for h := range in.Hops {
			if err := one(&in.Hops[h], fmt.Sprintf("instance-%d-hop-%d.key", i+1, h+1)); err != nil {
				return nil, err
			}
		}
	}
	releases, err := relay.GenerateSignKey()
	if err != nil {
		return nil, err
	}
	p.Analyzer.Releases = releases.Public().String()
	keys["releases.key"] = func(path string) error {
		return partykey.CreateSigning(path, releases, "releases of "+p.Analyzer.Operator)
	}
	return keys, one(&p.Analyzer, "analyzer.key")
}
