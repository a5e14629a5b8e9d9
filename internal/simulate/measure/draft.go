package measure

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/simulate"
)

// Hops of the shuffler that envelopes are sealed for, beside the analyzer.
const Hops = 2

// Draft returns a plan of a collection in which everybody counts, without its noise.
func Draft(q plan.Question, b plan.Budget, minimum int) plan.Plan {
	q.Unfit = plan.UnfitReference
	return plan.Plan{
		Version: plan.Version, Title: "An experiment", Question: q, Budget: b, Crowd: plan.Crowd{Minimum: minimum},
		Envelopes: plan.Envelopes{Suite: "x25519"}, Route: mixed(1, Hops), Analyzer: plan.Party{Operator: "analyzer"},
	}
}

// Designed returns the plan with keys and its noise, and the messages that it takes. Noise that
// takes more than a device sends has a law, too.
func Designed(p plan.Plan) (plan.Plan, int, error) {
	if _, err := simulate.NewKeys(&p); err != nil {
		return p, 0, err
	}
	p, err := design.Fill(p)
	var many *question.TooManyMessages
	if errors.As(err, &many) {
		p.Envelopes.PerDevice = plan.MaxEnvelopes
		return p, many.PerDevice, nil
	}
	return p, p.Envelopes.PerDevice, err
}

// WithoutKeys returns what of a plan a seed determines.
func WithoutKeys(p plan.Plan) *plan.Plan {
	sum := p.Route.Sum
	p.Route, p.Analyzer = plan.Route{}, plan.Party{}
	if sum != nil {
		s := *sum
		s.Leader.Key, s.Helper.Key = "", ""
		p.Route = plan.Route{Kind: plan.RouteSum, Sum: &s}
	}
	return &p
}

// RouteOf returns a route of sums whose noise is added by so and so, or where nobody is named, one
// through so many hops in each of so many instances.
func RouteOf(noise string, instances, hops int) plan.Route {
	if noise == "" {
		return mixed(instances, hops)
	}
	return plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{
		Leader: plan.Party{Operator: "leader"}, Helper: plan.Party{Operator: "helper"}, Noise: noise,
	}}
}

// mixed is through so many hops in each of so many instances.
func mixed(instances, hops int) plan.Route {
	m := &plan.Mix{Instances: make([]plan.Instance, instances)}
	for i := range m.Instances {
		for h := range hops {
			m.Instances[i].Hops = append(m.Instances[i].Hops, plan.Party{Operator: fmt.Sprintf("instance %d, hop %d", i+1, h+1)})
		}
	}
	return plan.Route{Kind: plan.RouteMix, Mix: m}
}

// PublicSeed returns that of a plan's features or hashes.
func PublicSeed(seed uint64, part ...uint64) string {
	const forFeatures = 0xfea
	r := seeded.New(seed, append(part, forFeatures)...)
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(b)
}
