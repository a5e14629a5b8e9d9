package plan

import (
	"encoding/hex"
	"fmt"
	"iter"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits keep a hostile plan from asking for unbounded work.
const (
	maxTitle     = 1 << 10 // bytes
	MaxClasses   = 1 << 16
	MaxEnvelopes = 1 << 20
	MaxPayload   = 1 << 16
	MaxInstances = 64
	MaxHops      = 16
	MaxCrowd     = 1 << 30
	minPayload   = 6 // kind, channel and symbol of a fragment
)

// Validate checks the form of what every plan has, and reports its problems together, as
// Problems. It is all that whoever mixes checks of a plan: what the question's own section
// says is for protocol.Validate, which knows the kinds, and whether the promise follows
// from the numbers for protocol.Check, which runs the accountant.
func (p Plan) Validate() error { return p.Problems().Err() }

// Problems returns what is wrong with the form of what every plan has.
func (p Plan) Problems() Problems {
	var ps Problems
	ps.Require(p.Version >= oldestVersion && p.Version <= Version, "%s", otherVersion(p.Version))
	ps.Require(strings.TrimSpace(p.Title) != "", "title is empty: say to the respondents what is asked")
	ps.Require(len(p.Title) <= maxTitle, "title has more than %d bytes", maxTitle)
	p.Question.validate(&ps)
	p.Budget.validate(&ps)
	p.Crowd.validate(&ps)
	if p.Crowd.Minimum >= 1 && inside(p.Budget.DishonestShare, 0, 1) {
		ps.Require(p.MinHonest() >= 1, "crowd.minimum less the dishonest share leaves no honest respondent: raise crowd.minimum or lower budget.dishonest_share")
	}
	suite := p.Envelopes.Suite
	if p.Route.Kind == RouteTable {
		p.table(&ps)
		ps.Require(p.Question.Histogram != nil || p.Question.Label != nil, "route.table is of counts, or of labels: ask question.kind %q or %q, or collect by another route", "histogram", "label")
	} else {
		p.Envelopes.validate(&ps, p.Route.Kind == RouteSum)
		p.Analyzer.validate(&ps, "analyzer", suite)
	}
	p.Route.validate(&ps, suite, p.Question.Histogram != nil && p.Question.Histogram.Randomizer.Name == RandomizerNone)
	if p.Route.Kind == RouteSum {
		ps.Require(p.Crowd.Deletion == nil && p.Crowd.Maximum == 0, "crowd.deletion and crowd.maximum are for hops that mix: leave them out of a plan of sums")
	}
	ps.Require(p.Analyzer.Receipts == "" && p.Analyzer.Tokens == "", "analyzer: receipts and tokens belong to hops: leave them out")
	if p.Route.Kind != RouteTable {
		p.releases(&ps)
	}
	p.relays(&ps)
	ps.Require(p.Signatures == 0 || p.Signatures >= 2 && p.Signatures <= maxSignatures, "signatures must be 2 to %d, or left out where one is enough", maxSignatures)
	p.Times.validate(&ps)
	ps.Require(p.State == "" || isName(p.State), "state must be the 64 hex digits of a SHA-256, or left out")
	if r := p.Round; r != nil {
		ps.Require(isName(r.Study), "round.study must be the 64 hex digits of a study's name")
		ps.Require(r.Number >= 1 && r.Number <= MaxRounds, "round.number must be between 1 and %d", MaxRounds)
	}
	return ps
}

// otherVersion says what to do with a plan of a version that this build does not read.
func otherVersion(version int) string {
	if version == 1 {
		return fmt.Sprintf("version is 1, whose plans named their crowds within the question; this build reads version %d: have the author write and sign the plan anew (confetti plan new), and finish a collection under the old one with the software that began it", Version)
	}
	return fmt.Sprintf("version is %d; this build reads versions %d to %d", version, oldestVersion, Version)
}

// isName says whether the text is a SHA-256 in lower-case hex.
func isName(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == 32 && hex.EncodeToString(b) == text
}

// validate looks for the one section that Kind names, and for no other.
func (q Question) validate(ps *Problems) {
	var kinds []string
	for kind, set := range q.sections() {
		kinds = append(kinds, strconv.Quote(kind))
		if kind == q.Kind {
			ps.Require(set, "question.%s is missing", kind)
		} else {
			ps.Require(!set, "question.%s does not belong to a question of kind %s: leave it out", kind, Quoted(q.Kind))
		}
	}
	ps.Require(slices.Contains(kinds, strconv.Quote(q.Kind)), "question.kind must be one of %s", strings.Join(kinds, ", "))
	ps.Require(q.Unfit == "" || q.Unfit == UnfitReference || q.Unfit == UnfitClip, "question.unfit must be %q or %q", UnfitReference, UnfitClip)
}

// sections returns the kinds that a plan may ask for, the names of the fields of pointers, in
// their order, and whether each is there.
func (q Question) sections() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		v := reflect.ValueOf(q)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Type.Kind() == reflect.Pointer {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if !yield(name, !v.Field(i).IsNil()) {
					return
				}
			}
		}
	}
}

