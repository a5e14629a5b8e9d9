package results

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/question/density"
)

// Merge learns from several collections at once: epochs of a question of densities
// that is asked again, or a later plan for new classes. Their plans share the feature
// map, its seed included; noise, minimum and classes may differ. A class that several
// name is one class, weighted by respondents, or rather contributions: who took part
// twice weighs double. The label noise can be taken out of the result only if all had
// the same classes and label epsilon.
func Merge(parts ...*density.Model) (*Classifier, error) {
	all := &density.Model{}
	seen := map[[32]byte]bool{}
	for i, part := range parts {
		features := part.Densities[0].Features
		switch {
		case seen[part.Plan]:
			return nil, fmt.Errorf("results: two parts of one plan (%x...): give every epoch a plan of its own, with its own times", part.Plan[:4])
		case i > 0 && all.Densities[0].Features.Spec() != features.Spec():
			return nil, errors.New("results: the plans have different feature maps: keep kernel, repetitions and seed from one epoch to the next")
		}
		seen[part.Plan] = true
		if i == 0 {
			all.Labels = part.Labels
		} else if !slices.Equal(part.Classes, parts[0].Classes) || !reflect.DeepEqual(part.Labels, all.Labels) {
			all.Labels = nil
		}
		for c, name := range part.Classes {
			at := slices.Index(all.Classes, name)
			if at < 0 {
				at = len(all.Classes)
				all.Classes, all.Densities = append(all.Classes, name), append(all.Densities, kde.Density{Features: features})
			}
			here, err := part.Densities[c], error(nil)
			if here.Respondents == 0 {
				continue
			}
			if all.Densities[at].Respondents > 0 {
				if here, err = all.Densities[at].Merge(here); err != nil {
					return nil, err
				}
			}
			all.Densities[at] = here
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("results: nothing to learn from: give at least one collection")
	}
	return NewClassifier(all)
}
