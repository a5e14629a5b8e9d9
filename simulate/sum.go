package simulate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/confetti-dp/confetti/dp/sum"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
)

// adder is both aggregators of a plan in one process: what each of them adds up of every
// crowd.
type adder struct {
	protocol *protocol.Protocol
	route    *sum.Sum
	crowds   []batch
	key      [prio3.KeySize]byte
}

// batch is a crowd's.
type batch struct {
	vdaf   *prio3.VDAF
	shares [2]prio3.Vector // of the leader and the helper
	n      int
}

func newAdder(p *protocol.Protocol) (*adder, error) {
	route, err := sum.New(p.Plan)
	if err != nil {
		return nil, err
	}
	a := &adder{protocol: p, route: route, crowds: make([]batch, p.Plan.Crowds())}
	for c := range a.crowds {
		context := binary.BigEndian.AppendUint32(p.Hash[:], uint32(c))
		if a.crowds[c].vdaf, err = route.VDAF(context); err != nil {
			return nil, err
		}
	}
	_, err = rng.Reader(rng.New()).Read(a.key[:])
	return a, err
}

// add collects and adds up what every device splits.
func add(p *protocol.Protocol, values []question.Value, seed uint64, progress Progress) (Collection, error) {
	col := Collection{Devices: len(values)}
	a, err := newAdder(p)
	if err != nil {
		return col, err
	}
	if err := a.collect(values, seed, &col, progress); err != nil {
		return col, err
	}
	return col, a.open(seed, &col)
}

// collect lets every device split, and the aggregators verify and add, on all processors.
func (a *adder) collect(values []question.Value, seed uint64, col *Collection, progress Progress) error {
	var (
		next   atomic.Int64
		mutex  sync.Mutex // guards what follows, and the batches
		done   int
		failed error
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(values); i = int(next.Add(1)) - 1 {
				crowd, report, unfit, err := a.split(values[i], replay.New(seed, uint64(i)))
				var shares [2]prio3.Vector
				refused := error(nil)
				if err == nil {
					shares, refused = a.verify(crowd, report)
				}
				mutex.Lock()
				switch {
				case err != nil:
					if failed == nil {
						failed = fmt.Errorf("device %d: %w", i+1, err)
					}
					next.Store(int64(len(values)))
				case refused != nil:
					col.Refused++
				default:
					failed = errors.Join(failed, a.crowds[crowd].add(shares))
				}
				if unfit {
					col.Unfit++
				}
				col.Fragments += len(shares)
				done++
				progress("devices split, aggregators verify and add", done, len(values))
				mutex.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}

// report is what a device hands in.
type report struct {
	nonce                  [prio3.NonceSize]byte
	public, leader, helper []byte
}

func (a *adder) split(v question.Value, r *rand.Rand) (crowd int, out report, unfit bool, err error) {
	symbol, err := a.protocol.Encode(v)
	stands, err := question.Fits(err)
	if err != nil {
		return 0, out, false, err
	}
	crowd, vector, err := a.protocol.Measure(r, symbol, nil)
	if err != nil {
		return 0, out, false, err
	}
	fresh := rng.Reader(rng.New())
	if _, err := fresh.Read(out.nonce[:]); err != nil {
		return 0, out, false, err
	}
	out.public, out.leader, out.helper, err = a.crowds[crowd].vdaf.Split(fresh, out.nonce, vector)
	return crowd, out, stands != nil, err
}

// verify gives each aggregator's share of a vector that the proof allows.
func (a *adder) verify(crowd int, r report) (out [2]prio3.Vector, err error) {
	v := a.crowds[crowd].vdaf
	leader, fromLeader, err := v.Start(a.key, prio3.Leader, r.nonce, r.public, r.leader)
	if err != nil {
		return out, err
	}
	helper, fromHelper, err := v.Start(a.key, prio3.Helper, r.nonce, r.public, r.helper)
	if err != nil {
		return out, err
	}
	message, err := v.Decide(fromLeader, fromHelper)
	if err != nil {
		return out, err
	}
	if out[prio3.Leader], err = v.Finish(leader, message); err != nil {
		return out, err
	}
	out[prio3.Helper], err = v.Finish(helper, message)
	return out, err
}

func (b *batch) add(shares [2]prio3.Vector) error {
	b.n++
	return errors.Join(b.shares[0].Add(shares[0]), b.shares[1].Add(shares[1]))
}

// forNoise is the first stream of a seed that aggregators draw from, above those of devices.
const forNoise = 1 << 40

// open adds the aggregators' noise to the shares of every crowd that is large enough, and
// opens their sums.
func (a *adder) open(seed uint64, col *Collection) error {
	for c, b := range a.crowds {
		if b.n < a.protocol.Plan.Crowd.Minimum {
			col.Withheld = append(col.Withheld, fmt.Sprintf("crowd %d: fewer than %d respondents", c+1, a.protocol.Plan.Crowd.Minimum))
			col.Crowds = append(col.Crowds, tally.Crowd{})
			continue
		}
		for i := range b.shares {
			noise := a.route.Noise(replay.New(seed, forNoise, uint64(c), uint64(i)))
			if noise == nil {
				continue
			}
			if err := b.shares[i].AddNoise(noise); err != nil {
				return err
			}
		}
		sums, err := prio3.Open(b.shares[0], b.shares[1])
		if err != nil {
			return err
		}
		crowd, err := a.protocol.Sums(sums, b.n)
		if err != nil {
			return err
		}
		col.Crowds = append(col.Crowds, crowd)
	}
	return nil
}
