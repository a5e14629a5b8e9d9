package trend

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

var values = []string{"dark", "light", "system", "unset"}

// asked is a round of people who answered by randomized response, each holding one value.
type asked struct {
	n     int
	noise estimate.Cell // whose N is n
}

// round returns what a release tells of so many holders of each value.
func (a asked) round(r *rand.Rand, number int, holders []int) Round {
	t := table{metric: "theme", respondents: float64(a.n), whole: true, at: map[string]int{}}
	for k, held := range holders {
		ones := uint64(binomial(r, held, a.noise.Keep) + binomial(r, a.n-held, a.noise.Flip))
		t.at[values[k]] = k
		t.cells = append(t.cells, a.cell(values[k], ones, len(holders)))
	}
	return Round{Number: number, tables: []table{t}}
}

// cell returns what is told of a value whose bit so many have set.
func (a asked) cell(value string, ones uint64, among int) cell {
	n := float64(a.n)
	low, high := a.noise.Interval(ones, estimate.Joint(level, among))
	return cell{value, a.noise.Estimate(ones).Mean / n, low / n, high / n}
}

func binomial(r *rand.Rand, n int, p float64) (x int) {
	for range n {
		if r.Float64() < p {
			x++
		}
	}
	return x
}

// drawn returns how many of n people, who are drawn from everybody, hold each value.
func drawn(r *rand.Rand, n int, shares []float64) []int {
	all := make([]int, len(shares))
	for range n {
		u, k := r.Float64(), 0
		for k < len(shares)-1 && u >= shares[k] {
			u -= shares[k]
			k++
		}
		all[k]++
	}
	return all
}

// misses counts how often one of the changes of a trend does not hold what it is of.
func misses(r *rand.Rand, trials int, a asked, change func(Trend, Line) (low, high float64), everybody bool) (missed int) {
	before, after := []float64{0.4, 0.3, 0.2, 0.1}, []float64{0.46, 0.25, 0.2, 0.09}
	for range trials {
		first, second := drawn(r, a.n, before), drawn(r, a.n, after)
		t, _ := Follow([]Round{a.round(r, 1, first), a.round(r, 2, second)}, "theme", "", nil)
		for _, l := range t.Lines {
			k := 0
			for values[k] != l.Value {
				k++
			}
			truth := float64(second[k]-first[k]) / float64(a.n)
			if everybody {
				truth = after[k] - before[k]
			}
			if low, high := change(t, l); truth < low || truth > high {
				missed++
				break
			}
		}
	}
	return missed
}

func all(_ Trend, l Line) (low, high float64)   { return l.Change.Low, l.Change.High }
func noise(_ Trend, l Line) (low, high float64) { return l.Change.NoiseLow, l.Change.NoiseHigh }

// Changes of all values hold at once: those of everybody with sampling, those of the respondents with the noise alone.
// Intervals of one value at a time do not, nor does the noise alone hold for everybody.
func TestChangesHoldAtOnce(t *testing.T) {
	const trials = 1500
	little, much := asked{400, estimate.Cell{N: 400, Keep: 0.97, Flip: 0.03}}, asked{400, estimate.Cell{N: 400, Keep: 0.75, Flip: 0.1}}
	for name, a := range map[string]asked{"little noise": little, "much noise": much} {
		stattest.AtMost(t, 1-level, trials, misses(stattest.Rand(t), trials, a, all, true))
		stattest.AtMost(t, 1-level, trials, misses(stattest.Rand(t), trials, a, noise, false))
		if t.Failed() {
			t.Fatal(name)
		}
	}
	stattest.Caught(t, func(tb testing.TB) {
		stattest.AtMost(tb, 1-level, trials, misses(stattest.Rand(tb), trials, little, noise, true))
	})
	alone := func(_ Trend, l Line) (low, high float64) { // as if each value were the only one
		narrow := estimate.Quantile(level) / estimate.Quantile(estimate.Joint(level, len(values)))
		middle, half := (l.Change.NoiseLow+l.Change.NoiseHigh)/2, (l.Change.NoiseHigh-l.Change.NoiseLow)/2
		return middle - narrow*half, middle + narrow*half
	}
	stattest.Caught(t, func(tb testing.TB) {
		stattest.AtMost(tb, 1-level, trials, misses(stattest.Rand(tb), trials, much, alone, false))
	})
}

