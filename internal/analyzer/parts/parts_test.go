package parts_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

const perDevice, devices = 4, 20

// dealt is a batch of a plan with one hop, as files.
type dealt struct {
	protocol *protocol.Protocol
	counter  *analyzer.Counter
	batch    envelope.Batch
	shards   int
	files    files
}

// files is a Source in memory.
type files map[string][]byte

func (f files) Get(_ context.Context, name string) ([]byte, error) {
	if body, ok := f[name]; ok {
		return slices.Clone(body), nil
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func (f files) names() []string { return slices.Collect(maps.Keys(f)) }

func deal(t testing.TB) dealt {
	t.Helper()
	p := plan.Plan{
		Version: plan.Version,
		Title:   "A tiny collection",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 3, Normalize: true, Kernel: plan.Kernel{Name: "ip-identity", Seed: strings.Repeat("00", 32)}, Repetitions: 1,
			Bitsum: plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget:    plan.Budget{Epsilon: 50, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected},
		Crowd:     plan.Crowd{Names: []string{"all"}, Minimum: 5},
		Envelopes: plan.Envelopes{Suite: "x25519", PayloadBytes: 8, PerDevice: perDevice},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "North"}}}}}},
		Analyzer:  plan.Party{Operator: "Research"},
	}
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	d := dealt{files: files{}}
	if d.protocol, err = protocol.New(p); err != nil {
		t.Fatal(err)
	}
	if d.counter, err = analyzer.NewCounter(d.protocol, keys.Analyzer); err != nil {
		t.Fatal(err)
	}
	device, err := client.New(d.protocol, seeded.New(1))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := shuffler.NewCollector(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range devices {
		all, err := device.Report(density.Labelled{Features: []float32{1, -0.5, float32(i) / 10}})
		if err == nil {
			err = entry.Add(fmt.Sprint(i), all[0].Body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	crowds, _ := entry.Close()
	hop, err := shuffler.NewHop(p, 0, 0, keys.Hops[0][0])
	if err != nil {
		t.Fatal(err)
	}
	if d.batch, _, err = hop.Enter(crowds[0]); err != nil {
		t.Fatal(err)
	}
	d.batch.Envelopes[9] = d.batch.Envelopes[70] // a copy, far from the first
	d.again(t, 100)
	return d
}

// again deals the batch to shards of at least so many bytes.
func (d *dealt) again(t testing.TB, least int) {
	t.Helper()
	clear(d.files)
	w := parts.NewDealer(d.batch.Head(), least, func(name string, body []byte) error {
		d.files["batch/"+name] = body
		return nil
	})
	for _, e := range d.batch.Envelopes {
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d.shards = w.Shards()
}

func (d dealt) share(t testing.TB, worker, workers int) parts.Table {
	t.Helper()
	table, err := parts.Share(t.Context(), d.counter, d.files, d.files.names(), worker, workers, func(int, int) {})
	if err != nil {
		t.Fatalf("worker %d of %d: %v", worker, workers, err)
	}
	return table
}

func marshal(t testing.TB, table parts.Table) []byte {
	t.Helper()
	body, err := table.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Tables of any number of workers, in any order, add up to that of one, and that is what the
// analyzer counts; a worker that counts again writes the same bytes.
func TestTablesAddUpToTheAnalyzersTally(t *testing.T) {
	d := deal(t)
	crowd, dropped, err := d.counter.Count(d.batch)
	if err != nil || dropped != 1 {
		t.Fatal(dropped, err)
	}
	if d.shards < 4 {
		t.Fatalf("%d shards", d.shards)
	}
	one := marshal(t, d.share(t, 0, 1))
	for _, workers := range []int{1, 2, 3, d.shards, d.shards + 3} {
		var whole parts.Table
		for worker := workers - 1; worker >= 0; worker-- {
			body := marshal(t, d.share(t, worker, workers))
			if !bytes.Equal(body, marshal(t, d.share(t, worker, workers))) {
				t.Errorf("worker %d of %d counts something else when it counts again", worker, workers)
			}
			table, err := parts.ParseTable(body, d.protocol)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := whole.Whole(d.protocol); err == nil && worker < workers-1 && whole.Lacks() != nil {
				t.Error("a table that lacks shards is whole")
			}
			if err := whole.Merge(table); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(marshal(t, whole), one) {
			t.Errorf("%d workers count something else than one", workers)
		}
		got, err := whole.Whole(d.protocol)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(crowd.Tally.(*tally.Counts).N, got.Tally.(*tally.Counts).N); diff != "" || got.Respondents != crowd.Respondents || got.Smallest != crowd.Smallest || whole.Counted.Dropped != dropped {
			t.Errorf("%d workers: %+v, dropped %d: %s", workers, got, whole.Counted.Dropped, diff)
		}
	}
}

// A table counts as many envelopes as a batch in parts may have, and no more.
func TestTablesOfBillions(t *testing.T) {
	d := deal(t)
	table := d.share(t, 0, 1)
	table.Of.Head.Envelopes, table.Counted.Opened, table.Counted.Dropped = 1<<40, 1<<33, 1<<32
	body := marshal(t, table)
	got, err := parts.ParseTable(body, d.protocol)
	if err != nil || got.Counted.Opened != 1<<33 || got.Counted.Dropped != 1<<32 || !bytes.Equal(marshal(t, got), body) {
		t.Errorf("%+v, %v", got.Counted, err)
	}
	for _, n := range []int{1<<40 + 1, 1<<57 + 1, -1} {
		table.Counted.Opened = n
		if _, err := parts.ParseTable(marshal(t, table), d.protocol); err == nil || !strings.Contains(err.Error(), "more envelopes than the batch has") {
			t.Errorf("%d of 2^40: %v", n, err)
		}
	}
}

// A dealer that deals copies apart is caught by the comparison above: the copy counts twice.
func TestCopiesThatFallApartCountTwice(t *testing.T) {
	d := deal(t)
	h := d.batch.Head()
	a, err := d.counter.Some(h, d.batch.Envelopes[:40])
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.counter.Some(h, d.batch.Envelopes[40:])
	if err != nil || a.Dropped+b.Dropped != 0 {
		t.Errorf("%d dropped, %v: the copy should have been missed", a.Dropped+b.Dropped, err)
	}
}

func TestPartsThatAreNotThoseOfTheBatch(t *testing.T) {
	d := deal(t)
	other := deal(t)
	coarse := dealt{protocol: d.protocol, counter: d.counter, batch: d.batch, files: files{}}
	coarse.again(t, 2000)
	for name, c := range map[string]struct {
		spoil func(f files)
		want  string
	}{
		"none":          {func(f files) { clear(f) }, "there are none"},
		"a piece less":  {func(f files) { delete(f, "batch/1/1") }, "piece 1 of shard 1 is missing"},
		"the last less": {func(f files) { delete(f, fmt.Sprintf("batch/1/%d", pieces(f)-1)) }, "of shard 1 is missing"},
		"a shard less": {func(f files) {
			maps.DeleteFunc(f, func(n string, _ []byte) bool { return strings.HasPrefix(n, "batch/2/") })
		}, "shard 2 of the batch's"},
		"another name":     {func(f files) { f["batch/readme"] = nil }, "batch/readme is not the name of a part"},
		"cut short":        {func(f files) { f["batch/0/0"] = f["batch/0/0"][:80] }, "batch/0/0: parts: a part: truncated"},
		"no part":          {func(f files) { f["batch/0/0"] = []byte("PK and so on") }, "it does not begin with"},
		"a bit":            {func(f files) { f["batch/0/0"][100] ^= 1 }, "damaged"},
		"renamed":          {func(f files) { f["batch/0/1"], f["batch/0/0"] = f["batch/0/0"], f["batch/0/1"] }, "it was renamed"},
		"of another batch": {func(f files) { f["batch/1/0"] = other.files["batch/1/0"] }, "it is of plan"},
		"dealt otherwise":  {func(f files) { f["batch/1/0"] = coarse.files["batch/1/0"] }, "was dealt to"},
		"there twice":      {func(f files) { f["again/1/0"] = f["batch/1/0"] }, "piece 0 of shard 1 is there twice"},
		"a shard too many": {func(f files) { f["batch/99/0"] = f["batch/1/0"] }, "99"},
		"of another plan":  {func(f files) { clear(f); maps.Copy(f, other.files) }, "another plan"},
	} {
		t.Run(name, func(t *testing.T) {
			f := files{}
			for n, body := range d.files {
				f[n] = slices.Clone(body)
			}
			c.spoil(f)
			table, err := parts.Share(t.Context(), d.counter, f, f.names(), 0, 1, func(int, int) {})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q; %d counted", err, c.want, table.Counted.Opened)
			}
		})
	}
	if _, err := (parts.Shard{Number: 0, Names: []string{"gone/0/0"}}).Count(t.Context(), d.counter, d.files); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	} else if _, ours := errors.AsType[parts.Error](err); ours {
		t.Error("a fault of the store is one of parts")
	}
}

func pieces(f files) (n int) {
	for name := range f {
		if strings.HasPrefix(name, "batch/1/") {
			n++
		}
	}
	return n
}

func TestTablesThatDoNotAddUp(t *testing.T) {
	d, other := deal(t), deal(t)
	a, b := d.share(t, 0, 2), d.share(t, 0, 3)
	if err := a.Merge(b); err == nil || !strings.Contains(err.Error(), "shard 0 is in two tables") {
		t.Error(err)
	}
	if _, err := parts.ParseTable(marshal(t, other.share(t, 1, 2)), d.protocol); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Error(err)
	}
	coarse := dealt{protocol: d.protocol, counter: d.counter, batch: d.batch, files: files{}}
	coarse.again(t, 2000)
	if err := a.Merge(coarse.share(t, 1, 2)); err == nil || !strings.Contains(err.Error(), "was dealt to") {
		t.Error(err)
	}
	if _, err := a.Whole(d.protocol); err == nil || !strings.Contains(err.Error(), "shards are in no table") {
		t.Error(err)
	}
}

// A dealer refuses what is not the batch that its head states.
func TestDealerCounts(t *testing.T) {
	d := deal(t)
	put := func(string, []byte) error { return nil }
	w := parts.NewDealer(d.batch.Head(), 100, put)
	if err := w.Close(); err == nil {
		t.Error("nothing came")
	}
	if err := w.Add(d.batch.Envelopes[0][1:]); err == nil {
		t.Error("a short envelope")
	}
	h := d.batch.Head()
	h.Envelopes = 1
	w = parts.NewDealer(h, 100, put)
	if err := errors.Join(w.Add(d.batch.Envelopes[0]), w.Close()); err != nil {
		t.Error(err)
	}
	if err := w.Add(d.batch.Envelopes[1]); err == nil {
		t.Error("one too many")
	}
}

// sealed puts the right checksum behind what is fuzzed.
func sealed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(slices.Clone(data), sum[:]...)
}

func FuzzPart(f *testing.F) {
	for _, body := range deal(f).files {
		f.Add(body[:len(body)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = sealed(data)
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			if p, err := parts.Parse(data); err == nil && !bytes.Equal(p.Marshal(), data) {
				t.Fatal("accepted, but encoded otherwise")
			}
		})
	})
}

func FuzzTable(f *testing.F) {
	d := deal(f)
	for _, table := range []parts.Table{d.share(f, 0, 1), d.share(f, 1, 3)} {
		body := marshal(f, table)
		f.Add(body[:len(body)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = sealed(data)
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			if table, err := parts.ParseTable(data, d.protocol); err == nil && !bytes.Equal(marshal(t, table), data) {
				t.Fatal("accepted, but encoded otherwise")
			}
		})
	})
}
