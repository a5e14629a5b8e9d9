package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/learn/hdc"
)

// Part is one of several collections that are learned from together: an epoch of
// a density question that is asked again, or a later plan for new classes.
type Part struct {
	Protocol *Protocol
	Crowds   []tally.Crowd
}

// Merge learns from several collections at once. Their plans share the feature
// map, its seed included; noise, minimum and classes may differ. A class that
// several name is one class, weighted by respondents, or rather contributions:
// who took part twice weighs double. The label noise can be taken out of the
// result only if all had the same classes and label epsilon.
func Merge(parts ...Part) (*DensityModel, error) {
	var (
		classes   []string
		densities []kde.Density
		labels    *randomize.KRR
		features  *encode.Features
		seen      = map[[32]byte]bool{}
	)
	for i, part := range parts {
		d, err := part.density()
		switch {
		case err != nil:
			return nil, err
		case seen[part.Protocol.Hash]:
			return nil, fmt.Errorf("protocol: two parts of one plan (%x...): give every epoch a plan of its own, with its own times", part.Protocol.Hash[:4])
		case features != nil && features.Spec() != d.features.Spec():
			return nil, errors.New("protocol: the plans have different feature maps: keep kernel, repetitions and seed from one epoch to the next")
		}
		seen[part.Protocol.Hash] = true
		names := d.plan.Question.Density.Classes
		if i == 0 {
			features, labels = d.features, d.labels
		} else if !slices.Equal(names, classes) || !reflect.DeepEqual(labels, d.labels) {
			labels = nil
		}
		estimates := part.Protocol.Estimate(part.Crowds)
		for c, name := range names {
			at := slices.Index(classes, name)
			if at < 0 {
				at = len(classes)
				classes, densities = append(classes, name), append(densities, kde.Density{})
			}
			if part.Crowds[c].Tally == nil {
				continue
			}
			here := kde.Density{Features: features, Sums: estimates[c], Respondents: part.Crowds[c].Respondents}
			if densities[at].Respondents > 0 {
				if here, err = densities[at].Merge(here); err != nil {
					return nil, err
				}
			}
			densities[at] = here
		}
	}
	model, err := hdc.New(classes, densities)
	if err != nil {
		return nil, err
	}
	m := &DensityModel{Model: model, labels: labels, features: features}
	for _, d := range densities {
		m.Reported = append(m.Reported, d.Respondents)
	}
	return m, nil
}

func (p Part) density() (*density, error) {
	d, ok := p.Protocol.question.(*density)
	if !ok {
		return nil, fmt.Errorf("protocol: a question of kind %q has no densities to merge", p.Protocol.Plan.Question.Kind)
	}
	if len(p.Crowds) != p.Protocol.Plan.Crowds() {
		return nil, fmt.Errorf("protocol: %d crowds for the plan's %d", len(p.Crowds), p.Protocol.Plan.Crowds())
	}
	return d, nil
}
