package plan

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Limits keep a hostile plan from asking for unbounded work on a device.
const (
	MaxTitle       = 1 << 10 // bytes
	MaxDimension   = 1 << 20
	MaxClasses     = 1 << 16
	MaxRepetitions = 1 << 20
	MaxChannels    = 1 << 24 // repetitions x coordinates of one feature map
	MaxEnvelopes   = 1 << 20
	MaxPayload     = 1 << 16
	MaxInstances   = 64
	MaxHops        = 16
	MaxCrowd       = 1 << 30
	minPayload     = 6 // kind, channel and symbol of a fragment
)

// MaxProblems is how many faults of a plan are listed. Whoever has corrected them
// is told of the next.
const MaxProblems = 20

// Problems is the faults found in a plan, MaxProblems of them at most.
type Problems []string

// Error lists the problems, one a line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "plan: " + p[0]
	}
	number := fmt.Sprint(len(p))
	if p.full() {
		number = "at least " + number
	}
	return fmt.Sprintf("plan: %s problems:\n  - %s", number, strings.Join(p, "\n  - "))
}

func (p *Problems) add(ok bool, format string, a ...any) {
	if !ok && !p.full() {
		*p = append(*p, fmt.Sprintf(format, a...))
	}
}

// full says that nothing more is listed: a walk over a list may stop.
func (p *Problems) full() bool { return len(*p) >= MaxProblems }

// quoted is a name as a problem shows it: a long one by how it begins.
func quoted(name string) string {
	const most = 64 // bytes
	if len(name) > most {
		return fmt.Sprintf("%q...", name[:most])
	}
	return fmt.Sprintf("%q", name)
}

// Validate checks the plan's form as a whole and reports its problems together,
// as Problems, the first MaxProblems of them. Whether the promise follows from the numbers is for
// protocol.Check, which runs the accountant.
func (p Plan) Validate() error {
	var ps Problems
	ps.add(p.Version == Version, "%s", otherVersion(p.Version))
	ps.add(strings.TrimSpace(p.Title) != "", "title is empty: say to the respondents what is asked")
	ps.add(len(p.Title) <= MaxTitle, "title has more than %d bytes", MaxTitle)
	p.Question.validate(&ps)
	p.Budget.validate(&ps, p.Question.Kind)
	ps.add(len(p.Crowd.Names) <= MaxClasses, "crowd.names must name at most %d crowds", MaxClasses)
	if len(p.Crowd.Names) <= MaxClasses {
		distinct(&ps, "crowd.names", p.Crowd.Names)
	}
	ps.add(len(p.Crowd.Names) > 0 || p.Question.Density == nil, "crowd.names is missing: name the classes of a density, at least one")
	ps.add(p.Crowd.Minimum >= 1 && p.Crowd.Minimum <= MaxCrowd, "crowd.minimum must be at least 1 respondent (and at most 2^30)")
	if p.Crowd.Minimum >= 1 && inside(p.Budget.DishonestShare, 0, 1) {
		ps.add(p.HonestMinimum() >= 1, "crowd.minimum less the dishonest share leaves no honest respondent: raise crowd.minimum or lower budget.dishonest_share")
	}
	ps.add(p.Crowd.Maximum == 0 || p.Crowd.Maximum >= p.Crowd.Minimum && p.Crowd.Maximum <= MaxCrowd, "crowd.maximum must be at least crowd.minimum (and at most 2^30), or left out")
	if d := p.Question.Density; d != nil && d.Bitsum.Divided() {
		ps.add(p.Crowd.Maximum > 0, "crowd.maximum is missing: the noise of %s is divided among respondents, and a hop that drops messages of many leaves less of it than of few: say how many respondents may count, or use rr or poisson", d.Bitsum.Name)
	}
	p.Crowd.Deletion.validate(&ps)
	e := p.Envelopes
	ps.add(e.PerDevice >= 1 && e.PerDevice <= MaxEnvelopes, "envelopes.per_device must be between 1 and %d", MaxEnvelopes)
	ps.add(e.PayloadBytes >= minPayload && e.PayloadBytes <= MaxPayload, "envelopes.payload_bytes must be between %d and %d", minPayload, MaxPayload)
	ps.add(slices.Contains([]string{"x25519", "x-wing"}, e.Suite), `envelopes.suite must be "x25519" or "x-wing"`)
	p.Route.validate(&ps, e.Suite)
	if p.Route.Mix != nil {
		ps.add(p.Question.Histogram != nil || p.Route.Mix.Spread == "", "route.mix.spread: only the report fragments of a histogram can be spread")
	}
	p.Analyzer.validate(&ps, "analyzer", e.Suite)
	ps.add(p.Analyzer.Receipts == "" && p.Analyzer.Tokens == "", "analyzer: receipts and tokens belong to hops: leave them out")
	ps.add(p.Signatures == 0 || p.Signatures >= 2 && p.Signatures <= MaxSignatures, "signatures must be 2 to %d, or left out where one is enough", MaxSignatures)
	for _, t := range []time.Time{p.Times.Opens, p.Times.Closes} {
		ps.add(t.UTC().Year() >= 1 && t.UTC().Year() <= 9999, "times must lie in the years 1 to 9999: others have no canonical form")
	}
	if t := p.Times; !t.Opens.IsZero() && !t.Closes.IsZero() {
		ps.add(t.Opens.Before(t.Closes), "times.opens must be before times.closes")
	}
	ps.add(p.State == "" || isName(p.State), "state must be the 64 hex digits of a SHA-256, or left out")
	if r := p.Round; r != nil {
		ps.add(isName(r.Study), "round.study must be the 64 hex digits of a study's name")
		ps.add(r.Number >= 1 && r.Number <= MaxRounds, "round.number must be between 1 and %d", MaxRounds)
	}
	if len(ps) > 0 {
		return ps
	}
	return nil
}

