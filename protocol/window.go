package protocol

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Spending is what a respondent has spent by taking part in one or several
// collections, against who sees what was mixed in all of them.
type Spending struct {
	Features account.Guarantee // reported classes fixed
	Class    float64           // epsilon of the classes reported, which adds to it; infinite where sent as they are
}

// Spent composes what each of the collections costs one who took part in all of
// them, whatever it had read of the earlier ones, and whatever it answered where
// nothing is kept. With kept backstops neighbours answer alike in the same
// collections (Charge).
func Spent(delta float64, collections ...*Protocol) (Spending, error) {
	return spent(delta, len(collections) > 1, collections)
}

func spent(delta float64, several bool, collections []*Protocol) (Spending, error) {
	var all account.All
	var s Spending
	overflow, slack := 0.0, 0.0
	for _, p := range collections {
		n := p.Plan.HonestMinimum()
		event := p.question.loss()
		if several {
			event = p.question.again()
		}
		all.Events = append(all.Events, event)
		overflow += float64(n) * p.question.overflow(n, p.Plan.Envelopes.PerDevice)
		slack += p.question.slack()
		s.Class += p.question.crowdLoss()
	}
	var err error
	s.Features, err = withOverflow(all, overflow, slack, delta)
	var unsupported *account.Unsupported
	if kinds := alikeFeatures(collections); errors.As(err, &unsupported) && len(kinds) > 1 {
		s.Features, err = apart(delta, kinds)
	}
	return s, err
}

// alikeFeatures groups collections that cost the same on the features.
func alikeFeatures(collections []*Protocol) [][]*Protocol {
	var kinds [][]*Protocol
	for _, p := range collections {
		at := slices.IndexFunc(kinds, func(k []*Protocol) bool { return reflect.DeepEqual(k[0].question.loss(), p.question.loss()) })
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, nil)
		}
		kinds[at] = append(kinds[at], p)
	}
	return kinds
}

// apart adds up what unlike collections cost, each kind composed by itself at an
// equal part of delta. It is for those that the accountant cannot compose with
// others: vectors of few respondents have a divergence, and no loss distribution.
func apart(delta float64, kinds [][]*Protocol) (account.Guarantee, error) {
	var costs []account.Guarantee
	for _, k := range kinds {
		s, err := spent(delta/float64(len(kinds)), true, k)
		if err != nil {
			return account.Guarantee{}, err
		}
		costs = append(costs, s.Features)
	}
	return account.Compose(costs...)
}

// Window holds the last epochs of a collection that goes on. It forgets what it
// has learned of older ones; what their respondents have spent stays spent.
type Window struct {
	width int
	parts []Part      // at most width, the oldest first
	asked []*Protocol // of all epochs, those that were dropped too
}

// NewWindow is an empty window of so many epochs.
func NewWindow(epochs int) (*Window, error) {
	if epochs < 1 {
		return nil, fmt.Errorf("protocol: a window of %d epochs: give at least 1", epochs)
	}
	return &Window{width: epochs}, nil
}

// Add appends an epoch and drops the one that no longer fits. An epoch in which
// every crowd was withheld is an epoch. A plan comes once, for good.
func (w *Window) Add(p Part) error {
	if _, err := p.density(); err != nil {
		return err
	}
	if slices.ContainsFunc(w.asked, func(q *Protocol) bool { return q.Hash == p.Protocol.Hash }) {
		return fmt.Errorf("protocol: the epoch of plan %x... came before", p.Protocol.Hash[:4])
	}
	w.asked = append(w.asked, p.Protocol)
	w.parts = append(w.parts, p)
	if len(w.parts) > w.width {
		w.parts = slices.Clone(w.parts[1:]) // lets go of the old tallies
	}
	return nil
}

// Model is what the window's epochs teach together (Merge).
func (w *Window) Model() (*DensityModel, error) { return Merge(w.parts...) }

// Once bounds what one epoch of the window costs who takes part in no other.
func (w *Window) Once(delta float64) (Spending, error) {
	if len(w.parts) == 0 {
		return Spending{}, errors.New("protocol: the window holds no epoch")
	}
	var worst Spending
	for i, part := range w.parts {
		if i > 0 && alike(part.Protocol.Plan, w.parts[i-1].Protocol.Plan) {
			continue // as a rule all are
		}
		s, err := Spent(delta, part.Protocol)
		if err != nil {
			return Spending{}, err
		}
		if s.Features.Epsilon > worst.Features.Epsilon {
			worst.Features = s.Features
		}
		worst.Class = max(worst.Class, s.Class)
	}
	return worst, nil
}

// alike says whether two plans cost a respondent the same.
func alike(p, q plan.Plan) bool {
	return reflect.DeepEqual(p.Question, q.Question) && p.Budget == q.Budget && p.Crowd == q.Crowd && p.Envelopes == q.Envelopes
}

// Each is what taking part in every epoch of the window costs.
func (w *Window) Each(delta float64) (Spending, error) {
	return Spent(delta, w.asked[len(w.asked)-len(w.parts):]...)
}

// Ever is what taking part in every epoch there was costs.
func (w *Window) Ever(delta float64) (Spending, error) { return Spent(delta, w.asked...) }

// Describe is the accounting of a window for a release.
func (w *Window) Describe(delta float64) (release.Section, error) {
	s := release.Section{
		Title: "If one takes part again",
		Text:  "Each epoch is a collection of its own, with fresh randomness. What is learned of an old epoch is dropped from the window, what was spent in it is not given back.",
	}
	t := release.Table{
		Title:   "Shuffled guarantee by epochs taken part in",
		Columns: []release.Column{{Label: "taken part in"}, {Label: "epochs", Unit: release.Count}, {Label: "epsilon of the features"}, {Label: "epsilon with the class"}},
		Note:    fmt.Sprintf("Composed, at delta %g in all.", delta),
	}
	for _, row := range []struct {
		name   string
		epochs int
		spent  func(float64) (Spending, error)
	}{
		{"one epoch of the window", 1, w.Once}, {"every epoch of the window", len(w.parts), w.Each}, {"every epoch so far", len(w.asked), w.Ever},
	} {
		spent, err := row.spent(delta)
		if err != nil {
			return s, err
		}
		class := release.Text("the class is sent as it is")
		if !math.IsInf(spent.Class, 1) {
			class = epsilonCell(spent.Features.Epsilon + spent.Class)
		}
		t.Rows = append(t.Rows, []release.Cell{release.Text(row.name), release.Number(float64(row.epochs), 0), epsilonCell(spent.Features.Epsilon), class})
	}
	s.Tables = []release.Table{t}
	return s, nil
}
