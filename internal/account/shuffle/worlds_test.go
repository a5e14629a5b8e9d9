package shuffle

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
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
		last, lowest := Worlds{smallRR, 0}, smallRR-1
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

// A certificate has 100,000 worlds at most, whatever the number of users, and leaves out nobody where it can.
func TestCertificatesHaveSoManyWorlds(t *testing.T) {
	for _, b := range laddered {
		for _, users := range []int{5, 4097, 40_000, 100_000, 100_001, 1e6, 1e9, account.MaxUsers} {
			c := b.cover(users, account.Options{Every: true})
			if c.Users != users || c.Count() > everyWorlds+1 || users <= 50_000 && c.Dropped > 0 || float64(c.Count())*b.spread(users) > 1.1*everyTerms {
				t.Errorf("%d users: %+v, %d worlds", users, c, c.Count())
			}
			if b.spread(users) < 2000 && c.Dropped > users/everyWorlds {
				t.Errorf("%d users: %d are left out", users, c.Dropped)
			}
		}
	}
}
