// Package planlog serves an append-only public log of signed plans, of their releases and withdrawals
// (c2sp.org/tlog-tiles). Used by cmd/internal/server/roles, which serves it, and cmd/internal/server/planlog,
// which asks it.
//
// A plan that is shown to one device alone would need the log's key and those of its witnesses. Entries are the
// plans' names and digests, and the texts lie beside them. Of a release the text is its receipts, which have the
// digests of its files, and beside it lies the signature of its analyzer.
package planlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/api/layout"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// Witness is somebody who cosigns the log's checkpoints.
type Witness struct {
	Key string `toml:"key" eg:"hop.example+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"`
	URL string `toml:"url" eg:"https://hop.example"`
}

// Options are what a log is made of. Folder, Name, Key and Publishers must be set.
type Options struct {
	serve.Common
	Folder     string            // one log's, which one process writes
	Name       string            // of the log, such as log.example/plans
	Key        relay.SignKey     // signs checkpoints under that name
	Publishers *serve.Publishers // whose plans are logged
	Witnesses  []Witness
	Least      int           // how many of them must have signed a checkpoint before it is shown; 0 is all
	Interval   time.Duration // between checkpoints; 0: a second
}

// Service is a running log. It is safe for concurrent use.
type Service struct {
	o         Options
	verifier  note.Verifier
	append    *tessera.Appender
	read      tessera.LogReader
	published *tessera.PublicationAwaiter
	stop      func() error

	entering sync.Mutex // one release or withdrawal at a time is counted and entered

	mu      sync.Mutex
	indexes map[[32]byte]tessera.IndexFuture // of the texts with these digests, so that none has two entries
	plans   map[[32]byte][]plan.Entry        // of those of that name, in the order in which they came
}

// integrates is how long entries wait for others before they are written together.
const integrates = 50 * time.Millisecond

var errDamaged = errors.New("log: its folder cannot be opened or is damaged: put it back as it was")

// New opens a log, and takes up what an earlier process has written. It reads all of it: over a
// part of the tree that is damaged nothing could be added, which would be seen weeks later.
func New(ctx context.Context, o Options) (*Service, error) {
	o.Default(0)
	signer, verifier, err := named(o.Key, o.Name)
	if err != nil {
		return nil, err
	}
	for _, folder := range []string{texts, rounds, signatures} {
		if err := os.MkdirAll(filepath.Join(o.Folder, folder), 0o700); err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
	}
	held, err := atomicfile.Lock(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	s := &Service{o: o, verifier: verifier, indexes: map[[32]byte]tessera.IndexFuture{}, plans: map[[32]byte][]plan.Entry{}}
	shown, err := s.shown()
	if err == nil {
		err = s.open(ctx, signer)
	}
	if err != nil {
		held.Close()
		return nil, err
	}
	end := s.stop
	s.stop = func() error { defer held.Close(); return end() }
	if err := s.index(ctx, shown); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errDamaged, err), s.Close())
	}
	return s, nil
}

// named returns a key under its name.
func named(key relay.SignKey, name string) (note.Signer, note.Verifier, error) {
	private, err := key.Note(name)
	if err != nil {
		return nil, nil, err
	}
	public, err := key.Public().Note(name)
	if err != nil {
		return nil, nil, err
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		return nil, nil, err
	}
	verifier, err := note.NewVerifier(public)
	return signer, verifier, err
}

