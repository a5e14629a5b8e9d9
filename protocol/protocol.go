// Package protocol makes a plan runnable. New is the only place that turns a
// plan's names and numbers into code, and client and analyzer both call it, so
// they cannot disagree. What kind of question is asked is known here and
// nowhere above.
package protocol

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/fragment"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Protocol is a plan made runnable. Its methods are the stages of the flow, in
// order: Encode, Randomize and Fragment on the client; Count, Estimate and
// Learn on the analyzer. It is immutable and safe for concurrent use.
type Protocol struct {
	Plan plan.Plan
	Hash [32]byte

	question question
}

// Value is what a respondent holds; which type it has depends on the kind of
// question (density: Labelled; histogram: Answers).
type Value any

// Symbol is a value in the form that the question's mechanism takes. It is not
// yet private, and means something to that mechanism only.
type Symbol any

// Report is what a device would like to say, already private. The crowd is
// public; the messages are not yet linked to anything else. It has one part for
// each contribution that a device makes (plan.Contributions).
type Report struct {
	Crowd int
	Parts [][][]byte // bodies of messages
}

// Memory keeps backstops on the device: what was randomized once for good, so
// that the same answer to the same question is not randomized again (ESA,
// Algorithm 2). Keys tell questions, mechanisms, epsilons and values apart; they
// are as private as the value.
type Memory interface {
	Recall(key [32]byte) (backstop []byte, ok bool)
	Keep(key [32]byte, backstop []byte) error
}

// Model is what the analyzer has learned, ready to be described in a release.
type Model interface {
	// Describe states the findings with their errors. Public data (test sets,
	// vocabularies) costs no privacy; what needs absent data is left out.
	Describe(Public) (headline []release.Metric, sections []release.Section, err error)
}

// question is one kind of question made runnable.
type question interface {
	encode(Value) (Symbol, error)
	randomize(*rand.Rand, Symbol, Memory) (Report, error)
	newTally() tally.Tally
	// estimate debiases one crowd, which is not withheld.
	estimate(tally.Crowd) []estimate.Value
	learn([]tally.Crowd) (Model, error)
	// draw samples the crowds of a simulated population.
	draw(values []Value, stream Stream, progress func(done int)) ([]tally.Crowd, error)
	// loss is the privacy event of the smallest crowd's tally.
	loss() account.Event
	// again is the event that composes with other collections that reuse this
	// device's backstop.
	again() account.Event
	// thinned is the same where only so many honest respondents add the noise
	// that HonestMinimum were to add; nil if what is left is not known to hide anything.
	thinned(honest int) account.Event
	// threatModels sets the literature's beside each other, given the guarantee
	// of the features; none where it has one only.
	threatModels(features account.Guarantee) []release.Table
	// slack is charged to delta as it is: the probability that some of the noise
	// that loss and thinned count on is not there.
	slack() float64
	// crowdLoss is the local epsilon of what a respondent's crowd tells of it:
	// infinite where it is sent as it is, zero where there is only one.
	crowdLoss() float64
	// nouns are what the respondents answer, and what their crowds are.
	nouns() (answer, crowd string)
	// observers states the three guarantees, given the shuffled one that was
	// recomputed for the features.
	observers(features account.Guarantee) ([]account.Statement, error)
	// assumptions are what the statements rest on beside what all questions do.
	assumptions() []string
	// asked says in a sentence what the respondents were asked.
	asked() string
	crowdName(crowd int) string
	// overflow bounds the probability that a report outgrows its envelopes.
	overflow(honest, envelopes int) float64
	// expected is the mean number of messages in the longest report that a value
	// asks for, dummies left out; 0 where it is not stated.
	expected() float64
}

// New makes a valid plan runnable. It checks the plan's form, not its promise:
// see Check.
func New(p plan.Plan) (*Protocol, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	q, err := newQuestion(p)
	if err != nil {
		return nil, err
	}
	return &Protocol{Plan: p, Hash: p.Hash(), question: q}, nil
}

func newQuestion(p plan.Plan) (question, error) {
	switch p.Question.Kind {
	case "density":
		return newDensity(p)
	case "histogram":
		return newHistogram(p)
	}
	return nil, fmt.Errorf("protocol: no code for a question of kind %q", p.Question.Kind)
}

// Encode turns a respondent's value into the mechanism's symbol. Errors name
// the rule that was broken, never the value. With an *UnfitError the symbol is there
// too, and to be used; others are faults of the program, whatever the value.
func (p *Protocol) Encode(v Value) (Symbol, error) { return p.question.encode(v) }

// Randomize makes the report: from here on everything is private. What the
// question keeps on the device goes to memory, or is forgotten if that is nil; the
// error is the memory's.
func (p *Protocol) Randomize(r *rand.Rand, s Symbol, memory Memory) (Report, error) {
	return p.question.randomize(r, s, memory)
}

// Fragment tears one part of a report into the plan's constant number of payloads.
func (p *Protocol) Fragment(r *rand.Rand, part [][]byte) [][]byte {
	return fragment.Pack(r, part, p.Plan.Envelopes.PerDevice, p.Plan.Envelopes.PayloadBytes)
}

// NewTally is an empty tally for one crowd.
func (p *Protocol) NewTally() tally.Tally { return p.question.newTally() }

// Count adds one opened payload to a crowd's tally; dummies are dropped here,
// where they are first seen for what they are.
func (p *Protocol) Count(t tally.Tally, payload []byte) error {
	body, err := fragment.Unpack(payload)
	if err != nil || body == nil {
		return err
	}
	return t.Add(body)
}

// Estimate debiases what was counted of each crowd, with the standard error of every
// number; nil where a crowd was withheld.
func (p *Protocol) Estimate(crowds []tally.Crowd) [][]estimate.Value {
	all := make([][]estimate.Value, len(crowds))
	for i, c := range crowds {
		if c.Tally != nil {
			all[i] = p.question.estimate(c)
		}
	}
	return all
}

// Learn estimates and fits the question's model to what was counted of all crowds.
func (p *Protocol) Learn(crowds []tally.Crowd) (Model, error) { return p.question.learn(crowds) }
