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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/keep"
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
	Folder     string            // on this machine's disk
	Store      keep.Store        // which other processes share and whose owner the service becomes; nil: one in Folder
	Name       string            // of the log, such as log.example/plans
	Key        relay.SignKey     // signs checkpoints under that name
	Publishers *serve.Publishers // whose plans are logged
	Witnesses  []Witness
	Least      int           // how many of them must have signed a checkpoint before it is shown; 0 is all
	Interval   time.Duration // between checkpoints; 0: a second
}

// Tables of main.
const (
	entriesTable    keep.Table = 1 // NUMBER -> the entry
	textsTable      keep.Table = 2 // SHA-256 -> the text: a signed plan, receipts or a withdrawal
	signaturesTable keep.Table = 3 // SHA-256 of the receipts of a release -> its signature
	roundsTable     keep.Table = 4 // STUDY/NUMBER -> the plan's name, for good
	shownTable      keep.Table = 5 // shownKey -> the last checkpoint
)

const shownKey = "checkpoint"

func numberKey(i int64) string         { return fmt.Sprintf("%016x", i) }
func digestKey(digest [32]byte) string { return fmt.Sprintf("%x", digest) }

// Service is a running log. It is safe for concurrent use, and so is what any number of them show that share a store:
// a checkpoint follows from the entries that are kept, so that none can differ from another of its size.
type Service struct {
	o         Options
	signer    note.Signer
	verifier  note.Verifier
	witnesses []*cosigner
	least     int // of them must sign
	store     keep.Store
	main      keep.Shelf
	stop      func()
	stopped   chan struct{} // closed once nothing is published any more

	mu    sync.Mutex
	tree  tree                      // of the entries that are kept
	at    map[[32]byte]int64        // where the entries of texts with these digests are
	plans map[[32]byte][]plan.Entry // of those of that name, in the order in which they came
	shown checkpoint
	news  chan struct{} // closed when shown is another one
	fault error         // why the last checkpoint is not shown
}

var errDamaged = errors.New("log: what it keeps is damaged: put it back as it was")

// New opens a log, and takes up what an earlier process has written. It reads all of it: over a
// part of the tree that is damaged nothing could be added, which would be seen weeks later.
func New(ctx context.Context, o Options) (*Service, error) {
	s, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if s.store == nil {
		if s.store, err = openStore(s.o); err != nil {
			return nil, err
		}
	}
	if err := s.load(ctx); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.stopped = make(chan struct{})
	go s.run(ctx)
	return s, nil
}

// prepare returns a log that has not opened its store.
func prepare(o Options) (*Service, error) {
	o.Default(0)
	s := &Service{o: o, store: o.Store, at: map[[32]byte]int64{}, plans: map[[32]byte][]plan.Entry{}, news: make(chan struct{})}
	private, err := o.Key.Note(o.Name)
	if err != nil {
		return nil, err
	}
	public, err := o.Key.Public().Note(o.Name)
	if err != nil {
		return nil, err
	}
	if s.signer, err = note.NewSigner(private); err != nil {
		return nil, err
	}
	if s.verifier, err = note.NewVerifier(public); err != nil {
		return nil, err
	}
	s.witnesses, s.least, err = group(o.Witnesses, o.Least)
	return s, err
}

// openStore opens the shelves in the log's folder, and refuses the folder of an earlier version.
func openStore(o Options) (keep.Store, error) {
	earlier := filepath.Join(o.Folder, ".state")
	if _, err := os.Stat(earlier); err == nil {
		return nil, fmt.Errorf("log: %s was kept by an earlier version, which this one does not read: begin a new log under a new name, in an empty folder", earlier)
	}
	store, err := shelves.Folder(filepath.Join(o.Folder, shelves.InFolder), o.Common, true)
	return store, opening(err)
}

func opening(err error) error {
	if errors.Is(err, keep.ErrDamaged) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}

