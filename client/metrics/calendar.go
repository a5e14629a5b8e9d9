package metrics

import (
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

// periods are what a metric may be asked every.
var periods = []string{"day", "week", "month"}

// maxSeason bounds the number of a season: some centuries of months.
const maxSeason = 4000

// Rounds returns how many periods a season has.
func Rounds(every string) int {
	return map[string]int{"day": 28, "week": 4, "month": 3}[every]
}

// begins returns when a period begins, in UTC: days and weeks are counted from Monday, 5 January 2026, and months
// from that January.
func begins(every string, period int) time.Time {
	switch every {
	case "day":
		return time.Date(2026, 1, 5+period, 0, 0, 0, 0, time.UTC)
	case "week":
		return time.Date(2026, 1, 5+7*period, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(2026, time.Month(1+period), 1, 0, 0, 0, 0, time.UTC)
}

// asked returns the period that a round of a season asks of.
func asked(every string, season, round int) (from, until time.Time) {
	period := season*Rounds(every) + round - 1
	return begins(every, period), begins(every, period+1)
}

// Times returns those of a season's study. It opens when the first period is over, and has a period more than it
// needs, so that a coordinator that was down for one makes up for it.
func Times(every string, season int) plan.Times {
	first := season * Rounds(every)
	return plan.Times{Opens: begins(every, first+1), Closes: begins(every, first+Rounds(every)+2)}
}

// Next returns the first season that begins after a time. What has begun stays as it was signed: devices have drawn.
func Next(every string, at time.Time) int {
	season := 0
	for first, _ := asked(every, season, 1); !first.After(at) && season < maxSeason; first, _ = asked(every, season, 1) {
		season++
	}
	return season
}

// MaxQuarters bounds the crowds of a season. More, or weeks, would be half a name: a crowd is public beside its sender's address.
const MaxQuarters = 8

// quarter returns the number of a time's quarter, counted from the first of the year 0.
func quarter(at time.Time) int { return at.UTC().Year()*4 + int(at.UTC().Month()-1)/3 }

// quarters returns the names of so many crowds of a season: its first quarter and later, those before, and all that are
// earlier; none of 0.
func quarters(every string, season, n int) (names []string) {
	first, _ := asked(every, season, 1)
	name := func(q int) string { return fmt.Sprintf("%d-Q%d", q/4, q%4+1) }
	last := quarter(first)
	for i := range n {
		switch q := last - n + 1 + i; i {
		case 0:
			names = append(names, "before "+name(q+1))
		case n - 1:
			names = append(names, name(q)+" on")
		default:
			names = append(names, name(q))
		}
	}
	return names
}

// crowd returns which of so many crowds of a season somebody is in who agreed first at a time.
func crowd(every string, season, n int, since time.Time) string {
	first, _ := asked(every, season, 1)
	return quarters(every, season, n)[min(max(0, quarter(since)-quarter(first)+n-1), n-1)]
}

// id names a season of a series on a device.
func id(s Series, season int) string { return fmt.Sprintf("%s/%d", s.Key(), season) }
