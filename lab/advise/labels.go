package advise

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	device "github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/plan"
)

// Labels is a collection of labels whose features are public.
type Labels struct {
	Users    int // honest respondents
	Classes  int
	Clusters int // public ones; 0: by the rule of cluster.Choose
	Features int // whose products with the label are summed; 0: none
	// Epsilon is of whoever reads what is released, the shuffler honest; 0: nobody is trusted.
	// LocalEpsilon is of all that a device sends, whoever colludes; 0: none is asked for.
	Epsilon, Delta, LocalEpsilon float64
}

// LabelWay is a report of a plan of labels, with noise calibrated to the task.
type LabelWay struct {
	Report    string            // as plans name it
	Excluded  string            // why it cannot be used; what follows is then empty
	Guarantee account.Guarantee // of whoever reads what is released
	Local     float64           // epsilon though everyone colludes
	Envelopes int               // of a device
	// RMSE is of the count of a label among Alike respondents whose features are alike: a
	// cluster, or as many of whom reports by themselves, or a sum along their features, tell.
	RMSE  float64
	Alike int
	// Misnamed bounds the chance that so many respondents of one label are taken for those of
	// another, errors being normal.
	Misnamed float64
}

// LabelAdvice compares the ways; Best is the index of the recommended one, -1 if none can be used.
type LabelAdvice struct {
	Clusters int // that ways are compared in
	Ways     []LabelWay
	Best     int
	Reason   string
}

// CompareLabels calibrates every way to the task.
func CompareLabels(t Labels) (a LabelAdvice, err error) {
	if err := t.check(); err != nil {
		return a, err
	}
	if a.Clusters, err = t.clusters(); err != nil {
		return a, err
	}
	alike := t.Users / a.Clusters
	for _, way := range []struct {
		report string
		of     func(Labels, int) (LabelWay, error)
	}{{plan.LabelClusters, Labels.inClusters}, {plan.LabelSums, Labels.summed}, {plan.LabelEach, Labels.each}} {
		w, err := way.of(t, alike)
		if err != nil {
			w = LabelWay{Excluded: err.Error()}
		} else {
			w.Alike = alike
			w.Misnamed = misnamed(t.Classes, float64(alike)/w.RMSE)
		}
		w.Report = way.report
		a.Ways = append(a.Ways, w)
	}
	a.recommend(t)
	return a, nil
}

// misnamed returns that another of so many counts, whose errors are normal and alike, is the largest
// though the true one leads by so many of these.
func misnamed(classes int, lead float64) float64 {
	const least = 1e-99 // which is never said to be nothing
	return math.Min(1, math.Max(least, float64(classes-1)*math.Erfc(lead/2)/2))
}

func (t Labels) check() error {
	// What a histogram of the same values would be refused for.
	h := Task{Users: t.Users, Domain: t.Classes, Epsilon: t.Epsilon, Delta: t.Delta, LocalEpsilon: t.LocalEpsilon, Tau: 2, Hashes: 1, Width: 2}
	switch err := h.check(); {
	case err != nil:
		return err
	case t.Classes > plan.MaxClasses:
		return fmt.Errorf("account: %d classes: at most %d", t.Classes, plan.MaxClasses)
	case t.Clusters < 0 || t.Clusters > min(device.Most, t.Users/2):
		return fmt.Errorf("account: %d clusters: need 1 to %d, of two respondents or more", t.Clusters, min(device.Most, t.Users/2))
	case t.Features < 0 || t.Features > 1<<20:
		return fmt.Errorf("account: %d features: need 1 to %d", t.Features, 1<<20)
	}
	return nil
}

// clusters are as many as asked for, or as counts can be told in.
func (t Labels) clusters() (int, error) {
	if t.Clusters > 0 {
		return t.Clusters, nil
	}
	var failed error
	n := cluster.Choose(t.Users, func(respondents float64) float64 {
		w, err := t.counted(int(respondents))
		if err != nil {
			failed = err
		}
		return w.RMSE
	})
	return n, failed
}

// counted are labels in a crowd, told by k-ary response; where nobody is trusted, as if each hid
// among nobody.
func (t Labels) counted(respondents int) (Option, error) {
	return adviseKRR(Task{Users: respondents, Domain: t.Classes, Epsilon: t.Epsilon, Delta: t.Delta, LocalEpsilon: t.LocalEpsilon})
}

var errNobody = errors.New("it relies on a shuffler, and nobody is trusted: give --epsilon too")

func (t Labels) inClusters(alike int) (w LabelWay, err error) {
	if t.Epsilon == 0 {
		return w, errNobody
	}
	o, err := t.counted(alike)
	if err != nil {
		return w, err
	}
	w = LabelWay{Local: o.Local, Envelopes: o.Envelopes, RMSE: o.RMSE}
	w.Guarantee, err = o.Guarantee.Under(account.Label)
	return w, err
}

// summed returns the rotated sum with as many bits as still make its error less.
func (t Labels) summed(int) (w LabelWay, err error) {
	switch {
	case t.Epsilon == 0:
		return w, errNobody
	case t.Features == 0:
		return w, errors.New("the number of features is unknown: give --features")
	}
	const fewest, most, worth = 1 << 10, 1 << 14, 0.95
	shape := features.Shape{Dimension: t.Features, Classes: t.Classes}
	need := vector.Need{Respondents: t.Users, Honest: t.Users, Dimension: shape.ClassLen(), SquaredDistance: shape.LabelDistance()}
	w.RMSE = math.Inf(1)
	for need.Bits = fewest; need.Bits <= most; need.Bits *= 2 {
		s, err := need.Design(t.Epsilon, t.Delta)
		if err != nil {
			return w, err
		}
		e := s.Event(1).Losses().Report
		rmse := float64(t.Classes-1) / float64(t.Classes) * s.Noise(t.Users)
		if rmse > worth*w.RMSE || t.LocalEpsilon > 0 && e > t.LocalEpsilon {
			break
		}
		g, err := account.Epsilon(s.Event(t.Users), t.Delta)
		if err == nil {
			w.Guarantee, err = g.Under(account.Label)
		}
		if err != nil {
			return w, err
		}
		w.RMSE, w.Local, w.Envelopes = rmse, e, s.Envelopes
	}
	if math.IsInf(w.RMSE, 1) {
		return w, fmt.Errorf("%d bits of a device have a local epsilon above %g", fewest, t.LocalEpsilon)
	}
	return w, nil
}

// each spends the smaller epsilon on every device by itself.
func (t Labels) each(alike int) (w LabelWay, err error) {
	local := t.LocalEpsilon
	if local == 0 || t.Epsilon > 0 && t.Epsilon < local {
		local = t.Epsilon
	}
	t.Epsilon, t.LocalEpsilon = 0, local
	o, err := t.counted(alike)
	if err != nil {
		return w, err
	}
	w = LabelWay{Local: local, Envelopes: 1, RMSE: o.RMSE}
	w.Guarantee = account.Guarantee{Epsilon: local, Adjacency: account.Label, Trust: account.Local, Users: 1, Rounds: 1, Bound: account.Upper, Method: "randomized response on every device", Source: "Warner 1965"}
	return w, nil
}
