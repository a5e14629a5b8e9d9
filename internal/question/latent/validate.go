package latent

import (
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

const (
	maxFeatures = 1 << 20
	subset      = "subset" // the randomizer of symbols
)

// What a plan may name: reports, and mechanisms of a vector.
var (
	reports    = []string{plan.LatentSymbols, plan.LatentRight, plan.LatentVector}
	mechanisms = []string{latent.NameLaplace, latent.NameGaussian, latent.NameCap}
)

// validate lists what is wrong with a plan of private records.
func validate(p plan.Plan, ps *plan.Problems) {
	before := len(*ps)
	undesigned(p, ps)
	if len(*ps) > before {
		return
	}
	ask := p.Question.Latent
	ps.Require(p.State != "", "state is missing: name the public clusters, or the encoder, by their hash")
	if ask.Records > 0 {
		validNumbered(p, ps)
		return
	}
	if ask.Report == plan.LatentVector {
		v, err := newVectors(p)
		if err != nil {
			ps.Require(false, "question.latent.vector: %v", err)
			return
		}
		ps.Require(p.Envelopes.PerDevice == 1, "envelopes.per_device must be 1: a report is one message")
		ps.Require(p.Envelopes.PayloadBytes >= fragment.Size(v.Size()), "envelopes.payload_bytes must be at least %d", fragment.Size(v.Size()))
		return
	}
	ps.Require(ask.Randomizer != nil, "question.latent.randomizer is missing: design the plan")
	if ask.Randomizer != nil {
		histogram.Validate(counted(p), ps)
	}
}

// undesigned lists what is wrong with what must be there before a design.
func undesigned(p plan.Plan, ps *plan.Problems) {
	const at = "question.latent."
	ask := p.Question.Latent
	if !slices.Contains(reports, ask.Report) {
		ps.Require(false, at+"report must be one of %s", strings.Join(reports, ", "))
		return
	}
	k := len(ask.Classes)
	ps.Require(ask.Features >= 1 && ask.Features <= maxFeatures, at+"features must be between 1 and %d: the numbers of a record", maxFeatures)
	ps.Require(k == 0 || k >= 2 && k <= plan.MaxClasses, at+"classes: name between 2 and %d, or none", plan.MaxClasses)
	if k <= plan.MaxClasses {
		ps.Names(at+"classes", ask.Classes)
	}
	if ask.Report == plan.LatentVector {
		ps.Require(ask.Clusters == 0 && ask.Randomizer == nil, at+"clusters and randomizer are of symbols: leave them out of a %s", ask.Report)
		told(ask.Vector, k, ps)
	} else {
		ps.Require(ask.Clusters >= 2 && ask.Clusters <= cluster.Most, at+"clusters must be between 2 and %d", cluster.Most)
		ps.Require(ask.Randomizer == nil || ask.Randomizer.Name == subset, at+"randomizer must be %q, or be left to the design", subset)
		ps.Require(ask.Vector == nil, at+"vector is of another report: leave it out of %s", ask.Report)
		ps.Require(ask.Report != plan.LatentRight || k >= 2 && ask.Clusters == k, at+"clusters must be the %d classes: a model gives one of these", k)
	}
	ps.Require(ask.Records >= 0 && ask.Records <= plan.MaxRecords && (ask.Records == 0 || ask.Report != plan.LatentRight), at+"records: say how many public ones there are, at most %d, and leave it out of %s", plan.MaxRecords, plan.LatentRight)
	ps.Require(ask.Records == 0 || len(p.Crowd.Names) == 0, "crowd.names: records that are numbered are in one crowd: leave them out")
	ps.Require(k == 0 || len(p.Crowd.Names) == 0, "crowd.names: whoever has a class says it with the record, and there is one crowd of everybody: leave them out, or the classes")
	ps.Require(p.Budget.LocalEpsilon > 0, "budget.local_epsilon is missing: nobody is trusted, and it is all that a device's report may tell")
	ps.Require(p.Budget.LabelEpsilon == 0, "budget.label_epsilon: the class is part of the record: leave it out")
	ps.Require(p.Route.Kind == plan.RouteMix, "route.kind must be %q: a symbol is no sum", plan.RouteMix)
	terms.RequireReplacement(p, ps)
	terms.RequireUnfit(p, ps)
	terms.RequireWhole(p, ps)
}

// told lists what is wrong with how a vector and one of so many classes are to be told.
func told(z *plan.Latents, classes int, ps *plan.Problems) {
	const at = "question.latent.vector."
	if z == nil || !slices.Contains(mechanisms, z.Mechanism) {
		ps.Require(false, at+"mechanism must be one of %s", strings.Join(mechanisms, ", "))
		return
	}
	grid, gaussian := z.Mechanism != latent.NameCap, z.Mechanism == latent.NameGaussian
	ps.Require(z.Dim >= 1 && z.Dim <= latent.MaxDim && (grid || z.Dim >= 2), at+"dim must be between 1, of a cap 2, and %d", latent.MaxDim)
	ps.Require(grid == (z.Length > 0), at+"length is that of the ball that noise on a grid is added in: give it, but of %q", latent.NameCap)
	ps.Require(grid || z.Points == 0, at+"points are of noise on a grid: leave them out")
	ps.Require(!grid || z.Share == 0, at+"share is of %q: leave it out", latent.NameCap)
	ps.Require(gaussian || z.Sigma == 0, at+"sigma is of %q: leave it out", latent.NameGaussian)
	ps.Require(z.Sigma == 0 || z.Epsilon == 0, at+"epsilon: sigma stands in its place: leave it out")
	ps.Require(classes > 0 || z.ClassEpsilon == 0, at+"class_epsilon: there are no classes: leave it out")
}
