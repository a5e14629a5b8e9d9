package protocol

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/account/shuffle"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/release"
)

func (d *density) thinned(honest int) account.Event {
	channel := thin(d.channel, honest)
	if channel == nil {
		return nil
	}
	return kde.Loss(d.features, channel)
}

// thin is the event of one channel of which only so many respondents add their
// share of the noise. Where the noise is divided among Users, fewer leave a
// share b = honest/Users of it, and more are left out, since what they add is
// post-processing; randomized response gains by them.
//
// A share of NB(r, p) is NB(b r, p), and of Poisson(m) Poisson(b m), exactly. Of
// 3NB the flood becomes NB(b r, p3) and the noises NB(b, p), for which there is
// no accountant. But NB(b, p) is the geometric NB(1, b p) and an independent
// number: the logarithm of the generating function of NB(r, p) has coefficients
// r p^k/k, and b p^k - (b p)^k >= 0 for all k >= 1. Leaving that number out is a
// bound, a crude one: what hides is then no wider than 1/(1-b).
// The proof of the pure protocol needs its whole flood.
func thin(channel account.Event, honest int) account.Event {
	share := func(users int) float64 { return min(1, float64(honest)/float64(users)) }
	switch e := channel.(type) {
	case shuffle.RandomizedResponse:
		e.Users = honest
		return e
	case additive.ThreeNB:
		b := share(e.Users)
		e.Users = min(honest, e.Users)
		e.Noise -= math.Log(b)
		e.FloodShape *= b
		return e
	case additive.PoissonSum:
		e.Mean *= share(e.Users)
		e.Users = min(honest, e.Users)
		return e
	case additive.ThinnedNegativeBinomialSum: // of what those who are left add
		e.Sum.Shape *= share(e.Sum.Users)
		e.Sum.Users = min(honest, e.Sum.Users)
		return e
	case additive.Pure:
		if honest >= e.Users {
			return e
		}
	}
	return nil
}

func (d *density) crowdLoss() float64 {
	if d.labels == nil {
		return math.Inf(1)
	}
	return d.labels.Epsilon
}

func (d *density) threatModels(features account.Guarantee) []release.Table {
	t := release.Table{
		Title: "Two threat models (KDE, Corollary 3.4)",
		Columns: []release.Column{
			{Label: "threat model"}, {Label: "what is seen"}, {Label: "epsilon of the corollary"}, {Label: "epsilon claimed here for a replaced record"},
		},
	}
	communication, claimed := epsilonCell(features.Epsilon), release.Text("none: the class is sent as it is")
	if d.labels != nil {
		sum := features.Epsilon + d.labels.Epsilon
		communication, claimed = epsilonCell(sum), epsilonCell(sum)
		t.Note = fmt.Sprintf("The corollary's %.4g for the model holds for the features with the reported class fixed. Class counts are published, and randomized response reveals how many respondents a class has: we claim the sum in both.", features.Epsilon)
	} else {
		t.Note = "Both speak of the features only, with the class fixed."
	}
	t.Rows = [][]release.Cell{
		{release.Text("communication"), release.Text("all mixed messages, by reported class"), communication, claimed},
		{release.Text("model"), release.Text("this release"), epsilonCell(features.Epsilon), claimed},
	}
	return []release.Table{t}
}
