package up

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/plans"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/trial"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// maxTrial bounds the devices of a trial, each of which has a folder.
const maxTrial = 100_000

// Make writes everything that a trial needs.
func (c Command) Make(t trial.Folder) error {
	if c.Closes <= 0 {
		return terminal.Usagef("--closes is %v: give how long the collection is open, such as 15m", c.Closes)
	}
	if c.Rounds < 0 || c.Rounds > plan.MaxRounds {
		return terminal.Usagef("--rounds is %d: give 1 to %d, or 0 to ask once", c.Rounds, plan.MaxRounds)
	}
	if c.Devices < 1 || c.Devices > maxTrial {
		return terminal.Usagef("--devices is %d: give 1 to %d", c.Devices, maxTrial)
	}
	p, err := c.Draft()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(t), 0o700); err != nil {
		return err
	}
	if entries, err := os.ReadDir(string(t)); err != nil || len(entries) > 0 {
		return errors.Join(err, fmt.Errorf("%s is neither empty nor a finished trial: name another folder", t))
	}
	if err := os.Chmod(string(t), 0o700); err != nil {
		return err
	}
	// Files first, the plan last: whatever fails before leaves no trial.
	ca, err := serve.NewAuthority("Confetti trial", 365*24*time.Hour)
	if err != nil {
		return err
	}
	publisher, err := wire.GenerateSignKey()
	if err != nil {
		return err
	}
	if err := errors.Join(
		durable.Replace(t.Path(trial.Roots), ca.PEM(), 0o600),
		wire.CreateSignKeyFile(t.Path(trial.Publisher), publisher, "publisher of the trial"),
		durable.Replace(t.Path(trial.Publishers), plan.Trust(publisher.Public().String()).Marshal(), 0o600),
		tokens(t, c.Devices),
	); err != nil {
		return err
	}
	if err := settle(t, &p, c.tokens()); err != nil {
		return err
	}
	for _, one := range plans.Parties(p) {
		if err := equip(t, one, ca, c.Rounds > 0); err != nil {
			return err
		}
	}
	if c.Plan == "" {
		if err := values(t, p, c.Devices); err != nil {
			return err
		}
	}
	p.Signatures = 0 // one publisher is all that a trial has
	times := plan.Times{Opens: time.Now().UTC().Truncate(time.Second)}
	times.Closes = times.Opens.Add(c.Closes)
	if p.Times = times; c.Rounds > 0 {
		p.Times = plan.Times{}
	}
	if err := protocol.Check(p); err != nil {
		return err
	}
	if c.Rounds > 0 {
		return c.study(t, p, times, publisher)
	}
	return durable.Replace(t.Path(trial.Plan), append(plan.Sign(p, publisher.Private()).Marshal(), '\n'), 0o600)
}

// study makes the plan a study of the trial's, and its first round the trial's plan. The
// rounds have as much time between them as the analyzer may take to conclude one.
func (c Command) study(t trial.Folder, p plan.Plan, times plan.Times, publisher wire.SignKey) error {
	coordinator, err := wire.GenerateSignKey()
	if err != nil {
		return err
	}
	path := filepath.Join(t.Of(plans.Party{Role: "analyzer"}), trial.Coordinator)
	if err := wire.CreateSignKeyFile(path, coordinator, "coordinator of the trial's study"); err != nil {
		return err
	}
	whole := plan.Times{Opens: times.Opens, Closes: times.Opens.Add(time.Duration(c.Rounds) * (c.Closes + 5*time.Minute))}
	first, state, err := c.First(p, c.Rounds, whole, times, publisher, coordinator)
	if err == nil && state != nil {
		err = durable.Replace(t.Path(trial.State), state, 0o600)
	}
	if err != nil {
		return err
	}
	return keep(t, first)
}

// Draft is the plan without parties' keys and addresses.
func (c Command) Draft() (plan.Plan, error) {
	if c.Plan != "" {
		return plans.Read(c.Plan)
	}
	return plan.Plan{
		Version: plan.Version, Title: "Which colour do you like best?",
		Question: plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "colour", Kind: "categories", Values: []string{"red", "green", "blue", "yellow", "violet"}}},
			Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"},
		Crowd:     plan.Crowd{Minimum: 100},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route:     plans.Route(1, 2),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}, nil
}

// tokens says whether hops demand tokens: not in a study of which everybody answers all
// rounds, which has the same keys in each.
func (c Command) tokens() bool { return c.Rounds == 0 || c.Takes == plan.TakesOne }

