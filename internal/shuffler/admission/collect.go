package admission

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
)

var (
	// ErrAlreadyContributed is the error of a respondent's second contribution
	// to the same instance in one epoch, to whatever crowd.
	ErrAlreadyContributed = errors.New("admission: this respondent has contributed already")

	// ErrClosed is the error of a contribution that comes after the epoch's end.
	ErrClosed = errors.New("admission: the epoch is over")
)

// Collector gathers the contributions to one instance of one plan during one
// epoch, by crowd, in memory. It is safe for concurrent use.
type Collector struct {
	rules Rules

	mu          sync.Mutex
	closed      bool
	respondents map[string]struct{}
	crowds      [][][]byte // contributions to each crowd
}

// NewCollector starts an epoch of the plan's instance, counted from 0.
func NewCollector(p plan.Plan, instance int) (*Collector, error) {
	rules, err := NewRules(p, instance)
	if err != nil {
		return nil, err
	}
	return newCollector(rules), nil
}

func newCollector(rules Rules) *Collector {
	return &Collector{rules: rules, respondents: map[string]struct{}{}, crowds: make([][][]byte, rules.Crowds)}
}

// Add takes a contribution whole or, with an error, not at all. The respondent
// is any string that is the same for the same respondent, of the caller's
// authentication; it is forgotten when the epoch ends. The body is kept, not
// copied.
func (c *Collector) Add(respondent string, body []byte) error {
	if respondent == "" {
		return errors.New("admission: a contribution without a respondent cannot be counted: authenticate it first")
	}
	crowd, err := c.rules.Check(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	if _, again := c.respondents[respondent]; again {
		return ErrAlreadyContributed
	}
	if uint64(len(c.respondents)) == math.MaxUint32 {
		return errors.New("admission: the epoch is full: a batch counts at most 2^32 - 1 respondents")
	}
	c.respondents[respondent] = struct{}{}
	c.crowds[crowd] = append(c.crowds[crowd], body)
	return nil
}

// Collected is a crowd as an epoch leaves it: the contributions that stay, still sealed, as they came.
type Collected struct {
	Plan     [32]byte
	Instance uint16
	Crowd    uint32
	Bodies   [][]byte
}

// Withheld says that nothing of a crowd leaves, and why. It does not say how
// many there were: a crowd held back is one whose size should not be known.
type Withheld struct {
	Crowd   uint32
	Minimum int // n_min of the plan
}

func (w Withheld) String() string {
	return fmt.Sprintf("crowd %d is withheld: fewer than %d distinct respondents, the plan's minimum", w.Crowd+1, w.Minimum)
}

// Close ends the epoch and deletes what it held: respondents, the contributions
// that randomized deletion takes, and the crowds that are too small. Every crowd
// of the plan is in one of the two results, in order. What is collected still is
// in the order of arrival: the entry's own hop must mix it before anything
// leaves. A second Close returns nothing.
func (c *Collector) Close() ([]Collected, []Withheld) { return c.close(rng.New()) }

func (c *Collector) close(r *rand.Rand) ([]Collected, []Withheld) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var collected []Collected
	var withheld []Withheld
	for i, contributions := range c.crowds {
		kept, _, err := c.rules.Survivors(r, len(contributions))
		if err != nil {
			withheld = append(withheld, Withheld{Crowd: uint32(i), Minimum: c.rules.Minimum})
			continue
		}
		one := Collected{Plan: c.rules.Plan, Instance: c.rules.Instance, Crowd: uint32(i)}
		for j, body := range contributions {
			if kept[j] {
				one.Bodies = append(one.Bodies, body)
			}
		}
		collected = append(collected, one)
	}
	c.closed, c.respondents, c.crowds = true, nil, nil
	return collected, withheld
}
