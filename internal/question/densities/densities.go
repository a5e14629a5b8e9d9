// Package densities makes ready what a density's plan says of features and of classes, without its noise. Used by
// question/density for devices, by internal/simulate/distribution, and by lab.
package densities

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/plan"
)

// Spec describes the plan's feature map.
func Spec(q plan.Density) (kernelmap.Spec, error) {
	k := q.Kernel
	s := kernelmap.Spec{
		Kernel: kernelmap.Kernel(k.Name), Dimension: q.Dimension, Repetitions: q.Repetitions,
		Bandwidth: k.Bandwidth, Clip: k.Clip, Radius: k.Radius, Buckets: k.Buckets, Projection: k.Projection, Normalize: q.Normalize,
	}
	var err error
	if s.Seed, err = encode.ParseSeed(k.Seed); err != nil {
		return s, fmt.Errorf("kernel.seed: %w", err)
	}
	return s, nil
}

// Features returns the plan's feature map, made ready.
func Features(q plan.Density) (*kernelmap.Features, error) {
	spec, err := Spec(q)
	if err != nil {
		return nil, fmt.Errorf("density: %w", err)
	}
	return kernelmap.New(spec)
}

// Labels returns how a plan has classes reported; nil: as they are.
func Labels(p plan.Plan) (*randomize.KRR, error) {
	if p.Budget.LabelEpsilon == plan.Unprotected || p.Crowds() <= 1 {
		return nil, nil
	}
	krr := &randomize.KRR{K: p.Crowds(), Epsilon: float64(p.Budget.LabelEpsilon)}
	if err := krr.Validate(); err != nil {
		return nil, fmt.Errorf("density: budget.label_epsilon: %w", err)
	}
	return krr, nil
}

// AnyClass is that of a respondent who has none of the plan's.
const AnyClass = -1

// Class returns what a device says of its class, which may be none of the plan's so many.
func Class(r *rand.Rand, labels *randomize.KRR, classes, class int) int {
	if class == AnyClass {
		return r.IntN(classes) // of which randomized response is the same
	}
	if labels == nil {
		return class
	}
	return labels.Randomize(r, class)
}
