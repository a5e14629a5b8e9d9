package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

// maxSteps bounds the steps of a sequence.
const maxSteps = 20

// lasts returns how long a text such as "7d" or "12h" says, of at most four digits; 0 of no such text.
func lasts(text string) time.Duration {
	hours := time.Duration(1)
	digits, is := strings.CutSuffix(text, "h")
	if !is {
		hours = 24
		if digits, is = strings.CutSuffix(text, "d"); !is {
			return 0
		}
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n > 9999 || strings.HasPrefix(digits, "0") {
		return 0
	}
	return time.Duration(n) * hours * time.Hour
}

// shortest returns how long a period is at least.
func shortest(every string) time.Duration {
	return time.Duration(map[string]int{"day": 1, "week": 7, "month": 28}[every]) * 24 * time.Hour
}

// validateSequence reports what is wrong with the steps of a sequence, or that another kind has some.
func (m Metric) validateSequence(require func(bool, string, ...any)) {
	if m.Kind != "sequence" {
		require(len(m.Steps) == 0 && m.Within == "" && m.After == "", "steps, within and after are of a sequence")
		return
	}
	require(len(m.Steps) >= 2 && len(m.Steps) <= maxSteps, "a sequence has 2 to %d steps", maxSteps)
	within, after := lasts(m.Within), lasts(m.After)
	require(within > 0 && within <= shortest(m.Every), `within must be such as "7d" or "12h", and no longer than the period (a month has 28d): a sequence is told in the period in which it is over`)
	require(m.After == "" || after > 0 && after < within, `after must be such as "7d" or "12h", and shorter than within`)
	var ps plan.Problems
	ps.Names("steps", m.reached())
	for _, p := range ps {
		require(false, "%s", p)
	}
}

// reached returns the words for how far a sequence came: a step that stood before is "again", and then a number of times.
func (m Metric) reached() (words []string) {
	for i, step := range m.Steps {
		times := 1
		for _, before := range m.Steps[:i] {
			if before == step {
				times++
			}
		}
		switch times {
		case 1:
			words = append(words, step)
		case 2:
			words = append(words, step+" again")
		default:
			words = append(words, fmt.Sprintf("%s %d times", step, times))
		}
	}
	return words
}

// saysSequence returns in words what a sequence asks.
func (m Metric) saysSequence() string {
	text := "how far you came of " + strings.Join(m.reached(), ", then ") + " within " + m.Within + " of the first"
	if m.After != "" {
		text += ", where what follows counts from " + m.After + " on"
	}
	return text + ". One is told, in the period in which its time is over: the first that began, as the furthest step, none, or unset. Who has left the app does not answer, and is not in it"
}

// began returns when a sequence must have begun to be told of a period.
func (m Metric) began(from, until time.Time) (earliest, latest time.Time) {
	within := lasts(m.Within)
	return from.Add(-within), until.Add(-within)
}

// stepped is a step that an app has counted.
type stepped struct {
	at   time.Time
	step string
}

// pendingSteps bounds the steps that wait to be kept.
const pendingSteps = 256

// append adds steps to those that wait. Of equal ones in a row and within a minute only as many count as a sequence has steps.
func (m Metric) append(waiting, steps []stepped) []stepped {
	all := slices.Clip(waiting)
	for _, s := range steps {
		n := len(all) - len(m.Steps)
		again := n >= 0 && !slices.ContainsFunc(all[n:], func(o stepped) bool { return o.step != s.step || s.at.Sub(o.at) >= time.Minute })
		if !again && len(all) < pendingSteps {
			all = append(all, s)
		}
	}
	return all
}

// follow returns how far a sequence has come after some steps, of those that may begin in a time: N is how many steps it has
// reached, and Since when it began.
func (m Metric) follow(v value, some bool, steps []stepped, earliest, latest time.Time) (value, bool) {
	for _, s := range steps {
		switch {
		case !some:
			if s.step == m.Steps[0] && !s.at.Before(earliest) && s.at.Before(latest) {
				v, some = value{Some: true, N: 1, Since: s.at.UTC()}, true
			}
		case v.N >= 1 && int(v.N) < len(m.Steps) && s.step == m.Steps[int(v.N)] && !s.at.Before(v.Since.Add(lasts(m.After))) && s.at.Before(v.Since.Add(lasts(m.Within))):
			v.N++
		}
	}
	return v, some
}
