package dap

import "encoding/binary"

// leaderSelected is the batch mode of all tasks (5.2): a batch is the reports that the
// leader names as one.
const leaderSelected = 2

// Configuration is what all parties of a task must agree on (4.2). It is
// authenticated in every share.
type Configuration struct {
	Info           []byte // 1 to 255 bytes that tell tasks of one form apart
	Leader, Helper string // URLs
	Precision      uint64 // seconds of one unit of time
	Minimum        uint64 // reports of the smallest batch
	VDAF           uint32 // in the registry of VDAFs
	Parameters     []byte // of the VDAF
}

// Append writes the configuration as it stands in authenticated data.
func (c Configuration) Append(b []byte) []byte {
	b = append(append(b, byte(len(c.Info))), c.Info...)
	b = appendOpaque16(b, []byte(c.Leader))
	b = appendOpaque16(b, []byte(c.Helper))
	b = binary.BigEndian.AppendUint64(b, c.Precision)
	b = binary.BigEndian.AppendUint64(b, c.Minimum)
	b = append(b, leaderSelected)
	b = appendOpaque16(b, nil) // of the batch mode
	b = binary.BigEndian.AppendUint32(b, c.VDAF)
	b = appendOpaque16(b, c.Parameters)
	return appendOpaque16(b, nil) // extensions
}

// Context returns what the VDAF's shares of a task are bound to.
func Context(t TaskID) []byte { return append([]byte(version), t[:]...) }

// InputShareInfo and AggregateShareInfo are the HPKE infos of shares for, and of, an
// aggregator (4.4.2, 4.6.6).
func InputShareInfo(to Role) []byte {
	return append([]byte(version+" input share"), byte(client), byte(to))
}

// AggregateShareInfo returns that of an aggregate share.
func AggregateShareInfo(of Role) []byte {
	return append([]byte(version+" aggregate share"), byte(of), byte(collector))
}

// InputShareData returns the authenticated data of a report's shares.
func InputShareData(t TaskID, c Configuration, m Metadata, public []byte) []byte {
	return appendOpaque32(m.append(c.Append(t[:])), public)
}

// AggregateShareData returns the authenticated data of an aggregate share.
func AggregateShareData(t TaskID, c Configuration, q CollectionReq) []byte {
	return append(c.Append(t[:]), q.Marshal()...)
}
