package trend

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/releasetest"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

var outcomes = []string{"old / nothing", "old / paid", "new / nothing", "new / paid", "none", "unset"}

// lifting is an experiment of n people a round: the part of them that is shown each arm, and on whom of these the outcome
// happens. They answer by k-ary response.
type lifting struct {
	n                int
	old, new         float64
	oldPaid, newPaid float64
	keep, flip       float64
}

// round draws one.
func (l lifting) round(r *rand.Rand, number int) Round {
	k := len(outcomes)
	shares := []float64{l.old * (1 - l.oldPaid), l.old * l.oldPaid, l.new * (1 - l.newPaid), l.new * l.newPaid, (1 - l.old - l.new) / 2}
	ones := make([]uint64, k)
	for cell, held := range drawn(r, l.n, append(shares, 1)) {
		for range held {
			if u := r.Float64(); u < l.keep-l.flip {
				ones[cell]++
			} else {
				ones[r.IntN(k)]++
			}
		}
	}
	law := estimate.Cell{N: l.n, Keep: l.keep, Flip: l.flip}
	gap := l.keep - l.flip
	together := estimate.Together{Fixed: -float64(l.n) * l.flip * l.flip / (gap * gap), Each: -l.flip / gap}
	t := table{metric: "welcome", respondents: float64(l.n), whole: true, at: map[string]int{}}
	var blocks []estimate.Block
	for i, name := range outcomes {
		v := law.Estimate(ones[i])
		t.at[name] = i
		t.cells = append(t.cells, cell{name, v.Mean / float64(l.n), 0, 1})
		blocks = append(blocks, estimate.BlockOf(v))
	}
	t.experiment = pairs([]string{"old", "new"}, []string{"nothing", "paid"}, len(outcomes), func(weights []float64) (estimate.Value, bool) { return together.Sum(weights, blocks), true })
	opens := time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*(number-1))
	return Round{Number: number, Times: plan.Times{Opens: opens, Closes: opens.AddDate(0, 0, 7)}, tables: []table{t}}
}

// missed counts trials in which the lift of everybody is outside of the interval of some round.
func (l lifting) missed(r *rand.Rand, trials, rounds int, level float64) (n int) {
	for range trials {
		for number := range rounds {
			e := l.round(r, number+1).tables[0].experiment
			if e.none != "" {
				continue
			}
			low, high := 0.0, 0.0
			if _, low, high, _ = e.lifts[0].at(level); l.newPaid-l.oldPaid < low || l.newPaid-l.oldPaid > high {
				n++
				break
			}
		}
	}
	return n
}

// The lift of everybody lies in the interval of each of four rounds at once, as often as is said: with little noise and with much,
// and of outcomes that are rare. An interval of one round alone does not.
func TestLiftsHoldAtOnce(t *testing.T) {
	const trials, rounds = 500, 4
	each := estimate.Joint(level, rounds)
	for name, l := range map[string]lifting{
		"little noise": {n: 800, old: 0.45, new: 0.45, oldPaid: 0.2, newPaid: 0.3, keep: 0.95, flip: 0.01},
		"much noise":   {n: 800, old: 0.45, new: 0.45, oldPaid: 0.4, newPaid: 0.6, keep: 0.5, flip: 0.1},
		"rare":         {n: 2000, old: 0.4, new: 0.4, oldPaid: 0.01, newPaid: 0.03, keep: 0.75, flip: 0.05},
	} {
		r := stattest.Rand(t)
		missed := l.missed(r, trials, rounds, each)
		t.Logf("%s: %d of %d missed", name, missed, trials)
		stattest.AtMost(t, 1-level, trials, missed)
		if name == "little noise" {
			stattest.Caught(t, func(tb testing.TB) {
				stattest.AtMost(tb, 1-level, trials, l.missed(stattest.Rand(tb), trials, rounds, level))
			})
		}
	}
}

