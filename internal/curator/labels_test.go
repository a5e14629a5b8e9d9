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
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/label"
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

// views is the exact law of what is published of a cluster of one row with this label and a hundred others with the second:
// its noisy counts, and the label of that row. Those of the others follow from the counts and their own alone. The noise
// is cut off where it is far below delta.
func views(t testing.TB, proto *protocol.Protocol, own int, decay float64) map[[3]int]float64 {
	t.Helper()
	const far, others = 90, 100
	q := proto.Question.(*label.Question)
	counts := [2]int{0, others}
	counts[own]++
	second := proto.Plan.Question.Label.Randomizer // of resampling
	z := noise.DiscreteLaplace{Decay: decay}
	law := map[[3]int]float64{}
	for a := -far; a <= far; a++ {
		for b := others - far; b <= others+far; b++ {
			p := math.Exp(z.LogProb(a-counts[0]) + z.LogProb(b-counts[1]))
			shares, err := q.Shares([]estimate.Value{{Mean: float64(a), StdErr: 1}, {Mean: float64(b), StdErr: 1}}, others+1, 0)
			if err != nil {
				t.Fatal(err)
			}
			for said, share := range shares {
				report := share
				if second != nil {
					report *= 1 - second.Keep
					if said == own {
						report += second.Keep
					}
				}
				law[[3]int{a, b, said}] += p * report
			}
		}
	}
	return law
}

// hockey is delta at an epsilon, the larger of both directions.
func hockey(a, b map[[3]int]float64, epsilon float64) float64 {
	there, back := 0.0, 0.0
	for view, p := range a {
		there += math.Max(0, p-math.Exp(epsilon)*b[view])
		back += math.Max(0, b[view]-math.Exp(epsilon)*p)
	}
	return math.Max(there, back)
}

// One label exchanged changes all that is published of its cluster by no more than epsilon and delta: the whole law of noisy
// counts and labels is enumerated. Most of the epsilon is needed, and the twins, noise for one count where a label moves
// two and a label that stays more often than is said, are beyond it.
func TestLabelsKeepTheirPromise(t *testing.T) {
	const epsilon = 1.0
	for _, report := range []string{plan.LabelClusters, label.Resampled} {
		proto := labelled(t, report, plan.LawLaplace, epsilon, 2, "the one", "the other")
		promise, err := proto.Promise()
		if err != nil {
			t.Fatal(err)
		}
		if g := promise.Shuffled; g.Adjacency != account.Label || g.Trust != account.Central || g.Epsilon > epsilon || g.Epsilon < 0.98*epsilon {
			t.Errorf("%s: %+v", report, g)
		}
		decay := proto.Plan.Route.Table.Decay
		delta := func(proto *protocol.Protocol, epsilon, decay float64) float64 {
			return hockey(views(t, proto, 0, decay), views(t, proto, 1, decay), epsilon)
		}
		if d := delta(proto, epsilon, decay); d > 1e-7 {
			t.Errorf("%s: delta %g at epsilon %v", report, d, epsilon)
		}
		if d := delta(proto, 0.85*epsilon, decay); d < 1e-7 {
			t.Errorf("%s: a much smaller epsilon holds, too: delta %g", report, d)
		}
		if d := delta(proto, epsilon, 2*decay); d < 1e-4 {
			t.Errorf("%s: half of the noise is not found: delta %g", report, d)
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
			if d := delta(loose, epsilon, decay); d < 1e-4 {
				t.Errorf("labels that stay half of the time are not found: delta %g", d)
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
	noises, nones := make([]int, 2*top+1), 0
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
		nones += int(out.None)
	}
	if mean := float64(nones) / 300; math.Abs(mean-1) > 2 {
		t.Errorf("rows without a label: %v in the mean, and there is one", mean)
	}
	decay := counted.Plan.Route.Table.Decay
	stattest.GTest(t, lawOf(decay, 0, top), noises)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, lawOf(1.3*decay, 0, top), noises) })

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
		if _, err := table.By([]string{"age"}, 2, 150); err == nil || !strings.Contains(err.Error(), "no two clusters hold 150 each") {
			t.Errorf("one cluster: %v", err)
		}
		if _, err := table.By([]string{"outcome"}, 2, 1); err == nil || !strings.Contains(err.Error(), `column "outcome" makes no clusters`) {
			t.Errorf("clusters of labels: %v", err)
		}
	}
}
