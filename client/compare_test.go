package client_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
)

// withinCaps compares what was exposed with the caps that the last answer was given under.
func (l *life) withinCaps() error {
	for _, c := range l.everyCap() {
		seen, local := l.model.exposed(l.now, c.Period)
		if w := c.Window; w.Local > 0 && local > w.Local*(1+1e-9) {
			return &fault{"exposed", fmt.Sprintf("everyone together learns %v within %v, of %v", local, c.Period, w.Local)}
		} else if w.Epsilon > 0 && w.Delta > 0 && seen.hockey(w.Epsilon) > w.Delta {
			return &fault{"exposed", fmt.Sprintf("delta is %v at the epsilon %v within %v, of %v", seen.hockey(w.Epsilon), w.Epsilon, c.Period, w.Delta)}
		} else if d := float64(len(l.model)) * 1.1e-6; w.Epsilon > 0 && w.Delta == 0 && seen.hockey(w.Epsilon) > d {
			return &fault{"exposed", fmt.Sprintf("delta is %v at the epsilon %v within %v, and all plans together promise %v", seen.hockey(w.Epsilon), w.Epsilon, c.Period, d)}
		}
	}
	return nil
}

// compare holds the ledger's own sums and shares, as they are printed, against the model.
func (l *life) compare() error {
	kept, err := client.ReadLedger(l.store)
	if err != nil {
		return err
	}
	spending := kept.Spent
	if l.twin == "the whole study is waived" {
		spending = kept.SpentAsItWas
	}
	for _, period := range []time.Duration{8 * time.Hour, 24 * time.Hour, 72 * time.Hour} {
		for _, later := range []time.Duration{0, period / 2} {
			at := l.now.Add(later)
			seen, local := l.model.exposed(at, period)
			spent := spending(at, period)
			if local > spent.Local*(1+1e-9) {
				return &fault{"spent", fmt.Sprintf("everyone together learns %v within %v, and the ledger says %v", local, period, spent.Local)}
			}
			if d := seen.hockey(spent.Epsilon); d > spent.Delta+1e-12 {
				return &fault{"spent", fmt.Sprintf("delta is %v within %v, and the ledger says %+v", d, period, spent)}
			}
		}
	}
	for _, c := range l.everyCap() {
		if err := l.shares(kept.Remaining(l.now, c, nil), c); err != nil {
			return err
		}
	}
	return nil
}

var printed = regexp.MustCompile(`nothing|[0-9.e+-]+(?: %|,|\n)`)

// shares compares what is printed of a cap with what counts.
func (l *life) shares(r client.Remaining, c client.Caps) error {
	all, _ := l.model.counts(l.now, c.Period)
	epsilon, delta := sums(all)
	want := []float64{epsilon, delta}
	if c.Window.Epsilon > 0 && c.Window.Delta > 0 {
		shifts, tails, epsilons, deltas := parts(c.Window, all)
		want = []float64{max(shifts, tails), shifts, tails, max(epsilons, deltas), epsilons, deltas}
	}
	_, text, _ := strings.Cut(r.String(), "spent ")
	var got []float64
	for _, word := range printed.FindAllString(text, len(want)) {
		number, _ := strconv.ParseFloat(strings.Trim(word, " %,\n"), 64) // "nothing" is 0
		if strings.HasSuffix(word, "%") {
			number /= 100
		}
		got = append(got, number)
	}
	for i, w := range want {
		// One digit of a small part, whole percents of a large one, four or three digits of a sum.
		if slack := max(0.0051, 0.005*w); i >= len(got) || math.Abs(got[i]-w) > min(slack, 0.34*w)+1e-12 {
			return &fault{"shares", fmt.Sprintf("%v is printed of a cap, for %v:\n%s", got, want, r)}
		}
	}
	return nil
}
