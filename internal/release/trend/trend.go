// Package trend follows the metrics of a study from round to round: a line a value, what changed, and what is sure of it.
// Used by cmd/confetti/internal/study/trends and internal/service/console.
package trend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/numerals"
)

// level is the probability with which what holds at once does.
const level = 0.95

// mostLines is how many values have a line; the others have one together, where their sum is known.
const mostLines = 5

// Note is something that happened, such as a version that came out.
type Note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	Last int       `json:"last_round_before,omitempty"` // that was over before it and has numbers
}

// ParseNote reads a note from a day and what happened, with an equals sign between them.
func ParseNote(text string) (Note, error) {
	day, says, found := strings.Cut(text, "=")
	at, err := time.Parse(time.DateOnly, day)
	if err != nil || !found || says == "" {
		return Note{}, fmt.Errorf("note %q: write a day and what happened, as 2026-12-07=version 5.0", text)
	}
	return Note{At: at, Text: says}, nil
}

// Trend is how the values of a metric went in one crowd.
type Trend struct {
	Metric string  `json:"metric"`
	Crowd  string  `json:"crowd,omitempty"`
	Says   string  `json:"says"` // what is sure of the newest change
	Level  float64 `json:"level"`
	Among  int     `json:"among"` // values whose intervals hold at once
	Newest int     `json:"newest_round"`
	Since  int     `json:"since_round,omitempty"` // that Change compares with
	Rounds []told  `json:"rounds"`
	Lines  []Line  `json:"lines"`
	Notes  []Note  `json:"notes,omitempty"`

	// Of an experiment: by how much more of an outcome people of each arm had than those of First. They are differences of
	// shares, or parts of what First has. Level is that of as many comparisons of as many rounds at once.
	First    string `json:"first_arm,omitempty"`
	Relative bool   `json:"relative,omitempty"`
	Compared int    `json:"compared,omitempty"`
	Together int    `json:"rounds_at_once,omitempty"`
	Lifts    []Line `json:"lifts,omitempty"`

	whole bool
}

// told is a round on the axis.
type told struct {
	Round       int       `json:"round"`
	Season      int       `json:"season,omitempty"`
	Own         int       `json:"round_of_season,omitempty"`
	Opens       time.Time `json:"opens,omitzero"`
	Closes      time.Time `json:"closes,omitzero"`
	Respondents int       `json:"respondents,omitempty"`
	Missing     string    `json:"missing,omitempty"`
	Unlifted    string    `json:"no_lift,omitempty"` // why an experiment's round tells none
}

// Line is one value, or all that have none of their own; of a lift, what an arm is compared in.
type Line struct {
	Arm    string  `json:"arm,omitempty"`
	Value  string  `json:"value"`
	Rest   bool    `json:"rest,omitempty"` // its intervals hold by themselves
	Points []Point `json:"points"`
	Change *Change `json:"change,omitempty"`     // since the round before the newest
	Noted  *Change `json:"since_note,omitempty"` // since before the newest note
}

// Point is the share of a value in one round. Low and High are of those who answered, and cover the noise.
type Point struct {
	Round int     `json:"round"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	respondents float64
}

// Change is a difference of shares of two rounds. Low and High are of everybody who might have answered. They cover the
// noise, and that other people answered each time. The other two are of those who answered: they cover the noise alone.
type Change struct {
	Since     int     `json:"since"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	NoiseLow  float64 `json:"noise_low"`
	NoiseHigh float64 `json:"noise_high"`
}

// Metrics names what rounds have, each with its crowds, in the order of the plan.
func Metrics(rounds []Round) (names []string, crowds map[string][]string) {
	crowds = map[string][]string{}
	for _, r := range rounds {
		for _, t := range r.tables {
			if !slices.Contains(names, t.metric) {
				names = append(names, t.metric)
			}
			if !slices.Contains(crowds[t.metric], t.crowd) {
				crowds[t.metric] = append(crowds[t.metric], t.crowd)
			}
		}
	}
	return names, crowds
}

// Follow returns the trend of a metric in a crowd. Rounds are in their order; ok is false where none has numbers of it.
func Follow(rounds []Round, metric, crowd string, notes []Note) (t Trend, ok bool) {
	t = Trend{Metric: metric, Crowd: crowd, Level: level}
	var tables, every []*table // of this crowd, and of all: they have the same lines
	var numbers []int
	from := anew(rounds, metric, crowd)
	for i, r := range rounds {
		one := told{Round: r.Number, Season: r.season, Own: r.own, Opens: r.Times.Opens, Closes: r.Times.Closes, Missing: r.Missing}
		of := r.table(metric, crowd)
		for k := range r.tables {
			if i >= from && r.tables[k].metric == metric {
				every = append(every, &r.tables[k])
			}
		}
		if i < from && of != nil {
			one.Missing = "it was asked in another way; the trend begins anew after it"
		} else if of != nil {
			tables, numbers = append(tables, of), append(numbers, r.Number)
			one.Respondents = int(of.respondents)
		} else {
			one.Missing = cmp.Or(r.Missing, "withheld: too few of this crowd answered")
		}
		t.Rounds = append(t.Rounds, one)
	}
	if len(tables) == 0 {
		return t, false
	}
	last := len(tables) - 1
	t.Newest, t.whole = numbers[last], tables[last].whole
	for _, of := range tables {
		t.Among = max(t.Among, len(of.cells))
	}
	chosen := choose(every)
	for _, value := range chosen {
		line := Line{Value: value}
		for i, of := range tables {
			if k, there := of.at[value]; there {
				c := of.cells[k]
				line.Points = append(line.Points, Point{numbers[i], c.mean, c.low, c.high, of.respondents})
			}
		}
		t.Lines = append(t.Lines, line)
	}
	if rest, there := others(tables, numbers, chosen, t.Among); there {
		t.Lines = append(t.Lines, rest)
	}
	if last > 0 {
		t.Since = numbers[last-1]
	}
	t.Notes = placed(notes, t.Rounds)
	t.compare(tables, numbers, rounds[len(rounds)-1].aYear())
	each := estimate.Joint(level, max(1, t.Among))
	for i := range t.Lines {
		t.Lines[i].Change = t.Lines[i].change(t.Since, t.Newest, each)
		if len(t.Notes) > 0 {
			t.Lines[i].Noted = t.Lines[i].change(t.Notes[len(t.Notes)-1].Last, t.Newest, each)
		}
	}
	if t.Says = t.says(); t.Compares() {
		t.Says = t.saysLifts()
	}
	return t, true
}