// held returns the exact probability that the change of one value holds that of everybody, over the laws of both rounds.
func (a asked) held(before, after float64, change func(*Change) (low, high float64)) (p float64) {
	law := func(share float64) (all []float64) {
		for ones := range a.n + 1 { // who holds it is drawn too, so that each bit is set by itself
			all = append(all, prob.BinomialPMF(ones, a.n, share*a.noise.Keep+(1-share)*a.noise.Flip))
		}
		return all
	}
	var points []Point
	for ones := range a.n + 1 {
		c := a.cell("dark", uint64(ones), 1)
		points = append(points, Point{1, c.mean, c.low, c.high, float64(a.n)})
	}
	first, second := law(before), law(after)
	for i, p1 := range first {
		for j, p2 := range second {
			b, s := points[i], points[j]
			s.Round = 2
			low, high := change(Line{Points: []Point{b, s}}.change(1, 2, level))
			if d := after - before; low <= d && d <= high {
				p += p1 * p2
			}
		}
	}
	return p
}

// By the exact law the change of a value holds about as often as is said, whatever its shares: of 60 people at worst in
// 94.5 %, since counts are whole. The noise alone does not hold the change of everybody.
func TestAChangeHoldsByTheExactLaw(t *testing.T) {
	a := asked{60, estimate.Cell{N: 60, Keep: 0.9, Flip: 0.1}}
	both := func(c *Change) (low, high float64) { return c.Low, c.High }
	for _, before := range []float64{0, 0.03, 0.1, 0.3, 0.5, 0.8, 1} {
		for _, after := range []float64{0, 0.05, 0.25, 0.5, 0.9} {
			if p := a.held(before, after, both); p < level-0.006 {
				t.Errorf("from %g to %g it holds with probability %g", before, after, p)
			}
		}
	}
	if p := a.held(0.5, 0.5, func(c *Change) (low, high float64) { return c.NoiseLow, c.NoiseHigh }); p >= level-0.02 {
		t.Errorf("the noise alone holds for everybody with probability %g", p)
	}
}

// calls returns the exact probability that a round of n people, of whom so many hold a value, says that their share is
// another one.
func (a asked) calls(held, among int, level float64, length time.Duration) (p float64) {
	var r Round
	r.Times = plan.Times{Opens: time.Unix(0, 0), Closes: time.Unix(0, 0).Add(length)}
	for kept := range held + 1 {
		for flipped := range a.n - held + 1 {
			ones := uint64(kept + flipped)
			r.tables = []table{{metric: "theme", respondents: float64(a.n), at: map[string]int{"dark": 0}, atOnce: func(level float64) [][2]float64 {
				low, high := a.noise.Interval(ones, estimate.Joint(level, among))
				return [][2]float64{{low, high}}
			}}}
			low, high, ok := r.Far("theme", "", "dark", level)
			if truth := float64(held) / float64(a.n); !ok || truth < low || truth > high {
				p += prob.BinomialPMF(kept, held, a.noise.Keep) * prob.BinomialPMF(flipped, a.n-held, a.noise.Flip)
			}
		}
	}
	return p
}

