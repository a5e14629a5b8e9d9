package dap

import (
	"crypto/sha256"
	"encoding/binary"
)

// CollectionReq asks for the next batch of a task (4.6.1). In the leader-selected mode
// with Prio3 all such requests are alike.
type CollectionReq struct{}

var collectionReq = []byte{leaderSelected, 0, 0, 0, 0, 0, 0, 0, 0} // mode, its query, parameter, extensions

// Marshal writes a CollectionJobReq.
func (CollectionReq) Marshal() []byte { return collectionReq[:len(collectionReq):len(collectionReq)] }

// ParseCollection reads what CollectionReq.Marshal writes.
func ParseCollection(b []byte) (q CollectionReq, err error) {
	if string(b) != string(collectionReq) {
		return q, errForm("request for a collection job")
	}
	return q, nil
}

// Checksum is the sum of hashes by which two aggregators find that they have added the
// same reports (4.5.3.3).
type Checksum [32]byte

// Add adds a report, or takes it off again.
func (c *Checksum) Add(id ReportID) {
	for i, b := range sha256.Sum256(id[:]) {
		c[i] ^= b
	}
}

// ShareReq asks the helper for its share of a batch (4.6.4).
type ShareReq struct {
	Batch    BatchID
	Reports  uint64
	Checksum Checksum
}

// Marshal writes an AggregateShareReq.
func (q ShareReq) Marshal() []byte {
	b := append(CollectionReq{}.Marshal(), leaderSelected)
	b = appendOpaque16(b, q.Batch[:])
	b = binary.BigEndian.AppendUint64(b, q.Reports)
	return append(b, q.Checksum[:]...)
}

// ParseShareReq reads what ShareReq.Marshal writes.
func ParseShareReq(b []byte) (q ShareReq, err error) {
	r := reader{rest: b}
	_, err = ParseCollection(r.take(len(collectionReq)))
	mode, batch := r.number(1), r.opaque(2, 0)
	q.Reports = r.number(8)
	r.fixed(q.Checksum[:])
	if err != nil || !r.whole() || mode != leaderSelected || len(batch) != len(q.Batch) {
		return ShareReq{}, errForm("request for an aggregate share")
	}
	q.Batch = BatchID(batch)
	return q, nil
}

// MarshalShare writes an AggregateShare.
func MarshalShare(c Ciphertext) []byte { return c.append(nil) }

// ParseShare reads what MarshalShare writes.
func ParseShare(b []byte) (Ciphertext, error) {
	r := reader{rest: b}
	c := r.ciphertext()
	if !r.whole() {
		return Ciphertext{}, errForm("share of an aggregate")
	}
	return c, nil
}

// Collected is both shares of a batch (4.6.1).
type Collected struct {
	Reports         uint64
	Start, Duration uint64 // in units of the task's precision: between the first report and the last
	Leader, Helper  Ciphertext
}

// Marshal writes a CollectionJobResp.
func (c Collected) Marshal() (b []byte) {
	for _, n := range []uint64{c.Reports, c.Start, c.Duration} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return c.Helper.append(c.Leader.append(b))
}

// ParseCollected reads what Collected.Marshal writes.
func ParseCollected(b []byte) (Collected, error) {
	r := reader{rest: b}
	c := Collected{Reports: r.number(8), Start: r.number(8), Duration: r.number(8), Leader: r.ciphertext(), Helper: r.ciphertext()}
	if !r.whole() {
		return Collected{}, errForm("answer to the request for a collection job")
	}
	return c, nil
}
