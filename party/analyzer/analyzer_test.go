package analyzer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

const (
	minimum   = 5 // respondents of a crowd in an instance
	perDevice = 4 // envelopes
)

// collection is a plan of two instances, of one and of two hops, that has been
// answered.
type collection struct {
	protocol *protocol.Protocol
	keys     simulate.Keys
	batches  map[uint16]envelope.Batch // of crowd 0, by instance, as they reach the analyzer
	want     [2]tally.Crowd            // what is in each
}

func collect(t *testing.T) collection {
	t.Helper()
	p := plan.Plan{
		Version: plan.Version,
		Title:   "A tiny collection",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 3, Normalize: true,
			Kernel:      plan.Kernel{Name: "ip-identity", Seed: strings.Repeat("00", 32)},
			Repetitions: 1,
			Bitsum:      plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget:    plan.Budget{Epsilon: 50, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected, DishonestShare: 0.2},
		Crowd:     plan.Crowd{Names: []string{"hills", "shore"}, Minimum: minimum, Maximum: 1000},
		Envelopes: plan.Envelopes{Suite: "x25519", PayloadBytes: 8, PerDevice: perDevice}, // one of them a dummy
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{
			{Hops: []plan.Party{{Operator: "North"}}}, {Hops: []plan.Party{{Operator: "East"}, {Operator: "West"}}},
		}}},
		Analyzer: plan.Party{Operator: "Research"},
	}
	c := collection{batches: map[uint16]envelope.Batch{}}
	var err error
	if c.keys, err = simulate.NewKeys(&p); err != nil {
		t.Fatal(err)
	}
	if c.protocol, err = protocol.New(p); err != nil {
		t.Fatal(err)
	}
	device, err := client.New(c.protocol, seeded.New(1))
	if err != nil {
		t.Fatal(err)
	}
	var entries [2]*shuffler.Collector
	for i := range entries {
		if entries[i], err = shuffler.NewCollector(p, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		contributions, err := device.Report(density.Labelled{Features: []float32{1, -0.5, float32(i) / 10}})
		if err != nil {
			t.Fatal(err)
		}
		contribution := contributions[0]
		if err := entries[contribution.Instance].Add(string(rune('A'+i)), contribution.Body); err != nil {
			t.Fatal(err)
		}
	}
	for i, entry := range entries {
		crowds, _ := entry.Close()
		if len(crowds) != 1 {
			t.Fatalf("instance %d hands on %d crowds", i, len(crowds))
		}
		var b envelope.Batch
		for hop, key := range c.keys.Hops[i] {
			h, err := shuffler.NewHop(p, i, hop, key)
			if err != nil {
				t.Fatal(err)
			}
			if hop == 0 {
				b, _, err = h.Enter(crowds[0])
			} else {
				b, _, err = h.Mix(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		c.batches[uint16(i)] = b
		a := c.analyzer(t)
		if err := a.Add(b); err != nil {
			t.Fatal(err)
		}
		c.want[i] = a.Crowds()[0]
	}
	return c
}

func (c collection) analyzer(t *testing.T) *analyzer.Analyzer {
	t.Helper()
	a, err := analyzer.New(c.protocol, c.keys.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// batch is a copy of that of instance 0, for a test to spoil.
func (c collection) batch() envelope.Batch {
	b := c.batches[0]
	b.Envelopes = slices.Clone(b.Envelopes)
	return b
}

// cells are the counts of a crowd.
func cells(c tally.Crowd) []uint64 { return c.Tally.(*tally.Counts).N }

// spoil breaks a copy of the i-th envelope.
func spoil(b envelope.Batch, i int) {
	b.Envelopes[i] = slices.Clone(b.Envelopes[i])
	b.Envelopes[i][40] ^= 1
}

func TestBatchesOfAllInstancesAddUpToOneTally(t *testing.T) {
	c := collect(t)
	a := c.analyzer(t)
	for i := range uint16(2) {
		if err := a.Add(c.batches[i]); err != nil {
			t.Fatal(err)
		}
	}
	got := a.Crowds()[0]
	if got.Respondents != 20 || a.Crowds()[1].Tally != nil || a.Dropped() != 0 {
		t.Errorf("%d respondents, crowd 1 %v, %d dropped", got.Respondents, a.Crowds()[1], a.Dropped())
	}
	for channel := range 3 {
		if n := cells(got)[2*channel] + cells(got)[2*channel+1]; n != 20 {
			t.Errorf("%d messages in channel %d, want one from each of 20", n, channel)
		}
	}
	for i, n := range cells(got) {
		if sum := cells(c.want[0])[i] + cells(c.want[1])[i]; n != sum {
			t.Errorf("cell %d: %d, and %d apart", i, n, sum)
		}
	}
}

func TestRefusesBatchesWhole(t *testing.T) {
	c := collect(t)
	for name, s := range map[string]struct {
		spoil func(b *envelope.Batch)
		want  string
	}{
		"another plan":               {func(b *envelope.Batch) { b.Plan[0] ^= 1 }, "another plan"},
		"an instance that is not":    {func(b *envelope.Batch) { b.Instance = 2 }, "instance 3"},
		"a crowd that is not":        {func(b *envelope.Batch) { b.Crowd = 2 }, "crowd 3"},
		"straight from the entry":    {func(b *envelope.Batch) { b.Hop = 0 }, "whole cascade"},
		"a hop beyond":               {func(b *envelope.Batch) { b.Hop = 2 }, "whole cascade"},
		"too few respondents":        {func(b *envelope.Batch) { b.Respondents = minimum - 1 }, "minimum of 5"},
		"too many respondents":       {func(b *envelope.Batch) { b.Respondents = 1001 }, "maximum of 1000"},
		"more envelopes than it may": {func(b *envelope.Batch) { b.Respondents = uint64(len(b.Envelopes)/perDevice) - 1 }, "more envelopes"},
		"fewer than the honest send": {func(b *envelope.Batch) { b.Envelopes = b.Envelopes[:4*perDevice-1] }, "honest minimum"},
		"copies instead of envelopes": {func(b *envelope.Batch) {
			for i := 4*perDevice - 1; i < len(b.Envelopes); i++ {
				b.Envelopes[i] = b.Envelopes[0]
			}
		}, "honest minimum"},
		"for another crowd": {func(b *envelope.Batch) { b.Crowd = 1 }, "honest minimum"},
		"too few that open": {func(b *envelope.Batch) {
			for i := range len(b.Envelopes) - 4*perDevice + 1 {
				spoil(*b, i)
			}
		}, "honest minimum"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := c.analyzer(t), c.batch()
			s.spoil(&b)
			if err := a.Add(b); err == nil || !strings.Contains(err.Error(), s.want) {
				t.Errorf("error %v does not mention %q", err, s.want)
			}
			if a.Crowds()[0].Tally != nil || a.Crowds()[1].Tally != nil || a.Dropped() != 0 {
				t.Error("something of it was counted")
			}
			if err := a.Add(c.batches[0]); err != nil {
				t.Errorf("the right batch is refused after it: %v", err)
			}
		})
	}
}

// Shards of a batch that are counted apart, in any order and number, are the batch:
// copies fall into one shard, and each shard counts once.
func TestShardsAreTheBatch(t *testing.T) {
	c := collect(t)
	b := c.batch()
	spoil(b, 0)
	b.Envelopes[2] = b.Envelopes[3]
	counter, err := analyzer.NewCounter(c.protocol, c.keys.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	want, dropped, err := counter.Count(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []int{1, 2, 5, 1000} {
		shards := make([][][]byte, of)
		for _, e := range b.Envelopes {
			i := analyzer.Shard(e, of)
			shards[i] = append(shards[i], e)
		}
		counted, lost := make([]analyzer.Counted, of), 0
		for i, s := range shards {
			if counted[of-1-i], err = counter.Some(b.Head(), s); err != nil {
				t.Fatal(err)
			}
			lost += counted[of-1-i].Dropped
		}
		if _, err := analyzer.Whole(c.protocol, b.Head(), append(counted[:of-1:of-1], counted[0], counted[of-1])...); err == nil && counted[0].Opened > 0 {
			t.Errorf("of %d shards one counted twice", of)
		}
		if counted[0], err = counter.Some(b.Head(), shards[of-1]); err != nil { // Whole took over its tally
			t.Fatal(err)
		}
		got, err := analyzer.Whole(c.protocol, b.Head(), counted...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || lost != dropped {
			t.Errorf("of %d shards: %s; %d dropped, want %d", of, diff, lost, dropped)
		}
	}
}

func TestABatchCountsOnce(t *testing.T) {
	c := collect(t)
	a := c.analyzer(t)
	if err := a.Add(c.batches[0]); err != nil {
		t.Fatal(err)
	}
	if err := a.Add(c.batches[0]); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("error %v", err)
	}
	if got := a.Crowds()[0].Respondents; got != c.want[0].Respondents {
		t.Errorf("%d respondents, want %d", got, c.want[0].Respondents)
	}
}

// A hop may lose or copy a few envelopes and break others: what is left counts,
// once each, and what is not is counted as dropped.
func TestDuplicatesAndBrokenEnvelopesAreDropped(t *testing.T) {
	c := collect(t)
	a, b := c.analyzer(t), c.batch()
	n := len(b.Envelopes)
	spoil(b, 0)
	b.Envelopes[1] = b.Envelopes[1][1:]
	b.Envelopes[2] = b.Envelopes[3]
	b.Envelopes[4] = nil
	if err := a.Add(b); err != nil {
		t.Fatal(err)
	}
	if a.Dropped() != 4 {
		t.Errorf("%d dropped, want 4", a.Dropped())
	}
	var counted uint64
	for _, k := range cells(a.Crowds()[0]) {
		counted += k
	}
	// Of the envelopes left, one in four or so is a dummy, which is not dropped.
	if most := uint64(n / perDevice * 3); counted > most || counted+4 < most {
		t.Errorf("%d messages counted, of %d that were sent and 4 that were lost", counted, most)
	}
	r, _, err := a.Release(results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "4 messages") {
		t.Errorf("notes %q do not say what was dropped", r.Notes)
	}
}

func TestRefusesAnotherKey(t *testing.T) {
	c := collect(t)
	if _, err := analyzer.New(c.protocol, c.keys.Hops[0][0]); err == nil || !strings.Contains(err.Error(), "analyzer") {
		t.Errorf("error %v", err)
	}
}

func TestReleaseOfNothingIsAnError(t *testing.T) {
	c := collect(t)
	if _, _, err := c.analyzer(t).Release(results.Public{}); err == nil {
		t.Error("a release of no batch at all")
	}
}

// What came with too few whole contributions is not published, though its hops
// claim the plan's minimum.
func TestThePromiseIsCheckedAgainstWhatArrived(t *testing.T) {
	c := collect(t)
	tallies := func(smallest int) []tally.Crowd {
		return []tally.Crowd{{Tally: c.protocol.NewTally(), Respondents: 20, Smallest: smallest}, {}}
	}
	for _, smallest := range []int{minimum, minimum + 1, 1000} {
		if err := analyzer.CheckBatch(c.protocol, tallies(smallest)); err != nil {
			t.Errorf("%d whole contributions: %v", smallest, err)
		}
	}
	// The same noise among three of four: the plan must not promise what only four give.
	p := c.protocol.Plan
	p.Budget.Delta = 0.2 // at a smaller one so few hide nothing of each other
	loose, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	three, err3 := loose.GuaranteeWith(3)
	four, err4 := loose.GuaranteeWith(4)
	if err3 != nil || err4 != nil || three.Epsilon <= four.Epsilon {
		t.Fatalf("among three %v (%v), among four %v (%v)", three, err3, four, err4)
	}
	p.Budget.Epsilon = (three.Epsilon + four.Epsilon) / 2
	strict, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	c.protocol = strict
	if err := analyzer.CheckBatch(strict, tallies(minimum)); err != nil {
		t.Error(err)
	}
	if err := analyzer.CheckBatch(strict, tallies(minimum-1)); err == nil || !strings.Contains(err.Error(), "3 of them honest") {
		t.Errorf("error %v", err)
	}
	if err := analyzer.CheckBatch(strict, make([]tally.Crowd, 2)); err == nil || !strings.Contains(err.Error(), "no batch") {
		t.Errorf("error %v", err)
	}
}
