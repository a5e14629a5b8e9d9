package chaos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

var aggregators = []string{"leader", "helper"}

// pairKeys is the keys of two aggregators, and of the log.
type pairKeys struct {
	open   [2]envelope.PrivateKey
	sign   [2]relay.SignKey
	tokens [2]token.PrivateKey
	log    relay.SignKey
}

func (r *ring) makePair() (err error) {
	for i, name := range aggregators {
		if r.pair.open[i], err = envelope.GenerateKey(envelope.X25519); err != nil {
			return err
		}
		if r.pair.sign[i], err = relay.GenerateSignKey(); err != nil {
			return err
		}
		if r.pair.tokens[i], err = token.GenerateKey(); err != nil {
			return err
		}
		dir := r.keys(name)
		if err := errors.Join(
			os.MkdirAll(dir, 0o700),
			partykey.CreateOpening(filepath.Join(dir, "open.json"), r.pair.open[i], "test"),
			partykey.CreateSigning(filepath.Join(dir, "sign.json"), r.pair.sign[i], "test"),
			partykey.CreateTokens(filepath.Join(r.keys("issuer"), name+".json"), r.pair.tokens[i], "test"),
		); err != nil {
			return err
		}
	}
	if r.pair.log, err = relay.GenerateSignKey(); err != nil {
		return err
	}
	return partykey.CreateSigning(filepath.Join(r.dir, "log.json"), r.pair.log, "test")
}

// logKey reads the log's key, as a child does that has made no ring.
func (r *ring) logKey() (relay.SignKey, error) {
	k, _, err := partykey.ReadSigning(filepath.Join(r.dir, "log.json"))
	return k, err
}

// sumCells is more than a device says, for itself and in the name of another.
const sumCells = 3 * maxDevices

// sumPlan is a collection over sums. Each aggregator adds discrete Laplace noise of so large a
// budget that there is none: the plan's decay is 21, and the noise of a cell is not 0 with
// probability 2a/(1+a), a = e^-21, or 1.5e-9.
func (r *ring) sumPlan(title string, s shape, address func(name string) string, times plan.Times) (plan.Signed, error) {
	party := func(i int) plan.Party {
		p := plan.Party{
			Operator: aggregators[i], Key: r.pair.open[i].Public().String(), URL: address(aggregators[i]), Receipts: r.pair.sign[i].Public().String(),
		}
		if s.tokens {
			p.Tokens = r.pair.tokens[i].Public().String()
		}
		return p
	}
	p := plan.Plan{
		Version: plan.Version, Title: title,
		Question: plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: sumCells}},
		}},
		Budget:    plan.Budget{Epsilon: 60, Delta: 1e-5, Adjacency: "replacement"},
		Crowd:     plan.Crowd{Minimum: s.minimum},
		Envelopes: plan.Envelopes{Suite: string(envelope.X25519)},
		Route:     plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Leader: party(0), Helper: party(1), Noise: plan.NoiseAggregators, Law: plan.LawLaplace}},
		Analyzer:  plan.Party{Operator: "analyzer", Key: r.analyzer.Public().String(), URL: address("analyzer"), Releases: r.releases.Public().String()},
		Times:     times,
	}
	for c := range s.crowds {
		p.Crowd.Names = append(p.Crowd.Names, string(rune('a'+c)))
	}
	if s.tokens {
		p.Route.Sum.Issuer = &plan.Party{Operator: "issuer", URL: address("issuer")}
	}
	p, err := design.Fill(p)
	if err == nil {
		err = protocol.Check(p)
	}
	if err != nil {
		return plan.Signed{}, err
	}
	return plan.Sign(p, r.publisher), nil
}

func launchAggregator(name string, s setting) (process, error) {
	store, err := s.sharedStore()
	if store == nil && err == nil {
		store, err = shelves.Folder(s.dir, s.common(name), true)
	}
	if err != nil {
		return process{}, err
	}
	if s.writes != nil {
		store = narrow{store, s.writes, s.lies}
	}
	role := map[string]dap.Role{"leader": dap.Leader, "helper": dap.Helper}[name]
	o := aggregated.Options{
		Common: s.common(name), Role: role, Store: store, Publishers: s.trust(), Pair: aggregator.NewPair([32]byte{1}),
		Operators: s.ring.people("operators"), Limits: serve.Visits{Rate: 1e6, Burst: 1e6}, Lease: s.lease, Shard: s.reports,
	}
	if role == dap.Leader {
		o.Bearers = s.ring.people("respondents")
	}
	a, err := aggregated.New(context.Background(), o)
	if err == nil {
		err = a.Compare(context.Background())
	}
	if err != nil {
		store.Close()
		return process{}, err
	}
	return process{
		config: serve.Config{Name: name, Routes: a.Routes(), Ready: a.Ready, Status: a.Status},
		step:   a.Step, run: a.Run, stop: func() { store.Close() },
	}, nil
}

func launchLog(s setting) (process, error) {
	key, err := s.ring.logKey()
	if err != nil {
		return process{}, err
	}
	store, err := s.sharedStore()
	if store == nil && err == nil {
		if err = shelves.Make(filepath.Join(s.dir, "shelves")); errors.Is(err, keep.ErrExists) {
			err = nil
		}
	}
	if err != nil {
		return process{}, err
	}
	every := 100 * time.Millisecond
	if store != nil { // each look of each process is three statements
		every *= 5
	}
	l, err := planlog.New(context.Background(), planlog.Options{
		Common: s.common("analyzer"), Folder: s.dir, Store: store, Name: "log.test/plans", Key: key, Publishers: s.trust(), Interval: every,
	})
	if err != nil {
		return process{}, err
	}
	return process{
		config: serve.Config{Name: "log", Routes: l.Routes(), Ready: l.Ready, Status: l.Status},
		step:   func(context.Context) error { return nil }, run: func(context.Context) {}, stop: func() { l.Close() },
	}, nil
}

// withdrawn reports whether a service has taken the withdrawal.
func (w *world) withdrawn() bool { return len(w.sums.withdrawn) > 0 }
