// Package plan holds the contract that every role parses: what is asked, by which mechanism, with which privacy,
// over which route. Used by client, party, protocol and release, and by all who sign or follow a plan.
//
// A plan is data: names and numbers only. Package protocol turns it into code. It is immutable and named by the
// SHA-256 of its canonical form, which also goes into every seal.
package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Version is the plan format that this package writes. It reads those since oldestVersion,
// and nothing new is collected under an earlier one (Plan.Collected).
const (
	Version       = 4
	oldestVersion = 2
)

// Plan is one collection from beginning to end.
type Plan struct {
	Version   int       `json:"version"`
	Title     string    `json:"title"` // shown to the people who are asked
	Question  Question  `json:"question"`
	Budget    Budget    `json:"budget"`
	Crowd     Crowd     `json:"crowd"`
	Envelopes Envelopes `json:"envelopes"`
	Route     Route     `json:"route"`
	Analyzer  Party     `json:"analyzer"`
	Times     Times     `json:"times,omitzero"`
	// Signatures is how many publishers whom a party trusts must have signed the plan,
	// where that is more than one. A party may want more: see Publishers.
	Signatures int `json:"signatures,omitempty"`

	// State names public data that the question needs beside the plan: the SHA-256 of
	// its bytes in hex. The analyzer gives it to whoever asks.
	State string `json:"state,omitempty"`
	Round *Round `json:"round,omitempty"` // of a study; nil: a plan by itself
}

// Question says what is asked. Kind names the one section that is set; what a section
// says is checked by the package of its kind (question).
type Question struct {
	Kind string `json:"kind"` // the name of one of the sections below
	// Unfit says what a device sends whose value the question has no room for: were it
	// nothing, those who see who is silent would learn of the value. See the constants;
	// it may be left out where there is room for every value.
	Unfit      string      `json:"unfit,omitempty"`
	Density    *Density    `json:"density,omitempty"`
	Histogram  *Histogram  `json:"histogram,omitempty"`
	Vector     *Vector     `json:"vector,omitempty"`
	Gradient   *Gradient   `json:"gradient,omitempty"`
	Label      *Label      `json:"label,omitempty"`
	Latent     *Latent     `json:"latent,omitempty"`
	Strings    *Strings    `json:"strings,omitempty"`
	Table      *Crosstab   `json:"table,omitempty"`
	Experiment *Experiment `json:"experiment,omitempty"`
}

// What a device sends whose value does not fit.
const (
	// UnfitReference is the report of a respondent of whom nothing is known: a one-hot
	// answer that sets no bit, a cell drawn at random where every answer is one
	// cell, fair bits for the features of a density.
	UnfitReference = "reference"
	// UnfitClip is the report of the nearest value that fits: the first items of a set,
	// as many as it may have; a vector of the nearest length. Where there is none
	// (an unknown category, no number, a vector without direction) it is the reference.
	UnfitClip = "clip"
)

// Budget is the promise made to a respondent. Epsilon and Delta speak of the
// features with the reported label fixed; LabelEpsilon is spent beside it.
// LocalEpsilon, where it is not 0, is promised though everyone colludes: of all that a
// device sends for this plan, a protected label included, under the same adjacency.
type Budget struct {
	Epsilon        float64      `json:"epsilon"`
	Delta          float64      `json:"delta"`
	Adjacency      string       `json:"adjacency"`              // "replacement"; histograms also "removal"; "label" where features are public
	LabelEpsilon   LabelEpsilon `json:"label_epsilon,omitzero"` // density only
	LocalEpsilon   float64      `json:"local_epsilon,omitempty"`
	DishonestShare float64      `json:"dishonest_share"` // f: share of respondents whose noise is not relied upon
}

// LabelEpsilon is the local epsilon of the label, or Unprotected, written
// "none": labels are sent as they are.
type LabelEpsilon float64

// Unprotected marks labels that are sent as they are. It is not the zero value:
// leaving labels unprotected must be said.
const Unprotected LabelEpsilon = -1

// MarshalJSON writes a number, or "none".
func (l LabelEpsilon) MarshalJSON() ([]byte, error) {
	if l == Unprotected {
		return []byte(`"none"`), nil
	}
	return json.Marshal(float64(l))
}