// otherVersion says what to do with a plan of a version that this build does not read.
func otherVersion(version int) string {
	if version == 1 {
		return fmt.Sprintf("version is 1, whose plans named their crowds within the question; this build reads version %d: have the author write and sign the plan anew (confetti plan new), and finish a collection under the old one with the software that began it", Version)
	}
	return fmt.Sprintf("version is %d; this build reads version %d", version, Version)
}

// isName says whether the text is a SHA-256 in lower-case hex.
func isName(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == 32 && hex.EncodeToString(b) == text
}

func (q Question) validate(ps *Problems) {
	ps.add(q.Unfit == "" || q.Unfit == UnfitReference || q.Unfit == UnfitClip, "question.unfit must be %q or %q", UnfitReference, UnfitClip)
	switch q.Kind {
	case "density":
		ps.add(q.Histogram == nil, "question.histogram does not belong to a density question: leave it out")
		if q.Density == nil {
			ps.add(false, "question.density is missing")
			return
		}
		q.Density.validate(ps)
	case "histogram":
		ps.add(q.Density == nil, "question.density does not belong to a histogram question: leave it out")
		if q.Histogram == nil {
			ps.add(false, "question.histogram is missing")
			return
		}
		q.Histogram.validate(ps)
	default:
		ps.add(false, `question.kind must be "density" or "histogram"`)
		return
	}
	ps.add(q.Unfit != "" || q.Total(), "question.unfit is missing: there is no room for every value, and a device that stayed silent for its value would tell of it: say %q (the report of nothing) or %q (of the nearest value that fits)", UnfitReference, UnfitClip)
}

func (d Density) validate(ps *Problems) {
	ps.add(d.Dimension >= 1 && d.Dimension <= MaxDimension, "question.density.dimension must be between 1 and %d", MaxDimension)
	ps.add(d.Repetitions >= 1 && d.Repetitions <= MaxRepetitions, "question.density.repetitions must be between 1 and %d", MaxRepetitions)
	d.Kernel.validate(ps)
	if Kernels[d.Kernel.Name].Single {
		ps.add(d.Repetitions == 1, "question.density.repetitions must be 1 for %s: one feature map holds all of a value, and repeating it only spends budget", d.Kernel.Name)
	}
	ps.add(d.Repetitions <= MaxRepetitions && d.Dimension <= MaxDimension && d.Channels() <= MaxChannels, "question.density asks for more than %d channels", MaxChannels)
	d.Bitsum.validate(ps)
}

// Kernels are the kernels that a plan may name, with what each takes.
var Kernels = map[string]struct {
	Bandwidth, Clip, Radius, Buckets bool // parameters that it has
	Single                           bool // one feature map holds all of a value
	coordinates                      func(Density) int
}{
	"gaussian":         {Bandwidth: true, coordinates: one},
	"gaussian-paired":  {Bandwidth: true, coordinates: func(Density) int { return 2 }},
	"ip-signs":         {coordinates: one},
	"ip-identity":      {Single: true, coordinates: all},
	"ip-rotated":       {Single: true, Clip: true, coordinates: all},
	"laplacian":        {Bandwidth: true, Buckets: true, coordinates: buckets},
	"laplacian-sign":   {Bandwidth: true, coordinates: one},
	"exponential":      {Bandwidth: true, Radius: true, Buckets: true, coordinates: buckets},
	"exponential-sign": {Bandwidth: true, Radius: true, coordinates: one},
}

