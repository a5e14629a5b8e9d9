// Package question defines what a kind of question can do: what devices do with a value, what the analyzer does with
// a tally, and what the accountant charges. Used by protocol, client and party/analyzer, and implemented by the
// kinds below question and here.
//
// What a release says of a kind stands in internal/release/results, and what simulations draw in
// internal/simulate/distribution, so that a device carries neither.
package question

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
)

// Value is what a respondent holds; which type it has depends on the kind.
type Value any

// Symbol is a value in the form that the question's mechanism takes. It is not
// yet private, and means something to that mechanism only.
type Symbol any

// Report is what a device would like to say, already private. The crowd is
// public; the messages are not yet linked to anything else. It has one part for
// each contribution that a device makes (plan.Contributions).
type Report struct {
	Crowd int
	Parts [][][]byte // bodies of messages, all of one length
}

// Memory keeps backstops on the device: what was randomized once for good, so
// that the same answer to the same question is not randomized again (ESA,
// Algorithm 2). Keys tell questions, mechanisms, epsilons and values apart; they
// are as private as the value.
type Memory interface {
	Recall(key [32]byte) (backstop []byte, ok bool)
	Keep(key [32]byte, backstop []byte) error
}

// Model is what the analyzer has learned, with its errors; which type it has depends
// on the kind. internal/release/results describes it.
type Model any

// Question is one kind of question made runnable for a plan. It is immutable and safe
// for concurrent use.
type Question interface {
	Randomizer
	Estimator
	Accounting
}

// Randomizer is what a device does with a value.
type Randomizer interface {
	// Encode turns a respondent's value into the mechanism's symbol. Errors name the
	// rule that was broken, never the value. With an *OutOfDomainError the symbol is there
	// too, and to be used; others are faults of the program, whatever the value.
	Encode(Value) (Symbol, error)
	// Randomize makes the report: from here on everything is private. What the question
	// keeps on the device goes to memory, or is forgotten if that is nil; the error is
	// the memory's.
	Randomize(*rand.Rand, Symbol, Memory) (Report, error)
}

// Estimator is what the analyzer does with the messages of a crowd.
type Estimator interface {
	NewTally() tally.Tally
	// Learn debiases what was counted and fits the question's model to it.
	Learn([]tally.Crowd) (Model, error)
}

// Accounting are what the plan promises, for the accountant and in words.
type Accounting interface {
	// Event is the privacy event of the smallest crowd's tally where so many honest
	// respondents add their noise, the one in question among them; nil if what is left is
	// not known to hide anything. Again is the event that composes with other
	// collections that reuse this device's backstop.
	Event(honest int, again bool) account.Event
	// Guarantees states the guarantees against each observer, given the shuffled one
	// that was recomputed from Event.
	Guarantees(shuffled account.Guarantee) ([]account.Statement, error)
	Risks() Risks
	Words() Words
}

// Risks are the probabilities and losses beside the loss of the tally.
type Risks struct {
	// Slack is charged to delta as it is: the probability that some of the noise that
	// Event counts on is not there.
	Slack float64
	// Overflow bounds the probability that a report outgrows its envelopes.
	Overflow float64
	// Messages is the mean number in the longest report that a value asks for, dummies
	// left out; 0 where it is not stated.
	Messages float64
	// CrowdLoss is the local epsilon of what a respondent's crowd tells of it: infinite
	// where it is sent as it is, zero where there is only one.
	CrowdLoss float64
}

// Words are for people.
type Words struct {
	Asked         string   // in a sentence, what the respondents were asked
	Answer, Crowd string   // nouns: what they answer, and what their crowds are
	Crowds        []string // names, by crowd
	Unfit         string   // what stands in the place of a value that does not fit; "" where every value fits
	Thinning      string   // sentences on what the guarantee rests on where a hop might drop messages; "" where it loses nothing by that
	Assumptions   []string // what the statements rest on beside what all questions do
}

// Memoizer is a question whose devices may keep something for later plans.
type Memoizer interface {
	Backstop() (b Backstop, ok bool)
}

// Backstop is what a plan keeps on a device for later plans, and what it tells.
type Backstop struct {
	// Question names the question with its mechanism, and no value: plans with the
	// same one share a device's backstops.
	Question [32]byte
	// Epsilon bounds everything that is ever said from one backstop, by whatever
	// fragments of whatever plans, though everyone colludes (replacement, delta 0).
	Epsilon float64
}

// Estimated is a question of numbers that are debiased one by one.
type Estimated interface {
	// Estimate is of one crowd, which is not withheld, with standard errors.
	Estimate(tally.Crowd) []estimate.Value
}

// Comparer is a question of which a plan's author could have asked otherwise.
type Comparer interface {
	// Compare says how the ways compare that the question leaves to be chosen from.
	Compare() []Comparison
}

// Comparison is of one choice.
type Comparison struct {
	Key, Title string // what is chosen, for programs and for people
	Says       string // in sentences, which way is to be preferred and why
}

// Stepper is a question whose rounds build on each other: Next is the public state that
// the round after one which taught the model asks with, or the first round's where
// there is no model yet. The study is done where nothing is left to ask. Next sees what
// the round releases and nothing else, so it costs no privacy.
type Stepper interface {
	Next(Model) (state []byte, done bool, err error)
}

// Why a round told nothing.
const (
	TooFew    = "few"    // answered, or a plan withholds it for another reason
	TooLate   = "late"   // its row had not come when the round was written up, or never may
	RowFailed = "failed" // it was given up
)

// Misser is a Stepper whose state says why rounds told nothing: Missed is the state after a round that told nothing for one of the reasons above; nil where it
// asks with the same state as before.
type Misser interface {
	Missed(why string) (state []byte, err error)
}

// Stateful is a question that needs a public state. What a device says costs the same in
// every state.
type Stateful interface {
	WithState([]byte) (Question, error)
}

// Counter is a question of events, of which a respondent says so many at most in all rounds of a study: how many
// a vector says, and how many those are; ok is false where the plan does not count them.
type Counter interface {
	Events(vector []uint64) (said, most int, ok bool)
	// Follow makes a vector follow what the device said before: so many events, the last in the given round, 0 for none.
	Follow(vector []uint64, said, round int)
}

// Stager is a question whose rounds are not all alike: Rounds is the event of so many of a
// study, from the first, of a respondent who answers all of them.
type Stager interface {
	Rounds(honest, rounds int) account.Event
}
