package draft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// newKeys makes a key for every party, and one for releases, writes the public ones into
// the plan, and returns by file name what writes the private ones.
func newKeys(p *plan.Plan) (map[string]func(path string) error, error) {
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

// save writes the keys, where there are any, and then the plan. After an error nothing that it wrote
// remains.
func (c parties) save(p plan.Plan, keys map[string]func(path string) error) (err error) {
	var made []string
	defer func() {
		if err != nil {
			for i := len(made) - 1; i >= 0; i-- {
				err = errors.Join(err, os.Remove(made[i]))
			}
		}
	}()
	if len(keys) == 0 {
		// The parties have theirs.
	} else if err := os.Mkdir(c.Keys, 0o700); err == nil {
		made = append(made, c.Keys)
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--keys: %w: name a folder that is there, or can be made", err)
	}
	for name, write := range keys {
		path := filepath.Join(c.Keys, name)
		if err := write(path); err != nil {
			return fmt.Errorf("--keys: %w: choose another folder", err)
		}
		made = append(made, path)
	}
	if err := atomicfile.Create(c.File, author.TOML(p), 0o644); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: a plan is immutable; choose another name", c.File)
		}
		return err
	}
	return nil
}