func one(Density) int       { return 1 }
func all(d Density) int     { return d.Dimension }
func buckets(d Density) int { return d.Kernel.Buckets }

// Channels is the number of bits a device reports: repetitions times the
// coordinates of one feature map.
func (d Density) Channels() int {
	k, ok := Kernels[d.Kernel.Name]
	if !ok {
		return 0
	}
	return d.Repetitions * k.coordinates(d)
}

func (k Kernel) validate(ps *Problems) {
	const at = "question.density.kernel."
	known, ok := Kernels[k.Name]
	ps.add(ok, at+"name must be one of %s", strings.Join(slices.Sorted(maps.Keys(Kernels)), ", "))
	if ok {
		parameter := func(has bool, name string, value, least float64) {
			if has {
				ps.add(value >= least && value > 0 && finite(value), at+"%s must be a number above 0, at least %g", name, least)
			} else {
				ps.add(value == 0, at+"%s does not belong to %s: leave it out", name, k.Name)
			}
		}
		parameter(known.Bandwidth, "bandwidth", k.Bandwidth, 0)
		parameter(known.Clip, "clip", k.Clip, 0)
		parameter(known.Radius, "radius", k.Radius, 0)
		parameter(known.Buckets, "buckets", float64(k.Buckets), 2)
		ps.add(k.Buckets <= MaxChannels, at+"buckets must be at most %d", MaxChannels)
	}
	b, err := hex.DecodeString(k.Seed)
	ps.add(err == nil && len(b) == 32, at+"seed must be 64 hex digits")
}

// bitsumFields are the parameters of the bitsums: whose they are, and what they may be.
var bitsumFields = []struct {
	bitsum, name string
	of           func(Bitsum) float64
	low, high    float64 // both excluded, but a low of -1 lets 0 in
}{
	{"rr", "flip_probability", func(b Bitsum) float64 { return b.FlipProbability }, -1, 0.5},
	{"3nb", "noise", func(b Bitsum) float64 { return b.Noise }, 0, math.Inf(1)},
	{"3nb", "flood_shape", func(b Bitsum) float64 { return b.FloodShape }, 0, math.Inf(1)},
	{"3nb", "flood_probability", func(b Bitsum) float64 { return b.FloodProbability }, 0, 1},
	{"pure", "channel_epsilon", func(b Bitsum) float64 { return b.ChannelEpsilon }, 0, math.Inf(1)},
	{"pure", "theta", func(b Bitsum) float64 { return b.Theta }, 0, math.Inf(1)},
	{"pure", "drop", func(b Bitsum) float64 { return b.Drop }, 0, 1},
	{"pure", "size", func(b Bitsum) float64 { return float64(b.Size) }, 0, 1 << 24},
	{"poisson", "mean", func(b Bitsum) float64 { return b.Mean }, 0, math.Inf(1)},
	{"nb", "shape", func(b Bitsum) float64 { return b.Shape }, 0, math.Inf(1)},
	{"nb", "probability", func(b Bitsum) float64 { return b.Probability }, 0, 1},
}

// Bitsums are the bitsums that a plan may name.
var Bitsums = []string{"rr", "3nb", "pure", "poisson", "nb"}

func (b Bitsum) validate(ps *Problems) {
	const at = "question.density.bitsum."
	ps.add(b.Accounting == "exact" || b.Accounting == "paper", at+`accounting must be "exact" or "paper"`)
	if !slices.Contains(Bitsums, b.Name) {
		ps.add(false, at+"name must be one of %s", strings.Join(Bitsums, ", "))
		return
	}
	for _, f := range bitsumFields {
		value := f.of(b)
		switch {
		case f.bitsum != b.Name:
			ps.add(value == 0, at+"%s belongs to %s: leave it out for %s", f.name, f.bitsum, b.Name)
		case f.low < 0:
			ps.add(value >= 0 && value < f.high, at+"%s must be in [0, %g)", f.name, f.high)
		default:
			ps.add(value > f.low && value < f.high && finite(value), at+"%s must be above %g and below %g", f.name, f.low, f.high)
		}
	}
}