// open starts the tree. Its work ends with Close, whatever becomes of ctx.
func (s *Service) open(ctx context.Context, signer note.Signer) error {
	witnesses, err := group(s.o.Witnesses, s.o.Least)
	if err != nil {
		return err
	}
	driver, err := disk(ctx, s.o)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a, shutdown, read, err := tessera.NewAppender(ctx, driver, tessera.NewAppendOptions().
		WithCheckpointSigner(signer).WithBatching(256, integrates).
		WithCheckpointInterval(cmp.Or(s.o.Interval, time.Second)).WithCheckpointRepublishInterval(0).
		WithWitnesses(witnesses, nil))
	if err != nil {
		cancel()
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	s.append, s.read = a, read
	s.published = tessera.NewPublicationAwaiter(ctx, read.ReadCheckpoint, integrates)
	s.stop = func() error {
		defer cancel()
		last, done := context.WithTimeout(ctx, time.Second)
		defer done()
		return shutdown(last)
	}
	return nil
}

// group is so many of the witnesses.
func group(all []Witness, least int) (tessera.WitnessGroup, error) {
	var g tessera.WitnessGroup
	for i, w := range all {
		if err := serve.Address(w.URL); err != nil {
			return g, serve.Fault(fmt.Sprintf("witnesses[%d].url", i), err)
		}
		at, err := url.Parse(w.URL)
		if err != nil {
			return g, err
		}
		one, err := tessera.NewWitness(w.Key, at.JoinPath("v1", "log"))
		if err != nil {
			return g, serve.Fault(fmt.Sprintf("witnesses[%d].key", i), errors.New("no verifier key such as confetti log show --witness prints"))
		}
		g.Components = append(g.Components, one)
	}
	if g.N = cmp.Or(least, len(all)); g.N < 0 || g.N > len(all) {
		return g, serve.Fault("least", fmt.Errorf("of %d witnesses", len(all)))
	}
	return g, nil
}

// treeState is the file in which the library keeps how large the tree is.
const treeState = ".state/treeState"

// shown returns how many entries the checkpoint has that lies in the folder; 0 where there is none.
// Without its state the library would begin a second tree over it.
func (s *Service) shown() (uint64, error) {
	text, err := os.ReadFile(filepath.Join(s.o.Folder, layout.CheckpointPath))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(s.o.Folder, filepath.FromSlash(treeState)))
	}
	var c *log.Checkpoint
	if err == nil {
		c, _, _, err = log.ParseCheckpoint(text, s.verifier.Name(), s.verifier)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return c.Size, nil
}

// index reads where the entries of earlier processes are, the tree over them and their texts. There
// must be at least as many as somebody was shown.
func (s *Service) index(ctx context.Context, shown uint64) error {
	size, err := s.read.IntegratedSize(ctx)
	if err == nil && size < shown {
		err = fmt.Errorf("%d entries were shown, and the tree has %d", shown, size)
	}
	if err != nil {
		return err
	}
	err = entries(ctx, s.read.ReadEntryBundle, size, func(i uint64, text []byte) error {
		e, err := plan.ParseEntry(text)
		s.indexes[e.Digest] = func() (tessera.Index, error) { return tessera.Index{Index: i}, nil }
		s.plans[e.Plan] = append(s.plans[e.Plan], e)
		return err
	})
	if err != nil || size == 0 {
		return err
	}
	if err := fsck.New(s.verifier.Name(), s.verifier, s.read, hashes, fsck.Opts{}).Check(ctx); err != nil {
		return err
	}
	return entries(ctx, s.read.ReadEntryBundle, size, s.whole)
}

// entries calls one for each entry of a log of so many, in order.
func entries(ctx context.Context, bundle client.EntryBundleFetcherFunc, size uint64, one func(i uint64, text []byte) error) error {
	if size == 0 {
		return nil
	}
	known := func(context.Context) (uint64, error) { return size, nil }
	unbundle := func(raw []byte) ([][]byte, error) {
		var b api.EntryBundle
		err := b.UnmarshalText(raw)
		return b.Entries, err
	}
	for e, err := range client.Entries(client.EntryBundles(ctx, 1, known, bundle, 0, size), unbundle) {
		if err == nil {
			err = one(e.Index, e.Entry)
		}
		if err != nil {
			return fmt.Errorf("log: entry %d: %w", e.Index, err)
		}
	}
	return nil
}

// Close ends the log's work. What was acknowledged is on disk.
func (s *Service) Close() error { return s.stop() }

// Add has a signed plan stand in the log, once, and returns the evidence: of an earlier
// entry where it has one. It waits until the witnesses have signed. Of the versions of a round
// the first that comes has an entry, and no other ever has evidence.
func (s *Service) Add(ctx context.Context, signed plan.Signed) (plan.Evidence, error) {
	if err := registry.ClaimRound(filepath.Join(s.o.Folder, rounds), signed.Plan); err != nil {
		return plan.Evidence{}, err
	}
	signed.Evidence = nil
	text := signed.Marshal()
	at, err := s.enter(ctx, plan.Entry{Plan: signed.Plan.Hash(), Digest: sha256.Sum256(text)}, text)
	if err != nil {
		return plan.Evidence{}, err
	}
	return s.stands(ctx, at)
}

