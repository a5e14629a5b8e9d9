package shuffle

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// BucketResponse is one repetition of a kernel by buckets: each of Users respondents
// holds one of many buckets, or none, and sends one bit for each bucket, which is a one
// with probability 1-Flip for its own and 1/2 for any other. The observer sees the count
// of ones of every bucket. Neighbours exchange one respondent's bucket for another or
// for none (replacement). Users are those whose noise is relied upon.
//
// One bit falls then and another rises, by half of what a bit could. Both counts are
// exact, and of their others no respondent is in both buckets: those who make one count
// quiet leave the other one noisy. One pair dominates both directions.
type BucketResponse struct {
	Users int     `json:"users"`
	Flip  float64 `json:"flip_probability"`
}

func (e BucketResponse) Terms() (account.Guarantee, error) {
	if err := checkFlip(e.Users, e.Flip); err != nil {
		return account.Guarantee{}, err
	}
	if e.Flip == 0.5 {
		return account.Guarantee{}, fmt.Errorf("account: flip probability 1/2 of the bit of a bucket: need less")
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "exact laws of the counts of the bucket left and of the one entered, worst split of the others",
		Source: "dominating pairs (Zhu, Dong, Wang 2022); docs/accounting.md",
	}, nil
}

// bit returns how a respondent answers for a bucket: a one if it is its own.
func (e BucketResponse) bit() bit { return bit{1 - e.Flip, e.Flip, 0.5, 0.5} }

func (e BucketResponse) single() AsymmetricResponse {
	return AsymmetricResponse{e.Users, 1 - e.Flip, 0.5}
}

func (e BucketResponse) Certificate(o account.Options) string {
	if o.Lower {
		return leastOf
	}
	return e.cover(o).words()
}

// cover returns the worlds of one bucket. Those of a certificate all leave out as many: their
// blocks must be narrow, since what one bucket holds the other does not.
func (e BucketResponse) cover(o account.Options) Worlds {
	if o.Every && !o.Lower {
		return e.bit().certificate(e.Users, false)
	}
	return e.bit().cover(e.Users, o)
}

// Spread puts all others in one of the two buckets.
func (e BucketResponse) Spread() float64 {
	n, p := float64(e.bit().counted(e.Users)), e.Flip
	b := e.bit()
	return math.Min(b.local()+b.mirror().local(), (0.5-p)*math.Sqrt(1/(n*p*(1-p))+4/n))
}

// Into how many ranges the number of others in a bucket is cut, and for a certificate.
const (
	bucketBlocks = 32
	everyBlocks  = 128
)

// Distributions returns one pair. With a others in the bucket left and b in the one entered,
// a+b <= n-1, the two counts are independent. Let A_i dominate every count with a in
// the first i blocks of numbers, in either direction. Whatever the others do, a is in
// some block i, and b is at most n-1 less the least a there: A_i and the A_j of that
// many dominate both counts together, and the largest profile of these pairs all.
// Exchanging the two worlds exchanges the buckets, so it serves both directions.
func (e BucketResponse) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return e.lower(o)
	}
	// Whoever is left out of the cover is told to the observer.
	e.Users = e.cover(o).Users
	blocks, err := e.blocks(o)
	if err != nil {
		return nil, err
	}
	tail := math.Max(o.Neglect/2, 8*profile.MinTail)
	profiles, errs := make([][]float64, len(blocks)), make([]error, len(blocks))
	inParallel(len(blocks), func(i int) {
		profiles[i], errs[i] = blocks[i].together(e, blocks, o.Step, tail)
	})
	h := []float64{0}
	for i, p := range profiles {
		if errs[i] != nil {
			return nil, errs[i]
		}
		h = pld.Larger(h, p)
	}
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// block stands for the counts of a bucket with up to so many others in it.
type block struct {
	least, most      int // others in the bucket, of this block alone; most of all
	leaving, entered *pld.Distribution
}

