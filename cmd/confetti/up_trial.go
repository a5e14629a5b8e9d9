package main

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

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// trial is the folder of confetti up. Every party has a folder in it, with the
// configuration that a service of its own would have.
type trial string

// What is in the folder of a trial beside the parties' folders. The plan is
// written last: a folder without it is not finished.
const (
	trialPlan       = "plan.signed.json"
	trialRoots      = "authority.crt"
	trialPublisher  = "publisher.json"
	trialPublishers = "publishers.txt"
	trialOperator   = "operator.token"  // the one operator's bearer token
	trialOperators  = "operators"       // its hash, for the services
	trialDevices    = "devices.tokens"  // bearer tokens of the devices, one a line
	trialBearers    = "devices.bearers" // their hashes, for the issuer
	trialSimulated  = "devices"         // folder of the devices' state
	trialValues     = "values.csv"
	trialLog        = "log"
	trialPopulation = "everybody"
	trialHost       = "127.0.0.1"
	trialName       = "trial" // operator of every party
)

func (t trial) path(elements ...string) string {
	return filepath.Join(append([]string{string(t)}, elements...)...)
}

// folder is a party's.
func (t trial) folder(p party) string {
	if p.role == "shuffler" {
		return t.path(fmt.Sprintf("instance-%d-hop-%d", p.instance+1, p.hop+1))
	}
	return t.path(p.role)
}

func (t trial) config(p party) string { return filepath.Join(t.folder(p), p.role+".toml") }

// maxTrial bounds the devices of a trial, each of which has a folder.
const maxTrial = 100_000

// make writes everything that a trial needs.
func (c upCommand) make(t trial) error {
	if c.Closes <= 0 {
		return usagef("--closes is %v: give how long the collection is open, such as 15m", c.Closes)
	}
	if c.Devices < 1 || c.Devices > maxTrial {
		return usagef("--devices is %d: give 1 to %d", c.Devices, maxTrial)
	}
	p, err := c.draft()
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
		durable.Replace(t.path(trialRoots), ca.PEM(), 0o600),
		wire.CreateSignKeyFile(t.path(trialPublisher), publisher, "publisher of the trial"),
		durable.Replace(t.path(trialPublishers), plan.Trust(publisher.Public().String()).Marshal(), 0o600),
		t.tokens(c.Devices),
	); err != nil {
		return err
	}
	if err := t.settle(&p); err != nil {
		return err
	}
	for _, one := range parties(p) {
		if err := t.equip(one, ca); err != nil {
			return err
		}
	}
	if c.Plan == "" {
		if err := t.values(p, c.Devices); err != nil {
			return err
		}
	}
	p.Signatures = 0 // one publisher is all that a trial has
	p.Times = plan.Times{Opens: time.Now().UTC().Truncate(time.Second)}
	p.Times.Closes = p.Times.Opens.Add(c.Closes)
	if err := protocol.Check(p); err != nil {
		return err
	}
	return durable.Replace(t.path(trialPlan), append(plan.Sign(p, publisher.Private()).Marshal(), '\n'), 0o600)
}

// draft is the plan without parties' keys and addresses.
func (c upCommand) draft() (plan.Plan, error) {
	if c.Plan != "" {
		return readPlan(c.Plan)
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
		Route:     mixRoute(1, 2),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}, nil
}

