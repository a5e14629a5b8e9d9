package progress

import (
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/account"
)

// Budget is what a population may spend and has spent, as /v1/budgets tells it. What is
// spent has no epsilon of its own: Allowed is what holds, and Shares say how much of the
// room that it has is taken up.
type Budget struct {
	Population string         `json:"population"`
	Allowed    Spent          `json:"allowed"`
	Shares     account.Shares `json:"shares"`
	// More is how many plans like the last one would still be taken, counted up to
	// MostMore; negative where none was registered yet.
	More  int     `json:"more_like_the_last"`
	Plans []Spent `json:"plans"` // in the order they were registered
}

// MostMore caps the count in a Budget's More.
const MostMore = 1000

// Left says in words how many more plans fit; like is what they are compared with.
func (b Budget) Left(like string) string {
	switch {
	case b.More < 0:
		return "nothing was asked yet"
	case b.More == 0:
		return "room for no more " + like
	case b.More >= MostMore:
		return fmt.Sprintf("room for more than %d more %s", MostMore, like)
	}
	return fmt.Sprintf("room for about %d more %s", b.More, like)
}

// Spent is one entry of a budget.
type Spent struct {
	Plan      string    `json:"plan,omitempty"`
	Publisher string    `json:"publisher,omitempty"`
	Epsilon   float64   `json:"epsilon"`
	Delta     float64   `json:"delta"`
	Adjacency string    `json:"adjacency"`
	Users     int       `json:"users,omitempty"`
	Method    string    `json:"method,omitempty"`
	Note      string    `json:"note,omitempty"`
	At        time.Time `json:"at,omitzero"`
	// Counted is what the filter counts, for the neighbours of the budget.
	Counted *account.Spending `json:"counted,omitempty"`
}
