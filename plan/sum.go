package plan

import (
	"slices"
	"strings"
	"time"
)

// Sum is two aggregators in separate trust domains. A device splits its answer, a vector
// of whole numbers, into a share for each, with a proof that the vector is one of those
// that the circuit allows. Either share alone is random. The aggregators add up the shares
// of a crowd, and the analyzer, who gets one sum of each, learns the sum of the vectors.
type Sum struct {
	Leader Party  `json:"leader"` // takes reports and hands the helper its part
	Helper Party  `json:"helper"`
	Issuer *Party `json:"issuer,omitempty"` // of the tokens that aggregators demand
	Wire   string `json:"wire"`             // WireDAP18: the messages between the parties

	Proof   string  `json:"proof"` // ProofPrio3: how a vector is split and proved
	Circuit Circuit `json:"circuit"`
	Chunk   int     `json:"chunk"` // numbers that the proof checks at once

	Noise string  `json:"noise"`           // who adds it: NoiseAggregators, NoiseShared or NoiseDevices
	Law   string  `json:"law,omitempty"`   // of noise that is added: LawLaplace or LawGaussian
	Decay float64 `json:"decay,omitempty"` // laplace: of the whole noise; where it is shared each aggregator adds half of it, and among devices those who are relied upon all of it
	Sigma float64 `json:"sigma,omitempty"` // gaussian: of the noise that one aggregator adds

	// Correlated says that the plan's rounds count what happens from day to day, and that each
	// tells its days so far, so that all rounds together cost what the plan promises.
	Correlated *Correlated `json:"correlated,omitempty"`
}

// Correlated says how the rounds of a study are correlated, which answer what happened since the last one.
type Correlated struct {
	Rounds int `json:"rounds"` // of the study
	Bits   int `json:"bits"`   // what a round tells is scaled by 2^Bits
	Events int `json:"events"` // that a respondent counts for at most, in all rounds together

	// Windows says that a respondent to whom it happened names the round in which it did so last, so that the distinct
	// respondents of any rounds that follow each other are known.
	Windows bool `json:"windows,omitempty"`

	// Turns says that the two values of the question take turns, as that something begins and ends: a respondent says the
	// first, the second after it, and so on, so that their difference is of how many it has begun and not ended.
	Turns bool `json:"turns,omitempty"`
}

// LastRow is how long after it closes a correlated round tells something, at the latest.
const LastRow = 7 * 24 * time.Hour

// Limits of correlated rounds.
const (
	maxCorrelated = 1 << 14 // rounds
	maxEvents     = 1 << 8  // of a respondent
	maxWindows    = 1000    // rounds of windows, each of which tells of every other
	maxBits       = 16
	maxWindowBits = 10 // of windows, whose numbers are scaled twice
)

// Circuit says which vectors a proof allows. A design fills it in.
type Circuit struct {
	Kind   string `json:"kind"` // CircuitHistogram, CircuitMultihot or CircuitSumVec
	Length int    `json:"length"`
	Weight int    `json:"weight,omitempty"` // multihot: at most so many ones
	Max    int    `json:"max,omitempty"`    // sumvec: the largest number
	Square int    `json:"square,omitempty"` // sumvec: what the squares of distances from Max/2 add up to, at most; 0: no matter what
}

// The names in a route of sums.
const (
	WireDAP18  = "dap-18"   // draft-ietf-ppm-dap-18
	ProofPrio3 = "prio3/18" // draft-irtf-cfrg-vdaf-20, by its version byte

	CircuitHistogram = "histogram" // a single one among zeros
	CircuitMultihot  = "multihot"  // zeros and at most so many ones
	CircuitSumVec    = "sumvec"    // numbers from 0 to Max

	NoiseAggregators = "aggregators" // each adds all of it: one honest aggregator suffices
	NoiseShared      = "shared"      // each adds half of it: both must be honest
	NoiseDevices     = "devices"     // each device flips its own bits, or adds its share of the law's

	LawLaplace  = "laplace"
	LawGaussian = "gaussian"
)

// Limits of a sum.
const (
	MaxLength = 1 << 20 // numbers of a vector
	maxNumber = 1 << 16 // of a vector
	maxSquare = 1 << 40
)

// circuits are those that a plan may name.
var circuits = []string{CircuitHistogram, CircuitMultihot, CircuitSumVec}

// Aggregators returns the leader and the helper.
func (s *Sum) Aggregators() [2]*Party { return [2]*Party{&s.Leader, &s.Helper} }

// AggregatorNoise reports whether aggregators add the noise, and not devices; false without a sum.
func (s *Sum) AggregatorNoise() bool { return s != nil && s.Noise != NoiseDevices }

