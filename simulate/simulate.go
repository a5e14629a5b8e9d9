// Package simulate runs a whole collection in one process, at one of two fidelities that agree in law. Used by
// cmd/confetti/internal/collect, internal/simulate, internal/audit and lab.
//
// Full makes every device the real client, and seals, mixes and opens every fragment. Law draws each total from its
// exact distribution, so that half a million respondents take seconds.
package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Collection is what came out of a simulated collection: what an analyzer
// holds at its end, and what it took.
type Collection struct {
	Crowds   []tally.Crowd
	Withheld []string // what did not leave the shufflers, and why
	// Told holds for each device whether it was told that a contribution of its was
	// destroyed with a crowd too small. Only the device itself learns it: summed by
	// crowd it would be the size that is withheld. Nil at fidelity law, which has no devices.
	Told      []bool
	Devices   int
	Fragments int // sealed fragments, or shares of a sum; 0 at fidelity law
	Refused   int // devices of a sum whose proof did not hold; 0 at fidelity law
	Dropped   int // fragments that some role could not open or count
	Unfit     int // devices for whose value the plan has no room, and which sent what it has for such a value
}

// Notes say in sentences what a release of the collection should not be silent of.
func (c Collection) Notes() []string {
	var notes []string
	if c.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("%d fragments did not open and were dropped.", c.Dropped))
	}
	if c.Refused > 0 {
		notes = append(notes, fmt.Sprintf("%d reports proved nothing to the aggregators, and were not added up.", c.Refused))
	}
	if c.Unfit > 0 {
		notes = append(notes, fmt.Sprintf("The plan has no room for the value of %d of %d respondents. Their devices sent what it has for such a value, which tells them from nobody.", c.Unfit, c.Devices))
	}
	return notes
}

// Progress is told how far a stage has come; calls do not overlap.
type Progress func(stage string, done, total int)

// Keys are the private keys of all parties of a plan, which only a simulation
// holds together.
type Keys struct {
	Hops           [][]envelope.PrivateKey // per instance
	Leader, Helper envelope.PrivateKey     // of a sum
	Analyzer       envelope.PrivateKey
}

// NewKeys makes a key for every party of the plan's route and writes the
// public ones into the plan.
func NewKeys(p *plan.Plan) (Keys, error) {
	return newKeys(p, func(string) (envelope.PrivateKey, error) {
		return envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
	}, relay.GenerateSignKey)
}

// newKeys takes the keys that get gives for the names of parties, and the one of sign for
// releases: of a simulation's nobody asks a signature, and its plan names a key as others do.
func newKeys(p *plan.Plan, get func(name string) (envelope.PrivateKey, error), sign func() (relay.SignKey, error)) (Keys, error) {
	var k Keys
	generate := func(party *plan.Party, name string, a ...any) (envelope.PrivateKey, error) {
		key, err := get(fmt.Sprintf(name, a...))
		if err == nil {
			party.Key = key.Public().String()
		}
		return key, err
	}
	if s := p.Route.Sum; s != nil {
		route := *s // the caller's may be another plan's too
		p.Route.Sum = &route
		var err error
		if k.Leader, err = generate(&route.Leader, "leader"); err != nil {
			return k, err
		}
		if k.Helper, err = generate(&route.Helper, "helper"); err != nil {
			return k, err
		}
	}
	for i, in := range p.Route.Instances() {
		var hops []envelope.PrivateKey
		for h := range in.Hops {
			key, err := generate(&in.Hops[h], "instance-%d-hop-%d", i+1, h+1)
			if err != nil {
				return k, err
			}
			hops = append(hops, key)
		}
		k.Hops = append(k.Hops, hops)
	}
	var err error
	if k.Analyzer, err = generate(&p.Analyzer, "analyzer"); err != nil {
		return k, err
	}
	releases, err := sign()
	p.Analyzer.Releases = releases.Public().String()
	return k, err
}