// Asks says that the section which Kind names is there.
func (q Question) Asks() bool {
	for kind, set := range q.sections() {
		if kind == q.Kind {
			return set
		}
	}
	return false
}

func (b Budget) validate(ps *Problems) {
	ps.Require(b.Epsilon > 0 && Finite(b.Epsilon), "budget.epsilon must be a number above 0")
	ps.Require(b.Delta > 0 && b.Delta < 1, "budget.delta must be in (0, 1)")
	ps.Require(b.LocalEpsilon >= 0 && Finite(b.LocalEpsilon), "budget.local_epsilon must be a number above 0, or be left out")
	ps.Require(b.Adjacency == "replacement" || b.Adjacency == "removal" || b.Adjacency == AdjacencyLabel, `budget.adjacency must be "replacement", "removal", or "label" where features are public`)
	ps.Require(b.LabelEpsilon == Unprotected || b.LabelEpsilon >= 0 && Finite(float64(b.LabelEpsilon)), `budget.label_epsilon must be a number above 0, or "none"`)
	ps.Require(inside(b.DishonestShare, 0, 1), "budget.dishonest_share must be in [0, 1)")
}

func (c Crowd) validate(ps *Problems) {
	ps.Require(len(c.Names) <= MaxClasses, "crowd.names must name at most %d crowds", MaxClasses)
	if len(c.Names) <= MaxClasses {
		ps.Names("crowd.names", c.Names)
	}
	ps.Require(c.Minimum >= 1 && c.Minimum <= MaxCrowd, "crowd.minimum must be at least 1 respondent (and at most 2^30)")
	ps.Require(c.Maximum == 0 || c.Maximum >= c.Minimum && c.Maximum <= MaxCrowd, "crowd.maximum must be at least crowd.minimum (and at most 2^30), or left out")
	c.Deletion.validate(ps)
}

func (e Envelopes) validate(ps *Problems, summed bool) {
	ps.Require(slices.Contains([]string{"x25519", "x-wing"}, e.Suite), `envelopes.suite must be "x25519" or "x-wing"`)
	if summed {
		ps.Require(e.PerDevice == 0 && e.PayloadBytes == 0, "envelopes.per_device and envelopes.payload_bytes are of mixed answers: leave them at 0 in a plan of sums")
		return
	}
	ps.Require(e.PerDevice >= 1 && e.PerDevice <= MaxEnvelopes, "envelopes.per_device must be between 1 and %d", MaxEnvelopes)
	ps.Require(e.PayloadBytes >= minPayload && e.PayloadBytes <= MaxPayload, "envelopes.payload_bytes must be between %d and %d", minPayload, MaxPayload)
}

func (t Times) validate(ps *Problems) {
	for _, t := range []time.Time{t.Opens, t.Closes} {
		ps.Require(t.UTC().Year() >= 1 && t.UTC().Year() <= 9999, "times must lie in the years 1 to 9999: others have no canonical form")
	}
	if !t.Opens.IsZero() && !t.Closes.IsZero() {
		ps.Require(t.Opens.Before(t.Closes), "times.opens must be before times.closes")
	}
}

func (d *Deletion) validate(ps *Problems) {
	if d == nil {
		return
	}
	const at = "crowd.deletion."
	ps.Require(d.Epsilon > 0 && Finite(d.Epsilon), at+"epsilon must be a number above 0")
	ps.Require(d.Delta > 0 && d.Delta < 1, at+"delta must be in (0, 1)")
	ps.Require(d.Noise > 0 && Finite(d.Noise), at+"noise must be a number above 0")
	ps.Require(d.Threshold >= 0 && d.Threshold <= MaxCrowd, at+"threshold must be between 0 and 2^30")
}

