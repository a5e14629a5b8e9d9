package curator_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/curator"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

var yesOrNo = []string{"no", "yes"}

// labelled is a plan of labels of so many rows, in clusters where they are counted.
func labelled(t testing.TB, report, law string, epsilon float64, records int, clusters ...string) *protocol.Protocol {
	t.Helper()
	ask := curator.Ask{Holder: "the clinic", People: "patients", AsOf: "2026-11", Law: law, Epsilon: epsilon, Delta: 1e-7, Labels: &plan.Label{Classes: yesOrNo, Report: report}}
	if report != plan.LabelEach {
		ask.Clusters, ask.Labels.Clusters = clusters, len(clusters)
	}
	if report != plan.LabelClusters {
		ask.Labels.Records = records
	}
	if report == label.Resampled {
		ask.Law, ask.Labels.Randomizer = plan.LawLaplace, &plan.Randomizer{Flip: 0.1}
	}
	p, err := ask.Plan()
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// far is where the enumerated noise is cut off, far below delta.
const far = 30

// views is the exact law of what is drawn of a cluster of one row with this label, -1 for none of the plan's, and a hundred others
// with the second: the noisy counts of both labels and of none, and the label of that row. Those of the others follow from the
// counts and their own alone. The noise of each number has its decay; 0 for none.
func views(t testing.TB, proto *protocol.Protocol, own int, decays [3]float64) []float64 {
	t.Helper()
	const others, side = 100, 2*far + 1
	q := proto.Question.(*label.Question)
	second := proto.Plan.Question.Label.Randomizer // of resampling
	before := [3]int{0, others, 0}                 // without that row
	var law [3][side]float64
	for i := range law {
		held := before[i]
		if i == own || i == 2 && own < 0 {
			held++
		}
		for at := range law[i] {
			z := before[i] + at - far - held
			if decays[i] > 0 {
				law[i][at] = math.Exp(noise.DiscreteLaplace{Decay: decays[i]}.LogProb(z))
			} else if z == 0 {
				law[i][at] = 1
			}
		}
	}
	out := make([]float64, 0, 2*side*side*side)
	for a, p := range law[0] {
		for b, r := range law[1] {
			for c, s := range law[2] {
				counts := []estimate.Value{{Mean: float64(a - far), StdErr: 1}, {Mean: float64(others + b - far), StdErr: 1}}
				shares, err := q.Shares(counts, others+1, int64(c-far))
				if err != nil {
					t.Fatal(err)
				}
				for said, share := range shares {
					if second != nil && own >= 0 {
						if share *= 1 - second.Keep; said == own {
							share += second.Keep
						}
					}
					out = append(out, p*r*s*share)
				}
			}
		}
	}
	return out
}

// hockey is delta at an epsilon, the larger of both directions.
func hockey(a, b []float64, epsilon float64) float64 {
	there, back := 0.0, 0.0
	for view, p := range a {
		there += math.Max(0, p-math.Exp(epsilon)*b[view])
		back += math.Max(0, b[view]-math.Exp(epsilon)*p)
	}
	return math.Max(there, back)
}

// One label exchanged, for another or for one that the plan does not name, changes all that is drawn of its cluster by no more
// than epsilon and delta: the whole law of noisy counts, that of none too, and labels is enumerated. Most of the epsilon is needed, and the
// twins are beyond it: noise for one count where a label moves two, none on the count of none, and a label that stays more often than is said.
func TestLabelsKeepTheirPromise(t *testing.T) {
	const epsilon = 2.0
	for _, report := range []string{plan.LabelClusters, label.Resampled} {
		proto := labelled(t, report, plan.LawLaplace, epsilon, 2, "the one", "the other")
		promise, err := proto.Promise()
		if err != nil {
			t.Fatal(err)
		}
		if g := promise.Shuffled; g.Adjacency != account.Label || g.Trust != account.Central || g.Epsilon > epsilon || g.Epsilon < 0.98*epsilon {
			t.Errorf("%s: %+v", report, g)
		}
		d := proto.Plan.Route.Table.Decay
		of := func(proto *protocol.Protocol, decays ...float64) func(epsilon float64, labels ...int) float64 {
			laws := map[int][]float64{}
			return func(epsilon float64, labels ...int) float64 {
				for _, own := range labels {
					if laws[own] == nil {
						laws[own] = views(t, proto, own, [3]float64(decays))
					}
				}
				return hockey(laws[labels[0]], laws[labels[1]], epsilon)
			}
		}
		delta := of(proto, d, d, d)
		for _, pair := range [][]int{{0, 1}, {0, -1}, {1, -1}} {
			if got := delta(epsilon, pair...); got > 1e-7 {
				t.Errorf("%s, labels %v: delta %g at epsilon %v", report, pair, got, epsilon)
			}
		}
		if got := delta(0.85*epsilon, 0, 1); got < 1e-7 {
			t.Errorf("%s: a much smaller epsilon holds, too: delta %g", report, got)
		}
		if got := of(proto, 2*d, 2*d, 2*d)(epsilon, 0, 1); got < 1e-4 {
			t.Errorf("%s: half of the noise is not found: delta %g", report, got)
		}
		if got := of(proto, d, d, 0)(epsilon, 0, -1); got < 1e-4 {
			t.Errorf("%s: a count of none without noise is not found: delta %g", report, got)
		}
		if report == label.Resampled {
			p := proto.Plan
			ask, second := *p.Question.Label, *p.Question.Label.Randomizer
			second.Keep = 0.5
			ask.Randomizer, p.Question.Label = &second, &ask
			loose, err := protocol.New(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := loose.Promise(); err == nil || !strings.Contains(err.Error(), "does not hold") {
				t.Errorf("labels that stay half of the time are promised: %v", err)
			}
			if got := of(loose, d, d, d)(epsilon, 0, 1); got < 1e-4 {
				t.Errorf("labels that stay half of the time are not found: delta %g", got)
			}
		}
	}
}

// The published numbers and labels have the law of the plan: noise on counts, labels by the shares that these tell, and of
// labels one by one the response's. Twins expect less noise, and a label that stays more often.
func TestPublishedLabelsFollowTheirLaw(t *testing.T) {
	const n, top = 4000, 60
	rows := make([]curator.Labelled, n)
	for i := range rows {
		rows[i] = curator.Labelled{Cluster: i % 2, Label: (i / 2) % 2}
	}
	rows[1].Label = -1 // none of the plan's
	r, charged := stattest.Rand(t), release.Ledger{Releases: 1, Epsilon: 3, Delta: 1e-5}
	draw := func(proto *protocol.Protocol) (*label.Model, curator.Relabelled) {
		_, model, out, err := curator.Relabel(proto, rows, charged, r)
		if err != nil || len(out.Labels) != n {
			t.Fatal(len(out.Labels), err)
		}
		return model.(*label.Model), out
	}
	counted := labelled(t, plan.LabelClusters, plan.LawLaplace, 1, n, "even", "odd")
	noises, nones := make([]int, 2*top+1), make([]int, 2*top+1)
	for range 300 {
		model, out := draw(counted)
		for _, table := range model.Counts.Tables {
			for y, v := range table.Values {
				held := n / 4
				if table.Crowd == 1 && y == 0 {
					held-- // which the row with another label would be
				}
				noises[max(-top, min(top, int(v.Mean)-held))+top]++
			}
		}
		nones[max(-top, min(top, int(out.None)-1))+top]++ // there is one
	}
	decay := counted.Plan.Route.Table.Decay
	stattest.GTest(t, lawOf(decay, 0, top), noises)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, lawOf(1.3*decay, 0, top), noises) })
	one := lawOf(decay, 0, top)
	both := make([]float64, 2*top+1) // of two clusters
	for a, p := range one {
		for b, q := range one {
			both[max(0, min(2*top, a+b-top))] += p * q
		}
	}
	stattest.GTest(t, both, nones)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, one, nones) })

	// Of one cluster: how often each label was published of rows with each.
	tally := func(out curator.Relabelled, own int) []int {
		said := make([]int, 2)
		for i, row := range rows {
			if row.Cluster == 0 && row.Label == own {
				said[out.Labels[i]]++
			}
		}
		return said
	}
	_, out := draw(counted)
	for own := range 2 {
		stattest.GTest(t, out.Loss[0][0], tally(out, own)) // whose weights are the shares
	}
	resampled := labelled(t, label.Resampled, "", 3, n, "even", "odd")
	keep := resampled.Plan.Question.Label.Randomizer.Keep
	q := resampled.Question.(*label.Question)
	model, out := draw(resampled)
	shares, err := q.Shares(model.Counts.Tables[0].Values, n/2, 0)
	if err != nil {
		t.Fatal(err)
	}
	law := func(keep float64, own int) []float64 {
		p := []float64{(1 - keep) * shares[0], (1 - keep) * shares[1]}
		p[own] += keep
		return p
	}
	for own := range 2 {
		stattest.GTest(t, law(keep, own), tally(out, own))
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(keep+0.15, own), tally(out, own)) })
	}
	_, out = draw(labelled(t, plan.LabelEach, "", 1, n))
	kept := math.E / (math.E + 1)
	for own := range 2 {
		p := []float64{1 - kept, 1 - kept}
		p[own] = kept
		all := make([]int, 2)
		for i, row := range rows {
			if row.Label == own {
				all[out.Labels[i]]++
			}
		}
		stattest.GTest(t, p, all)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, []float64{1 - p[0] - 0.1, p[0] + 0.1}, all) })
	}
}

