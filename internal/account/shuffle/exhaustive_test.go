package shuffle

import (
	"fmt"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// Every data set of up to twelve users, every neighbour, both directions.
func TestOneReleaseEveryDataSet(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 12} {
		for _, p := range []float64{0.01, 0.12, 0.3, 0.48} {
			e := RandomizedResponse{n, p}
			laws := make([][]float64, 1<<n)
			for x := range laws {
				laws[x] = accounttest.Counts(accounttest.Bits(x, n), p)
			}
			for _, share := range []float64{0, 0.1, 0.5, 0.9} {
				epsilon := share * e.local()
				worst := 0.0
				for x, here := range laws {
					for i := range n {
						worst = math.Max(worst, accounttest.Stick(here, laws[x^1<<i], epsilon))
					}
				}
				got := accounttest.DeltaOf(t, e, epsilon)
				if math.Abs(got-worst) > 1e-10*worst || got < worst*(1-1e-13) {
					t.Errorf("n=%d p=%v epsilon=%.4g: delta %.15g, enumerated %.15g", n, p, epsilon, got, worst)
				}
				if worst > 0 && worst < 1 {
					g, err := account.Certify(e, worst)
					if back := accounttest.EpsilonOf(t, g, err); back < epsilon-1e-12 || back > epsilon+2e-7 {
						// Up to neglect*delta times the profile's inverse slope above.
						t.Errorf("n=%d p=%v: epsilon(%v) = %v, want %v", n, p, worst, back, epsilon)
					}
				}
			}
		}
	}
}

// The broken twin: an accountant that checks the unanimous data set only must
// fall below the enumeration somewhere, or the test above could not tell.
func TestUnanimousOnlyIsCaught(t *testing.T) {
	const n, p = 12, 0.12
	deficit := 0.0
	for i := range 40 {
		epsilon := float64(i) * (RandomizedResponse{n, p}).local() / 40
		ones := accounttest.Bits(1<<n-1, n)
		all := accounttest.Counts(ones, p)
		ones[0] = false
		one := accounttest.Counts(ones, p)
		unanimous := math.Max(accounttest.Stick(all, one, epsilon), accounttest.Stick(one, all, epsilon))
		if d := accounttest.DeltaOf(t, RandomizedResponse{n, p}, epsilon); d > 0 {
			deficit = math.Max(deficit, 1-unanimous/d)
		}
	}
	if deficit < 0.05 {
		t.Errorf("the unanimous data set is within %v of the worst case everywhere", deficit)
	}
	t.Logf("largest under-report of delta: %.1f %%", 100*deficit)
}

// Three rounds whose data sets and directions may all differ: never below the
// enumerated worst case, and no higher than the envelope composed on a grid
// twenty times as fine, to which it tends.
func TestComposedReleasesEveryDataSet(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		for _, p := range []float64{0.05, 0.25, 0.45} {
			e := RandomizedResponse{n, p}
			ps := accounttest.Pairs(n, p)
			for _, share := range []float64{0.05, 0.6, 1.4} {
				epsilon := share * e.local()
				worst := 0.0
				for i, a := range ps {
					for j, b := range ps[:i+1] {
						ab := [2][]float64{accounttest.Product(a[0], b[0]), accounttest.Product(a[1], b[1])}
						for _, c := range ps[:j+1] {
							worst = math.Max(worst, accounttest.Stick(accounttest.Product(ab[0], c[0]), accounttest.Product(ab[1], c[1]), epsilon))
						}
					}
				}
				got := accounttest.DeltaOf(t, account.Repeat{Event: e, Rounds: 3}, epsilon)
				if got < worst*(1-1e-12) {
					t.Errorf("n=%d p=%v epsilon=%.4g: delta %v below the enumerated %v", n, p, epsilon, got, worst)
				}
				fine, err := account.Options{Step: e.Spread() / account.PointsPerSpread / 20}.Delta(account.Repeat{Event: e, Rounds: 3}, epsilon)
				if err != nil {
					t.Fatal(err)
				}
				if got > fine.Delta*(1+1e-3)+1e-15 || fine.Delta < worst*(1-1e-12) {
					t.Errorf("n=%d p=%v epsilon=%.4g: delta %v, envelope %v, enumerated %v", n, p, epsilon, got, fine.Delta, worst)
				}
				if n == 1 && got > worst*1.01+1e-15 {
					t.Errorf("one user: delta %v, enumerated %v: the envelope is a single pair", got, worst)
				}
			}
		}
	}
}

