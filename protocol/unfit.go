package protocol

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/plan"
)

// UnfitError says that the plan has no room for a value, and that what the plan has a
// device send then stands in its place (plan.Question.Unfit). It comes beside a
// result that is good and is to be used like any other: whoever stopped here would
// be silent because of its value.
//
// It is for the device's own program, and must go no further: it tells something
// of the value, though it never holds it.
type UnfitError struct {
	Values int   // that do not fit, of those given
	Cause  error // the rule that the first of them breaks
}

// Error names the rule.
func (e *UnfitError) Error() string {
	what := "the value does not fit the plan, and what the plan has for such a value stands in its place"
	if e.Values > 1 {
		what = fmt.Sprintf("%d values do not fit the plan, and what the plan has for such values stands in their place; of the first", e.Values)
	}
	return fmt.Sprintf("protocol: %s: %v", what, e.Cause)
}

// Unwrap is the cause.
func (e *UnfitError) Unwrap() error { return e.Cause }

// Unfit says in sentences what a device sends whose value does not fit, and what
// that does to what is published; empty where every value fits.
func (p *Protocol) Unfit() string {
	q := p.Plan.Question
	if q.Total() {
		return ""
	}
	says := "A value that does not fit counts as "
	if q.Unfit == plan.UnfitClip {
		says = "A value that does not fit counts as the nearest that does, or where there is none, as "
	}
	switch {
	case q.Density != nil:
		says += "a vector without direction, which adds nothing to a density in expectation, of its class or, where it has none, of one drawn at random."
	case q.Histogram.Randomizer.OneHot():
		says += "none, which adds nothing to any count in expectation."
	default:
		says += "one drawn at random, which adds the same to each count in expectation."
	}
	return says + " How many respondents this concerns is not known: silence would tell who they are."
}

// fits sorts errors of encode: an *UnfitError comes beside a symbol.
func fits(err error) (unfit *UnfitError, failed error) {
	if u, ok := errors.AsType[*UnfitError](err); ok {
		return u, nil
	}
	return nil, err
}

// unfits counts values that do not fit.
type unfits struct{ first UnfitError }

func (u *unfits) add(value int, e *UnfitError) {
	if e == nil {
		return
	}
	if u.first.Values == 0 {
		u.first.Cause = fmt.Errorf("value %d: %w", value+1, e.Cause)
	}
	u.first.Values++
}

// err is nil where all fit.
func (u *unfits) err() error {
	if u.first.Values == 0 {
		return nil
	}
	return &u.first
}

// Histograms. The reference of an attribute is the answer that holds no cell: one-hot
// sets no bit. Where the report is always of one cell, of the domain or of a row of a
// sketch, the reference is that of a cell drawn uniformly (symbols.commit, bits.fold).
//
// Both are promised what every other answer is. Removal compares each answer with the
// one that holds no cell by definition. A uniform cell is a mixture
// of answers of the domain, and every bound on pairs of these is one on pairs of their
// mixtures, since hockey sticks are jointly convex. A one-hot answer that holds no cell
// is no such mixture; but exchanging it for one that holds cells changes bits one way
// only, and exchanging two answers that hold disjoint cells changes as many that way
// and as many the other, of bits that are randomized independently: the second pair
// gives the first by leaving out the bits of the second answer, so that a bound on it
// is one on the first.

// standIn is what an attribute's answer that does not fit counts as.
func (h *histogram) standIn(a attribute, answer any) []uint32 {
	if h.plan.Question.Unfit == plan.UnfitClip && a.clip != nil {
		return a.clip(answer)
	}
	return nil
}

// Densities. The reference has fair bits: each feature is zero, and so is what it adds
// to a density, in expectation. Exchanging it for a value moves the bits no further than
// the accountant is told (encode.Sensitivity). Its class is its own, or where it
// has none that the plan names, drawn uniformly: a mixture, as above.

// anyClass is that of a respondent who has none of the plan's.
const anyClass = -1

// standIn is the value that l counts as: features are nil for the reference.
func (d *density) standIn(l Labelled) (_ Labelled, unfit *UnfitError) {
	q := d.plan.Question
	if l.Class < 0 || l.Class >= len(q.Density.Classes) {
		return Labelled{Class: anyClass}, &UnfitError{1, fmt.Errorf("the class is not one of the plan's %d", len(q.Density.Classes))}
	}
	err := d.features.Check(l.Features)
	if err == nil {
		return l, nil
	}
	features, near := d.features.Clip(l.Features)
	if q.Unfit != plan.UnfitClip || !near {
		features = nil
	}
	return Labelled{Features: features, Class: l.Class}, &UnfitError{1, err}
}

// ordinary is a value that fits. Whoever answers with the reference encodes it too, and
// takes as long as others.
func (d *density) ordinary() []float32 {
	x := make([]float32, d.plan.Question.Density.Dimension)
	x[0] = 1
	if near, ok := d.features.Clip(x); ok {
		return near
	}
	return x
}
