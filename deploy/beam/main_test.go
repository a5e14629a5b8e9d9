package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// batch is one that devices have sent through two hops, in parts.
type batch struct {
	dir      string
	plan     []byte
	protocol *protocol.Protocol
	want     []byte // the table of one worker
}

func (b batch) key() string  { return filepath.Join(b.dir, "keys", "analyzer.key") }
func (b batch) glob() string { return filepath.Join(b.dir, "batches", "0_0", "*", "*") }

func collect(t *testing.T) batch {
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
		Envelopes: plan.Envelopes{Suite: "x25519", PayloadBytes: 8, PerDevice: 3},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "North"}, {Operator: "South"}}}}}},
		Analyzer:  plan.Party{Operator: "Research"},
	}
	b := batch{dir: t.TempDir()}
	simulation := simulate.Bounded{Dir: b.dir, PartBytes: 300}
	keys, err := simulation.OpenKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	if b.protocol, err = protocol.New(p); err != nil {
		t.Fatal(err)
	}
	b.plan = author.TOML(p)
	values := make([]question.Value, 30)
	for i := range values {
		values[i] = density.Labelled{Features: []float32{1, -0.5, float32(i) / 20}}
	}
	quiet := func(string, int, int) {}
	if _, err := simulation.Run(t.Context(), b.protocol, keys, values, 1, quiet); err != nil {
		t.Fatal(err)
	}
	counter, err := analyzer.NewCounter(b.protocol, keys.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(b.dir, "batches", "0_0", "[0-9]*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	// The analyzer's tally, of the envelopes without parts.
	shards, err := parts.Shards(names)
	if err != nil || len(shards) < 3 {
		t.Fatalf("%d shards, %v", len(shards), err)
	}
	var whole envelope.Batch
	for _, s := range shards {
		of, envelopes, err := s.Read(t.Context(), files{})
		if err != nil {
			t.Fatal(err)
		}
		whole = envelope.Batch{Plan: of.Head.Plan, Instance: of.Head.Instance, Crowd: of.Head.Crowd, Hop: of.Head.Hop, Respondents: of.Head.Respondents, Envelopes: append(whole.Envelopes, envelopes...)}
	}
	crowd, dropped, err := counter.Count(whole)
	if err != nil || dropped != 0 || crowd.Respondents != len(values) {
		t.Fatalf("%+v, %d dropped, %v", crowd, dropped, err)
	}
	tally, err := crowd.Tally.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	table, err := parts.Share(t.Context(), counter, files{}, names, 0, 1, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if b.want, err = table.Marshal(); err != nil || !bytes.Contains(b.want, tally) {
		t.Fatalf("the table of one worker is not the analyzer's tally: %v", err)
	}
	return b
}

func (b batch) count(t *testing.T, key, glob string) ([]byte, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "table")
	p, s := beam.NewPipelineWithRoot()
	if err := count(context.Background(), s, b.plan, key, glob, out); err != nil {
		return nil, err
	}
	if err := ptest.Run(p); err != nil {
		if _, written := os.Stat(out); written == nil {
			t.Error("a pipeline that failed has written a table")
		}
		return nil, err
	}
	return os.ReadFile(out)
}

// The pipeline writes the table that the analyzer's own code gives, again and again.
func TestThePipelineGivesTheAnalyzersTally(t *testing.T) {
	b := collect(t)
	for range 2 {
		got, err := b.count(t, b.key(), b.glob())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, b.want) {
			t.Error("another table came out than the analyzer's tally")
		}
	}
}

// Parts in a bucket give the same table, and it may lie there.
func TestThePipelineReadsABucket(t *testing.T) {
	service := blobtest.Start(t)
	b := collect(t)
	bucket := service.Open(t, "beam/batch")
	_, endpoint, _ := strings.Cut(service.At(""), "endpoint=")
	t.Setenv("AWS_ENDPOINT_URL_S3", endpoint)
	names, err := filepath.Glob(filepath.Join(b.dir, "batches", "0_0", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		body, err := os.ReadFile(path)
		if err == nil {
			err = bucket.Put(t.Context(), filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p, s := beam.NewPipelineWithRoot()
	if err := count(t.Context(), s, b.plan, b.key(), "s3://parts/of/beam/batch/*/*", "s3://parts/of/beam/table"); err != nil {
		t.Fatal(err)
	}
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	if got, err := service.Open(t, "beam").Get(t.Context(), "table"); err != nil || !bytes.Equal(got, b.want) {
		t.Errorf("another table came out than the analyzer's tally: %v", err)
	}
	for glob, want := range map[string]string{"s3://parts/of/beam/none/*/*": "there are no parts", "s3://parts/of/*": "the parts in a bucket are", "s3://PARTS/of/*/*": "is no bucket"} {
		_, s := beam.NewPipelineWithRoot()
		if err := count(t.Context(), s, b.plan, b.key(), glob, "s3://parts/of/beam/no"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", glob, err)
		}
	}
}

// What lacks a part, or cannot be opened, writes nothing.
func TestThePipelineRefuses(t *testing.T) {
	b := collect(t)
	if _, err := b.count(t, filepath.Join(b.dir, "keys", "instance-1-hop-1.key"), b.glob()); err == nil {
		t.Error("a hop's key opens the analyzer's envelopes")
	}
	if _, err := b.count(t, b.key(), filepath.Join(b.dir, "nowhere", "*", "*")); err == nil || !strings.Contains(err.Error(), "there are no parts") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(b.dir, "batches", "0_0", "1", "0")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.count(t, b.key(), b.glob()); err == nil || !strings.Contains(err.Error(), "piece 0 of shard 1 is missing") {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(b.dir, "batches", "0_0", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.count(t, b.key(), b.glob()); err == nil || !strings.Contains(err.Error(), "shards are in no table") {
		t.Error(err)
	}
	if err := run(t.Context(), "", "", "", ""); err == nil {
		t.Error("without flags it runs")
	}
}

// The flags of the command that docs/scale-counting.md prints are there, and do what it says.
func TestThePrintedCommand(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "scale-counting.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(string(text), "./beam -")
	if !found {
		t.Fatal("docs/scale-counting.md prints no command")
	}
	line, _, _ = strings.Cut("-"+line, "\n")
	b := collect(t)
	for name, value := range map[string]string{"plan": filepath.Join(b.dir, "plan.json"), "key": b.key(), "parts": b.glob(), "out": filepath.Join(t.TempDir(), "table")} {
		if !strings.Contains(line, "-"+name+" ") {
			t.Errorf("%q has no -%s", line, name)
		}
		if err := flag.Set(name, value); err != nil {
			t.Error(err)
		}
	}
	if err := run(t.Context(), *planFile, *key, *glob, *out); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(*out); err != nil || !bytes.Equal(got, b.want) {
		t.Errorf("another table came out than the analyzer's tally: %v", err)
	}
}

// A combiner that counts a shard twice is refused.
func TestTablesOfOneShardDoNotAddUp(t *testing.T) {
	b := collect(t)
	f := addTables{Plan: b.plan}
	if err := f.Setup(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.MergeAccumulators(b.want, b.want); err == nil || !strings.Contains(err.Error(), "is in two tables") {
		t.Error(err)
	}
	for _, pair := range [][2][]byte{{nil, b.want}, {b.want, nil}} {
		if got, err := f.MergeAccumulators(pair[0], pair[1]); err != nil || !bytes.Equal(got, b.want) {
			t.Error("with nothing it is another table:", err)
		}
	}
}