// settle gives every party keys and an address, has hops demand tokens, and
// calibrates the sample's noise.
func settle(t trial.Folder, p *plan.Plan, withTokens bool) error {
	mix := p.Route.Mix
	mix.Issuer = &plan.Party{Operator: "issuer"}
	urls, err := addresses(len(plans.Parties(*p)))
	if err != nil {
		return err
	}
	mix.Issuer.URL, p.Analyzer.URL, urls = urls[0], urls[1], urls[2:]
	opener := func(at plans.Party, to *plan.Party) error {
		key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
		if err != nil {
			return err
		}
		to.Key = key.Public().String()
		if err := os.MkdirAll(filepath.Join(t.Of(at), "keys"), 0o700); err != nil {
			return err
		}
		return envelope.CreateKeyFile(filepath.Join(t.Of(at), "keys", "open.json"), envelope.KeyFile{Key: key, Purpose: to.Operator})
	}
	if err := opener(plans.Party{Role: "analyzer"}, &p.Analyzer); err != nil {
		return err
	}
	issuing := filepath.Join(t.Of(plans.Party{Role: "issuer"}), "keys")
	if err := os.MkdirAll(issuing, 0o700); err != nil {
		return err
	}
	for i, in := range mix.Instances {
		for h := range in.Hops {
			hop, at := &in.Hops[h], plans.Party{Role: "shuffler", Instance: i, Hop: h}
			if err := opener(at, hop); err != nil {
				return err
			}
			sign, err := wire.GenerateSignKey()
			if err != nil {
				return err
			}
			tokens, err := token.GenerateKey()
			if err != nil {
				return err
			}
			hop.URL, hop.Receipts, hop.Tokens, urls = urls[0], sign.Public().String(), tokens.Public().String(), urls[1:]
			if err := errors.Join(
				wire.CreateSignKeyFile(filepath.Join(t.Of(at), "keys", "receipts.json"), sign, hop.Operator),
				token.CreateKeyFile(filepath.Join(issuing, fmt.Sprintf("instance-%d-hop-%d.json", i+1, h+1)), tokens, hop.Operator),
			); err != nil {
				return err
			}
		}
	}
	// One operator has all these keys, whatever a plan says that was to be tried: releases
	// know a trial by that.
	p.Analyzer.Operator, mix.Issuer.Operator = trial.Name, trial.Name
	if !withTokens {
		mix.Issuer = nil
		for _, in := range mix.Instances {
			for h := range in.Hops {
				in.Hops[h].Tokens = ""
			}
		}
	}
	for _, in := range mix.Instances {
		for h := range in.Hops {
			in.Hops[h].Operator = trial.Name
		}
	}
	if p.Envelopes.PerDevice == 0 {
		*p, err = protocol.Design(*p)
	}
	return err
}

// addresses finds free ports of this machine. Another program could take one
// before its service does, which then says so.
func addresses(n int) ([]string, error) {
	urls := make([]string, n)
	for i := range urls {
		l, err := net.Listen("tcp", net.JoinHostPort(trial.Host, "0"))
		if err != nil {
			return nil, err
		}
		defer l.Close() // after the last, so that no two are the same
		urls[i] = "https://" + l.Addr().String()
	}
	return urls, nil
}

// tokens draws the operator's and the devices' bearer tokens.
func tokens(t trial.Folder, devices int) error {
	operator, err := serve.AddBearer(rng.New(), t.Path(trial.Operators), "operator")
	if err != nil {
		return err
	}
	names := make([]string, devices)
	for i := range names {
		names[i] = fmt.Sprintf("device-%06d", i+1)
	}
	tokens, err := serve.AddBearers(rng.New(), t.Path(trial.Bearers), names...)
	if err != nil {
		return err
	}
	return errors.Join(
		durable.Replace(t.Path(trial.Operator), []byte(operator+"\n"), 0o600),
		durable.Replace(t.Path(trial.Devices), []byte(strings.Join(tokens, "\n")+"\n"), 0o600),
	)
}

// equip gives a party its certificate and its configuration.
func equip(t trial.Folder, p plans.Party, ca *serve.Authority, study bool) error {
	certificate, key, err := ca.Server(trial.Host)
	if err != nil {
		return err
	}
	config := partyConfig(p)
	if study && p.Role == "analyzer" {
		config = fmt.Sprintf("coordinator = '%s'\n", trial.Coordinator) + config
	}
	address, _ := strings.CutPrefix(p.URL, "https://")
	text := fmt.Sprintf("keys = 'keys'\nroots = '../%s'\n%s\n[http]\nlisten = '%s'\ncertificate = 'server.crt'\nkey = 'server.key'\noperators = '../%s'\n", trial.Roots, config, address, trial.Operators)
	return errors.Join(
		durable.Replace(filepath.Join(t.Of(p), "server.crt"), certificate, 0o600),
		durable.Replace(filepath.Join(t.Of(p), "server.key"), key, 0o600),
		durable.Replace(t.Config(p), []byte(text), 0o600),
	)
}

// partyConfig is what differs between the configurations of the roles.
func partyConfig(p plans.Party) string {
	switch p.Role {
	case "shuffler":
		return fmt.Sprintf("publishers_file = '../%s'\nbearers = '../%s'\nqueue.folder = 'queue'\n", trial.Publishers, trial.Bearers)
	case "issuer":
		return fmt.Sprintf("publishers_file = '../%s'\nfolder = 'marks'\nbearers = '../%s'\n", trial.Publishers, trial.Bearers)
	}
	// Grace: hops forward within seconds on one machine.
	return fmt.Sprintf(`database = 'analyzer.db'
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

// values writes made-up answers to the sample: the first colour is the commonest.
func values(t trial.Folder, p plan.Plan, devices int) error {
	asked := p.Question.Histogram.Attributes[0]
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{asked.Name})
	r := rng.New()
	for range devices {
		i := r.IntN(len(asked.Values))
		w.Write([]string{asked.Values[min(i, r.IntN(len(asked.Values)))]})
	}
	w.Flush()
	return durable.Replace(t.Path(trial.Values), b.Bytes(), 0o600)
}
