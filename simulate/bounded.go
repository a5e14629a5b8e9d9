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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/analyzer"
	"github.com/confetti-dp/confetti/analyzer/parts"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/blob"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/intake"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/shuffler"
	"github.com/confetti-dp/confetti/shuffler/mixer"
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

// OpenKeys is NewKeys for a bounded simulation, whose keys are made once.
func (b Bounded) OpenKeys(p *plan.Plan) (Keys, error) {
	dir := filepath.Join(b.Dir, "keys")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Keys{}, err
	}
	return newKeys(p, func(name string) (envelope.PrivateKey, error) {
		path := filepath.Join(dir, name+".key")
		file, err := envelope.ReadKeyFile(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return file.Key, err
		}
		key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
		if err == nil {
			err = envelope.CreateKeyFile(path, envelope.KeyFile{Key: key, Purpose: "simulation: " + name})
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

// Run is Full, of a plan with the keys that OpenKeys gave. It holds the values, and beside
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
	lock, err := durable.Lock(b.Dir)
	if errors.Is(err, durable.ErrLocked) {
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
		if err := durable.Replace(filepath.Join(b.Dir, "plan.json"), append(text, '\n'), 0o600); err != nil {
			return err
		}
		return durable.Replace(path, mine, 0o600)
	}
	if err == nil && string(there) != string(mine) {
		err = fmt.Errorf("simulate: %s holds another simulation, of other values, another plan or seed: go on with the same command, or give another folder", b.Dir)
	}
	return err
}

// block is what some devices did.
type block struct {
	Unfit int
	Sent  [][]destination // by device
}

func (r *bounded) devices(ctx context.Context, values []question.Value, seed uint64) ([]block, error) {
	all := make([]block, (len(values)+r.Block-1)/r.Block)
	for i := range all {
		name, from, to := fmt.Sprintf("devices/%d", i), i*r.Block, min((i+1)*r.Block, len(values))
		there, err := r.read(ctx, name, &all[i])
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !there {
			err = r.contribute(ctx, values[from:to], seed, from, i, &all[i])
			if err == nil {
				err = r.write(ctx, name, all[i])
			}
		}
		if err != nil {
			return nil, err
		}
		r.progress("devices seal and send", to, len(values))
	}
	return all, nil
}

// contribute lets the devices of a block answer, on all processors. What an earlier attempt
// has left of it goes.
func (r *bounded) contribute(ctx context.Context, values []question.Value, seed uint64, first, number int, b *block) error {
	under := fmt.Sprintf("accepted/%d", number)
	if err := r.store.Delete(ctx, under); err != nil {
		return err
	}
	sealed, errs := make([][]client.Sealed, len(values)), make([]error, len(values))
	cores := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for core := range cores {
		wg.Go(func() {
			for i := core; i < len(values); i += cores {
				sealed[i], errs[i] = contribute(r.protocol, values[i], seed, first+i)
			}
		})
	}
	wg.Wait()
	entries := map[uint16]intake.Rules{}
	bodies := map[destination][]byte{}
	for i, all := range sealed {
		if _, ok := errors.AsType[*question.UnfitError](errs[i]); ok {
			b.Unfit++
		} else if errs[i] != nil {
			return fmt.Errorf("device %d: %w", first+i+1, errs[i])
		}
		to := make([]destination, 0, len(all))
		for _, c := range all {
			rules, known := entries[c.Instance]
			if !known {
				var err error
				if rules, err = intake.NewRules(r.protocol.Plan, int(c.Instance)); err != nil {
					return err
				}
				entries[c.Instance] = rules
			}
			if err := rules.Check(c.Contribution); err != nil {
				return fmt.Errorf("device %d: %w", first+i+1, err)
			}
			d := destination{c.Instance, c.Crowd}
			if slices.ContainsFunc(to, func(other destination) bool { return other.Instance == d.Instance }) {
				return fmt.Errorf("device %d: %w", first+i+1, shuffler.ErrAlreadyContributed)
			}
			to = append(to, d)
			for _, e := range c.Envelopes {
				bodies[d] = append(bodies[d], e...)
			}
		}
		b.Sent = append(b.Sent, to)
	}
	for d, body := range bodies {
		if err := r.store.Put(ctx, under+"/"+d.name(), body); err != nil {
			return err
		}
	}
	return nil
}

func (d destination) name() string { return fmt.Sprintf("%d_%d", d.Instance, d.Crowd) }

// state is how far a crowd has come.
type state struct {
	Hop       int // that mixes it; after the last it lies in parts for the analyzer
	Withheld  string
	Fragments int // that devices sent
	Dropped   int // that hops could not open
	Laid      mixer.Crowd
}

// mix brings a crowd to the analyzer, or finds that it is withheld.
func (r *bounded) mix(ctx context.Context, to destination, blocks []block) (s state, err error) {
	name := "state/" + to.name()
	there, err := r.read(ctx, name, &s)
	if err != nil {
		return s, err
	}
	keys := r.keys.Hops[to.Instance]
	if !there {
		if s, err = r.enter(ctx, to, blocks); err != nil {
			return s, err
		}
		if err := r.write(ctx, name, s); err != nil {
			return s, err
		}
	}
	for s.Withheld == "" && s.Hop < len(keys) {
		hop, err := shuffler.NewHop(r.protocol.Plan, int(to.Instance), s.Hop, keys[s.Hop])
		if err != nil {
			return s, err
		}
		if err := r.steps(ctx, hop, s); err != nil {
			return s, err
		}
		before := s
		if s, err = r.leave(ctx, to, hop, s); err != nil {
			return s, err
		}
		if err := r.write(ctx, name, s); err != nil {
			return s, err
		}
		if err := r.store.Delete(ctx, before.Laid.Under); err != nil {
			return s, err
		}
	}
	return s, nil
}

// post is where the crowds of a hop lie.
func (to destination) post(hop int) string { return fmt.Sprintf("mixing/%d_%d", to.Instance, hop) }

// enter lays out what devices sent to a crowd, as far as randomized deletion leaves it.
func (r *bounded) enter(ctx context.Context, to destination, blocks []block) (s state, err error) {
	rules, err := intake.NewRules(r.protocol.Plan, int(to.Instance))
	if err != nil {
		return s, err
	}
	came := 0
	for _, b := range blocks {
		for _, sent := range b.Sent {
			if slices.Contains(sent, to) {
				came++
			}
		}
	}
	kept, respondents, err := rules.Survivors(rng.New(), came)
	if errors.Is(err, intake.ErrWithheld) {
		s.Withheld = intake.Withheld{Crowd: to.Crowd, Minimum: rules.Minimum}.String()
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Fragments = respondents * rules.PerDevice
	head := envelope.Head{Plan: rules.Plan, Instance: to.Instance, Crowd: to.Crowd, Size: rules.Size}
	head.Respondents = uint64(respondents)
	head.Envelopes = uint64(s.Fragments)
	return s, r.lay(ctx, to, &s, head, func(take func([]byte) error) error {
		at := 0
		for number, b := range blocks {
			if !slices.ContainsFunc(b.Sent, func(sent []destination) bool { return slices.Contains(sent, to) }) {
				continue
			}
			body, err := r.store.Get(ctx, fmt.Sprintf("accepted/%d/%s", number, to.name()))
			if err != nil {
				return err
			}
			for ; len(body) >= rules.PerDevice*rules.Size; at++ {
				for range rules.PerDevice {
					if kept[at] {
						if err := take(body[:rules.Size]); err != nil {
							return err
						}
					}
					body = body[rules.Size:]
				}
			}
		}
		return nil
	})
}

// lay lays a crowd out for the hop that its state names, over what an earlier attempt left.
func (r *bounded) lay(ctx context.Context, to destination, s *state, head envelope.Head, each func(func([]byte) error) error) error {
	hop, err := shuffler.NewHop(r.protocol.Plan, int(to.Instance), s.Hop, r.keys.Hops[to.Instance][s.Hop])
	if err == nil {
		err = hop.Check(head)
	}
	if err == nil {
		err = r.store.Delete(ctx, mixer.Folder(to.post(s.Hop), to.Crowd))
	}
	if err != nil {
		return err
	}
	s.Laid = mixer.New(to.post(s.Hop), head, r.PartBytes)
	return s.Laid.Lay(ctx, r.store, each)
}

// steps takes all steps of a crowd at a hop.
func (r *bounded) steps(ctx context.Context, hop *shuffler.Hop, s state) error {
	for {
		steps, err := s.Laid.Steps(ctx, r.store)
		if err != nil || len(steps) == 0 {
			return err
		}
		all, half := s.Laid.Parts()+s.Laid.Buckets, s.Laid.Buckets
		if steps[0].Gather {
			half = 0
		}
		for i, step := range steps {
			r.progress(fmt.Sprintf("hop %d mixes crowd %d", s.Hop+1, s.Laid.Crowd+1), all-half-len(steps)+i, all)
			if err := errors.Join(ctx.Err(), s.Laid.Do(ctx, hop, r.store, step)); err != nil {
				return err
			}
		}
	}
}

// leave hands what a hop has mixed to the next, or to the analyzer.
func (r *bounded) leave(ctx context.Context, to destination, hop *shuffler.Hop, s state) (state, error) {
	did, tokens, err := s.Laid.Sums(ctx, r.store)
	if err != nil {
		return s, err
	}
	head := envelope.Head{
		Plan: r.protocol.Hash, Instance: to.Instance, Hop: uint8(s.Hop), Crowd: to.Crowd,
		Respondents: s.Laid.Respondents, Envelopes: s.Laid.Envelopes, Size: s.Laid.Size,
	}
	if did, err = hop.Leave(head, did, tokens); err != nil {
		return s, err
	}
	before := s.Laid
	s.Hop++
	s.Dropped += did.Dropped
	head.Hop++
	head.Size = hop.SizeOut()
	head.Envelopes = uint64(did.Out)
	out := func(take func([]byte) error) error {
		return before.Write(ctx, r.store, &cutter{size: head.Size, take: take})
	}
	if s.Hop < len(r.keys.Hops[to.Instance]) {
		return s, r.lay(ctx, to, &s, head, out)
	}
	under := "batches/" + to.name()
	if err := r.store.Delete(ctx, under); err != nil {
		return s, err
	}
	dealer := parts.NewDealer(head, r.PartBytes, func(name string, body []byte) error {
		return r.store.Put(ctx, under+"/"+name, body)
	})
	if err := out(dealer.Add); err != nil {
		return s, err
	}
	return s, dealer.Close()
}

// cutter cuts a stream into envelopes.
type cutter struct {
	size int
	rest []byte
	take func([]byte) error
}

func (c *cutter) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for ; len(c.rest) >= c.size; c.rest = c.rest[c.size:] {
		if err := c.take(c.rest[:c.size]); err != nil {
			return 0, err
		}
	}
	c.rest = append([]byte(nil), c.rest...)
	return len(p), nil
}

// count is what the analyzer finds in a crowd's parts, shard by shard.
func (r *bounded) count(ctx context.Context, to destination, c *analyzer.Counter) (crowd tally.Crowd, dropped int, err error) {
	under := "batches/" + to.name()
	names, err := r.store.List(ctx, under)
	if err != nil {
		return crowd, 0, err
	}
	counted := map[string]bool{}
	names = slices.DeleteFunc(names, func(name string) bool {
		counted[name] = true
		return strings.HasPrefix(name, under+"/tables/")
	})
	shards, err := parts.Shards(names)
	if err != nil {
		return crowd, 0, err
	}
	var whole parts.Table
	for i, shard := range shards {
		r.progress(fmt.Sprintf("the analyzer counts crowd %d", to.Crowd+1), i, len(shards))
		if err := ctx.Err(); err != nil {
			return crowd, 0, err
		}
		name := under + "/tables/" + strconv.Itoa(shard.Number)
		var one parts.Table
		if counted[name] {
			body, err := r.store.Get(ctx, name)
			if err != nil {
				return crowd, 0, err
			}
			if one, err = parts.ParseTable(body, r.protocol); err != nil {
				return crowd, 0, err
			}
		} else {
			if one, err = shard.Count(ctx, c, r.store); err != nil {
				return crowd, 0, err
			}
			body, err := one.Marshal()
			if err == nil {
				err = r.store.Put(ctx, name, body)
			}
			if err != nil {
				return crowd, 0, err
			}
		}
		if err := whole.Merge(one); err != nil {
			return crowd, 0, err
		}
	}
	dropped = whole.Counted.Dropped
	crowd, err = whole.Whole(r.protocol)
	return crowd, dropped, err
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