// settle gives every party keys and an address, makes hops demand tokens, and
// calibrates the sample's noise.
func (t trial) settle(p *plan.Plan) error {
	mix := p.Route.Mix
	mix.Issuer = &plan.Party{Operator: "issuer"}
	urls, err := addresses(len(parties(*p)))
	if err != nil {
		return err
	}
	mix.Issuer.URL, p.Analyzer.URL, urls = urls[0], urls[1], urls[2:]
	opener := func(at party, to *plan.Party) error {
		key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
		if err != nil {
			return err
		}
		to.Key = key.Public().String()
		if err := os.MkdirAll(filepath.Join(t.folder(at), "keys"), 0o700); err != nil {
			return err
		}
		return envelope.CreateKeyFile(filepath.Join(t.folder(at), "keys", "open.json"), envelope.KeyFile{Key: key, Purpose: to.Operator})
	}
	if err := opener(party{role: "analyzer"}, &p.Analyzer); err != nil {
		return err
	}
	issuing := filepath.Join(t.folder(party{role: "issuer"}), "keys")
	if err := os.MkdirAll(issuing, 0o700); err != nil {
		return err
	}
	for i, in := range mix.Instances {
		for h := range in.Hops {
			hop, at := &in.Hops[h], party{role: "shuffler", instance: i, hop: h}
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
				wire.CreateSignKeyFile(filepath.Join(t.folder(at), "keys", "receipts.json"), sign, hop.Operator),
				token.CreateKeyFile(filepath.Join(issuing, fmt.Sprintf("instance-%d-hop-%d.json", i+1, h+1)), tokens, hop.Operator),
			); err != nil {
				return err
			}
		}
	}
	// One operator has all these keys, whatever a plan says that was to be tried: releases
	// know a trial by that.
	p.Analyzer.Operator, mix.Issuer.Operator = trialName, trialName
	for _, in := range mix.Instances {
		for h := range in.Hops {
			in.Hops[h].Operator = trialName
		}
	}
	if p.Question.Histogram != nil && p.Envelopes.PerDevice == 0 {
		*p, err = protocol.Design(*p)
	}
	return err
}

// addresses finds free ports of this machine. Another program could take one
// before its service does, which then says so.
func addresses(n int) ([]string, error) {
	urls := make([]string, n)
	for i := range urls {
		l, err := net.Listen("tcp", net.JoinHostPort(trialHost, "0"))
		if err != nil {
			return nil, err
		}
		defer l.Close() // after the last, so that no two are the same
		urls[i] = "https://" + l.Addr().String()
	}
	return urls, nil
}

// tokens draws the operator's and the devices' bearer tokens.
func (t trial) tokens(devices int) error {
	operator, err := serve.AddBearer(rng.New(), t.path(trialOperators), "operator")
	if err != nil {
		return err
	}
	names := make([]string, devices)
	for i := range names {
		names[i] = fmt.Sprintf("device-%06d", i+1)
	}
	tokens, err := serve.AddBearers(rng.New(), t.path(trialBearers), names...)
	if err != nil {
		return err
	}
	return errors.Join(
		durable.Replace(t.path(trialOperator), []byte(operator+"\n"), 0o600),
		durable.Replace(t.path(trialDevices), []byte(strings.Join(tokens, "\n")+"\n"), 0o600),
	)
}

// equip gives a party its certificate and its configuration.
func (t trial) equip(p party, ca *serve.Authority) error {
	certificate, key, err := ca.Server(trialHost)
	if err != nil {
		return err
	}
	address, _ := strings.CutPrefix(p.url, "https://")
	text := fmt.Sprintf("keys = 'keys'\nroots = '../%s'\n%s\n[http]\nlisten = '%s'\ncertificate = 'server.crt'\nkey = 'server.key'\noperators = '../%s'\n", trialRoots, partyConfig(p), address, trialOperators)
	return errors.Join(
		durable.Replace(filepath.Join(t.folder(p), "server.crt"), certificate, 0o600),
		durable.Replace(filepath.Join(t.folder(p), "server.key"), key, 0o600),
		durable.Replace(t.config(p), []byte(text), 0o600),
	)
}

// partyConfig is what differs between the configurations of the roles.
func partyConfig(p party) string {
	switch p.role {
	case "shuffler":
		return fmt.Sprintf("publishers_file = '../%s'\nqueue.folder = 'queue'\n", trialPublishers)
	case "issuer":
		return fmt.Sprintf("publishers_file = '../%s'\nfolder = 'marks'\nbearers = '../%s'\n", trialPublishers, trialBearers)
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
`, trialPublishers, trialPopulation, trialPopulation)
}

// values writes made-up answers to the sample: the first colour is the commonest.
func (t trial) values(p plan.Plan, devices int) error {
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
	return durable.Replace(t.path(trialValues), b.Bytes(), 0o600)
}