// blocks returns the A_i.
func (e BucketResponse) blocks(o account.Options) ([]block, error) {
	b := e.bit()
	worlds := slices.Collect(e.cover(o).all())
	number := min(bucketBlocks, len(worlds))
	if o.Every {
		number = min(everyBlocks, len(worlds))
	}
	blocks := make([]block, number)
	falling, rising := make([][]float64, number), make([][]float64, number)
	points := int(math.Ceil(max(b.local(), b.mirror().local())/o.Step)) + 1
	// Two counts neglect four tails: well below where the profile of both ends, or it would not.
	tail := math.Max(o.Neglect/16, profile.MinTail)
	inParallel(number, func(i int) {
		var law Others
		fall, rise := sticks{bit: b}, sticks{bit: b.mirror()}
		first, end := i*len(worlds)/number, (i+1)*len(worlds)/number
		// A world with so many others in the bucket stands for up to as many more as are left out.
		last := worlds[end-1]
		blocks[i].least, blocks[i].most = worlds[first].ones, last.ones+e.Users-1-last.others
		for _, x := range worlds[first:end] {
			_, w := law.law(x.others, x.ones, b, tail)
			fall.raise(w, o.Step, tail, points)
			slices.Reverse(w)
			rise.raise(w, o.Step, tail, points)
		}
		falling[i], rising[i] = roundUp([][]float64{fall.h}, points, tail), roundUp([][]float64{rise.h}, points, tail)
	})
	for i := range blocks {
		if i > 0 {
			falling[i], rising[i] = pld.Larger(falling[i], falling[i-1]), pld.Larger(rising[i], rising[i-1])
		}
		var err error
		if blocks[i].leaving, blocks[i].entered, err = directed(falling[i], rising[i], o.Step); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// together returns the profile of leaving a bucket of this block and entering one with no more
// others than are left.
func (b block) together(e BucketResponse, blocks []block, step, tail float64) ([]float64, error) {
	left := e.Users - 1 - b.least
	i := slices.IndexFunc(blocks, func(x block) bool { return x.most >= left })
	if i < 0 {
		i = len(blocks) - 1
	}
	return e.bit().exchanged(b.leaving, blocks[i].entered, step, tail)
}

// lower returns the data set whose others all hold the bucket that is left, in either
// direction.
func (e BucketResponse) lower(o account.Options) ([]*pld.Distribution, error) {
	return e.bit().moved(e.Users, e.Users-1, 0, o)
}

// CalibrateBuckets finds the smallest flip probability that meets the target, a
// repetition a round, and the guarantee of exactly that.
func CalibrateBuckets(t calibrate.Target) (BucketResponse, account.Guarantee, error) {
	if err := t.Check(); err != nil {
		return BucketResponse{}, account.Guarantee{}, err
	}
	event := func(rmse float64) BucketResponse {
		return BucketResponse{t.Users, math.Min(0.5-1e-9, FlipFor(rmse*rmse/float64(t.Users)))}
	}
	// Both counts move by half of what a bit could.
	s := calibrate.Search{Noise: math.Sqrt(0.5) / t.PerRound(), Most: math.Inf(1), Tolerance: calibrate.CloseEnough}
	rmse, err := t.Search(s, func(rmse float64) account.Event { return event(rmse) })
	if err != nil {
		return BucketResponse{}, account.Guarantee{}, err
	}
	return calibrate.Meets(t, event(rmse))
}

// inParallel calls f for 0 to n-1, on as many goroutines as there are processors.
func inParallel(n int, f func(i int)) {
	var wait sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), n)
	for w := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := w; i < n; i += workers {
				f(i)
			}
		}()
	}
	wait.Wait()
}

// Losses: one bit falls and another rises.
func (e BucketResponse) Losses() account.Losses {
	return account.Losses{Report: e.bit().both(), Message: e.bit().most(), Bound: account.Exact}
}

// Opened: the other bit of the opened one's repetition stays shuffled.
func (e BucketResponse) Opened(rounds int) (rest []account.Event, alone account.Event) {
	one := e.single()
	rest = append([]account.Event{one}, less(e, rounds)...)
	one.Users = 1
	return rest, one
}
