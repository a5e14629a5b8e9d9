// Package flags defines the flags that several commands take. Used by cmd/confetti/internal and
// lab/cmd/confetti-lab.
package flags

import (
	"errors"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/plan"
)

// DataSets names the folder of public data sets.
type DataSets struct {
	Data string `help:"Folder of data sets." env:"CONFETTI_DATA" type:"path" placeholder:"DIR"`
}

// Load reads a data set of the folder.
func (d DataSets) Load(name string) (*dataset.Set, error) {
	if !slices.Contains(dataset.Names(), name) {
		return nil, terminal.Usagef("--dataset %s is unknown: choose one of %s, or synthetic", name, strings.Join(dataset.Names(), ", "))
	}
	if d.Data == "" {
		return nil, terminal.Usagef("--dataset %s needs the folder of data sets: --data DIR or CONFETTI_DATA", name)
	}
	return dataset.Load(d.Data, name)
}

// Mechanism are the choices that plans and simulations share.
type Mechanism struct {
	Budget
	Bitsum       string `help:"${bitsums}; to compare with, the lab has central, local and none." default:"rr"`
	LabelEpsilon string `help:"Local privacy of the label, or none: sent as it is." default:"none"`
}

// Budget are those of every question.
type Budget struct {
	Epsilon      float64 `help:"Privacy of what is asked, with honest shufflers; may be left out beside --local-epsilon." placeholder:"E"`
	LocalEpsilon float64 `help:"Privacy of what is asked though everyone colludes; with --epsilon both hold." placeholder:"E"`
	Delta        float64 `help:"Probability that the promise may fail by." default:"1e-6"`
	Accounting   string  `help:"Where the noise comes from: exact, or the route of the paper." enum:"exact,paper" default:"exact"`
}

// Check refuses what no accountant takes, and a budget without an epsilon.
func (b Budget) Check() error {
	var errs []error
	if l := b.LocalEpsilon; l != 0 && !(l >= 1e-6 && l <= 1e6) {
		errs = append(errs, terminal.Usagef("--local-epsilon is %v: give a number above 0 (from 1e-6 to 1e6)", l))
	}
	epsilon := b.Epsilon
	if epsilon == 0 && b.LocalEpsilon != 0 {
		epsilon = 1 // which is left out
	} else if epsilon == 0 {
		errs = append(errs, terminal.Usagef("--epsilon is 0: give a number above 0 (from 1e-6 to 100), a --local-epsilon, or both"))
		epsilon = 1
	}
	return errors.Join(append(errs, CheckBudget(epsilon, b.Delta))...)
}

// KernelChoice choose a kernel with its feature maps.
type KernelChoice struct {
	Kernel      string  `help:"${kernels}." default:"gaussian"`
	Bandwidth   float64 `help:"Bandwidth of the kernels of a distance." default:"1"`
	Clip        float64 `help:"Where ip-rotated clips, in standard deviations of a rotated coordinate." default:"2"`
	Radius      float64 `help:"Of the ball round zero that holds all vectors, for the exponential kernels." default:"1"`
	Buckets     int     `name:"kernel-buckets" help:"That laplacian and exponential hash cells to: bits per feature map." default:"16"`
	Projection  int     `help:"To how many dimensions gaussian-projected takes vectors first; 0 for a quarter of theirs."`
	Repetitions int     `help:"Feature maps; 0 for as many as the dimension. Kernels that hold a whole value in one map take 1."`
}

// KernelNames returns what --kernel may be.
func KernelNames() string {
	return strings.Join(kernelmap.Kernels(), ", ")
}

// BitsumNames returns what --bitsum of a plan may be.
func BitsumNames() string { return strings.Join(plan.Bitsums, ", ") }

// Choose returns the kernel asked for, without a seed, and its number of feature
// maps for vectors of the given dimension, 0 where it is not known yet. Parameters that the kernel has not
// keep their defaults unused.
func (k KernelChoice) Choose(dimension int) (kernel plan.Kernel, repetitions int) {
	has := kernelmap.Kernel(k.Kernel).Parameters()
	kernel.Name, repetitions = k.Kernel, k.Repetitions
	if has.Bandwidth {
		kernel.Bandwidth = k.Bandwidth
	}
	if has.Clip {
		kernel.Clip = k.Clip
	}
	if has.Radius {
		kernel.Radius = k.Radius
	}
	if has.Buckets {
		kernel.Buckets = k.Buckets
	}
	if has.Projection {
		kernel.Projection = k.Projection
		if k.Projection == 0 && dimension > 0 {
			kernel.Projection = max(1, dimension/4)
		}
	}
	switch {
	case has.Single:
		repetitions = 1
	case repetitions == 0:
		repetitions = dimension
	}
	return kernel, repetitions
}