// By the exact law a band whose ends the share does not pass is called left in at most one year of twenty, over all values
// and rounds. The interval of a page, which is of one round, calls more often than that.
func TestABandIsSeldomCalledLeftByTheExactLaw(t *testing.T) {
	a := asked{40, estimate.Cell{N: 40, Keep: 0.9, Flip: 0.1}}
	const among, rounds = 4, 53
	week := 7 * 24 * time.Hour
	worst := 0.0
	for _, held := range []int{0, 1, 5, 20, 33, 40} {
		p := a.calls(held, among, level, week)
		if worst = max(worst, p); p > (1-level)/(among*rounds) {
			t.Errorf("with %d holders it calls with probability %g", held, p)
		}
	}
	if r := (Round{Times: plan.Times{Opens: time.Unix(0, 0), Closes: time.Unix(0, 0).Add(week)}}); r.aYear() != rounds || (Round{}).aYear() != 366 {
		t.Errorf("a year has %d weeks", r.aYear())
	}
	page := 0.0
	for _, held := range []int{5, 20} {
		page = max(page, a.calls(held, among, level, 366*24*time.Hour)) // as if a year had one round
	}
	if page <= (1-level)/(among*rounds) {
		t.Errorf("the interval of one round calls with probability %g, and at worst with %g where a year is meant", page, worst)
	}
	var none Round
	if _, _, ok := none.Far("theme", "", "dark", level); ok {
		t.Error("a round without numbers has an interval")
	}
}

// toldRounds returns a study of seven values in five rounds, of which one was withheld and one withdrawn.
func toldRounds() (rounds []Round) {
	opens := time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC)
	for n := 1; n <= 5; n++ {
		r := Round{Number: n, Times: plan.Times{Opens: opens.AddDate(0, 0, 7*(n-1)), Closes: opens.AddDate(0, 0, 7*n)}}
		switch n {
		case 2:
			r.Missing = "withheld: 12 of 100 answered"
		case 3:
			r.Missing = "withdrawn on 1 January 2027: a <beta> counted twice"
		default:
			rise := float64(min(3, n-1)) / 40 // of "a", until the fourth
			shares := []float64{0.3 + rise, 0.2 - rise, 0.14, 0.12, 0.11, 0.08, 0.05}
			t := table{metric: "theme", respondents: 10000, whole: true, at: map[string]int{}}
			for k, share := range shares {
				t.at[string(rune('a'+k))] = k
				t.cells = append(t.cells, cell{string(rune('a' + k)), share, share - 0.01, share + 0.01})
			}
			t.group = func(cells []int, _ float64) (count, share estimate.Value, low, high float64, ok bool) {
				x := 0.0
				for _, k := range cells {
					x += shares[k]
				}
				return count, estimate.Value{Mean: x, StdErr: 0.005}, x - 0.01, x + 0.01, true
			}
			r.tables = []table{t}
		}
		rounds = append(rounds, r)
	}
	return rounds
}

func TestATrendSaysWhatIsSure(t *testing.T) {
	notes := []Note{{At: time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC), Text: "version <5>"}}
	got, ok := Follow(toldRounds(), "theme", "", notes)
	if !ok || len(got.Lines) != 6 || got.Since != 4 || got.Newest != 5 || got.Among != 7 {
		t.Fatalf("%+v", got)
	}
	var names []string
	for _, l := range got.Lines {
		names = append(names, l.Value)
	}
	if want := "a,b,c,d,e,all others"; strings.Join(names, ",") != want {
		t.Errorf("lines of %s, not %s", names, want)
	}
	if rest := got.Lines[5].Points[0]; math.Abs(rest.Share-0.13) > 1e-12 || !got.Lines[5].Rest {
		t.Errorf("the others have %+v", rest)
	}
	if !strings.HasPrefix(got.Says, "Nothing surely changed since round 4, and no value here by more than ") {
		t.Error(got.Says)
	}
	if n := got.Noted(); n == nil || n.Last != 1 {
		t.Errorf("the note stands at %+v", n)
	}
	if c := got.Lines[0].Noted; c.Verdict() != "rose" || got.Lines[1].Noted.Verdict() != "fell" || got.Lines[2].Noted.Verdict() != "no change seen" {
		t.Errorf("%+v", c)
	}
	moved, _ := Follow(toldRounds()[:4], "theme", "", nil)
	if want := regexp.MustCompile(`^Since round 1 “a” rose by \d\.\d to \d+\.\d points and “b” fell by \d\.\d to \d+\.\d points\.$`); !want.MatchString(moved.Says) {
		t.Error(moved.Says)
	}
	first, _ := Follow(toldRounds()[:1], "theme", "", nil)
	if first.Lines[0].Change != nil || !strings.Contains(first.Says, "Round 1 is the first") {
		t.Error(first.Says)
	}
	if _, ok := Follow(toldRounds()[1:3], "theme", "", nil); ok {
		t.Error("there is a trend of rounds without numbers")
	}
}