// Full runs the collection for real, in memory: value i is device i's, which
// draws from stream i of seed, whether its answer is mixed or summed. The rest of the
// randomness (sealing, splitting, mixing) changes nothing that is counted, and comes fresh
// from the system.
func Full(p *protocol.Protocol, keys Keys, values []question.Value, seed uint64, progress Progress) (Collection, error) {
	if p.Plan.Route.Sum != nil {
		return add(p, keys, values, seed, progress)
	}
	col := Collection{Devices: len(values)}
	collectors, sent, unfit, err := collect(p, values, seed, progress)
	if err != nil {
		return col, err
	}
	col.Unfit = unfit
	a, err := analyzer.New(p, keys.Analyzer)
	if err != nil {
		return col, err
	}
	destroyed := map[destination]bool{}
	for instance, c := range collectors {
		crowds, withheld := c.Close()
		for _, w := range withheld {
			col.Withheld = append(col.Withheld, w.String())
			destroyed[destination{uint16(instance), w.Crowd}] = true
		}
		for _, collected := range crowds {
			col.Fragments += len(collected.Bodies) * p.Plan.Envelopes.PerDevice
			var b envelope.Batch
			for hop, key := range keys.Hops[instance] {
				h, err := shuffler.NewHop(p.Plan, instance, hop, key)
				if err != nil {
					return col, err
				}
				progress(fmt.Sprintf("hop %d mixes", hop+1), int(collected.Crowd), len(col.Crowds))
				var receipt shuffler.Receipt
				if hop == 0 {
					b, receipt, err = h.Enter(collected)
				} else {
					b, receipt, err = h.Mix(b)
				}
				if err != nil {
					return col, err
				}
				col.Dropped += receipt.Dropped
			}
			if err := a.Add(b); err != nil {
				return col, err
			}
		}
	}
	col.Told = make([]bool, len(values))
	for i, to := range sent {
		col.Told[i] = slices.ContainsFunc(to, func(d destination) bool { return destroyed[d] })
	}
	col.Crowds = a.Crowds()
	col.Dropped += a.Dropped()
	return col, nil
}

// destination is where a device's contribution went: what the device, and its
// entry hop, know of it. An entry hop says which of them it destroyed, and each
// device finds its own.
type destination struct {
	Instance uint16 `json:"i"`
	Crowd    uint32 `json:"c"`
}

// collect lets every device contribute, on all processors.
func collect(p *protocol.Protocol, values []question.Value, seed uint64, progress Progress) (_ []*shuffler.Collector, _ [][]destination, unfit int, _ error) {
	sent := make([][]destination, len(values))
	collectors := make([]*shuffler.Collector, len(p.Plan.Route.Instances()))
	for i := range collectors {
		var err error
		if collectors[i], err = shuffler.NewCollector(p.Plan, i); err != nil {
			return nil, nil, 0, err
		}
	}
	var (
		next   atomic.Int64
		mutex  sync.Mutex // guards what follows, and the collectors
		done   int
		failed error
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			contribute := devices(p, seed)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(values) {
					return
				}
				contributions, err := contribute(values[i], i)
				mutex.Lock()
				if _, ok := errors.AsType[*question.OutOfDomainError](err); ok {
					unfit, err = unfit+1, nil
				}
				for _, c := range contributions {
					sent[i] = append(sent[i], destination{c.Instance, c.Crowd})
					if err == nil {
						err = collectors[c.Instance].Add(fmt.Sprintf("device %d", i), c.Body)
					}
				}
				if err != nil {
					if failed == nil {
						failed = fmt.Errorf("device %d: %w", i+1, err)
					}
					next.Store(int64(len(values)))
				}
				done++
				progress("devices seal and send", done, len(values))
				mutex.Unlock()
			}
		})
	}
	wg.Wait()
	return collectors, sent, unfit, failed
}

// devices returns what has one device after the other contribute, each with randomness of its own. They share what seals,
// since all of them seal to the same keys.
func devices(p *protocol.Protocol, seed uint64) func(v question.Value, device int) ([]client.Sealed, error) {
	r := new(rand.Rand)
	c, failed := client.New(p, r)
	return func(v question.Value, device int) ([]client.Sealed, error) {
		if failed != nil {
			return nil, failed
		}
		*r = *seeded.New(seed, uint64(device))
		return c.Report(v)
	}
}
