package density

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/densities"
	"github.com/confetti-dp/confetti/plan"
)

// The reference has fair bits: each feature is zero, and so is what it adds to a
// density, in expectation. Exchanging it for a value moves the bits no further than
// the accountant is told (kernelmap.Sensitivity). Its class is its own, or where it has
// none that the plan names, drawn uniformly: a mixture, to which hockey sticks are
// jointly convex.

// StandIn returns the value that l counts as: features are nil for the reference.
func (d *Question) StandIn(l Labelled) (_ Labelled, unfit *question.OutOfDomainError) {
	q := d.plan.Question
	if l.Class < 0 || l.Class >= d.plan.Crowds() {
		return Labelled{Class: densities.AnyClass}, &question.OutOfDomainError{Values: 1, Cause: fmt.Errorf("the class is not one of the plan's %d", d.plan.Crowds())}
	}
	err := d.Features.Check(l.Features)
	if err == nil {
		return l, nil
	}
	features, near := d.Features.Clip(l.Features)
	if q.Unfit != plan.UnfitClip || !near {
		features = nil
	}
	return Labelled{Features: features, Class: l.Class}, &question.OutOfDomainError{Values: 1, Cause: err}
}

// ordinary returns a value that fits. Whoever answers with the reference encodes it too, and
// takes as long as others.
func (d *Question) ordinary() []float32 {
	x := make([]float32, d.plan.Question.Density.Dimension)
	x[0] = 1
	if near, ok := d.Features.Clip(x); ok {
		return near
	}
	return x
}
