package up

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/server/roles"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// settle gives every party keys and an address, has hops or aggregators demand tokens, and
// calibrates the sample's noise.
func settle(t trial.Folder, p *plan.Plan, withTokens bool) error {
	urls, err := trial.Addresses(len(plans.Parties(*p)) + 1) // one more, of an issuer that it may not have yet
	if err != nil {
		return err
	}
	issuer := &plan.Party{Operator: trial.Name, URL: urls[0]}
	if !withTokens {
		issuer = nil
	}
	p.Analyzer.Operator, p.Analyzer.URL, urls = trial.Name, urls[1], urls[2:]
	if err := releaser(t, p); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(t.Of(plans.Party{Role: "issuer"}), "keys"), 0o700); err != nil {
		return err
	}
	one := func(at plans.Party, to *plan.Party) error {
		to.URL, urls = urls[0], urls[1:]
		return establish(t, at, to, p.Envelopes.Suite, withTokens)
	}
	if p.Route.Sum != nil {
		route := *p.Route.Sum
		p.Route.Sum, route.Issuer = &route, issuer
		err = errors.Join(one(plans.Party{Role: "leader"}, &route.Leader), one(plans.Party{Role: "helper", Hop: 1}, &route.Helper))
	} else {
		p.Route.Mix.Issuer = issuer
		for i, in := range p.Route.Instances() {
			for h := range in.Hops {
				err = errors.Join(err, one(plans.Party{Role: "shuffler", Instance: i, Hop: h}, &in.Hops[h]))
			}
		}
	}
	if err == nil && unfilled(*p) {
		*p, err = design.Fill(*p)
	}
	return err
}

// opener gives a party the key that it opens with.
func opener(t trial.Folder, at plans.Party, to *plan.Party, suite string) error {
	key, err := envelope.GenerateKey(envelope.Suite(suite))
	if err != nil {
		return err
	}
	to.Key = key.Public().String()
	if err := os.MkdirAll(filepath.Join(t.Of(at), "keys"), 0o700); err != nil {
		return err
	}
	return partykey.CreateOpening(filepath.Join(t.Of(at), "keys", "open.json"), key, to.Operator)
}

// releaser gives the analyzer the key that it opens with, and the one that signs its releases.
func releaser(t trial.Folder, p *plan.Plan) error {
	at := plans.Party{Role: "analyzer"}
	if err := opener(t, at, &p.Analyzer, p.Envelopes.Suite); err != nil {
		return err
	}
	sign, err := relay.GenerateSignKey()
	if err != nil {
		return err
	}
	p.Version, p.Analyzer.Releases = plan.Version, sign.Public().String()
	return partykey.CreateSigning(filepath.Join(t.Of(at), "keys", "releases.json"), sign, "releases of "+p.Analyzer.Operator)
}

// establish gives a hop or an aggregator its keys. One operator has all of them, whatever
// a plan says that was to be tried: releases know a trial by that.
func establish(t trial.Folder, at plans.Party, to *plan.Party, suite string, withTokens bool) error {
	if err := opener(t, at, to, suite); err != nil {
		return err
	}
	sign, err := relay.GenerateSignKey()
	if err != nil {
		return err
	}
	to.Receipts = sign.Public().String()
	if err := partykey.CreateSigning(filepath.Join(t.Of(at), "keys", "receipts.json"), sign, to.Operator); err != nil {
		return err
	}
	defer func() { to.Operator = trial.Name }()
	if to.Tokens = ""; !withTokens {
		return nil
	}
	tokens, err := token.GenerateKey()
	if err != nil {
		return err
	}
	to.Tokens = tokens.Public().String()
	issuing := filepath.Join(t.Of(plans.Party{Role: "issuer"}), "keys")
	return partykey.CreateTokens(filepath.Join(issuing, fmt.Sprintf("instance-%d-hop-%d.json", at.Instance+1, at.Hop+1)), tokens, to.Operator)
}