func (s *Sum) validate(ps *Problems, suite string, added bool) {
	const at = "route.sum."
	for i, party := range s.Aggregators() {
		party.validate(ps, at+[]string{"leader", "helper"}[i], suite)
	}
	same := func(a, b string) bool { return a != "" && a == b }
	ps.Require(!same(s.Leader.Key, s.Helper.Key), at+"helper.key is the leader's too: who holds both keys reads every answer")
	ps.Require(!same(s.Leader.Tokens, s.Helper.Tokens), at+"helper.tokens is the leader's too: each needs a key of its own")
	ps.issuer(at+"issuer", s.Issuer, s.Leader.Tokens+s.Helper.Tokens != "")
	ps.Require(s.Wire == WireDAP18, at+"wire must be %q", WireDAP18)
	ps.Require(s.Proof == ProofPrio3, at+"proof must be %q", ProofPrio3)
	s.Circuit.validate(ps)
	ps.Require(s.Chunk >= 1 && s.Chunk <= MaxLength, at+"chunk must be between 1 and %d", MaxLength)
	ps.Require(slices.Contains([]string{NoiseAggregators, NoiseShared, NoiseDevices}, s.Noise), at+"noise must be %q (each aggregator adds all of it), %q (each half of it) or %q (they flip their own bits, or add their shares of it)", NoiseAggregators, NoiseShared, NoiseDevices)
	s.validateLaw(ps, added)
	s.validateCorrelated(ps)
}

func (s *Sum) validateCorrelated(ps *Problems) {
	const at = "route.sum.correlated."
	c := s.Correlated
	if c == nil {
		return
	}
	ps.Require(s.Noise != NoiseDevices && s.Law == LawGaussian, at+"rounds: aggregators add the noise of correlated rounds, by the law %q", LawGaussian)
	ps.Require(c.Rounds >= 2 && c.Rounds <= maxCorrelated, at+"rounds must be between 2 and %d", maxCorrelated)
	most := maxBits
	if c.Windows {
		most = maxWindowBits
		ps.Require(c.Rounds <= maxWindows, at+"windows are of at most %d rounds", maxWindows)
		ps.Require(s.Circuit.Kind == CircuitMultihot && s.Circuit.Weight == 1 && s.Circuit.Length == c.Rounds+1, at+"windows: route.sum.circuit must be %q, with the weight 1 and one number more than there are rounds", CircuitMultihot)
	}
	ps.Require(!c.Turns || !c.Windows, at+"turns and windows: a study asks for one of them")
	ps.Require(c.Bits >= 1 && c.Bits <= most, at+"bits must be between 1 and %d", most)
	ps.Require(c.Events >= 1 && c.Events <= min(c.Rounds, maxEvents), at+"events must be between 1 and %d, and no more than the rounds", maxEvents)
}

// validateLaw lists what is wrong with the law of noise that is added to answers, or of answers that are flipped.
func (s *Sum) validateLaw(ps *Problems, added bool) {
	const at = "route.sum."
	if s.Noise == NoiseDevices && !added {
		ps.Require(s.Law == "" && s.Decay == 0 && s.Sigma == 0, at+"law, decay and sigma are of noise that is added: leave them out where devices flip their bits")
		return
	}
	if s.Noise == NoiseDevices {
		ps.Require(s.Law == LawLaplace, at+"law must be %q, which devices have shares of", LawLaplace)
		ps.Require(s.Decay >= 0x1p-9 && s.Decay <= 100, at+"decay must be a number from 2^-9 to 100")
		ps.Require(s.Sigma == 0, at+"sigma belongs to the law %q: leave it out", LawGaussian)
		return
	}
	validateNoise(ps, at, s.Law, s.Decay, s.Sigma)
}

// validateNoise checks noise that is added to sums.
func validateNoise(ps *Problems, at, law string, decay, sigma float64) {
	switch law {
	case LawLaplace:
		ps.Require(decay >= 0x1p-40 && Finite(decay), "%sdecay must be a number of at least 2^-40", at)
		ps.Require(sigma == 0, "%ssigma belongs to the law %q: leave it out", at, LawGaussian)
	case LawGaussian:
		ps.Require(sigma >= 0x1p-8 && sigma <= 0x1p24, "%ssigma must be a number from 2^-8 to 2^24", at)
		ps.Require(decay == 0, "%sdecay belongs to the law %q: leave it out", at, LawLaplace)
	default:
		ps.Require(false, "%slaw must be %q or %q", at, LawLaplace, LawGaussian)
	}
}

func (c Circuit) validate(ps *Problems) {
	const at = "route.sum.circuit."
	ps.Require(slices.Contains(circuits, c.Kind), at+"kind must be one of %s", strings.Join(circuits, ", "))
	ps.Require(c.Length >= 1 && c.Length <= MaxLength, at+"length must be between 1 and %d", MaxLength)
	if c.Kind == CircuitMultihot {
		ps.Require(c.Weight >= 1 && c.Weight <= c.Length, at+"weight must be between 1 and the length")
	} else {
		ps.Require(c.Weight == 0, at+"weight belongs to the kind %q: leave it out", CircuitMultihot)
	}
	if c.Kind == CircuitSumVec {
		ps.Require(c.Max >= 1 && c.Max <= maxNumber, at+"max must be between 1 and %d", maxNumber)
		ps.Require(c.Square >= 0 && c.Square <= maxSquare, at+"square must be between 0 and %d", maxSquare)
		ps.Require(c.Square == 0 || c.Max&1 == 0, at+"max must be even where there is a square: vectors are bounded about its half")
	} else {
		ps.Require(c.Max == 0, at+"max belongs to the kind %q: leave it out", CircuitSumVec)
		ps.Require(c.Square == 0, at+"square belongs to the kind %q: leave it out", CircuitSumVec)
	}
}