// A share of few people is known to no more than what a share can be: no change is said to be larger.
func TestNoChangeIsLargerThanAShare(t *testing.T) {
	l := Line{Points: []Point{{Round: 1, Share: 0.1, Low: -2, High: 1.8, respondents: 4}, {Round: 2, Share: 0.9, Low: -1.2, High: 3, respondents: 4}}}
	c := l.change(1, 2, 0.95)
	if *c != (Change{Since: 1, Low: -1, High: 1, NoiseLow: -1, NoiseHigh: 1}) {
		t.Errorf("%+v", c)
	}
}

// Ends of what is said are never nearer to each other than what was computed.
func TestWhatIsSaidIsRoundedApart(t *testing.T) {
	if got := between(0.03049, 0.08901); got != "3.0 to 9.0" {
		t.Error(got)
	}
	c := &Change{Low: -0.00001, High: 0.02001, NoiseLow: -0.0111, NoiseHigh: 0.0111}
	if points(c) != "−0.1 to +2.1" || c.Noise() != "−1.2 to +1.2" || points(nil) != "–" {
		t.Error(points(c), c.Noise())
	}
}

func TestAPageOfTrends(t *testing.T) {
	got, _ := Follow(toldRounds(), "theme", "", []Note{{At: time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC), Text: "version <5>"}})
	var b bytes.Buffer
	if err := Write(&b, "What <app> asks", []Trend{got}, Shield{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What &lt;app&gt; asks", "<strong>Round 2:</strong> withheld: 12 of 100 answered", "a &lt;beta&gt; counted twice", "<strong>15 December 2026:</strong> version &lt;5&gt;", `class="t5 band"`, "all others", "Since before “version &lt;5&gt;”"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(b.String(), "http://") || strings.Contains(b.String(), "https://") || strings.Contains(b.String(), "<script") {
		t.Error("the page loads something")
	}
	if n := strings.Count(b.String(), `<rect class="gone"`); n != 2 { // once each for the desk and the phone
		t.Errorf("%d marks of missing rounds", n)
	}
	for want, rounds := range map[string][]told{
		"Rounds 1 to 3, 7": {{Round: 1}, {Round: 2}, {Round: 3}, {Round: 7}}, "Round 4": {{Round: 4}},
		"Rounds 3, 5 of season 1, 1 to 2 of season 2": {{Round: 3, Season: 1, Own: 3}, {Round: 5, Season: 1, Own: 5}, {Round: 6, Season: 2, Own: 1}, {Round: 7, Season: 2, Own: 2}},
	} {
		if got := spans(rounds); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if filled, err := Filled([]Round{{Number: 5}, {Number: 2}}); err != nil || len(filled) != 4 || filled[1].Number != 3 || filled[2].Missing == "" {
		t.Errorf("%+v", filled)
	}
}

// A note lies where its time does among the rounds.
func TestANoteLiesAtItsTime(t *testing.T) {
	got, _ := Follow(toldRounds(), "theme", "", nil)
	opens := got.Rounds[0].Opens
	for days, want := range map[int]float64{-3: 0.5, 0: 0.5, 7: 1.5, 35: 5.5, 90: 5.5} {
		if at := got.when(opens.AddDate(0, 0, days)); math.Abs(at-want) > 1e-9 {
			t.Errorf("day %d lies at %g, not %g", days, at, want)
		}
	}
	if at := got.when(opens.Add(3*24*time.Hour + 12*time.Hour)); math.Abs(at-1) > 1e-9 {
		t.Errorf("the middle of round 1 lies at %g", at)
	}
	for _, bad := range []string{"", "2026-12-07", "2026-12-07=", "7 December=x"} {
		if _, err := ParseNote(bad); err == nil {
			t.Errorf("%q is a note", bad)
		}
	}
}

func TestExports(t *testing.T) {
	rounds := toldRounds()
	got, _ := Follow(rounds, "theme", "", nil)
	got.Lines[0].Value, got.Metric = "=a\"\\\n", "the\"me"
	var table, text bytes.Buffer
	if err := WriteCSV(&table, []Trend{got}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != 1+6*5 {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	if rows[1][2] != "'=a\"\\\n" || rows[1][3] != "1" || rows[1][4] != "1" || rows[1][8] != "0.3" || rows[2][11] != "withheld: 12 of 100 answered" || rows[2][8] != "" {
		t.Errorf("%q", rows[1:3])
	}
	if err := WritePrometheus(&text, "study", []Trend{got}); err != nil {
		t.Fatal(err)
	}
	samples := parsed(t, text.String())
	if n := len(samples); n != 5*6+2 {
		t.Errorf("%d samples", n)
	}
	if x := samples[`confetti_trend_share{study="study",metric="the\"me",crowd="",value="=a\"\\\n"}`]; x != "0.375" {
		t.Errorf("the share is %q in\n%s", x, text.String())
	}
	if x := samples[`confetti_trend_missing_rounds{study="study",metric="the\"me",crowd=""}`]; x != "2" {
		t.Errorf("%q rounds are missing", x)
	}
}

// parsed reads Prometheus' text format 0.0.4, and fails where a line is not of it or a family is not announced.
func parsed(t testing.TB, text string) map[string]string {
	t.Helper()
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)$`)
	family, all := "", map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if after, is := strings.CutPrefix(line, "# TYPE "); is {
			family, _, _ = strings.Cut(after, " ")
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || m[1] != family || all[m[1]+"{"+m[2]+"}"] != "" {
			t.Fatalf("%q is no sample of %s, or there twice", line, family)
		}
		all[fmt.Sprintf("%s{%s}", m[1], m[2])] = m[3]
	}
	return all
}

// BenchmarkYear says what is sure of each of fifty metrics after a year of daily rounds, and draws the page of one.
func BenchmarkYear(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var rounds []Round
	for n := range 365 {
		one := Round{Number: n + 1}
		for k := range 50 {
			t := table{metric: fmt.Sprint("metric ", k), respondents: 2000, whole: true, at: map[string]int{}}
			for i, v := range values {
				t.at[v] = i
				share := 0.25 + 0.02*r.Float64()
				t.cells = append(t.cells, cell{v, share, share - 0.03, share + 0.03})
			}
			one.tables = append(one.tables, t)
		}
		rounds = append(rounds, one)
	}
	b.ResetTimer()
	for b.Loop() {
		names, _ := Metrics(rounds)
		var all []Trend
		for _, name := range names {
			t, _ := Follow(rounds, name, "", nil)
			all = append(all, t)
		}
		if len(all) != 50 {
			b.Fatal(len(all))
		}
		if _, err := Body(all[:1]); err != nil {
			b.Fatal(err)
		}
	}
}

// No number is shown that cannot be, whatever noise makes of the estimate.
func TestNumbersAreThoseThatCanBe(t *testing.T) {
	for _, c := range []struct{ estimate, low, high, want float64 }{{27, 21, 24, 24}, {-3, 0, 2, 0}, {5, 3, 8, 5}} {
		if got := (Point{Share: c.estimate, Low: c.low, High: c.high}).Possible(); got != c.want {
			t.Errorf("%v is shown as %v", c, got)
		}
	}
}

// A number that no study has is refused: whoever writes a list of rounds would else decide how many are laid out.
func TestNumbersOfNoRoundAreRefused(t *testing.T) {
	for _, number := range []int{-1, 0, plan.MaxRounds + 1, 1 << 40} {
		if all, err := Filled([]Round{{Number: 1}, {Number: number}}); err == nil {
			t.Errorf("round %d is taken, as one of %d", number, len(all))
		}
	}
	if all, err := Filled([]Round{{Number: 1}, {Number: plan.MaxRounds}}); err != nil || len(all) != plan.MaxRounds {
		t.Errorf("the last round: %d, %v", len(all), err)
	}
}
