package chaos

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

const (
	maxInstances = 2
	maxHops      = 3
	maxDevices   = 12
	cells        = 64 // of the question: more than all that anybody ever says
)

var opens = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// closes is when the collections of schedules do; the grace is an hour.
var closes = opens.Add(time.Hour)

// ring is the keys of everybody, made once: plans differ by their titles, so that
// what is sealed or signed for one is of no use in another.
type ring struct {
	dir       string // keys/0.1, keys/issuer, keys/analyzer, respondents, operators
	publisher ed25519.PrivateKey
	analyzer  envelope.PrivateKey
	releases  relay.SignKey // of the analyzer
	open      [maxInstances][maxHops]envelope.PrivateKey
	sign      [maxInstances][maxHops]relay.SignKey
	tokens    [maxInstances][maxHops]token.PrivateKey
	pair      pairKeys
	bearers   []string // of the devices
	operator  string   // bearer token of the analyzer's
}

func (r *ring) trusted() string { return plan.Publisher(r.publisher.Public().(ed25519.PublicKey)) }

func (r *ring) keys(name string) string { return filepath.Join(r.dir, "keys", name) }

func hopName(instance, hop int) string { return fmt.Sprintf("hop%d.%d", instance, hop) }

// people reads a file of bearer tokens.
func (r *ring) people(name string) *serve.Bearers {
	b, err := serve.ReadBearers(filepath.Join(r.dir, name))
	if err != nil {
		panic(err)
	}
	return b
}

var rings = sync.OnceValue(func() *ring {
	dir, err := os.MkdirTemp("", "confetti-chaos-keys-")
	if err != nil {
		panic(err)
	}
	r := &ring{dir: dir, publisher: publisherKey}
	if err := r.make(); err != nil {
		panic(err)
	}
	return r
})

func (r *ring) make() (err error) {
	for _, name := range []string{"issuer", "analyzer"} {
		err = errors.Join(err, os.MkdirAll(r.keys(name), 0o700))
	}
	var failed error
	if r.analyzer, failed = envelope.GenerateKey(envelope.X25519); failed == nil {
		failed = partykey.CreateOpening(filepath.Join(r.keys("analyzer"), "open.json"), r.analyzer, "test")
	}
	err = errors.Join(err, failed)
	if r.releases, failed = relay.GenerateSignKey(); failed == nil {
		failed = partykey.CreateSigning(filepath.Join(r.keys("analyzer"), "releases.json"), r.releases, "test")
	}
	err = errors.Join(err, failed)
	var wg sync.WaitGroup // RSA keys take a moment each
	var mu sync.Mutex
	for i := range maxInstances {
		for h := range maxHops {
			wg.Go(func() {
				failed := r.makeHop(i, h)
				mu.Lock()
				defer mu.Unlock()
				err = errors.Join(err, failed)
			})
		}
	}
	wg.Wait()
	err = errors.Join(err, r.makePair())
	names := make([]string, maxDevices)
	for d := range names {
		names[d] = deviceName(d)
	}
	if r.bearers, failed = serve.AddBearers(seeded.New(1), filepath.Join(r.dir, "respondents"), names...); failed != nil {
		return failed
	}
	r.operator, failed = serve.AddBearer(seeded.New(2), filepath.Join(r.dir, "operators"), "operator")
	return errors.Join(err, failed)
}

func (r *ring) makeHop(i, h int) (err error) {
	if r.open[i][h], err = envelope.GenerateKey(envelope.X25519); err != nil {
		return err
	}
	if r.sign[i][h], err = relay.GenerateSignKey(); err != nil {
		return err
	}
	if r.tokens[i][h], err = token.GenerateKey(); err != nil {
		return err
	}
	dir := r.keys(hopName(i, h))
	return errors.Join(
		os.MkdirAll(dir, 0o700),
		partykey.CreateOpening(filepath.Join(dir, "open.json"), r.open[i][h], "test"),
		partykey.CreateSigning(filepath.Join(dir, "sign.json"), r.sign[i][h], "test"),
		partykey.CreateTokens(filepath.Join(r.keys("issuer"), hopName(i, h)+".json"), r.tokens[i][h], "test"),
	)
}

// shape is who takes part in a collection.
type shape struct {
	hops    []int // of each instance
	tokens  bool  // every hop demands single-use tokens; else the entry asks for bearer tokens
	minimum int   // n_min
	devices int
	crowds  int
	sent    int    // envelopes of a contribution; 0: two
	rounds  int    // of a study, at most; 0: it is asked once
	takes   string // of a study
	sum     bool   // two aggregators in the place of hops
	logged  bool   // of a sum: the plan and its release stand in a public log
	apart   bool   // of a house: each role has a database server of its own
}

// plan is a collection of that shape. The question is k-ary response
// with as large a budget as there is: P(a device says another cell than its own)
// = 63 / (e^30 + 63) = 6e-12, and its ledger tells. Two envelopes a device, one of
// them a dummy, so that a contribution is more than one thing to lose.
func (r *ring) plan(title string, s shape, address func(name string) string, times plan.Times) (plan.Signed, error) {
	p := plan.Plan{
		Version: plan.Version, Title: title,
		Question: plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: cells}},
			Randomizer: plan.Randomizer{Name: "krr", Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: 30, Delta: 1e-5, Adjacency: "replacement"},
		Crowd:     plan.Crowd{Minimum: s.minimum},
		Envelopes: plan.Envelopes{Suite: string(envelope.X25519)},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{}},
		Analyzer:  plan.Party{Operator: "analyzer", Key: r.analyzer.Public().String(), URL: address("analyzer"), Releases: r.releases.Public().String()},
		Times:     times,
	}
	for c := range s.crowds {
		p.Crowd.Names = append(p.Crowd.Names, fmt.Sprint("crowd ", c))
	}
	for i, n := range s.hops {
		var in plan.Instance
		for h := range n {
			party := plan.Party{
				Operator: hopName(i, h), Key: r.open[i][h].Public().String(),
				URL: address(hopName(i, h)), Receipts: r.sign[i][h].Public().String(),
			}
			if s.tokens {
				party.Tokens = r.tokens[i][h].Public().String()
			}
			in.Hops = append(in.Hops, party)
		}
		p.Route.Mix.Instances = append(p.Route.Mix.Instances, in)
	}
	if s.tokens {
		p.Route.Mix.Issuer = &plan.Party{Operator: "issuer", URL: address("issuer")}
	}
	p, err := design.Fill(p)
	if err != nil {
		return plan.Signed{}, err
	}
	p.Envelopes.PerDevice = cmp.Or(s.sent, 2)
	if err := protocol.Check(p); err != nil {
		return plan.Signed{}, err
	}
	return plan.Sign(p, r.publisher), nil
}

func deviceName(d int) string { return fmt.Sprint("device", d) }
