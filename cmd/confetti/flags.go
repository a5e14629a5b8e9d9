package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/plan"
)

// dataFlag names the folder of public data sets.
type dataFlag struct {
	Data string `help:"Folder of data sets." env:"CONFETTI_DATA" type:"path" placeholder:"DIR"`
}

// mechanismFlags are the choices that plans and experiments share.
type mechanismFlags struct {
	budgetFlags
	Bitsum       string `help:"${bitsums}; to compare with, experiments and simulations have central, local and none." default:"rr"`
	LabelEpsilon string `help:"Local privacy of the label, or none: sent as it is." default:"none"`
}

// budgetFlags are those of every question.
type budgetFlags struct {
	Epsilon      float64 `help:"Privacy of what is asked, with honest shufflers; may be left out beside --local-epsilon." placeholder:"E"`
	LocalEpsilon float64 `help:"Privacy of what is asked though everyone colludes; with --epsilon both hold." placeholder:"E"`
	Delta        float64 `help:"Probability that the promise may fail by." default:"1e-6"`
	Accounting   string  `help:"Where the noise comes from: exact, or the route of the paper." enum:"exact,paper" default:"exact"`
}

// check refuses what no accountant takes, and a budget without an epsilon.
func (b budgetFlags) check() error {
	var errs []error
	if l := b.LocalEpsilon; l != 0 && !(l >= 1e-6 && l <= 1e6) {
		errs = append(errs, usagef("--local-epsilon is %v: give a number above 0 (from 1e-6 to 1e6)", l))
	}
	epsilon := b.Epsilon
	if epsilon == 0 && b.LocalEpsilon != 0 {
		epsilon = 1 // which is left out
	} else if epsilon == 0 {
		errs = append(errs, usagef("--epsilon is 0: give a number above 0 (from 1e-6 to 100), a --local-epsilon, or both"))
		epsilon = 1
	}
	return errors.Join(append(errs, checkBudget(epsilon, b.Delta))...)
}

// kernelFlags choose a kernel with its feature maps.
type kernelFlags struct {
	Kernel      string  `help:"${kernels}." default:"gaussian"`
	Bandwidth   float64 `help:"Bandwidth of the kernels of a distance." default:"1"`
	Clip        float64 `help:"Where ip-rotated clips, in standard deviations of a rotated coordinate." default:"2"`
	Radius      float64 `help:"Of the ball round zero that holds all vectors, for the exponential kernels." default:"1"`
	Buckets     int     `name:"kernel-buckets" help:"That laplacian and exponential hash cells to: bits per feature map." default:"16"`
	Repetitions int     `help:"Feature maps; 0 for as many as the dimension. Kernels that hold a whole value in one map take 1."`
}

// kernelNames are what --kernel may be.
func kernelNames() string {
	return strings.Join(slices.Sorted(maps.Keys(plan.Kernels)), ", ")
}

// choose is the kernel asked for, without a seed, and its number of feature
// maps for vectors of the given dimension. Parameters that the kernel has not
// keep their defaults unused.
func (k kernelFlags) choose(dimension int) (kernel plan.Kernel, repetitions int) {
	known := plan.Kernels[k.Kernel]
	kernel.Name, repetitions = k.Kernel, k.Repetitions
	if known.Bandwidth {
		kernel.Bandwidth = k.Bandwidth
	}
	if known.Clip {
		kernel.Clip = k.Clip
	}
	if known.Radius {
		kernel.Radius = k.Radius
	}
	if known.Buckets {
		kernel.Buckets = k.Buckets
	}
	switch {
	case known.Single:
		repetitions = 1
	case repetitions == 0:
		repetitions = dimension
	}
	return kernel, repetitions
}

func (k kernelFlags) check() error {
	var errs []error
	if _, ok := plan.Kernels[k.Kernel]; !ok {
		errs = append(errs, usagef("--kernel is %q: give one of %s", k.Kernel, kernelNames()))
	}
	if !(k.Clip >= 0.1 && k.Clip <= 1e3) {
		errs = append(errs, usagef("--clip is %v: give a number from 0.1 to 1000", k.Clip))
	}
	if !(k.Radius >= 1e-6 && k.Radius <= 1e6) {
		errs = append(errs, usagef("--radius is %v: give a number from 1e-6 to 1e6", k.Radius))
	}
	if k.Buckets < 2 || k.Buckets > 1<<16 {
		errs = append(errs, usagef("--kernel-buckets is %d: give 2 to %d", k.Buckets, 1<<16))
	}
	if k.Repetitions < 0 || k.Repetitions > plan.MaxRepetitions {
		errs = append(errs, usagef("--repetitions is %d: give 1 to %d, or 0 for the dimension", k.Repetitions, plan.MaxRepetitions))
	}
	return errors.Join(append(errs, checkBandwidth(k.Bandwidth))...)
}

// checkBudget refuses what no accountant takes: package account counts from
// 1e-6 to 100 and from 1e-200 to 1/2.
func checkBudget(epsilon, delta float64) error {
	var errs []error
	if !(epsilon >= 1e-6 && epsilon <= 100) {
		errs = append(errs, usagef("--epsilon is %v: give a number above 0 (from 1e-6 to 100)", epsilon))
	}
	if !(delta >= 1e-200 && delta <= 0.5) {
		errs = append(errs, usagef("--delta is %v: give a probability above 0 (from 1e-200 to 0.5)", delta))
	}
	return errors.Join(errs...)
}

func checkBandwidth(h float64) error {
	if !(h > 0 && h <= 1e6) {
		return usagef("--bandwidth is %v: give a number above 0 (at most 1e6)", h)
	}
	return nil
}

// parseLabelEpsilon reads --label-epsilon: a number, or the word none.
func parseLabelEpsilon(text string) (plan.LabelEpsilon, error) {
	form := text
	if text == "none" {
		form = `"none"`
	}
	var l plan.LabelEpsilon
	if err := l.UnmarshalJSON([]byte(form)); err != nil || l > 100 {
		return 0, usagef("--label-epsilon is %s: give a number above 0 (at most 100), or none for labels that are sent as they are", text)
	}
	return l, nil
}

// inDomain makes a published theorem's refusal a fault of what was asked for.
func inDomain(err error) error {
	var domain *account.DomainError
	if errors.As(err, &domain) {
		return usagef("%w; --accounting exact has no such condition", err)
	}
	return err
}
