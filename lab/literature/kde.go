package literature

import (
	"cmp"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// KDETheorem32Pure returns the variant for pure bitsum protocols (KDE, Appendix
// A.1.7): basic composition, epsilon = I S e0 and delta = 0.
func KDETheorem32Pure(bitsum account.Guarantee, coordinates, repetitions int) (account.Guarantee, error) {
	t := theorems.Theorem("KDE Theorem 3.2, pure variant (Appendix A.1.7)")
	if err := cmp.Or(t.Epsilon("epsilon0 of a bitsum", bitsum.Epsilon), t.Count("coordinates", coordinates), t.Count("repetitions", repetitions),
		t.Need(bitsum.Bound != account.Lower, "an upper bound on each bitsum: it is a lower bound"),
		t.Need(bitsum.Rounds <= 1, "the guarantee of one bitsum: it is of %d rounds", bitsum.Rounds),
		t.Need(bitsum.Delta == 0, "a pure bitsum protocol, delta0 = 0: it is %v", bitsum.Delta)); err != nil {
		return account.Guarantee{}, err
	}
	g := bitsum
	g.Epsilon = profile.Raised(float64(coordinates) * float64(repetitions) * bitsum.Epsilon)
	g.Rounds, g.Bound, g.Certified = coordinates*repetitions, account.Upper, ""
	g.Method = "Theorem 3.2 for pure protocols, basic composition of: " + bitsum.Method
	g.Source = "KDE, Appendix A.1.7; " + bitsum.Source
	return g, cmp.Or(t.Need(g.Epsilon < math.MaxFloat64, "a finite epsilon: it is %v", g.Epsilon), t.Need(g.Delta < 1, "a total delta below 1: it is %.6g", g.Delta))
}

// KDESupRMSE bounds the root mean squared error of a density at any point (KDE,
// Theorem 3.2): sqrt(4 beta^2 + 16 R^4 S (S + (E/n)^2)/I) for a
// beta-approximate (Q, R, S) family, I repetitions and bitsums of root mean
// squared error E (in counts) over n users.
func KDESupRMSE(beta, bound float64, sparsity, repetitions int, rmse float64, n int) (float64, error) {
	t := theorems.Theorem("KDE Theorem 3.2, error")
	if err := cmp.Or(t.Count("sparsity", sparsity), t.Count("repetitions", repetitions), t.Count("n", n),
		t.Need(beta >= 0 && beta <= 1, "0 <= beta <= 1: it is %v", beta),
		t.Need(bound > 0 && bound <= 1e9, "0 < R <= 1e9: it is %v", bound),
		t.Need(rmse >= 0 && rmse <= 1e150, "0 <= RMSE <= 1e150: it is %v", rmse)); err != nil {
		return 0, err
	}
	s, each := float64(sparsity), rmse/float64(n)
	r2 := bound * bound
	return profile.Raised(math.Sqrt(4*beta*beta + 16*r2*r2*s*(s+each*each)/float64(repetitions))), nil
}

// ThreatModel is what the observer of private learning sees (KDE, Section 3.1).
type ThreatModel string

const (
	// ModelThreat: the published model only.
	ModelThreat ThreatModel = "model"
	// CommunicationThreat: everything that is sent, shuffled.
	CommunicationThreat ThreatModel = "communication"
)

// KDECorollary34 returns the guarantee of private learning (KDE, Corollary 3.4):
// density is that of one reported class (Theorem 3.2 or exact), epsilonLabel
// that of m-ary randomized response on the label.
//
// Under CommunicationThreat it is epsilon + epsilonLabel, for a replaced record
// with its label. Under ModelThreat the paper prints epsilon alone. The counts
// of the reported classes are published with the model, so that figure holds
// for the features with the reported label fixed, and the method says so; a
// replaced record is protected by the communication figure in both models.
func KDECorollary34(density account.Guarantee, epsilonLabel float64, threat ThreatModel) (account.Guarantee, error) {
	t := theorems.Theorem("KDE Corollary 3.4")
	if err := cmp.Or(t.Epsilon("epsilon of a density", density.Epsilon), t.Epsilon("epsilon of the label", epsilonLabel),
		t.Need(density.Delta >= 0 && density.Delta < 1, "0 <= delta < 1: it is %v", density.Delta),
		t.Need(density.Bound != account.Lower, "an upper bound on the density: it is a lower bound"),
		t.Need(density.Adjacency == account.Replacement, "replacement adjacency: it is %s", density.Adjacency)); err != nil {
		return account.Guarantee{}, err
	}
	g := density
	g.Bound = account.Upper
	g.Source = "KDE, Corollary 3.4; " + density.Source
	switch threat {
	case ModelThreat:
		g.Method = "Corollary 3.4, model threat (features only, reported label fixed): " + density.Method
	case CommunicationThreat:
		g.Method = "Corollary 3.4, communication threat: " + density.Method + " + randomized response on the label"
		g.Epsilon = profile.Up(density.Epsilon + epsilonLabel)
		g.Rounds++
	default:
		return account.Guarantee{}, fmt.Errorf("account: unknown threat model %q: want %q or %q", threat, ModelThreat, CommunicationThreat)
	}
	return g, nil
}
