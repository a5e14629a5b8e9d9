// Package aggregator verifies shares of answers together with the other aggregator, adds up those that are valid,
// and adds its noise before the sum leaves. Used by internal/service/aggregated, which has the disk and the network,
// and by simulate.
//
// It never sees an answer, and cannot reach the code that reads one.
//
// A device's report becomes part of a sum in two messages of DAP. The leader begins its part of the verification
// (Leader.Begin). The helper does the whole of its own, and says of each report whether it is valid (Helper.Verify). The
// leader finishes (Leader.Finish). All three give the same for the same bytes, so that a process killed between
// verifying and adding does it again.
package aggregator

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/prio3"
)

// Pair is the secret that two aggregators share, and nobody else knows: with the key of
// the verification a device could prove what it liked. It never prints itself.
type Pair struct{ seed func() []byte }

// PairBytes is the length of a pair's secret.
const PairBytes = 32

// NewPair returns the pair with that secret.
func NewPair(seed [PairBytes]byte) Pair { return Pair{func() []byte { return seed[:] }} }

// Format prints no secret, whatever the verb.
func (p Pair) Format(f fmt.State, verb rune) { fmt.Fprint(f, "a secret of two aggregators") }

// verifyKey returns the key of a task's verification (DAP, 8.6.2).
func (p Pair) verifyKey(t dap.TaskID) [prio3.KeySize]byte {
	return [prio3.KeySize]byte(p.derive("verify_key", t[:]))
}

// Bearer returns the credential that the leader shows the helper for a task.
func (p Pair) Bearer(t dap.TaskID) []byte { return p.derive("confetti/leader", t[:]) }

func (p Pair) derive(salt string, info []byte) []byte {
	secret, err := hkdf.Extract(sha256.New, p.seed(), []byte(salt))
	if err == nil {
		secret, err = hkdf.Expand(sha256.New, secret, string(info), 32)
	}
	if err != nil {
		panic("aggregator: " + err.Error()) // of a length that HKDF does not give
	}
	return secret
}

// side is one of the two aggregators of a task.
type side struct {
	*task.Task
	role   dap.Role
	key    envelope.PrivateKey
	verify [prio3.KeySize]byte
}

// report is an aggregator's part of a report.
type report struct {
	dap.Metadata
	public []byte
	share  dap.Ciphertext
}

// starts opens the aggregator's shares of n reports and calls begin for each, on all cores. A share that does not open
// is nil. Those of a core are opened together, some at a time.
func (s side) starts(n int, of func(i int) report, begin func(i int, r report, share []byte)) {
	together := min(64, max(8, (n/runtime.GOMAXPROCS(0)+7)/8*8)) // by eights, as lanes multiply
	each((n+together-1)/together, func(chunk int) {
		from := chunk * together
		all := make([]report, min(together, n-from))
		for i := range all {
			all[i] = of(from + i)
		}
		opened := s.OpenShares(s.key, s.role, len(all), func(i int) (dap.Metadata, []byte, dap.Ciphertext) {
			return all[i].Metadata, all[i].public, all[i].share
		})
		for i, r := range all {
			begin(from+i, r, opened[i])
			opened[i] = nil // one after the other can be let go of
		}
	})
}

// start begins the verification of a share as it was opened. token is what the device brought for this aggregator.
func (s side) start(r report, opened []byte) (state prio3.State, part, token []byte, fault dap.ReportError) {
	if opened == nil {
		return state, nil, nil, dap.HPKEDecrypt
	}
	share, err := dap.ParseInputShare(opened)
	if err != nil || len(r.Extensions) > 0 {
		return state, nil, nil, dap.InvalidMessage
	}
	switch {
	case s.role == dap.Helper && s.Tokens && len(share.Extensions) == 1 && share.Extensions[0].Type == task.TokenExtension:
		token = share.Extensions[0].Data
	case s.role == dap.Helper && s.Tokens, len(share.Extensions) > 0:
		return state, nil, nil, dap.InvalidMessage
	}
	state, part, err = s.VDAF.Start(s.verify, byte(s.role-dap.Leader), r.ID, r.public, share.Share)
	if err != nil {
		return state, nil, nil, dap.InvalidMessage
	}
	return state, part, token, 0
}