// pair gives both aggregators the secret that they share, and the analyzer the token with
// which it fetches sums of the leader at this address.
func pair(t trial.Folder, at string) error {
	var seed [aggregator.PairBytes]byte
	rng.Reader(rng.New()).Read(seed[:])
	leader := t.Of(plans.Party{Role: "leader"})
	collector, err := serve.AddBearer(rng.New(), filepath.Join(leader, "collectors"), "analyzer")
	return errors.Join(err,
		aggregator.CreatePair(filepath.Join(leader, pairFile), seed),
		aggregator.CreatePair(filepath.Join(t.Of(plans.Party{Role: "helper"}), pairFile), seed),
		atomicfile.Replace(filepath.Join(t.Of(plans.Party{Role: "analyzer"}), "collector"), fmt.Appendf(nil, "%s %s\n", at, collector), 0o600),
	)
}

const pairFile = "pair.secret"

// tokens draws the operator's and the devices' bearer tokens, and returns that of an app.
func tokens(t trial.Folder, p plan.Plan, devices int) (app string, err error) {
	operator, err := serve.AddBearer(rng.New(), t.Path(trial.Operators), "operator")
	if err != nil {
		return "", err
	}
	var lines []byte
	for _, one := range plans.Parties(p) {
		lines = fmt.Appendf(lines, "%s %s\n", one.URL, operator)
	}
	names := make([]string, devices)
	for i := range names {
		names[i] = fmt.Sprintf("device-%06d", i+1)
	}
	tokens, err := serve.AddBearers(rng.New(), t.Path(trial.Bearers), append(names, "app")...)
	if err != nil {
		return "", err
	}
	tokens, app = tokens[:devices], tokens[devices]
	return app, errors.Join(
		atomicfile.Replace(t.Path(trial.Tokens), lines, 0o600),
		atomicfile.Replace(t.Path(trial.Devices), []byte(strings.Join(tokens, "\n")+"\n"), 0o600),
	)
}

// equip gives a party its certificate and its configuration.
func (c Command) equip(t trial.Folder, p plans.Party, ca *serve.Authority, summed bool) error {
	certificate, key, err := ca.Server(trial.Host)
	if err != nil {
		return err
	}
	config := partyConfig(p)
	if c.Rounds > 0 && p.Role == "analyzer" {
		config = fmt.Sprintf("coordinator = '%s'\n", trial.Coordinator) + config
	}
	if summed && p.Role == "analyzer" {
		config = "collector = 'collector'\n" + config
	}
	address, _ := strings.CutPrefix(p.URL, "https://")
	text := fmt.Sprintf("keys = 'keys'\nroots = '../%s'\n%s\n[http]\nlisten = '%s'\ncertificate = 'server.crt'\nkey = 'server.key'\noperators = '../%s'\n", trial.Roots, config, address, trial.Operators)
	if len(c.Origin) > 0 {
		text += fmt.Sprintf("origins = ['%s']\n", strings.Join(c.Origin, "', '"))
	}
	return errors.Join(
		atomicfile.Replace(filepath.Join(t.Of(p), "server.crt"), certificate, 0o600),
		atomicfile.Replace(filepath.Join(t.Of(p), "server.key"), key, 0o600),
		atomicfile.Replace(t.Config(p), []byte(text), 0o600),
		roles.Make(p.Role, t.Of(p)),
	)
}

// partyConfig returns what differs between the configurations of the roles.
func partyConfig(p plans.Party) string {
	switch p.Role {
	case "shuffler":
		return fmt.Sprintf("publishers_file = '../%s'\nbearers = '../%s'\nqueue.folder = '%s'\n", trial.Publishers, trial.Bearers, roles.QueueFolder)
	case "leader":
		return fmt.Sprintf("publishers_file = '../%s'\nbearers = '../%s'\ncollectors = 'collectors'\ndatabase = '%s'\npair = '%s'\n", trial.Publishers, trial.Bearers, roles.ShelvesFolder, pairFile)
	case "helper":
		return fmt.Sprintf("publishers_file = '../%s'\ndatabase = '%s'\npair = '%s'\n", trial.Publishers, roles.ShelvesFolder, pairFile)
	case "issuer":
		return fmt.Sprintf("publishers_file = '../%s'\nfolder = '%s'\nbearers = '../%s'\n", trial.Publishers, roles.MarksFolder, trial.Bearers)
	}
	// Grace: hops forward within seconds on one machine.
	return fmt.Sprintf(`database = 'shelves'
grace = '10s'
publishers_file = '../%s'

[[publishers]]
name = 'trial'
population = '%s'

[populations.%s]
epsilon = 20.0
delta = 1e-3
adjacency = 'replacement'
`, trial.Publishers, trial.Population, trial.Population)
}
