package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// A bounded simulation is Full with its messages in a folder: devices in blocks, crowds in
// parts that package mixer mixes, batches in parts that package parts counts. Each step is
// done when its result is there, so that one that was stopped goes on where it was.
//
//	plan.json, collection.json   what is collected
//	keys/                        of all parties
//	accepted/BLOCK/I_C           what the devices of a block sent to crowd C of instance I
//	devices/BLOCK                that they are done, and where each sent to
//	mixing/I_H/C/...             crowd C at hop H of instance I (package mixer)
//	state/I_C                    how far the crowd has come
//	batches/I_C/SHARD/PIECE      what left the last hop (package parts)
//	batches/I_C/tables/SHARD     what was counted of it

// Bounded is what a simulation keeps in a folder.
type Bounded struct {
	Dir       string
	PartBytes int // of a part of a crowd, at least; 0: mixer.PartBytes
	Block     int // devices that are held at once; 0: 4096
}

// OpenKeys makes keys for a bounded simulation, whose keys are made once.
func (b Bounded) OpenKeys(p *plan.Plan) (Keys, error) {
	dir := filepath.Join(b.Dir, "keys")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Keys{}, err
	}
	return newKeys(p, func(name string) (envelope.PrivateKey, error) {
		path := filepath.Join(dir, name+".key")
		key, _, err := partykey.ReadOpening(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
		if key, err = envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite)); err == nil {
			err = partykey.CreateOpening(path, key, "simulation: "+name)
		}
		return key, err
	}, func() (relay.SignKey, error) {
		path := filepath.Join(dir, "releases.key")
		key, _, err := partykey.ReadSigning(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
		if key, err = relay.GenerateSignKey(); err == nil {
			err = partykey.CreateSigning(path, key, "simulation: releases")
		}
		return key, err
	})
}

// bounded is one that runs.
type bounded struct {
	Bounded
	store    blob.Store
	protocol *protocol.Protocol
	keys     Keys
	progress Progress
}

// Run does what Full does, of a plan with the keys that OpenKeys gave. It holds the values, and beside
// them some ten times a part.
func (b Bounded) Run(ctx context.Context, p *protocol.Protocol, keys Keys, values []question.Value, seed uint64, progress Progress) (Collection, error) {
	if p.Plan.Route.Sum != nil {
		return Collection{}, errors.New("simulate: sums are added up in memory as they come: a folder is of answers that are mixed")
	}
	if b.PartBytes == 0 {
		b.PartBytes = mixer.PartBytes
	}
	if b.Block == 0 {
		b.Block = 4096
	}
	lock, err := atomicfile.Lock(b.Dir)
	if errors.Is(err, atomicfile.ErrLocked) {
		return Collection{}, fmt.Errorf("simulate: %s: another process simulates there: wait for it, or stop it", b.Dir)
	}
	if err != nil {
		return Collection{}, err
	}
	defer lock.Close()
	if err := b.claim(p.Plan, values, seed); err != nil {
		return Collection{}, err
	}
	store, err := blob.OpenFolder(b.Dir)
	if err != nil {
		return Collection{}, err
	}
	r := bounded{b, store, p, keys, progress}
	col := Collection{Devices: len(values), Crowds: make([]tally.Crowd, p.Plan.Crowds())}
	blocks, err := r.devices(ctx, values, seed)
	if err != nil {
		return col, err
	}
	for _, block := range blocks {
		col.Unfit += block.Unfit
	}
	counter, err := analyzer.NewCounter(p, keys.Analyzer)
	if err != nil {
		return col, err
	}
	destroyed := map[destination]bool{}
	for instance := range p.Plan.Route.Instances() {
		for crowd := range p.Plan.Crowds() {
			to := destination{uint16(instance), uint32(crowd)}
			s, err := r.mix(ctx, to, blocks)
			if err != nil {
				return col, err
			}
			if s.Withheld != "" {
				col.Withheld = append(col.Withheld, s.Withheld)
				destroyed[to] = true
				continue
			}
			counted, dropped, err := r.count(ctx, to, counter)
			if err != nil {
				return col, err
			}
			if err := col.Crowds[crowd].Merge(counted); err != nil {
				return col, err
			}
			col.Fragments += s.Fragments
			col.Dropped += s.Dropped + dropped
		}
	}
	if err := r.store.Delete(ctx, "mixing"); err != nil { // what a kill has left of crowds that were mixed
		return col, err
	}
	for _, block := range blocks {
		for _, to := range block.Sent {
			col.Told = append(col.Told, slices.ContainsFunc(to, func(d destination) bool { return destroyed[d] }))
		}
	}
	return col, nil
}

// claim writes down what a folder is of, or finds that it is of the same.
func (b Bounded) claim(p plan.Plan, values []question.Value, seed uint64) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	digest := sha256.New()
	for _, v := range values {
		one, err := json.Marshal(v)
		if err != nil { // it fits no plan: its device says so
			one = []byte("none")
		}
		digest.Write(append(one, '\n'))
	}
	mine := fmt.Appendf(nil, "{\"plan\": %q, \"seed\": %d, \"block\": %d, \"values\": \"%x\"}\n", p.Name(), seed, b.Block, digest.Sum(nil))
	path := filepath.Join(b.Dir, "collection.json")
	there, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := atomicfile.Replace(filepath.Join(b.Dir, "plan.json"), append(text, '\n'), 0o600); err != nil {
			return err
		}
		return atomicfile.Replace(path, mine, 0o600)
	}
	if err == nil && string(there) != string(mine) {
		err = fmt.Errorf("simulate: %s holds another simulation, of other values, another plan or seed: go on with the same command, or give another folder", b.Dir)
	}
	return err
}

// read reads a result, if it is there.
func (r *bounded) read(ctx context.Context, name string, to any) (there bool, err error) {
	body, err := r.store.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, to)
	}
	if err != nil {
		return false, fmt.Errorf("simulate: %s: %w: delete the folder and begin again", filepath.Join(r.Dir, name), err)
	}
	return true, nil
}

func (r *bounded) write(ctx context.Context, name string, what any) error {
	body, err := json.Marshal(what)
	if err == nil {
		err = r.store.Put(ctx, name, body)
	}
	return err
}