// Share adds this aggregator's noise to a batch and seals it to the analyzer. It draws
// anew each time: what it gave once is written down before anybody sees it, or an average
// would take the noise off.
func (s side) Share(r *rand.Rand, b Batch, earlier ...Day) (dap.Ciphertext, error) {
	share, err := s.Noisy(r, b, earlier...)
	if err != nil {
		return dap.Ciphertext{}, err
	}
	return s.SealSum(s.role, share)
}

// Noisy adds this aggregator's noise to a batch: it gives what Share seals. It leaves the
// batch as it is. Where rounds are correlated its row tells of earlier ones too.
func (s side) Noisy(r *rand.Rand, b Batch, earlier ...Day) (prio3.Vector, error) {
	if b.Reports < uint64(s.Minimum) {
		return prio3.Vector{}, fmt.Errorf("aggregator: a batch of %d reports: the plan's smallest has %d", b.Reports, s.Minimum)
	}
	var share prio3.Vector
	last := s.Sum.Round()
	if err := share.AddTimes(b.Sum, s.Sum.Times(last)); err != nil {
		return prio3.Vector{}, err
	}
	if len(earlier) > 0 && !s.Sum.Correlated() {
		return prio3.Vector{}, errors.New("aggregator: earlier rounds for a round that stands by itself")
	}
	for i := len(earlier) - 1; i >= 0; i-- {
		if earlier[i].Round < 1 || earlier[i].Round >= last {
			return prio3.Vector{}, fmt.Errorf("aggregator: round %d before round %d: give each that has left, in their order", earlier[i].Round, last)
		}
		last = earlier[i].Round
		if err := share.AddTimes(earlier[i].Sum, s.Sum.Times(last)); err != nil {
			return prio3.Vector{}, err
		}
	}
	if across := s.Sum.Across(); across != nil {
		if err := share.Spread(across); err != nil {
			return prio3.Vector{}, err
		}
	}
	if noise := s.Sum.Noise(r); noise != nil {
		if err := share.AddNoise(noise); err != nil {
			return prio3.Vector{}, err
		}
	}
	return share, nil
}

// Day is what an aggregator has added up of an earlier round, whose row has left.
type Day struct {
	Round int
	Sum   prio3.Vector
}

// Batch is what an aggregator has added up of a task.
type Batch struct {
	Reports  uint64
	Refused  uint64 // that were not valid, or came twice; of which is told to nobody
	Checksum dap.Checksum
	Sum      prio3.Vector // this aggregator's share
}

// Add adds a verified report.
func (b *Batch) Add(id dap.ReportID, share prio3.Vector) error {
	if err := b.Sum.Add(share); err != nil {
		return err
	}
	b.Reports++
	b.Checksum.Add(id)
	return nil
}

// Merge adds the reports of another batch.
func (b *Batch) Merge(other Batch) error {
	if other.Reports > 0 {
		if err := b.Sum.Add(other.Sum); err != nil {
			return err
		}
	}
	b.Reports += other.Reports
	b.Refused += other.Refused
	for i, x := range other.Checksum {
		b.Checksum[i] ^= x
	}
	return nil
}

const batchHead = 8 + 8 + 32

// MarshalBinary writes the batch.
func (b Batch) MarshalBinary() ([]byte, error) {
	sum, err := b.Sum.MarshalBinary()
	head := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, b.Reports), b.Refused)
	return append(append(head, b.Checksum[:]...), sum...), err
}

// UnmarshalBinary reads what MarshalBinary wrote; nothing is the batch of nothing.
func (b *Batch) UnmarshalBinary(text []byte) error {
	if len(text) == 0 {
		*b = Batch{}
		return nil
	}
	if len(text) < batchHead {
		return errors.New("aggregator: a batch is damaged")
	}
	b.Reports, b.Refused = binary.BigEndian.Uint64(text), binary.BigEndian.Uint64(text[8:])
	b.Checksum = dap.Checksum(text[16:])
	b.Sum = prio3.Vector{}
	if len(text) == batchHead {
		return nil
	}
	return b.Sum.UnmarshalBinary(text[batchHead:])
}

// each runs do for every i below n, on all cores.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
