package shuffle

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// Every rung leaves out just those above the next lower one, none lies more than a 2,500th
// below the users it stands for, and the others that are left never fall.
func TestRungsAreALadder(t *testing.T) {
	last, lowest := worlds{smallRR, 0}, smallRR-1
	for users := smallRR + 1; users < 60_000; users++ {
		c := cover(users, account.Options{})
		if c == last {
			continue
		}
		if c.users != users || c.users-c.dropped != last.users || c.others() < lowest || c.dropped < 1 {
			t.Fatalf("%d users: %+v after %+v", users, c, last)
		}
		if left := users - 1 - c.others(); left > 1+users/2500 {
			t.Errorf("%d users: %d are left out", users, left)
		}
		last, lowest = c, c.others()
	}
	for _, users := range []int{1 << 20, 1e7 + 1, account.MaxUsers} {
		if c := cover(users, account.Options{}); c.users > users || users-c.users >= 2*c.dropped+1 || cover(c.users, account.Options{}) != c {
			t.Errorf("%d users: %+v", users, c)
		}
	}
}