// Check refuses what no kernel takes.
func (k KernelChoice) Check() error {
	var errs []error
	if !slices.Contains(kernelmap.Kernels(), k.Kernel) {
		errs = append(errs, terminal.Usagef("--kernel is %q: give one of %s", k.Kernel, KernelNames()))
	}
	if !(k.Clip >= 0.1 && k.Clip <= 1e3) {
		errs = append(errs, terminal.Usagef("--clip is %v: give a number from 0.1 to 1000", k.Clip))
	}
	if !(k.Radius >= 1e-6 && k.Radius <= 1e6) {
		errs = append(errs, terminal.Usagef("--radius is %v: give a number from 1e-6 to 1e6", k.Radius))
	}
	if k.Buckets < 2 || k.Buckets > 1<<16 {
		errs = append(errs, terminal.Usagef("--kernel-buckets is %d: give 2 to %d", k.Buckets, 1<<16))
	}
	if k.Projection < 0 || k.Projection > kernelmap.MaxDimension {
		errs = append(errs, terminal.Usagef("--projection is %d: give 1 to the dimension, or 0 for a quarter of it", k.Projection))
	}
	if k.Repetitions < 0 || k.Repetitions > kernelmap.MaxChannels {
		errs = append(errs, terminal.Usagef("--repetitions is %d: give 1 to %d, or 0 for the dimension", k.Repetitions, kernelmap.MaxChannels))
	}
	return errors.Join(append(errs, checkBandwidth(k.Bandwidth))...)
}

// CheckBudget refuses what no accountant takes: package account counts from
// 1e-6 to 100 and from 1e-200 to 1/2.
func CheckBudget(epsilon, delta float64) error {
	var errs []error
	if !(epsilon >= 1e-6 && epsilon <= 100) {
		errs = append(errs, terminal.Usagef("--epsilon is %v: give a number above 0 (from 1e-6 to 100)", epsilon))
	}
	if !(delta >= 1e-200 && delta <= 0.5) {
		errs = append(errs, terminal.Usagef("--delta is %v: give a probability above 0 (from 1e-200 to 0.5)", delta))
	}
	return errors.Join(errs...)
}

func checkBandwidth(h float64) error {
	if !(h > 0 && h <= 1e6) {
		return terminal.Usagef("--bandwidth is %v: give a number above 0 (at most 1e6)", h)
	}
	return nil
}

// ParseLabelEpsilon reads --label-epsilon: a number, or the word none.
func ParseLabelEpsilon(text string) (plan.LabelEpsilon, error) {
	form := text
	if text == "none" {
		form = `"none"`
	}
	var l plan.LabelEpsilon
	if err := l.UnmarshalJSON([]byte(form)); err != nil || l > 100 {
		return 0, terminal.Usagef("--label-epsilon is %s: give a number above 0 (at most 100), or none for labels that are sent as they are", text)
	}
	return l, nil
}

// InDomain makes a published theorem's refusal a fault of what was asked for.
func InDomain(err error) error {
	var domain *theorems.DomainError
	if errors.As(err, &domain) {
		return terminal.Usagef("%w; --accounting exact has no such condition", err)
	}
	return err
}

// Dashed are names of flags as they are typed.
func Dashed(names []string) string { return "--" + strings.Join(names, ", --") }

// Refused returns the accountant's answer to parameters outside its domain, in terms
// of the flags that set them.
func Refused(err error, flags ...string) error {
	var u *account.Unsupported
	if errors.As(err, &u) {
		return terminal.Usagef("no bound is proved for it: %s (set by %s)", u.Reason, Dashed(flags))
	}
	return terminal.Usagef("%s (set by %s)", strings.TrimPrefix(err.Error(), "account: "), Dashed(flags))
}
