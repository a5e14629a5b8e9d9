// Package count implements confetti-server count: engines that others run count a batch that lies in parts. Used by
// cmd/internal/server, for operators of analyzers.
package count

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/protocol"
)

// Command counts a share of a batch's parts, or adds tables up.
type Command struct {
	Plan   string `help:"The plan, signed or not." required:"" type:"path" placeholder:"FILE"`
	Key    string `help:"The analyzer's private key, which opens the parts." type:"path" placeholder:"FILE"`
	Parts  string `help:"The parts of one batch: a folder, a pattern of folders and files, or s3://BUCKET/PREFIX." placeholder:"GLOB"`
	Worker string `help:"Which share of them this worker counts: i/n, with i from 0 to n - 1." default:"0/1" placeholder:"i/n"`
	Merge  string `help:"Add tables up instead: a folder of them, a pattern, or s3://BUCKET/PREFIX." placeholder:"GLOB"`
	Out    string `help:"Where to write the table: a file, or s3://BUCKET/NAME." required:"" placeholder:"FILE"`
	JSON   bool   `help:"Print JSON."`
}

func (Command) Help() string {
	return `An analyzer with count.elsewhere leaves each large batch as parts in its count.folder or
count.bucket, and waits until tables of all shards lie in the folder tables beside them. Whoever
counts again writes the same table, byte for byte. The tables of all n workers add up to what
the analyzer would have counted; --merge makes one of them, and says what is missing.

A bucket's address is s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION; its keys are those
of the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or of AWS_SHARED_CREDENTIALS_FILE.

Examples:
  confetti-server count --plan plan.json --key analyzer.key --parts parts --worker 0/2 --out tables/0
  confetti-server count --plan plan.json --key analyzer.key --parts 'parts/*/*' --worker 1/2 --out tables/1
  confetti-server count --plan plan.json --merge 'tables/*' --out table
  confetti-server count --plan plan.json --key analyzer.key --parts s3://parts/b --out s3://parts/b/tables/0`
}

// counted is what the command says.
type counted struct {
	Shards  int `json:"shards"`    // in the table
	Of      int `json:"of_shards"` // that the batch was dealt to
	Opened  int `json:"counted"`   // envelopes
	Dropped int `json:"dropped"`
	Crowd   int `json:"crowd"`    // counted from 1
	In      int `json:"instance"` // likewise
	// Respondents are set where the table is whole.
	Respondents int `json:"respondents,omitempty"`
}

func (c Command) Run(std terminal.Streams) error {
	worker, workers, err := c.check()
	if err != nil {
		return err
	}
	ctx, stop := terminal.UntilStopped()
	defer stop()
	write, err := c.writer(ctx)
	if err != nil {
		return err
	}
	p, _, _, err := plans.ReadAny(c.Plan)
	if err != nil {
		return err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return err
	}
	if p.Route.Sum != nil {
		return fmt.Errorf("%s: its answers are summed by two aggregators, and no part can be counted by one alone: confetti serve leader --files and serve helper --files count them off-line", c.Plan)
	}
	var table parts.Table
	if c.Merge != "" {
		table, err = c.merge(ctx, proto)
	} else {
		table, err = c.share(ctx, std, proto, worker, workers)
	}
	if err != nil {
		return err
	}
	said := counted{Of: len(table.Shards), Shards: len(table.Shards) - len(table.Lacks()), Opened: table.Counted.Opened, Dropped: table.Counted.Dropped, Crowd: int(table.Of.Head.Crowd) + 1, In: int(table.Of.Head.Instance) + 1}
	body, err := table.Marshal()
	if err != nil {
		return err
	}
	if said.Shards == said.Of {
		crowd, err := table.Whole(proto) // which takes over the tally: the bytes are made
		if err != nil {
			return err
		}
		said.Respondents = crowd.Respondents
	}
	if err := write(body); err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, said)
	}
	fmt.Fprintf(std.Out, "batch                crowd %d of instance %d\n", said.Crowd, said.In)
	fmt.Fprintf(std.Out, "shards               %d of %d\n", said.Shards, said.Of)
	fmt.Fprintf(std.Out, "envelopes            %d counted, %d not\n", said.Opened, said.Dropped)
	if said.Shards == said.Of {
		fmt.Fprintf(std.Out, "respondents          %d: the table is whole\n", said.Respondents)
	}
	return nil
}