// A round whose people did not fall into the arms evenly tells no lift, and says why; arms that are drawn evenly are seldom
// called uneven.
func TestUnevenArmsTellNoLift(t *testing.T) {
	const runs = 1000
	fair := lifting{n: 600, old: 0.4, new: 0.4, oldPaid: 0.2, newPaid: 0.2, keep: 0.7, flip: 0.06}
	r, called := stattest.Rand(t), 0
	for range runs {
		if fair.round(r, 1).tables[0].experiment.none != "" {
			called++
		}
	}
	stattest.AtMost(t, 0.001, runs, called)
	askew := fair
	askew.old, askew.new = 0.55, 0.25
	one := askew.round(r, 1)
	got, ok := Follow([]Round{one}, "welcome", "", nil)
	if !ok || len(got.Lifts) > 0 || got.Says != "No round tells a lift." || !strings.Contains(got.Rounds[0].Unlifted, "evenly") || len(got.Unlifted()) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestATrendSaysWhatLiftIsSure(t *testing.T) {
	l := lifting{n: 4000, old: 0.45, new: 0.45, oldPaid: 0.2, newPaid: 0.45, keep: 0.95, flip: 0.01}
	r := stattest.Rand(t)
	var rounds []Round
	for number := range 4 {
		if number == 2 {
			l.newPaid = 0.21
		}
		rounds = append(rounds, l.round(r, number+1))
	}
	two, _ := Follow(rounds[:2], "welcome", "", nil)
	if !strings.HasPrefix(two.Says, "“new” surely had more “paid” than “old”: by ") || !strings.HasSuffix(two.Says, " points in round 2, and in 2 of 2 rounds at all.") {
		t.Error(two.Says)
	}
	four, _ := Follow(rounds, "welcome", "", nil)
	if !strings.HasSuffix(four.Says, " points in round 2, and in 2 of 4 rounds at all.") || four.Together != 53 || four.Compared != 1 || four.First != "old" {
		t.Errorf("%s, of %d in %d rounds", four.Says, four.Compared, four.Together)
	}
	alike, _ := Follow(rounds[2:], "welcome", "", nil)
	if !strings.HasPrefix(alike.Says, "No round shows surely that “old” and the other arms differ; in round 4 by no more than ") {
		t.Error(alike.Says)
	}
	for i, p := range two.Lifts[0].Points { // more rounds change nothing that was shown: they were counted before they came
		if p != four.Lifts[0].Points[i] {
			t.Errorf("round %d has %+v, and had %+v", i+1, four.Lifts[0].Points[i], p)
		}
	}
}

// welcomed returns a round of 4,000 people by a plan with this attribute. Half of them hold each arm: of the first a fifth hold its
// second outcome, and of the second half.
func welcomed(t *testing.T, a plan.Attribute) Round {
	t.Helper()
	p := example.Histogram(plan.Histogram{Attributes: []plan.Attribute{a}, Randomizer: plan.Randomizer{Name: "krr", Accounting: "exact"}})
	p.Budget = plan.Budget{Epsilon: 5, Delta: 1e-5, Adjacency: "replacement", DishonestShare: 0.1}
	proto, err := protocol.New(example.Design(t, p))
	if err != nil {
		t.Fatal(err)
	}
	var people []question.Value
	for i := range 4000 {
		at := i%2*2 + map[bool]int{true: 1}[i/2%10 < 2+3*(i%2)]
		people = append(people, histogram.Answers{Values: []any{a.Values[at]}})
	}
	tallies, err := distribution.Draw(proto, distribution.Values(people), example.Streams(3), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	r, model, err := releasetest.Publish(proto, tallies, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := results.Beside(model, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := sheets.ReadCounts(bytes.NewReader(sheet.Text), 100)
	if err != nil {
		t.Fatal(err)
	}
	one, err := Read(proto.Plan, r, counts)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// Values are of arms where the plan says so, however they are spelt, and nowhere else. Seasons before and after the word are one
// trend, of which the earlier rounds tell no lift.
func TestArmsAreSaidAndNotSpelt(t *testing.T) {
	of := func(values ...string) plan.Attribute {
		return plan.Attribute{Name: "welcome", Kind: "categories", Values: append(values, "none", "unset")}
	}
	spelt := of("old / nothing", "old / paid", "new / nothing", "new / paid")
	said := of("a", "b", "c", "d / e")
	said.Arms, said.Outcomes = []string{"first", "second"}, []string{"no", "yes"}
	earlier, _ := Follow([]Round{welcomed(t, spelt)}, "welcome", "", nil)
	now, _ := Follow([]Round{welcomed(t, said)}, "welcome", "", nil)
	if earlier.Compares() || len(earlier.Lifts) > 0 {
		t.Errorf("a plan that says nothing of arms is told as an experiment: %s", earlier.Says)
	}
	if !now.Compares() || len(now.Lifts) != 1 || !strings.HasPrefix(now.Says, "“second” surely had more “yes” than “first”: by ") {
		t.Errorf("a plan that says arms is told as %s", now.Says)
	}
	words := spelt
	words.Arms, words.Outcomes = []string{"old", "new"}, []string{"nothing", "paid"}
	before, after := welcomed(t, spelt), welcomed(t, words)
	before.Times.Closes, after.Times.Closes = time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 14, 0, 0, 0, 0, time.UTC)
	joined, err := Join([][]Round{{before}, {after}})
	if err != nil {
		t.Fatal(err)
	}
	both, _ := Follow(joined, "welcome", "", nil)
	if both.Rounds[0].Missing != "" || !strings.Contains(both.Rounds[0].Unlifted, "does not say which values are arms") || len(both.Lifts) != 1 || len(both.Lifts[0].Points) != 1 {
		t.Errorf("%+v", both)
	}
}

// Of no noise and two equal arms the interval is Newcombe's, of Wilson's intervals.
func TestALiftWithoutNoiseIsNewcombes(t *testing.T) {
	values := []estimate.Value{estimate.Exact(14), estimate.Exact(56), estimate.Exact(32), estimate.Exact(48), estimate.Exact(0), estimate.Exact(0)}
	var blocks []estimate.Block
	for _, v := range values {
		blocks = append(blocks, estimate.BlockOf(v))
	}
	e := pairs([]string{"old", "new"}, []string{"nothing", "paid"}, len(outcomes), func(weights []float64) (estimate.Value, bool) { return estimate.Together{}.Sum(weights, blocks), true })
	best, low, high, _ := e.lifts[0].at(0.95)
	for _, x := range [][2]float64{{best, -0.2}, {low, -0.3339}, {high, -0.0524}} {
		if math.Abs(x[0]-x[1]) > 2e-4 {
			t.Errorf("%v, and the table has %v", x[0], x[1])
		}
	}
	if fmt.Sprint(e.lifts[0].arm, e.lifts[0].of, e.first, e.among) != "newpaidold1" {
		t.Errorf("%+v", e)
	}
}

// weeksOfArms returns rounds of an experiment, of which some are missing or tell no lift: a second arm that gains, and in whose
// third week arms are uneven.
func weeksOfArms(n int, opens time.Time) (all []Round) {
	for i := range n {
		r := Round{Number: i + 1, Times: plan.Times{Opens: opens.AddDate(0, 0, 7*i), Closes: opens.AddDate(0, 0, 7*i+7)}}
		held := []float64{3000, 800, 2900 - 60*float64(i), 900 + 60*float64(i), 300, 100}
		switch i {
		case 1:
			r.Missing = "withheld: fewer people answered than the plan asks for"
			all = append(all, r)
			continue
		case 4:
			held[0] += 2000
		}
		t := table{metric: "welcome", respondents: 8000, whole: true, at: map[string]int{}}
		var blocks []estimate.Block
		for k, name := range outcomes {
			v := estimate.Value{Mean: held[k] + 40*math.Sin(float64(3*i+5*k)), StdErr: 60}
			t.at[name] = k
			t.cells = append(t.cells, cell{name, v.Mean / 8000, v.Mean/8000 - 0.02, v.Mean/8000 + 0.02})
			blocks = append(blocks, estimate.BlockOf(v))
		}
		t.experiment = pairs([]string{"old", "new"}, []string{"nothing", "paid"}, len(outcomes), func(weights []float64) (estimate.Value, bool) { return estimate.Together{}.Sum(weights, blocks), true })
		r.tables = []table{t}
		all = append(all, r)
	}
	return all
}

// The page of an experiment begins with its lifts, and programs get them beside the shares, each under its own name.
func TestLiftsOnAPageAndInFiles(t *testing.T) {
	got, ok := Follow(weeksOfArms(8, time.Date(2026, 8, 3, 0, 0, 0, 0, time.UTC)), "welcome", "", nil)
	if !ok || len(got.Lifts) != 1 || len(got.Lifts[0].Points) != 6 {
		t.Fatalf("%+v", got)
	}
	var page, table, text bytes.Buffer
	shield := Shield{Says: []string{"A round promises <much>."}, Trial: true}
	if err := errors.Join(Write(&page, "x", []Trend{got}, shield), WriteCSV(&table, []Trend{got}), WritePrometheus(&text, "study", []Trend{got})); err != nil {
		t.Fatal(err)
	}
	lifts, shares := strings.Index(page.String(), "points of a hundred more people of an arm"), strings.Index(page.String(), "What each arm had")
	if lifts < 0 || shares < lifts {
		t.Errorf("lifts stand at %d, shares at %d", lifts, shares)
	}
	for _, want := range []string{"<strong>Round 5:</strong> people did not fall into the arms evenly", "<strong>Round 2:</strong> withheld", "<strong>Trial.</strong>", "A round promises &lt;much&gt;.", "new: paid, points more", "The same people may be in several rounds"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != 1+8*(len(got.Lines)+1) {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	last := rows[len(rows)-8:]
	if first := last[0]; first[2] != "paid" || first[12] != "new" || first[13] != "lift in shares" || first[8] == "" || last[4][8] != "" || !strings.Contains(last[4][11], "evenly") || rows[1][13] != "share" {
		t.Errorf("%q", last)
	}
	samples := parsed(t, text.String())
	if x := samples[`confetti_trend_lift{study="study",metric="welcome",crowd="",arm="new",value="paid"}`]; x == "" || samples[`confetti_trend_lift_low{study="study",metric="welcome",crowd="",arm="new",value="paid"}`] >= x {
		t.Errorf("%v", samples)
	}
}
