package design

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Doubts lists what is likely to be a mistake of a plan that is valid and keeps its promise: a
// sentence each, for its author.
func Doubts(p *protocol.Protocol) (all []string) {
	n := p.Plan.Crowd.Minimum
	if s := LooseDelta(p.Plan.Budget.Delta, n); s != "" {
		all = append(all, s)
	}
	switch q := p.Question.(type) {
	case *histogram.Question:
		size := 0
		for _, a := range p.Plan.Question.Histogram.Attributes {
			size += a.Domain()
		}
		if size > mostCounted || p.Plan.Question.Histogram.Sketch != nil {
			break // a table of so many takes long, and cells of a sketch are of many values each
		}
		least := slices.MinFunc(even(p), func(a, b estimate.Value) int {
			if a.StdErr < b.StdErr {
				return -1
			}
			return 1
		}).StdErr
		if sure*least >= float64(n) {
			all = append(all, fmt.Sprintf("The standard error of a count is %.3g respondents at least, of a crowd of %d: even a value that all of them hold cannot be told from one that nobody holds. Ask more people, or for a larger epsilon.", least, n))
		}
	case *density.Question:
		if rmse := q.Features.SupRMSE(even(p)[0].StdErr, n); rmse >= 1 {
			all = append(all, fmt.Sprintf("The error of a density is up to %.3g among %d respondents, and a density is 1 at most: none can be told from none. Ask more people, or for a larger epsilon.", rmse, n))
		}
		if s := narrow(q.Features.Spec()); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// LooseDelta says that a delta is above one in the number of respondents; "" where it is not.
func LooseDelta(delta float64, n int) string {
	if n < 1 || delta <= 1/float64(n) {
		return ""
	}
	return fmt.Sprintf("Delta %.3g is above 1/n of the %d respondents that a crowd may have: to publish one of them in whole, drawn at random, keeps such a promise. Take far less than %.1g.", delta, n, 1/float64(n))
}

// sure is the number of standard errors that an interval of 95 % has to each side.
const sure = 1.96

// mostCounted bounds the cells of a table that is made to see its errors.
const mostCounted = 1 << 16

// even returns the estimates of a crowd as small as may be whose reports say every symbol equally often,
// as reports of strong noise do.
func even(p *protocol.Protocol) []estimate.Value {
	n, t := p.Plan.Crowd.Minimum, p.NewTally()
	if counts, ok := t.(*tally.Counts); ok {
		for c := range counts.Channels {
			symbols := counts.Channel(c)
			for i := range symbols {
				symbols[i] = uint64(n*(i+1)/len(symbols) - n*i/len(symbols))
			}
		}
	}
	return p.Estimate([]tally.Crowd{{Tally: t, Respondents: n}})[0]
}

// narrow says that a kernel is next to nothing between two unit vectors at random, which all but
// the likest of records nearly are.
func narrow(s kernelmap.Spec) string {
	if !s.Normalize {
		return ""
	}
	of := s.Kernel.Similarity()
	if of.Fade == nil {
		return ""
	}
	apart := of.Apart(s.Dimension)
	value := of.Fade(apart / s.Bandwidth)
	if value >= 0.01 {
		return ""
	}
	return fmt.Sprintf("Between two records of unit length, drawn at random, the kernel %s is some %.1g at a bandwidth of %g: hardly anything but a record itself is like it, and a classifier is left to guess. Take a bandwidth of some %.2g.", s.Kernel, value, s.Bandwidth, apart)
}