// The modified loss of labels one by one is the true one on average, by enumeration; and weights add up to one for every way.
func TestTheModifiedLossIsTrueOnAverage(t *testing.T) {
	each := labelled(t, plan.LabelEach, "", 0.7, 10).Question.(*label.Question)
	kept := math.Exp(0.7) / (1 + math.Exp(0.7))
	for own := range 2 {
		for y := range 2 {
			mean := kept*each.Loss(own, nil)[y] + (1-kept)*each.Loss(1-own, nil)[y]
			if want := map[bool]float64{true: 1}[own == y]; math.Abs(mean-want) > 1e-12 {
				t.Errorf("label %d weighs %v at %d in the mean, want %v", own, mean, y, want)
			}
		}
	}
	for _, report := range []string{plan.LabelClusters, label.Resampled, plan.LabelEach} {
		q := labelled(t, report, "", 1, 10, "a", "b").Question.(*label.Question)
		for y := range 2 {
			if w := q.Loss(y, []float64{0.25, 0.75}); math.Abs(w[0]+w[1]-1) > 1e-12 {
				t.Errorf("%s: weights %v", report, w)
			}
		}
	}
}

// Labels and rows of other releases keep one cap together.
func TestLabelsAreChargedAsRowsAre(t *testing.T) {
	l, now := opened(t, t.TempDir()), time.Now()
	first, err := l.Charge(labelled(t, plan.LabelEach, "", 1, 10), november, curator.Cap{Epsilon: 2, Delta: 1e-5}, now)
	if err != nil || first.Ledger.Releases != 1 {
		t.Fatal(first, err)
	}
	if err := l.Keep(first); err != nil {
		t.Fatal(err)
	}
	if again, err := l.Charge(labelled(t, plan.LabelEach, "", 1, 10), december, curator.Cap{}, now); err != nil || !again.Again || !again.Changed {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	other := labelled(t, plan.LabelClusters, "", 1.5, 10, "a", "b")
	if _, err := l.Charge(other, november, curator.Cap{}, now); err == nil || !strings.Contains(err.Error(), "the budget of patients does not admit") {
		t.Errorf("beyond the cap: %v", err)
	}
	rows, err := curator.Ask{Holder: "the clinic", People: "patients", AsOf: "2026-11", Attributes: []plan.Attribute{drinks()}, Epsilon: 0.2, Delta: 1e-7}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(rows)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := l.Charge(proto, november, curator.Cap{}, now); err != nil || second.Ledger.Releases != 2 {
		t.Errorf("counts of the same people: %+v, %v", second, err)
	}
}

// Clusters follow from what is public, and small ones are put together: each row is in one, none is smaller than is asked,
// whatever the columns say, and labels change nothing.
func TestClustersOfColumns(t *testing.T) {
	write := func(flip bool) string {
		file, r := filepath.Join(t.TempDir(), "table.csv"), rand.New(rand.NewPCG(1, 2))
		text := "age,class,outcome\n"
		for range 200 {
			age, class, outcome := r.IntN(60), []string{"a", "b", "c"}[min(r.IntN(4), r.IntN(3))], r.IntN(2) == 1
			text += strings.Join([]string{string(rune('0'+age/10)) + string(rune('0'+age%10)), class, yesOrNo[map[bool]int{true: 1}[outcome != flip]]}, ",") + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var before []int
	for _, flip := range []bool{false, true} {
		table, err := curator.ReadLabelled(write(flip), "outcome", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, smallest := range []int{1, 10, 20} {
			all, err := table.By([]string{"age", "class"}, 4, smallest)
			if err != nil {
				t.Fatal(err)
			}
			sizes := make([]int, len(all.Names))
			for _, c := range all.Of {
				sizes[c]++
			}
			if len(all.Of) != 200 || slices.Min(sizes) < smallest || !slices.IsSorted(all.Names[:len(all.Names)-1]) || all.Meant != nil {
				t.Errorf("%v hold %v", all, sizes)
			}
			if smallest != 20 {
				continue
			}
			if flip && !slices.Equal(all.Of, before) {
				t.Error("clusters change with labels")
			}
			before = all.Of
		}
		if long, err := curator.Merged([]string{strings.Repeat("a", 33), "b"}, 1); err != nil || !slices.Equal(long.Names, []string{"cluster 1", "cluster 2"}) || long.Meant[1] != "b" {
			t.Errorf("long names: %+v, %v", long, err)
		}
		if long, err := curator.Merged([]string{strings.Repeat("a", 33), strings.Repeat("a", 33), "b", "c"}, 2); err != nil || !slices.Equal(long.Names, []string{"cluster 1", "all others"}) {
			t.Errorf("what is put together, beside long names: %+v, %v", long, err)
		}
		if _, err := table.By([]string{"age"}, 2, 150); err == nil || !strings.Contains(err.Error(), "no two clusters hold 150 each") {
			t.Errorf("one cluster: %v", err)
		}
		if _, err := table.By([]string{"outcome"}, 2, 1); err == nil || !strings.Contains(err.Error(), `column "outcome" makes no clusters`) {
			t.Errorf("clusters of labels: %v", err)
		}
	}
}

// Numbers are cut into at least two parts, however many of them are one: as many as the edges that differ. A column that is the same
// everywhere is refused by its name.
func TestACutIsOfAtLeastTwoParts(t *testing.T) {
	for name, c := range map[string]struct {
		numbers []string
		want    []string // of the rows
	}{
		"most are the least": {[]string{"0", "0", "0", "0", "0", "0", "1", "2", "3"}, []string{"below 1", "below 1", "below 1", "below 1", "below 1", "below 1", "from 1", "from 1", "from 1"}},
		"most are the most":  {[]string{"1", "2", "3", "9", "9", "9", "9", "9", "9"}, []string{"below 9", "below 9", "below 9", "from 9", "from 9", "from 9", "from 9", "from 9", "from 9"}},
		"as many each":       {[]string{"4", "1", "3", "2"}, []string{"from 3", "below 3", "from 3", "below 3"}},
		"few differ":         {[]string{"1", "1.0", "2"}, []string{"1", "1", "2"}},
	} {
		file := filepath.Join(t.TempDir(), "table.csv")
		text := "visits,outcome\n"
		for _, n := range c.numbers {
			text += n + ",yes\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := curator.ReadLabelled(file, "outcome", nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := table.By([]string{"visits"}, 2, 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for row, cluster := range all.Of {
			if got := all.Names[cluster]; got != "visits "+c.want[row] {
				t.Errorf("%s: row %d is in %q, want %q", name, row+1, got, c.want[row])
			}
		}
	}
	file := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(file, []byte("visits,kind,outcome\n3,a,yes\n3.0,b,no\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := curator.ReadLabelled(file, "outcome", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.By([]string{"kind", "visits"}, 2, 1); err == nil || !strings.Contains(err.Error(), `column "visits" makes no clusters: all rows have the same there`) {
		t.Error(err)
	}
}
