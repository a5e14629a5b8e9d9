package shuffle

import (
	"flag"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

var everyPromise = flag.Bool("promises.all", false, "compare all 1,000 promises, and not each tenth")

// kept is a promise of testdata/promises.tsv, which the accountant of commit 998ad475^ wrote, before laws were kept and
// points left out: kind, respondents, rounds, flip, delta and epsilon. Its settings were drawn by rand.NewPCG(33, 1).
type kept struct {
	event   account.Event
	delta   float64
	epsilon float64
}

func keptPromises(t *testing.T) (all []kept) {
	t.Helper()
	text, err := os.ReadFile("testdata/promises.tsv")
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		users, flip := int(number(f[1])), number(f[3])
		var e account.Event = RandomizedResponse{Users: users, Flip: flip}
		if of, ok := strings.CutPrefix(f[0], "one-hot "); ok {
			e = OneHot{Users: users, Flip: flip, Adjacency: account.Adjacency(of)}
		}
		all = append(all, kept{account.Repeat{Event: e, Rounds: int(number(f[2]))}, number(f[4]), number(f[5])})
	}
	return all
}

// moved returns by how much of itself an epsilon is another than it was.
func (k kept) moved(epsilon float64) float64 { return math.Abs(epsilon/k.epsilon - 1) }

// A promise may be another one than it was by a thousandth of itself.
const promiseMoves = 1e-3

// Promises are what they were, and none is below what is surely lost.
func TestPromisesAreWhatTheyWere(t *testing.T) {
	all := keptPromises(t)
	if len(all) != 1000 {
		t.Fatalf("%d promises", len(all))
	}
	most, compared := 0.0, 0
	for i, k := range all {
		if !*everyPromise && i%10 != 0 {
			continue
		}
		compared++
		epsilon := accounttest.EpsilonFrom(t, account.Epsilon, k.event, k.delta)
		if most = math.Max(most, k.moved(epsilon)); k.moved(epsilon) > promiseMoves {
			t.Errorf("%d: %+v at %v: epsilon %.9g, and was %.9g", i, k.event, k.delta, epsilon, k.epsilon)
		}
		if least := accounttest.EpsilonFrom(t, account.LowerEpsilon, k.event, k.delta); epsilon < least {
			t.Errorf("%d: %+v at %v: epsilon %.9g, and %.9g is surely lost", i, k.event, k.delta, epsilon, least)
		}
		if k.moved(epsilon*(1+2*promiseMoves)) <= promiseMoves { // the twin
			t.Fatalf("%d: a promise that is larger by twice as much is taken", i)
		}
	}
	t.Logf("%d promises moved by up to %.2g of themselves", compared, most)
}

// A promise among more respondents is no larger, so that no plan fails its budget by one respondent more, whatever
// grids their numbers choose.
func TestPromisesNeverRise(t *testing.T) {
	rise := func(from, to, rounds int) {
		before := math.Inf(1)
		for n := from; n <= to; n++ {
			e := account.Repeat{Event: RandomizedResponse{Users: n, Flip: math.Min(0.4, 1725/float64(from))}, Rounds: rounds}
			epsilon := accounttest.EpsilonFrom(t, account.Epsilon, e, 1e-6)
			if epsilon > before {
				t.Errorf("%d users, %d rounds: a promise rises by %.2g of itself", n, rounds, epsilon/before-1)
			}
			before = epsilon
		}
	}
	for _, rounds := range []int{1, 20} {
		for users := 128; users <= 1<<20; users *= 2 { // where grids may change
			rise(users-2, users+1, rounds)
		}
		for users := 150; users < 1e8; users = users*7/3 + 1 {
			rise(users, users+3, rounds)
		}
	}
	rise(100, 600, 3)
	rise(40_000, 40_006, 768)
	rise(1_000_000, 1_000_006, 768)
}
