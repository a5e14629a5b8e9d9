package advise

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/lab/train/cluster"
)

// hidden is a bound on groups taken for another label's that says nothing any more.
const hidden = 0.5

// fewGroups times the classes are as many clusters as tell a class from its neighbours.
const fewGroups = 2

// recommend takes labels one by one where these are clear by themselves, since they trust nobody
// and each device's report goes with its own features; else clusters, where there are enough
// of them; else sums.
func (a *LabelAdvice) recommend(t Labels) {
	const inClusters, summed, each = 0, 1, 2
	few := a.Clusters < fewGroups*t.Classes
	switch {
	case t.Epsilon == 0 || t.clear(a.Ways[each]):
		a.Best = each
	case a.Ways[inClusters].Excluded == "" && !(few && a.Ways[summed].Excluded == ""):
		a.Best = inClusters
	case a.Ways[summed].Excluded == "":
		a.Best = summed
	default:
		a.Best = each
	}
	if a.Ways[a.Best].Excluded != "" {
		a.Best, a.Reason = -1, "None of the ways reaches this: raise epsilon, or ask more respondents."
		return
	}
	a.Reason = a.why(t, a.Best, few)
}

// clear says that counts of reports one by one are clear of their noise in groups so small that
// clusters would not be smaller.
func (t Labels) clear(each LabelWay) bool {
	return each.Excluded == "" && cluster.Clear*randomize.KRR{K: t.Classes, Epsilon: each.Local}.RMSE(cluster.Fewest) <= cluster.Fewest
}

func (a *LabelAdvice) why(t Labels, best int, few bool) string {
	w, s := a.Ways[best], ""
	switch {
	case best == 2 && t.Epsilon == 0:
		s = "Labels one by one: nobody is trusted, and a report then tells most beside its own features."
	case best == 2:
		s = fmt.Sprintf("Labels one by one: %d alike respondents already tell their label by %d standard errors, and no cluster should be smaller; each report keeps its own features, and nobody need be trusted.", cluster.Fewest, cluster.Clear)
	case best == 0 && few:
		s = fmt.Sprintf("Clusters: %d are few for %d labels, but sums cannot be used. Ask more respondents, or make purer ones (clusters fit --method graph).", a.Clusters, t.Classes)
	case best == 0:
		s = fmt.Sprintf("Clusters: a typical one of %d holds %d respondents, and the count of a label in it errs by %.3g.", a.Clusters, w.Alike, w.RMSE)
	default:
		s = fmt.Sprintf("Sums: %d clusters are few for %d labels, and a sum is of all respondents together.", a.Clusters, t.Classes)
	}
	if w.Misnamed < hidden {
		s += fmt.Sprintf(" Of as many who all have one label, at most %.2g of 100 groups are taken for another's.", 100*w.Misnamed)
	} else {
		s += fmt.Sprintf(" Noise hides the label even of %d who all have the same: ask more respondents, or raise epsilon.", w.Alike)
	}
	if w.Local > account.Meaningless {
		return s + fmt.Sprintf(" If everyone colludes its local epsilon of %.4g is no meaningful protection.", w.Local)
	}
	return s + fmt.Sprintf(" If everyone colludes a local epsilon of %.3g is left.", w.Local)
}