// UnmarshalJSON reads a number above 0, or "none".
func (l *LabelEpsilon) UnmarshalJSON(b []byte) error {
	if string(b) == `"none"` {
		*l = Unprotected
		return nil
	}
	var f float64
	if err := json.Unmarshal(b, &f); err != nil || f <= 0 {
		return fmt.Errorf(`label_epsilon must be a number above 0, or "none" for unprotected labels`)
	}
	*l = LabelEpsilon(f)
	return nil
}

// Crowd is what respondents fall into, and the rule of the smallest batch, and of the
// largest.
type Crowd struct {
	// Names are those of the crowds: of the classes of a density, which devices report
	// as their question says, or of groups that everybody knows who is in. None: there is
	// one crowd, of everybody.
	Names   []string `json:"names,omitempty"`
	Minimum int      `json:"minimum"` // n_min: distinct respondents per crowd, instance and epoch; fewer are withheld
	// Maximum is n_max, where there is one: of more respondents per crowd, instance and
	// epoch so many count, drawn at random. Bitsums whose noise is divided need it (see
	// Bitsum.Divided): of many respondents a hop could drop a share of everybody's
	// messages but yours, and leave as many with less noise in them.
	Maximum  int       `json:"maximum,omitempty"`
	Deletion *Deletion `json:"deletion,omitempty"` // nil: the sizes of crowds are public
}

// Deletion keeps the sizes of crowds private: the entry hop deletes whole
// contributions at random, so many as an integer noise says (ESA, Algorithm 3).
type Deletion struct {
	Epsilon   float64 `json:"epsilon"`   // of the sizes of all crowds, for a replaced respondent
	Delta     float64 `json:"delta"`     // likewise
	Noise     float64 `json:"noise"`     // Z ~ discrete Laplace, P(z) proportional to e^(-noise |z|)
	Threshold int     `json:"threshold"` // T: of n contributions max(0, n+Z-T) stay, none if Z > T
}

// Envelopes fixes what a device sends, whatever its data. Where answers are summed there are
// none, and the suite seals shares.
type Envelopes struct {
	PerDevice    int    `json:"per_device"`    // constant number in a contribution; dummies fill up to it; 0 in sums
	PayloadBytes int    `json:"payload_bytes"` // constant length of the innermost plaintext; 0 in sums
	Suite        string `json:"suite"`         // "x25519", "x-wing"
}

// Route says how answers travel. Kind names the one field that is set.
type Route struct {
	Kind  string `json:"kind"` // RouteMix, RouteSum, RouteTable
	Mix   *Mix   `json:"mix,omitempty"`
	Sum   *Sum   `json:"sum,omitempty"`
	Table *Table `json:"table,omitempty"`
}

// The routes that a plan may name.
const (
	RouteMix = "mix" // envelopes, which shufflers permute
	RouteSum = "sum" // shares of vectors, which two aggregators add up

	RouteTable = "table" // none: rows of a table, which its holder counts
)

// Instances returns those that mix; none where answers are summed.
func (r Route) Instances() []Instance {
	if r.Mix == nil {
		return nil
	}
	return r.Mix.Instances
}

// Ways returns the parties that an answer goes through, one way of several or all of them: those
// of each instance, or the two aggregators.
func (r Route) Ways() (ways [][]Party) {
	for _, in := range r.Instances() {
		ways = append(ways, in.Hops)
	}
	if r.Sum != nil {
		ways = append(ways, []Party{r.Sum.Leader, r.Sum.Helper})
	}
	return ways
}

// Issuer returns whose tokens are demanded on the route; nil where none are.
func (r Route) Issuer() *Party {
	switch {
	case r.Mix != nil:
		return r.Mix.Issuer
	case r.Sum != nil:
		return r.Sum.Issuer
	}
	return nil
}

// Mix is K instances in separate trust domains, each a cascade of M hops.
type Mix struct {
	Instances []Instance `json:"instances"`
	// Spread says what of a report goes through one instance: all of it, through
	// one drawn at random (""), or an equal number of its fragments through each
	// ("all"; report fragmentation, ESA section IV).
	Spread string `json:"spread,omitempty"`
	Issuer *Party `json:"issuer,omitempty"` // of the tokens that hops demand
}

// Instance is one cascade, first hop first.
type Instance struct {
	Hops []Party `json:"hops"`
}

