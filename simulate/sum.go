package simulate

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/protocol"
)

// adder is both aggregators and the analyzer of a plan in one process.
type adder struct {
	protocol *protocol.Protocol
	keys     Keys
	crowds   []*batch
}

// batch is a crowd's: what its aggregators have added up, and the reports that they have not
// looked at.
type batch struct {
	task    *task.Task
	leader  *aggregator.Leader
	helper  *aggregator.Helper
	sums    [2]aggregator.Batch // of the leader and the helper
	waiting []dap.Report
}

// newAdder demands no tokens, whatever the plan says: nobody issues any here.
func newAdder(p *protocol.Protocol, keys Keys) (*adder, error) {
	tasks, err := task.All(p.Plan)
	if err != nil {
		return nil, err
	}
	var secret [aggregator.PairBytes]byte
	rng.Reader(rng.New()).Read(secret[:])
	pair := aggregator.NewPair(secret)
	a := &adder{protocol: p, keys: keys}
	for _, t := range tasks {
		t.Tokens = false
		a.crowds = append(a.crowds, &batch{task: t, leader: aggregator.NewLeader(t, keys.Leader, pair), helper: aggregator.NewHelper(t, keys.Helper, pair, nil)})
	}
	return a, nil
}

// add collects and adds up what every device splits.
func add(p *protocol.Protocol, keys Keys, values []question.Value, seed uint64, progress Progress) (Collection, error) {
	col := Collection{Devices: len(values)}
	a, err := newAdder(p, keys)
	if err != nil {
		return col, err
	}
	for from := 0; from < len(values); from += aggregator.MostReports {
		to := min(from+aggregator.MostReports, len(values))
		if err := a.take(values[from:to], from, seed, &col); err != nil {
			return col, err
		}
		progress("devices split, aggregators verify and add", to, len(values))
	}
	for c, b := range a.crowds {
		if err := a.open(c, b, seed, &col); err != nil {
			return col, err
		}
	}
	return col, nil
}

// answered is what a device hands in.
type answered struct {
	crowd  int
	report dap.Report
	unfit  bool
	err    error
}

// take lets devices split, on all processors, and the aggregators verify and add.
func (a *adder) take(values []question.Value, from int, seed uint64, col *Collection) error {
	all := make([]answered, len(values))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(values); i = int(next.Add(1)) - 1 {
				all[i] = a.answer(values[i], seeded.New(seed, uint64(from+i)))
			}
		})
	}
	wg.Wait()
	for i, d := range all {
		if d.err != nil {
			return fmt.Errorf("device %d: %w", from+i+1, d.err)
		}
		if d.unfit {
			col.Unfit++
		}
		col.Fragments += 2 // a share for each aggregator
		b := a.crowds[d.crowd]
		b.waiting = append(b.waiting, d.report)
	}
	for _, b := range a.crowds {
		if err := b.verify(); err != nil {
			return err
		}
	}
	return nil
}

// answer returns what a device splits, sealed to both aggregators.
func (a *adder) answer(v question.Value, r *rand.Rand) (out answered) {
	symbol, err := a.protocol.Encode(v)
	stands, err := question.Fits(err)
	if out.err = err; err != nil {
		return out
	}
	out.unfit = stands != nil
	var vector []uint64
	if out.crowd, vector, out.err = a.protocol.Measure(r, symbol, nil); out.err == nil {
		out.report, out.err = a.crowds[out.crowd].task.Report(rng.New(), vector, time.Time{}, nil)
	}
	return out
}

// verify lets both aggregators verify the reports that wait, and add those that are valid.
func (b *batch) verify() error {
	job := b.leader.Begin(dap.BatchID{}, b.waiting)
	b.waiting = nil
	var said []dap.VerifyResp
	for _, v := range b.helper.Verify(job.Request) {
		said = append(said, v.VerifyResp)
		if v.Message == nil {
			continue
		}
		if err := b.sums[1].Add(v.ID, v.Share); err != nil {
			return err
		}
	}
	return b.leader.Finish(job, dap.MarshalAggregationResp(said), &b.sums[0])
}

// open lets the aggregators hand over their shares of a crowd that is large enough, with their
// noise, and opens and counts the sum.
func (a *adder) open(crowd int, b *batch, seed uint64, col *Collection) error {
	n := int(b.sums[0].Reports)
	col.Refused += int(b.sums[0].Refused)
	if n < a.protocol.Plan.Crowd.Minimum {
		col.Withheld = append(col.Withheld, fmt.Sprintf("crowd %d: fewer than %d respondents", crowd+1, a.protocol.Plan.Crowd.Minimum))
		col.Crowds = append(col.Crowds, tally.Crowd{})
		return nil
	}
	noise := func(party uint64) *rand.Rand { return seeded.New(seed, distribution.ForNoise, uint64(crowd), party) }
	var both dap.Collected
	var err error
	if both.Leader, err = b.leader.Share(noise(0), b.sums[0]); err != nil {
		return err
	}
	if both.Helper, err = b.helper.Share(noise(1), b.sums[1]); err != nil {
		return err
	}
	sums, err := b.task.Open(a.keys.Analyzer, both)
	if err != nil {
		return err
	}
	counted, err := a.protocol.Sums(sums, n)
	if err != nil {
		return err
	}
	col.Crowds = append(col.Crowds, counted)
	return nil
}
