// Package registry finds a kind of question by its name in a plan, once the kind has registered itself. Used by
// protocol, which looks kinds up, and by question/histogram and the other kinds.
package registry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Kind is what is done with a plan that asks for it.
type Kind struct {
	// Validate lists what is wrong with the question's section and with what it asks of
	// others.
	Validate func(plan.Plan, *plan.Problems)
	// New makes a valid plan's question runnable.
	New func(plan.Plan) (question.Question, error)
}

// kinds are those that the program has imported, by their names in a plan.
var kinds = map[string]Kind{}

// Register makes a kind known by its name in a plan. Packages of kinds call it when they are
// imported; a second kind of the same name panics.
func Register[Q question.Question](name string, validate func(plan.Plan, *plan.Problems), make func(plan.Plan) (Q, error)) {
	if _, twice := kinds[name]; twice {
		panic(fmt.Sprintf("registry: two kinds are called %q", name))
	}
	kinds[name] = Kind{Validate: validate, New: func(p plan.Plan) (question.Question, error) {
		q, err := make(p)
		if err != nil {
			return nil, err // and no question that is nil
		}
		return q, nil
	}}
}

// Find finds the kind of that name, if the program has imported it.
func Find(name string) (k Kind, known bool) {
	k, known = kinds[name]
	return k, known
}

// Names lists the names of those that the program has imported.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }
