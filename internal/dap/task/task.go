// Package task makes a crowd of a plan whose answers are summed a task of DAP, so that all parties derive the same
// one from the plan. Used by client to split and seal, party/aggregator to verify and add, and
// internal/service/analyzerd to open.
package task

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
)

// precision is the unit of a report's time, which is public: a day, so that it does not
// tell when somebody answered.
const precision = 24 * time.Hour

// TokenExtension is the type of the extension, private to the helper, in which a report
// brings the single-use token that the helper demands. It is of the range for private use.
const TokenExtension = 0xff01

// domain separates the names of tasks from other hashes.
const domain = "confetti/task/v1\n"

// Task is a crowd of a plan, and safe for concurrent use.
type Task struct {
	ID    dap.TaskID
	Plan  [32]byte // hash
	Crowd uint32
	Sum   *sum.Sum
	VDAF  *prio3.VDAF

	Minimum   int  // reports of a batch
	Tokens    bool // the helper demands a token in each report
	config    dap.Configuration
	parties   [2]envelope.PublicKey // leader, helper
	collector envelope.PublicKey
}

// New makes the task of a crowd. The plan is valid.
func New(p plan.Plan, crowd int) (*Task, error) {
	s := p.Route.Sum
	switch {
	case s == nil:
		return nil, errors.New("task: the plan's answers are not summed")
	case crowd < 0 || crowd >= p.Crowds():
		return nil, fmt.Errorf("task: the plan has no crowd %d: it has %d, counted from 0", crowd, p.Crowds())
	}
	t := &Task{Plan: p.Hash(), Crowd: uint32(crowd), Minimum: p.Crowd.Minimum, Tokens: s.Helper.Tokens != ""}
	info := binary.BigEndian.AppendUint32(t.Plan[:len(t.Plan):len(t.Plan)], t.Crowd)
	t.ID = sha256.Sum256(append([]byte(domain), info...))
	number, parameters := vdafConfiguration(s.Circuit, s.Chunk)
	t.config = dap.Configuration{
		Info: info, Leader: s.Leader.URL, Helper: s.Helper.URL, Precision: uint64(precision / time.Second),
		Minimum: uint64(p.Crowd.Minimum), VDAF: number, Parameters: parameters,
	}
	var err error
	for i, key := range []string{s.Leader.Key, s.Helper.Key} {
		if t.parties[i], err = envelope.ParsePublicKey(key); err != nil {
			return nil, fmt.Errorf("task: key of aggregator %d: %w", i+1, err)
		}
	}
	if t.collector, err = envelope.ParsePublicKey(p.Analyzer.Key); err != nil {
		return nil, fmt.Errorf("task: key of the analyzer: %w", err)
	}
	if t.Sum, err = sum.New(p); err != nil {
		return nil, err
	}
	t.VDAF, err = vdaf.New(s, dap.Context(t.ID))
	return t, err
}