// enter begins to write an entry and its text, once.
func (s *Service) enter(ctx context.Context, e plan.Entry, text []byte) (tessera.IndexFuture, error) {
	// First: an entry without its text could not be audited.
	if err := create(s.text(e.Digest), text); err != nil {
		return nil, err
	}
	return s.sequence(ctx, e), nil
}

// create writes a file that is named after what is in it, unless it is there.
func create(path string, text []byte) error {
	if err := atomicfile.Create(path, text, 0o644); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

// stands returns the evidence of an entry, once the witnesses have signed.
func (s *Service) stands(ctx context.Context, entry tessera.IndexFuture) (plan.Evidence, error) {
	at, checkpoint, err := s.published.Await(ctx, entry)
	if err != nil {
		return plan.Evidence{}, fmt.Errorf("log: no checkpoint was published: %w", err)
	}
	return s.evidence(ctx, at.Index, checkpoint)
}

// sequence gives the entry its index, or tells the one it has.
func (s *Service) sequence(ctx context.Context, e plan.Entry) tessera.IndexFuture {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, there := s.indexes[e.Digest]; there {
		return i
	}
	// To the end, whatever becomes of the connection: its index must be known.
	add := s.append.Add(context.WithoutCancel(ctx), tessera.NewEntry(e.Marshal()))
	i := sync.OnceValues(func() (tessera.Index, error) {
		i, err := add()
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.indexes, e.Digest)
			s.plans[e.Plan] = slices.DeleteFunc(slices.Clone(s.plans[e.Plan]), func(o plan.Entry) bool { return o == e })
		}
		return i, err
	})
	s.indexes[e.Digest] = i
	s.plans[e.Plan] = append(s.plans[e.Plan], e)
	return i
}

// evidence proves an entry to a checkpoint.
func (s *Service) evidence(ctx context.Context, i uint64, text []byte) (plan.Evidence, error) {
	checkpoint, _, _, err := log.ParseCheckpoint(text, s.verifier.Name(), s.verifier)
	if err != nil {
		return plan.Evidence{}, fmt.Errorf("log: its own checkpoint: %w", err)
	}
	builder, err := client.NewProofBuilder(ctx, checkpoint.Size, s.read.ReadTile)
	if err != nil {
		return plan.Evidence{}, fmt.Errorf("log: %w", err)
	}
	path, err := builder.InclusionProof(ctx, i)
	if err != nil {
		return plan.Evidence{}, fmt.Errorf("log: %w", err)
	}
	e := plan.Evidence{Index: int64(i), Checkpoint: string(text)}
	for _, h := range path {
		e.Proof = append(e.Proof, tlog.Hash(h))
	}
	return e, nil
}

// texts is the folder of signed plans, receipts and withdrawals, by the SHA-256 of their texts.
const texts = "texts"

// rounds is the folder of the plans that the rounds of studies are.
const rounds = "rounds"

func (s *Service) text(digest [32]byte) string {
	return filepath.Join(s.o.Folder, texts, hex.EncodeToString(digest[:]))
}

// Ready says why nothing can be added now.
func (s *Service) Ready(context.Context) error { return atomicfile.Writable(s.o.Folder) }

// Status returns what the operator sees.
func (s *Service) Status(ctx context.Context) *serve.Status {
	status := &serve.Status{}
	size, err := s.read.IntegratedSize(ctx)
	if err != nil {
		status.Alarms = append(status.Alarms, err.Error())
	}
	var shown uint64
	if text, err := s.read.ReadCheckpoint(ctx); err == nil {
		if c, _, _, err := log.ParseCheckpoint(text, s.verifier.Name(), s.verifier); err == nil {
			shown = c.Size
		}
	}
	if shown < size {
		status.Alarms = append(status.Alarms, fmt.Sprintf("%s not shown: too few witnesses have signed", serve.Count(int(size-shown), "entry is", "entries are")))
	}
	status.Facts = []serve.Fact{
		{Name: "name", Value: s.verifier.Name(), Data: s.verifier.Name()},
		{Name: "entries", Value: fmt.Sprint(size), Data: size},
		{Name: "witnesses", Value: fmt.Sprintf("%d, of whom %d must sign", len(s.o.Witnesses), cmp.Or(s.o.Least, len(s.o.Witnesses))), Data: len(s.o.Witnesses)},
	}
	return status
}