// Party is an organisation with the public key that it opens envelopes with,
// and how to reach and check it. Keys are in their text forms.
type Party struct {
	Operator string `json:"operator"`
	Key      string `json:"key,omitempty"`      // public key that opens envelopes; an issuer has none
	URL      string `json:"url,omitempty"`      // where its service listens; none in simulations
	Receipts string `json:"receipts,omitempty"` // Ed25519 public key that signs its receipts
	Tokens   string `json:"tokens,omitempty"`   // public key of the single-use tokens that this hop demands of a respondent
	Releases string `json:"releases,omitempty"` // Ed25519 public key that signs the releases of the analyzer, who alone has one
	Relay    *Relay `json:"relay,omitempty"`    // through which devices come, who would show their addresses otherwise; nil: they do
}

// Times bounds the collection. Zero times are left out.
type Times struct {
	Opens  time.Time `json:"opens,omitzero"`
	Closes time.Time `json:"closes,omitzero"`
}

// Canonical returns the one byte form of the plan: JSON in field order without
// white space, floats in their shortest form, times in UTC.
func (p Plan) Canonical() []byte {
	p.Times.Opens, p.Times.Closes = p.Times.Opens.UTC(), p.Times.Closes.UTC()
	return canonical(p)
}

func canonical(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // NaN or infinity: Validate and Parse refuse both
		panic("plan: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Hash returns the SHA-256 of the canonical form: the plan's name.
func (p Plan) Hash() [32]byte { return sha256.Sum256(p.Canonical()) }

// Name returns the hash in hex.
func (p Plan) Name() string {
	h := p.Hash()
	return hex.EncodeToString(h[:])
}

// Short returns how people are shown a plan's name: its first 12 digits. A name that is
// shorter, and so none, stays what it is.
func Short(name string) string { return name[:min(12, len(name))] }

// Crowds returns the number of crowds that respondents fall into. A crowd is public.
func (p Plan) Crowds() int { return max(1, len(p.Crowd.Names)) }

// HopURLs returns the URLs, where given, of the parties between devices and the analyzer: the hops
// of every instance in its order, or the leader and the helper.
func (p Plan) HopURLs() (urls []string) {
	for _, hops := range p.Route.Ways() {
		for _, hop := range hops {
			if hop.URL != "" {
				urls = append(urls, hop.URL)
			}
		}
	}
	return urls
}

// Contributions returns how many contributions one respondent makes: one, or one to
// each instance where its fragments are spread.
func (p Plan) Contributions() int {
	if p.Route.Spreads() {
		return len(p.Route.Instances())
	}
	return 1
}

// MostMessages returns how many messages of a device are counted at most: as many as there are
// envelopes, or as a proof allows of a vector's numbers not to be zero.
func (p Plan) MostMessages() int {
	s := p.Route.Sum
	switch {
	case s == nil || p.Envelopes.PerDevice > 0: // the latter in a design, before there is a circuit
		return p.Envelopes.PerDevice
	case s.Circuit.Kind == CircuitSumVec:
		return s.Circuit.Length
	case s.Circuit.Kind == CircuitMultihot:
		return s.Circuit.Weight
	}
	return 1
}

// TokenBytes is the length of a single-use token: its nonce and an RSA-2048
// signature (internal/token).
const TokenBytes = 32 + 256

// Slots returns the bytes of room that each layer of an instance's envelopes has for
// its opener's token: hops first, then the analyzer, who never gets one. The
// entry's token comes with the contribution and needs none.
func (p Plan) Slots(instance int) []int {
	hops := p.Route.Instances()[instance].Hops
	slots := make([]int, len(hops)+1)
	for h := 1; h < len(hops); h++ {
		if hops[h].Tokens != "" {
			slots[h] = TokenBytes
		}
	}
	return slots
}

// SpreadAll sends a part of every report through each instance.
const SpreadAll = "all"

// Spreads says that a part of every report goes through each instance.
func (r Route) Spreads() bool { return r.Mix != nil && r.Mix.Spread == SpreadAll }

// MinHonest returns n_h = floor((1-f) n_min): the respondents of the smallest
// batch whose noise the accountant may count on.
func (p Plan) MinHonest() int {
	// The nudge keeps 0.9*10 at 9; a result one too low would only be safe.
	return int(math.Floor((1-p.Budget.DishonestShare)*float64(p.Crowd.Minimum) + 1e-9))
}
