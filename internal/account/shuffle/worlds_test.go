package shuffle

import (
	"math"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/pld"
)

// Bits of little noise and of much, that flip alike and not.
var laddered = []bit{
	RandomizedResponse{Flip: 1e-5}.bit(), RandomizedResponse{Flip: 0.003}.bit(), RandomizedResponse{Flip: 0.5}.bit(),
	AsymmetricResponse{Keep: 0.5, Flip: 0.01}.bit(), AsymmetricResponse{Keep: 0.999, Flip: 1e-4}.bit(),
}

// Every rung leaves out just those above the next lower one, none lies more than a 2,500th
// below the users it stands for, and the others that are left never fall.
func TestRungsAreALadder(t *testing.T) {
	for _, b := range laddered {
		last, lowest := Worlds{Users: smallRR}, smallRR-1
		for users := smallRR + 1; users < 60_000; users++ {
			c := b.cover(users, account.Options{})
			if c == last {
				continue
			}
			if c.Users != users || c.Users-c.Dropped != last.Users || c.Others() < lowest || c.Dropped < 1 {
				t.Fatalf("%d users: %+v after %+v", users, c, last)
			}
			if left := users - 1 - c.Others(); left > 1+users/2500 {
				t.Errorf("%d users: %d are left out", users, left)
			}
			last, lowest = c, c.Others()
		}
		for _, users := range []int{1 << 20, 1e7 + 1, 1e9, account.MaxUsers} {
			c := b.cover(users, account.Options{})
			if c.Users > users || users-c.Users >= 2*c.Dropped+1 || b.cover(c.Users, account.Options{}) != c {
				t.Errorf("%d users: %+v", users, c)
			}
			below := b.cover(c.Users-1, account.Options{})
			if c.Users-c.Dropped != below.Users || c.Others() < below.Others() {
				t.Errorf("%d users: %+v after %+v", users, c, below)
			}
			if work := float64(c.Count()) * b.spread(users); users > 1e8 && b.spread(users) < 500 && users-c.Users+c.Dropped > users/499 || work > 2e6 {
				t.Errorf("%d users that spread by %v: %+v", users, b.spread(users), c)
			}
		}
	}
}

// A certificate has 100,000 worlds at most, whose laws have so many terms, whatever the number of users, and leaves out
// nobody where it can.
func TestCertificatesHaveSoManyWorlds(t *testing.T) {
	for _, b := range append(laddered, RandomizedResponse{Flip: 0.1}.bit(), AsymmetricResponse{Keep: 0.99, Flip: 0.3}.bit(), AsymmetricResponse{Keep: 0.9, Flip: 0.11}.bit()) {
		for _, users := range []int{5, 4097, 40_000, 100_000, 100_001, 1e6, 1e7, 1e9, account.MaxUsers} {
			c := b.cover(users, account.Options{Every: true})
			terms, number := 0., 0
			for w := range c.all() {
				terms += window * math.Sqrt(float64(w.ones)*b.keep*b.drop+float64(w.others-w.ones)*b.flip*b.stay)
				number++
			}
			if c.Users != users || number > everyWorlds+1 || users <= 50_000 && !c.complete() || terms > everyTerms {
				t.Errorf("%d users: %+v, %d worlds, %g terms", users, c, number, terms)
			}
			if few := c.rate > 0 && number < 1000; few && c.Dropped > users/everyWorlds || c.rate == 0 && terms < everyTerms/2 && c.Dropped > users/everyWorlds {
				t.Errorf("%d users: %+v: %d are left out of each of %d worlds with %g terms", users, c, c.Dropped, number, terms)
			}
		}
	}
}

// gap returns the first number of ones among the others that no world stands for, or -1.
func gap(users int, worlds []world) int {
	next := 0 // worlds come in the order of ones
	for _, w := range worlds {
		if w.ones < 0 || w.ones > w.others || w.ones > next {
			return next
		}
		next = max(next, w.ones+users-1-w.others+1)
	}
	if next < users {
		return next
	}
	return -1
}

// Every number of ones among the others has a world: some of the others leave, and its ones remain.
// A cover without one of its worlds is a twin that must be caught.
func TestEveryKHasAWorld(t *testing.T) {
	for _, users := range []int{1, 2, 3, 5, 12, 101, 1000} {
		for _, dropped := range []int{0, 1, 3, 20} {
			for _, rate := range []float64{0, 0.01, 0.3, 1, 7, 1e6} {
				for _, zeros := range []bool{false, true} {
					if dropped >= users {
						continue
					}
					c := Worlds{users, dropped, widening{rate, zeros}}
					worlds := slices.SortedFunc(c.all(), func(a, b world) int { return a.ones - b.ones })
					if k := gap(users, worlds); k >= 0 {
						t.Errorf("%+v: no world stands for %d ones among the others", c, k)
					}
					for i := range worlds {
						last := i == len(worlds)-1 && i > 0 && worlds[i-1].ones+users-1-worlds[i-1].others >= users-1
						if twin := slices.Delete(slices.Clone(worlds), i, i+1); !last && gap(users, twin) < 0 {
							t.Errorf("%+v: nobody misses world %d of %d", c, i, len(worlds))
						}
					}
				}
			}
		}
	}
}

// Worlds that leave out more where a count spreads more bound every k, in both directions, and stay close: no bit
// that spreads more by its ones, or by its zeros, has an envelope above that of all k by more than is left out of the least noisy.
func TestWideningWorldsBoundEveryK(t *testing.T) {
	for _, b := range []AsymmetricResponse{{0, 0.5, 0.05}, {0, 0.9, 0.02}, {0, 0.98, 0.4}, {0, 0.6, 0.01}} {
		for _, n := range []int{12, 101, 5000} {
			b.Users = n
			o := account.Options{Step: b.Spread() / 20, Neglect: 1e-20}
			full, gone := b.bit().envelopes(Worlds{Users: n}, o)
			ones, zeros := b.Keep*(1-b.Keep), b.Flip*(1-b.Flip)
			wide := Worlds{Users: n, widening: widening{(math.Max(ones, zeros)/math.Min(ones, zeros) - 1) / 2, zeros > ones}}
			if number := len(slices.Collect(wide.all())); n == 5000 && number > 1000 {
				t.Errorf("%+v: %d worlds", b, number)
			}
			there, less := b.bit().envelopes(wide, o)
			for i := range full {
				for _, both := range [][2]float64{{there[min(i, len(there)-1)], full[i]}, {less[min(i, len(less)-1)], gone[min(i, len(gone)-1)]}} {
					if both[0] < both[1]*(1-1e-12) {
						t.Fatalf("%+v: %v below the %v of every k, at point %d", b, both[0], both[1], i)
					}
				}
			}
			e := account.Repeat{Event: b, Rounds: 3}
			if n < 5000 {
				continue // the last respondents weigh much
			}
			every := accounttest.EpsilonFrom(t, account.Certify, e, 1e-6)
			h := b.bit().envelope(wide, o)
			d, err := pld.FromCurves(h, h, o.Step)
			if err != nil {
				t.Fatal(err)
			}
			c, err := pld.Compose(d, 3)
			if err != nil {
				t.Fatal(err)
			}
			if epsilon, err := c.Epsilon(1e-6); err != nil || !(epsilon < 1.001*every) {
				t.Errorf("%+v: epsilon %v (%v), and %v of every k", b, epsilon, err, every)
			}
		}
	}
}