// choose returns the values that have lines, the largest of all rounds and crowds together first.
func choose(tables []*table) []string {
	sums := map[string]float64{}
	var all []string
	for _, of := range tables {
		for _, c := range of.cells {
			if _, there := sums[c.value]; !there {
				all = append(all, c.value)
			}
			sums[c.value] += c.mean
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	most := mostLines
	if len(all) == mostLines+1 || !tables[0].whole { // one more is no crowd of others
		most++
	}
	return all[:min(most, len(all))]
}

// others returns the line of all other values. There is one where everybody holds one value and a sum's error is known.
func others(tables []*table, numbers []int, chosen []string, among int) (line Line, ok bool) {
	line = Line{Value: "all others", Rest: true}
	for i, of := range tables {
		var rest []int
		for k, c := range of.cells {
			if !slices.Contains(chosen, c.value) {
				rest = append(rest, k)
			}
		}
		if !of.whole || len(rest) == 0 {
			continue
		}
		_, share, low, high, known := of.group(rest, estimate.Joint(level, among))
		if !known {
			continue
		}
		line.Points = append(line.Points, Point{numbers[i], share.Mean, low, high, of.respondents})
	}
	return line, len(line.Points) > 0
}

// at finds the point of a round, nil if the line has none.
func (l Line) at(round int) *Point {
	i := slices.IndexFunc(l.Points, func(p Point) bool { return p.Round == round })
	if i < 0 {
		return nil
	}
	return &l.Points[i]
}

// change compares two rounds, whose answers err independently of each other.
func (l Line) change(from, to int, each float64) *Change {
	a, b := l.at(to), l.at(from)
	if a == nil || b == nil || from == to {
		return nil
	}
	c := Change{Since: from}
	_, c.NoiseLow, c.NoiseHigh = estimate.Minus(a.Share, a.Low, a.High, b.Share, b.Low, b.High)
	aLow, aHigh := a.sampled(each)
	bLow, bHigh := b.sampled(each)
	_, c.Low, c.High = estimate.Minus(a.Share, aLow, aHigh, b.Share, bLow, bHigh)
	for _, end := range []*float64{&c.Low, &c.High, &c.NoiseLow, &c.NoiseHigh} {
		*end = min(max(-1, *end), 1) // no share changes by more, so nothing true is cut off
	}
	return &c
}

// sampled returns the interval of the share among everybody. It adds to the noise what drawing the respondents does, at
// the least favourable share that the noise leaves open.
func (p Point) sampled(each float64) (low, high float64) {
	share := min(max(0.5, p.Low), p.High)
	half := estimate.Quantile(each) * math.Sqrt(share*(1-share)/p.respondents)
	return p.Share - math.Hypot(max(0, p.Share-p.Low), half), p.Share + math.Hypot(max(0, p.High-p.Share), half)
}

// placed returns the notes that lie within the rounds, oldest first, each with the last round with numbers before it.
func placed(notes []Note, rounds []told) (all []Note) {
	for _, n := range notes {
		for _, r := range rounds {
			if r.Missing == "" && !r.Closes.IsZero() && !r.Closes.After(n.At) {
				n.Last = r.Round
			}
		}
		all = append(all, n)
	}
	slices.SortStableFunc(all, func(a, b Note) int { return a.At.Compare(b.At) })
	return all
}

// says returns what is sure of all named values at once, in a sentence.
func (t Trend) says() string {
	if t.Since == 0 {
		return fmt.Sprintf("%s is the first with numbers: nothing can be said to have changed.", capital(t.name(t.Newest)))
	}
	var moved []string
	most := 0.0
	for _, l := range t.Lines {
		switch c := l.Change; {
		case c == nil || l.Rest:
		case c.Low > 0:
			moved = append(moved, fmt.Sprintf("“%s” rose by %s points", l.Value, between(c.Low, c.High)))
		case c.High < 0:
			moved = append(moved, fmt.Sprintf("“%s” fell by %s points", l.Value, between(-c.High, -c.Low)))
		default:
			most = max(most, -c.Low, c.High)
		}
	}
	if len(moved) == 0 {
		return fmt.Sprintf("Nothing surely changed since %s, and no value here by more than %s points.", t.name(t.Since), numerals.FormatDecimals(math.Ceil(1000*most)/10, 1))
	}
	list := moved[0]
	if n := len(moved); n > 1 {
		list = strings.Join(moved[:n-1], ", ") + " and " + moved[n-1]
	}
	return fmt.Sprintf("Since %s %s.", t.name(t.Since), list)
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// between prints two numbers of points, rounded apart.
func between(low, high float64) string {
	return numerals.FormatDecimals(math.Floor(1000*low)/10, 1) + " to " + numerals.FormatDecimals(math.Ceil(1000*high)/10, 1)
}