// validate lists what is wrong with the route of answers to which noise is added, or of others.
func (r Route) validate(ps *Problems, suite string, added bool) {
	ps.Require(r.Kind == RouteMix || r.Kind == RouteSum || r.Kind == RouteTable, "route.kind must be %q, %q or %q", RouteMix, RouteSum, RouteTable)
	if r.Kind == RouteTable || r.Table != nil {
		ps.Require(r.Kind == RouteTable && r.Mix == nil && r.Sum == nil, "route.table is of a table in one holder's hands, and route.mix and route.sum of devices: leave out those that route.kind does not name")
		ps.Require(r.Table != nil, "route.table is missing: say whose rows are counted")
		if r.Table != nil {
			r.Table.validate(ps)
		}
		return
	}
	ps.Require(r.Mix == nil || r.Sum == nil, "route.mix and route.sum are both there: answers are mixed or summed; leave out the one that route.kind does not name")
	ps.Require(r.Mix != nil || r.Sum != nil, "route.mix and route.sum are both missing: say who mixes answers, or who sums them")
	switch {
	case r.Kind == RouteMix && r.Sum == nil && r.Mix != nil:
		r.Mix.validate(ps, suite)
	case r.Kind == RouteSum && r.Mix == nil && r.Sum != nil:
		r.Sum.validate(ps, suite, added)
	case (r.Mix == nil) != (r.Sum == nil):
		ps.Require(r.Kind != RouteMix, "route.mix is missing")
		ps.Require(r.Kind != RouteSum, "route.sum is missing")
	}
}

func (m *Mix) validate(ps *Problems, suite string) {
	n := len(m.Instances)
	ps.Require(n >= 1 && n <= MaxInstances, "route.mix.instances must hold between 1 and %d instances", MaxInstances)
	ps.Require(m.Spread == "" || m.Spread == SpreadAll, `route.mix.spread must be left out or "all"`)
	demanded := map[string]bool{}
	for i, in := range m.Instances[:min(n, MaxInstances)] {
		ps.Require(len(in.Hops) >= 1 && len(in.Hops) <= MaxHops, "route.mix.instances[%d].hops must hold between 1 and %d hops", i, MaxHops)
		for j, h := range in.Hops[:min(len(in.Hops), MaxHops)] {
			at := fmt.Sprintf("route.mix.instances[%d].hops[%d]", i, j)
			h.validate(ps, at, suite)
			if h.Tokens != "" {
				// Of one key a respondent gets one token; two hops that took the same
				// tokens would let it contribute twice.
				ps.Require(!demanded[h.Tokens], "%s.tokens is another hop's too: each needs a key of its own", at)
				demanded[h.Tokens] = true
			}
		}
	}
	ps.issuer("route.mix.issuer", m.Issuer, len(demanded) > 0)
}

// issuer checks who issues tokens, who must be named where some are demanded.
func (ps *Problems) issuer(at string, in *Party, demanded bool) {
	ps.Require(!demanded || in != nil, "%s is missing: say who issues the tokens that are demanded", at)
	if in == nil {
		return
	}
	ps.Require(strings.TrimSpace(in.Operator) != "", "%s.operator is empty: name the organisation that issues tokens", at)
	ps.Require(in.Key == "" && in.Receipts == "" && in.Tokens == "" && in.Releases == "", "%s has an operator and a URL only: the keys of its tokens stand where they are demanded", at)
	in.address(ps, at)
}

// validate checks the form of a key only; whether it is a point of its group
// is found out by the code that seals with it.
func (p Party) validate(ps *Problems, at, suite string) {
	ps.Require(strings.TrimSpace(p.Operator) != "", "%s.operator is empty: name the organisation that holds the key", at)
	ps.Require(strings.HasPrefix(p.Key, suite+":") && len(p.Key) > len(suite)+1, "%s.key must be a public key of suite %q, in the form %s:...", at, suite, suite)
	ps.Require(p.Receipts == "" || strings.HasPrefix(p.Receipts, "ed25519:"), "%s.receipts must be a public key in the form ed25519:...", at)
	ps.Require(p.Tokens == "" || strings.HasPrefix(p.Tokens, "rsa2048:"), "%s.tokens must be a public key in the form rsa2048:...", at)
	p.address(ps, at)
}

// address checks that a party is reached over TLS or not at all.
func (p Party) address(ps *Problems, at string) {
	if p.URL == "" {
		return
	}
	u, err := url.Parse(p.URL)
	ps.Require(err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && (u.Path == "" || u.Path == "/"),
		"%s.url must be https://host or https://host:port and nothing more", at)
}

func inside(x, low, below float64) bool { return x >= low && x < below }
