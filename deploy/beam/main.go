// Command beam counts a batch that lies in parts, as confetti count does, as an Apache Beam
// pipeline: each shard is opened and counted by itself, and the tables are added up by a
// combiner. It counts, and mixes nothing: a mix must not be run by what may repeat a step
// with other randomness (docs/scale-mixing.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

func init() {
	register.DoFn3x1[context.Context, string, func([]byte), error](&countShard{})
	register.Emitter1[[]byte]()
	register.Combiner1[[]byte](&addTables{})
	register.DoFn2x1[context.Context, []byte, error](&writeTable{})
}

var (
	planFile = flag.String("plan", "", "the plan, signed or not")
	key      = flag.String("key", "", "the file of the analyzer's private key, where workers run: it does not travel")
	glob     = flag.String("parts", "", "pattern of the parts of one batch, as folder/*/*, gs://bucket/folder/*/* or s3://bucket/folder/*/*")
	out      = flag.String("out", "", "where the table is written")
)

func main() {
	flag.Parse()
	beam.Init() // a worker process goes on from here to what it is sent
	if err := run(context.Background(), *planFile, *key, *glob, *out); err != nil {
		fmt.Fprintln(os.Stderr, "beam:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, planFile, key, glob, out string) error {
	if planFile == "" || key == "" || glob == "" || out == "" {
		return errors.New("give -plan, -key, -parts and -out")
	}
	text, err := os.ReadFile(planFile)
	if err != nil {
		return err
	}
	text, err = readPlan(text)
	if err != nil {
		return fmt.Errorf("%s: %w", planFile, err)
	}
	p, s := beam.NewPipelineWithRoot()
	if err := count(ctx, s, text, key, glob, out); err != nil {
		return err
	}
	return beamx.Run(ctx, p)
}

// readPlan returns a plan, signed or not, as the pipeline carries it.
func readPlan(text []byte) ([]byte, error) {
	if plan.IsSigned(text) {
		u, err := plan.SplitSigned(text)
		if err != nil {
			return nil, err
		}
		signed, err := u.Parse()
		if err != nil {
			return nil, err
		}
		return author.TOML(signed.Plan), nil
	}
	p, err := author.Parse(text)
	if err != nil {
		return nil, err
	}
	return author.TOML(p), nil
}

// protocolOf returns the protocol of a plan that the pipeline carries.
func protocolOf(text []byte) (*protocol.Protocol, error) {
	p, err := author.Parse(text)
	if err != nil {
		return nil, err
	}
	return protocol.New(p)
}

// count adds to a pipeline that the parts that a pattern names are counted into one table.
func count(ctx context.Context, s beam.Scope, text []byte, key, glob, out string) error {
	proto, err := protocolOf(text)
	if err != nil {
		return err
	}
	if proto.Plan.Route.Sum != nil {
		return errors.New("the plan's answers are summed by two aggregators: there are no parts to count")
	}
	filesystem.ValidateScheme(glob)
	fs, err := filesystem.New(ctx, glob)
	if err != nil {
		return err
	}
	defer fs.Close()
	names, err := fs.List(ctx, glob)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return path.Base(path.Dir(name)) == parts.TablesFolder || strings.HasPrefix(path.Base(name), ".")
	})
	shards, err := parts.Shards(names)
	if err != nil {
		return err
	}
	if len(shards) == 0 {
		return fmt.Errorf("there are no parts at %s", glob)
	}
	var elements []string
	for _, one := range shards {
		elements = append(elements, strings.Join(one.Names, "\n"))
	}
	// Shards are dealt out anew, so that not one worker has them all.
	dealt := beam.Reshuffle(s, beam.CreateList(s, elements))
	tables := beam.ParDo(s, &countShard{Plan: text, Key: key}, dealt)
	beam.ParDo0(s, &writeTable{Plan: text, Out: out}, beam.Combine(s, &addTables{Plan: text}, tables))
	return nil
}

// files reads parts from where their names say.
type files struct{}

func (files) Get(ctx context.Context, name string) ([]byte, error) {
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return filesystem.Read(ctx, fs, name)
}

// countShard opens and counts a shard: the names of its parts, one on a line.
type countShard struct {
	Plan []byte
	Key  string // the file

	counter *analyzer.Counter
}

func (f *countShard) Setup() error {
	proto, err := protocolOf(f.Plan)
	if err != nil {
		return err
	}
	key, _, err := partykey.ReadOpening(f.Key)
	if err != nil {
		return err
	}
	f.counter, err = analyzer.NewCounter(proto, key)
	return err
}

func (f *countShard) ProcessElement(ctx context.Context, names string, emit func([]byte)) error {
	shards, err := parts.Shards(strings.Split(names, "\n"))
	if err != nil {
		return err
	}
	for _, s := range shards {
		table, err := s.Count(ctx, f.counter, files{})
		if err != nil {
			return err
		}
		body, err := table.Marshal()
		if err != nil {
			return err
		}
		emit(body)
	}
	return nil
}

// addTables merges tables in their encoding.
type addTables struct {
	Plan []byte

	protocol *protocol.Protocol
}

func (f *addTables) Setup() (err error) {
	f.protocol, err = protocolOf(f.Plan)
	return err
}

func (f *addTables) CreateAccumulator() []byte { return nil }

func (f *addTables) MergeAccumulators(a, b []byte) ([]byte, error) {
	if len(a) == 0 {
		return b, nil
	}
	if len(b) == 0 {
		return a, nil
	}
	sum, err := parts.ParseTable(a, f.protocol)
	if err != nil {
		return nil, err
	}
	more, err := parts.ParseTable(b, f.protocol)
	if err != nil {
		return nil, err
	}
	if err := sum.Merge(more); err != nil {
		return nil, err
	}
	return sum.Marshal()
}

// writeTable writes the table if it is whole.
type writeTable struct {
	Plan []byte
	Out  string
}

func (f *writeTable) ProcessElement(ctx context.Context, body []byte) error {
	proto, err := protocolOf(f.Plan)
	if err != nil {
		return err
	}
	table, err := parts.ParseTable(body, proto)
	if err != nil {
		return err
	}
	if _, err := table.Whole(proto); err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, f.Out)
	if err != nil {
		return err
	}
	defer fs.Close()
	return filesystem.Write(ctx, fs, f.Out, body)
}
