package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summed is the sample, whose answers are summed.
func summed() Plan {
	p := sample()
	one, other := "x25519:"+strings.Repeat("A", 43), "x25519:"+strings.Repeat("B", 43)
	p.Envelopes = Envelopes{Suite: "x25519"}
	p.Route = Route{Kind: RouteSum, Sum: &Sum{
		Leader: Party{Operator: "North", Key: one, URL: "https://leader.test"},
		Helper: Party{Operator: "South", Key: other, URL: "https://helper.test", Receipts: "ed25519:" + strings.Repeat("C", 43)},
		Wire:   WireDAP18, Proof: ProofPrio3, Circuit: Circuit{Kind: CircuitSumVec, Length: 52, Max: 1}, Chunk: 8,
		Noise: NoiseAggregators, Law: LawLaplace, Decay: 0.5,
	}}
	return p
}

func TestASumReadsBackAndHasANameOfItsOwn(t *testing.T) {
	p := summed()
	q, err := Parse(p.Canonical())
	if err != nil || !cmp.Equal(p, q) {
		t.Fatalf("read back another plan: %v\n%s", err, cmp.Diff(p, q))
	}
	names := []string{sample().Name(), p.Name()}
	for _, change := range []func(*Sum){
		func(s *Sum) { s.Decay /= 2 }, func(s *Sum) { s.Noise = NoiseShared }, func(s *Sum) { s.Chunk++ },
		func(s *Sum) { s.Circuit.Max++ }, func(s *Sum) { s.Leader, s.Helper = s.Helper, s.Leader },
	} {
		other := summed()
		change(other.Route.Sum)
		if err := other.Validate(); err != nil || slices.Contains(names, other.Name()) {
			t.Errorf("a changed route is invalid or has another's name: %v", err)
		}
		names = append(names, other.Name())
	}
	if got := p.HopURLs(); !slices.Equal(got, []string{"https://leader.test", "https://helper.test"}) || len(p.Route.Instances()) != 0 || p.Contributions() != 1 {
		t.Errorf("addresses %v, %d instances, %d contributions", got, len(p.Route.Instances()), p.Contributions())
	}
}

func TestAPlanMixesOrSums(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"both":                   {func(p *Plan) { p.Route.Mix = sample().Route.Mix }, "route.mix and route.sum are both there"},
		"both, mixed":            {func(p *Plan) { p.Route.Kind, p.Route.Mix = RouteMix, sample().Route.Mix }, "route.mix and route.sum are both there"},
		"neither":                {func(p *Plan) { p.Route.Sum = nil }, "route.mix and route.sum are both missing"},
		"the other":              {func(p *Plan) { p.Route.Kind = RouteMix; p.Envelopes = sample().Envelopes }, "route.mix is missing"},
		"the mixed one":          {func(p *Plan) { p.Route.Sum, p.Route.Mix = nil, sample().Route.Mix }, "route.sum is missing"},
		"another kind":           {func(p *Plan) { p.Route.Kind = "post" }, `route.kind must be "mix", "sum" or "table"`},
		"envelopes":              {func(p *Plan) { p.Envelopes.PerDevice = 3 }, "envelopes.per_device and envelopes.payload_bytes are of mixed answers"},
		"a largest crowd":        {func(p *Plan) { p.Crowd.Maximum = p.Crowd.Minimum }, "crowd.deletion and crowd.maximum are for hops that mix"},
		"one key":                {func(p *Plan) { p.Route.Sum.Helper.Key = p.Route.Sum.Leader.Key }, "who holds both keys reads every answer"},
		"nobody's":               {func(p *Plan) { p.Route.Sum.Leader.Operator = " " }, "route.sum.leader.operator is empty"},
		"no address of a helper": {func(p *Plan) { p.Route.Sum.Helper.URL = "http://helper" }, "route.sum.helper.url must be https"},
		"tokens of nobody":       {func(p *Plan) { p.Route.Sum.Helper.Tokens = "rsa2048:AAAA" }, "route.sum.issuer is missing"},
		"an older wire":          {func(p *Plan) { p.Route.Sum.Wire = "dap-09" }, `route.sum.wire must be "dap-18"`},
		"an older proof":         {func(p *Plan) { p.Route.Sum.Proof = "prio3/12" }, `route.sum.proof must be "prio3/18"`},
		"no chunk":               {func(p *Plan) { p.Route.Sum.Chunk = 0 }, "route.sum.chunk"},
		"nobody's noise":         {func(p *Plan) { p.Route.Sum.Noise = "" }, "route.sum.noise must be"},
		"noise without a law":    {func(p *Plan) { p.Route.Sum.Law = "" }, "route.sum.law must be"},
		"two laws":               {func(p *Plan) { p.Route.Sum.Sigma = 1 }, "route.sum.sigma belongs to the law"},
		"no noise":               {func(p *Plan) { p.Route.Sum.Decay = 0 }, "route.sum.decay must be"},
		"a narrow normal law":    {func(p *Plan) { p.Route.Sum.Law, p.Route.Sum.Decay = LawGaussian, 0 }, "route.sum.sigma must be"},
		"devices' law":           {func(p *Plan) { p.Route.Sum.Noise = NoiseDevices }, "leave them out where devices flip"},
		"no circuit":             {func(p *Plan) { p.Route.Sum.Circuit = Circuit{} }, "route.sum.circuit.kind must be one of"},
		"another's number":       {func(p *Plan) { p.Route.Sum.Circuit.Weight = 1 }, "weight belongs to the kind"},
		"too heavy":              {func(p *Plan) { p.Route.Sum.Circuit = Circuit{Kind: CircuitMultihot, Length: 2, Weight: 3} }, "weight must be between"},
		"no largest number":      {func(p *Plan) { p.Route.Sum.Circuit.Max = 0 }, "max must be between"},
	} {
		p := summed()
		c.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v does not mention %q", name, err, c.want)
		}
	}
}