// check is of the flags by themselves.
func (c Command) check() (worker, workers int, err error) {
	var faults terminal.Faults
	faults.Require((c.Parts == "") != (c.Merge == ""), "say what to do: --parts GLOB with --key counts, --merge GLOB adds tables up")
	faults.Require(c.Parts == "" || c.Key != "", "--parts needs the analyzer's private key, which opens them: --key FILE")
	faults.Require(c.Merge == "" || c.Key == "", "--key beside --merge: tables add up without it, leave it out")
	faults.Require(c.Merge == "" || c.Worker == "0/1", "--worker beside --merge: tables are added up by one, leave it out")
	i, n, found := strings.Cut(c.Worker, "/")
	worker, bad := strconv.Atoi(i)
	workers, worse := strconv.Atoi(n)
	faults.Require(found && bad == nil && worse == nil && worker >= 0 && worker < workers, "--worker is %q: give i/n, the number of this worker (from 0 to n - 1) and how many there are, as 0/4", c.Worker)
	return worker, workers, errors.Join(faults...)
}

// writer writes the table. What is wrong with where it goes is said before anything is counted.
func (c Command) writer(ctx context.Context) (func([]byte) error, error) {
	if !bucket.Is(c.Out) {
		return func(body []byte) error {
			if err := os.MkdirAll(filepath.Dir(c.Out), 0o700); err != nil {
				return err
			}
			return atomicfile.Replace(c.Out, body, 0o600)
		}, nil
	}
	b, err := bucket.Open(c.Out)
	if err != nil {
		return nil, err
	}
	in, name := b.Split()
	if name == "" {
		return nil, terminal.Usagef("--out is a bucket, and no name in it: give s3://BUCKET/NAME")
	}
	return func(body []byte) error {
		defer in.Close()
		return in.Put(ctx, name, body)
	}, nil
}

// find finds what a pattern or the address of a bucket names, and what reads it.
func find(ctx context.Context, at string) (parts.Source, []string, error) {
	if !bucket.Is(at) {
		names, err := files(at)
		return folder{}, names, err
	}
	b, err := bucket.Open(at)
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(ctx, b.Close)
	names, err := b.List(ctx, "")
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there is nothing at %s: check its prefix", at)
	}
	return b, names, err
}

// files returns those that a pattern names, and all below folders that it names.
func files(pattern string) (names []string, err error) {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, terminal.Usagef("%s is no pattern: * stands for any letters, ? for one", pattern)
	}
	for _, m := range matches {
		err := filepath.WalkDir(m, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), atomicfile.Unfinished) {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no file at %s: check the path, and quote a pattern so that the shell does not read it", pattern)
	}
	return names, nil
}

// folder reads parts from files.
type folder struct{}

func (folder) Get(_ context.Context, name string) ([]byte, error) { return atomicfile.Read(name) }

func (c Command) share(ctx context.Context, std terminal.Streams, proto *protocol.Protocol, worker, workers int) (t parts.Table, err error) {
	key, _, err := partykey.ReadOpening(c.Key)
	if err != nil {
		return t, err
	}
	counter, err := analyzer.NewCounter(proto, key)
	if err != nil {
		return t, fmt.Errorf("%s: %w", c.Key, err)
	}
	from, names, err := find(ctx, c.Parts)
	if err != nil {
		return t, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Base(filepath.Dir(name)) == parts.TablesFolder })
	for i, name := range names {
		names[i] = filepath.ToSlash(name)
	}
	report, finish := terminal.Progress(std.Err)
	defer finish()
	return parts.Share(ctx, counter, from, names, worker, workers, func(done, total int) { report("shards counted", done, total) })
}

func (c Command) merge(ctx context.Context, proto *protocol.Protocol) (whole parts.Table, err error) {
	from, names, err := find(ctx, c.Merge)
	if err != nil {
		return whole, err
	}
	for _, name := range names {
		body, err := from.Get(ctx, name)
		if err != nil {
			return whole, err
		}
		one, err := parts.ParseTable(body, proto)
		if err == nil {
			err = whole.Merge(one)
		}
		if err != nil {
			return whole, fmt.Errorf("%s: %w", name, err)
		}
	}
	if lacks := whole.Lacks(); len(lacks) > 0 {
		return whole, fmt.Errorf("%d of the batch's %d shards are in no table, the first of them %d: count the shares that are missing", len(lacks), len(whole.Shards), lacks[0])
	}
	return whole, nil
}