// load reads the entries of earlier processes, the tree over them and their texts.
func (s *Service) load(ctx context.Context) (err error) {
	if s.main, err = shelves.Main(ctx, s.store, "log"); err != nil {
		return opening(err)
	}
	standing := standings{}
	err = s.main.Each(ctx, entriesTable, "", func(key string, text []byte) error {
		e, err := plan.ParseEntry(text)
		if err == nil && key != numberKey(s.tree.size) {
			err = errors.New("its number does not follow")
		}
		if err == nil {
			err = s.whole(ctx, e, standing)
		}
		if err == nil {
			err = s.learn(s.tree.size, e, text)
		}
		if err != nil {
			return fmt.Errorf("%w: entry %d: %w", errDamaged, s.tree.size, err)
		}
		return nil
	})
	if err != nil {
		return opening(err)
	}
	if err := s.follow(ctx); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// learn takes an entry that is kept into what is known here, once.
func (s *Service) learn(i int64, e plan.Entry, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i != s.tree.size {
		return nil // somebody else has
	}
	if err := s.tree.add(text); err != nil {
		return err
	}
	s.at[e.Digest] = i
	s.plans[e.Plan] = append(s.plans[e.Plan], e)
	return nil
}

// catchUp learns all entries that are kept, as get reads them, and returns how many there are.
func (s *Service) catchUp(get func(keep.Table, string) ([]byte, bool, error)) (size int64, err error) {
	if size = s.known().size; size > 0 {
		if _, there, err := get(entriesTable, numberKey(size-1)); err != nil || !there {
			return size, cmp.Or(err, fmt.Errorf("%w: entry %d is gone: it is an older copy", errDamaged, size-1))
		}
	}
	for {
		size = s.known().size
		text, there, err := get(entriesTable, numberKey(size))
		if err != nil || !there {
			return size, err
		}
		e, err := plan.ParseEntry(text)
		if err == nil {
			err = s.learn(size, e, text)
		}
		if err != nil {
			return size, fmt.Errorf("%w: entry %d: %w", errDamaged, size, err)
		}
	}
}

// known returns the tree as it is here.
func (s *Service) known() tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree
}

// Close ends the log's work and lets go of its store. What was acknowledged is on disk.
func (s *Service) Close() error {
	s.stop()
	<-s.stopped
	return s.store.Close()
}

// Add has a signed plan stand in the log, once, and returns the evidence: of an earlier
// entry where it has one. It waits until the witnesses have signed. Of the versions of a round
// the first that comes has an entry, and no other ever has evidence.
func (s *Service) Add(ctx context.Context, signed plan.Signed) (plan.Evidence, error) {
	signed.Evidence = nil
	text := signed.Marshal()
	at, err := s.enter(ctx, plan.Entry{Plan: signed.Plan.Hash(), Digest: sha256.Sum256(text)}, text, nil, func(tx keep.Tx) error {
		r := signed.Plan.Round
		if r == nil {
			return nil
		}
		stands, err := shelves.First(tx, roundsTable, fmt.Sprintf("%s/%d", r.Study, r.Number), []byte(signed.Plan.Name()))
		if err == nil && string(stands) != signed.Plan.Name() {
			err = registry.RoundTaken(*r)
		}
		return err
	})
	if err != nil {
		return plan.Evidence{}, err
	}
	return s.stands(ctx, at)
}

// enter keeps an entry with its text, once, and returns its number, or the one that it has. may refuses a new one,
// when nobody adds another.
func (s *Service) enter(ctx context.Context, e plan.Entry, text, signature []byte, may func(keep.Tx) error) (at int64, err error) {
	err = s.main.Update(ctx, func(tx keep.Tx) error {
		var err error
		if at, err = s.catchUp(tx.Get); err != nil {
			return err
		}
		s.mu.Lock()
		was, there := s.at[e.Digest]
		s.mu.Unlock()
		if there {
			at = was
			return nil
		}
		if err := may(tx); err != nil {
			return err
		}
		tx.Put(entriesTable, numberKey(at), e.Marshal())
		tx.Put(textsTable, digestKey(e.Digest), text)
		if signature != nil {
			tx.Put(signaturesTable, digestKey(e.Digest), signature)
		}
		return nil
	})
	if err == nil {
		err = s.o.Failpoint("entered")
	}
	if err == nil {
		err = s.learn(at, e, e.Marshal())
	}
	return at, shelves.Answer(err)
}

// Ready says why nothing can be added now.
func (s *Service) Ready(ctx context.Context) error {
	if _, _, err := s.main.Get(ctx, shownTable, shownKey); err != nil {
		return err
	}
	return atomicfile.Writable(s.o.Folder)
}

// Status returns what the operator sees.
func (s *Service) Status(context.Context) *serve.Status {
	s.mu.Lock()
	size, shown, fault := s.tree.size, s.shown.size, s.fault
	s.mu.Unlock()
	status := &serve.Status{}
	switch {
	case fault != nil && shown < size:
		status.Alarms = append(status.Alarms, fmt.Sprintf("%s not shown: %v", serve.Count(int(size-shown), "entry is", "entries are"), fault))
	case fault != nil:
		status.Alarms = append(status.Alarms, fault.Error())
	}
	status.Facts = []serve.Fact{
		{Name: "name", Value: s.verifier.Name(), Data: s.verifier.Name()},
		{Name: "entries", Value: fmt.Sprint(size), Data: size},
		{Name: "witnesses", Value: fmt.Sprintf("%d, of whom %d must sign", len(s.witnesses), s.least), Data: len(s.witnesses)},
	}
	return status
}