// All makes the tasks of all crowds.
func All(p plan.Plan) ([]*Task, error) {
	all := make([]*Task, p.Crowds())
	for crowd := range all {
		var err error
		if all[crowd], err = New(p, crowd); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// vdafConfiguration returns the VDAF's number and the encoding of its parameters (appendix B).
func vdafConfiguration(c plan.Circuit, chunk int) (number uint32, parameters []byte) {
	be32, be64 := binary.BigEndian.AppendUint32, binary.BigEndian.AppendUint64
	length := be32(nil, uint32(c.Length))
	switch c.Kind {
	case plan.CircuitSumVec:
		parameters = be32(be64(length, uint64(c.Max)), uint32(chunk))
		if c.Square > 0 { // for private use, as the circuit is
			return 0xffff0001, be64(parameters, uint64(c.Square))
		}
		return 3, parameters
	case plan.CircuitMultihot:
		return 5, be64(be32(length, uint32(chunk)), uint64(c.Weight))
	}
	return 4, be32(length, uint32(chunk))
}

// Report splits a vector and seals its shares. The token is the one that the helper
// demands, nil where it demands none.
func (t *Task) Report(r *rand.Rand, vector []uint64, now time.Time, token []byte) (dap.Report, error) {
	random := rng.Reader(r)
	report := dap.Report{Metadata: dap.Metadata{Time: Unit(now)}}
	random.Read(report.ID[:])
	public, leader, helper, err := t.VDAF.Split(random, report.ID, vector)
	if err != nil {
		return dap.Report{}, err
	}
	report.Public = public
	shares := [2]dap.InputShare{{Share: leader}, {Share: helper}}
	if token != nil {
		shares[1].Extensions = []dap.Extension{{Type: TokenExtension, Data: token}}
	}
	data := dap.InputShareData(t.ID, t.config, report.Metadata, public)
	for i, to := range []*dap.Ciphertext{&report.Leader, &report.Helper} {
		if *to, err = dap.Seal(t.parties[i], dap.InputShareInfo(dap.Leader+dap.Role(i)), data, shares[i].Marshal()); err != nil {
			return dap.Report{}, err
		}
	}
	return report, nil
}

// Unit returns a time in units of precision.
func Unit(at time.Time) uint64 { return uint64(max(0, at.Unix())) / uint64(precision/time.Second) }

// ReportSize returns the length of a device's upload, in bytes: all have one.
func (t *Task) ReportSize() int {
	public, leader, helper := t.VDAF.ShareSizes()
	size := 16 + 8 + 2 + 4 + public
	for i, share := range []int{leader, helper} {
		size += 1 + 2 + 4 + t.parties[i].Suite().Overhead() + 2 + 4 + share
	}
	if t.Tokens {
		size += 2 + 2 + plan.TokenBytes
	}
	return size
}

// OpenShares opens an aggregator's shares of so many reports, and returns nil for one that does not open, or is sealed
// to a key that is not here.
func (t *Task) OpenShares(key envelope.PrivateKey, role dap.Role, n int, report func(i int) (m dap.Metadata, public []byte, c dap.Ciphertext)) [][]byte {
	return key.OpenBaseAll(dap.InputShareInfo(role), n, func(i int) (data, enc, payload []byte) {
		m, public, c := report(i)
		if c.Config != 0 {
			return nil, nil, nil
		}
		return dap.InputShareData(t.ID, t.config, m, public), c.Enc, c.Payload
	})
}

// SealSum seals an aggregator's share of a sum to the analyzer.
func (t *Task) SealSum(role dap.Role, share prio3.Vector) (dap.Ciphertext, error) {
	plain, err := share.MarshalBinary()
	if err != nil {
		return dap.Ciphertext{}, err
	}
	return dap.Seal(t.collector, dap.AggregateShareInfo(role), dap.AggregateShareData(t.ID, t.config, dap.CollectionReq{}), plain)
}

// Open opens both shares of a sum, and adds them.
func (t *Task) Open(key envelope.PrivateKey, c dap.Collected) ([]int64, error) {
	data := dap.AggregateShareData(t.ID, t.config, dap.CollectionReq{})
	var shares [2]prio3.Vector
	for i, sealed := range []dap.Ciphertext{c.Leader, c.Helper} {
		plain, err := dap.Open(key, dap.AggregateShareInfo(dap.Leader+dap.Role(i)), data, sealed)
		if err == nil {
			err = shares[i].UnmarshalBinary(plain)
		}
		if err != nil {
			return nil, fmt.Errorf("task: the share of aggregator %d: %w", i+1, err)
		}
	}
	sums, err := prio3.Open(shares[0], shares[1])
	if err == nil && len(sums) != t.VDAF.Length() {
		err = fmt.Errorf("task: a sum of %d numbers: the plan has %d", len(sums), t.VDAF.Length())
	}
	return sums, err
}
