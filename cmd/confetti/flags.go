package main

import (
	"errors"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/plan"
)

// dataFlag names the folder of public data sets.
type dataFlag struct {
	Data string `help:"Folder of data sets." env:"CONFETTI_DATA" type:"path" placeholder:"DIR"`
}

// mechanismFlags are the choices that plans and experiments share.
type mechanismFlags struct {
	Bitsum       string  `help:"rr or 3nb; to compare with, experiments and simulations have central, local and none." default:"rr"`
	Accounting   string  `help:"Where the noise comes from: exact, or the route of the paper." enum:"exact,paper" default:"exact"`
	Epsilon      float64 `help:"Privacy of the features." required:"" placeholder:"E"`
	Delta        float64 `help:"Probability that the promise may fail by." default:"1e-6"`
	LabelEpsilon string  `help:"Local privacy of the label, or none: sent as it is." default:"none"`
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