func (b Budget) validate(ps *Problems, kind string) {
	ps.add(b.Epsilon > 0 && finite(b.Epsilon), "budget.epsilon must be a number above 0")
	ps.add(b.Delta > 0 && b.Delta < 1, "budget.delta must be in (0, 1)")
	ps.add(b.LocalEpsilon >= 0 && finite(b.LocalEpsilon), "budget.local_epsilon must be a number above 0, or be left out")
	if kind == "histogram" {
		ps.add(b.Adjacency == "replacement" || b.Adjacency == "removal", `budget.adjacency must be "replacement" or "removal"`)
		ps.add(b.LabelEpsilon == 0, "budget.label_epsilon belongs to density questions: leave it out")
	} else {
		ps.add(b.Adjacency == "replacement", `budget.adjacency must be "replacement"`)
		ps.add(b.LabelEpsilon == Unprotected || b.LabelEpsilon > 0 && finite(float64(b.LabelEpsilon)), `budget.label_epsilon must be a number above 0, or "none"`)
	}
	ps.add(inside(b.DishonestShare, 0, 1), "budget.dishonest_share must be in [0, 1)")
}

func (d *Deletion) validate(ps *Problems) {
	if d == nil {
		return
	}
	const at = "crowd.deletion."
	ps.add(d.Epsilon > 0 && finite(d.Epsilon), at+"epsilon must be a number above 0")
	ps.add(d.Delta > 0 && d.Delta < 1, at+"delta must be in (0, 1)")
	ps.add(d.Noise > 0 && finite(d.Noise), at+"noise must be a number above 0")
	ps.add(d.Threshold >= 0 && d.Threshold <= MaxCrowd, at+"threshold must be between 0 and 2^30")
}

func (r Route) validate(ps *Problems, suite string) {
	if r.Kind != "mix" {
		ps.add(false, `route.kind must be "mix"`)
		return
	}
	if r.Mix == nil {
		ps.add(false, "route.mix is missing")
		return
	}
	n := len(r.Mix.Instances)
	ps.add(n >= 1 && n <= MaxInstances, "route.mix.instances must hold between 1 and %d instances", MaxInstances)
	ps.add(r.Mix.Spread == "" || r.Mix.Spread == SpreadAll, `route.mix.spread must be left out or "all"`)
	demanded := map[string]bool{}
	for i, in := range r.Mix.Instances[:min(n, MaxInstances)] {
		ps.add(len(in.Hops) >= 1 && len(in.Hops) <= MaxHops, "route.mix.instances[%d].hops must hold between 1 and %d hops", i, MaxHops)
		for j, h := range in.Hops[:min(len(in.Hops), MaxHops)] {
			at := fmt.Sprintf("route.mix.instances[%d].hops[%d]", i, j)
			h.validate(ps, at, suite)
			if h.Tokens != "" {
				// Of one key a respondent gets one token; two hops that took the same
				// tokens would let it contribute twice.
				ps.add(!demanded[h.Tokens], "%s.tokens is another hop's too: each needs a key of its own", at)
				demanded[h.Tokens] = true
			}
		}
	}
	ps.add(len(demanded) == 0 || r.Mix.Issuer != nil, "route.mix.issuer is missing: say who issues the tokens that hops demand")
	if in := r.Mix.Issuer; in != nil {
		ps.add(strings.TrimSpace(in.Operator) != "", "route.mix.issuer.operator is empty: name the organisation that issues tokens")
		ps.add(in.Key == "" && in.Receipts == "" && in.Tokens == "", "route.mix.issuer has an operator and a URL only: the keys of its tokens stand at the hops that demand them")
		in.address(ps, "route.mix.issuer")
	}
}

// validate checks the form of a key only; whether it is a point of its group
// is found out by the code that seals with it.
func (p Party) validate(ps *Problems, at, suite string) {
	ps.add(strings.TrimSpace(p.Operator) != "", "%s.operator is empty: name the organisation that holds the key", at)
	ps.add(strings.HasPrefix(p.Key, suite+":") && len(p.Key) > len(suite)+1, "%s.key must be a public key of suite %q, in the form %s:...", at, suite, suite)
	ps.add(p.Receipts == "" || strings.HasPrefix(p.Receipts, "ed25519:"), "%s.receipts must be a public key in the form ed25519:...", at)
	ps.add(p.Tokens == "" || strings.HasPrefix(p.Tokens, "rsa2048:"), "%s.tokens must be a public key in the form rsa2048:...", at)
	p.address(ps, at)
}

// address checks that a party is reached over TLS or not at all.
func (p Party) address(ps *Problems, at string) {
	if p.URL == "" {
		return
	}
	u, err := url.Parse(p.URL)
	ps.add(err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && (u.Path == "" || u.Path == "/"),
		"%s.url must be https://host or https://host:port and nothing more", at)
}

func finite(x float64) bool             { return !math.IsNaN(x) && !math.IsInf(x, 0) }
func inside(x, low, below float64) bool { return x >= low && x < below }