// The joint law of the counts of k coordinates.
func joint(symbols []int, k int, p float64) []float64 {
	law := []float64{1}
	for c := range k {
		bits := make([]bool, len(symbols))
		for i, s := range symbols {
			bits[i] = s == c
		}
		law = accounttest.Product(law, accounttest.Counts(bits, p))
	}
	return law
}

// Every data set of one-hot reports over three symbols. absent, a symbol that no
// coordinate holds, is the reference law: randomized response on all zeros.
func TestOneHotEveryDataSet(t *testing.T) {
	const k, absent = 3, -1
	for _, n := range []int{1, 2, 4} {
		for _, p := range []float64{0.1, 0.35} {
			for _, share := range []float64{0, 0.3, 0.8} {
				epsilon := share * RandomizedResponse{n, p}.local()
				removal, replacement := 0.0, 0.0
				symbols := make([]int, n)
				for x := range int(math.Pow(k+1, float64(n))) {
					// Others may be absent too (Definition II.3: any subset).
					for i := range symbols {
						symbols[i] = x%(k+1) - 1
						x /= k + 1
					}
					here := joint(symbols, k, p)
					mine := symbols[0]
					for other := absent; other < k; other++ {
						if other == mine {
							continue
						}
						symbols[0] = other
						d := accounttest.Stick(here, joint(symbols, k, p), epsilon)
						if mine == absent || other == absent {
							removal = math.Max(removal, d)
						} else {
							replacement = math.Max(replacement, d)
						}
					}
					symbols[0] = mine
				}
				what := fmt.Sprintf("n=%d p=%v epsilon=%.3g", n, p, epsilon)
				if got := accounttest.DeltaOf(t, OneHot{n, p, account.Removal, 0}, epsilon); math.Abs(got-removal) > 1e-10 || got < removal*(1-1e-13) {
					t.Errorf("removal, %s: delta %v, enumerated %v", what, got, removal)
				}
				// Two counts change at once; the envelope lets their others differ.
				if got := accounttest.DeltaOf(t, OneHot{n, p, account.Replacement, 0}, epsilon); got < replacement*(1-1e-12) || got > 1.6*replacement+1e-12 {
					t.Errorf("replacement, %s: delta %v, enumerated %v", what, got, replacement)
				}
			}
		}
	}
}

// A worlds cover leaves out respondents; it must bound every k, and stay close.
func TestEnvelopeBoundsEveryK(t *testing.T) {
	for _, n := range []int{5, 20, 101} {
		for _, dropped := range []int{1, 3} {
			for _, p := range []float64{0.05, 0.3} {
				e := RandomizedResponse{n, p}
				o := account.Options{Step: e.Spread() / 20, Neglect: 1e-20}
				full := e.bit().envelope(Worlds{Users: n}, o)
				cover := Worlds{Users: n, Dropped: dropped}
				if first, last := cover.Ones(0), cover.Ones(cover.Count()-1); first != 0 || last != n-1-dropped {
					t.Fatalf("n=%d: worlds from %d to %d", n, first, last)
				}
				less := e.bit().envelope(cover, o)
				for i := range full {
					if less[min(i, len(less)-1)] < full[i]*(1-1e-12) {
						t.Fatalf("n=%d dropped=%d p=%v: envelope %v below %v at point %d", n, dropped, p, less[i], full[i], i)
					}
				}
				accounttest.Within(t, "the envelope at zero", less[0], full[0], 2*float64(dropped)/float64(n-dropped))
			}
		}
	}
}
