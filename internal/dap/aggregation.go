package dap

// VerifyInit is a report as the leader hands it to the helper, with the leader's part of
// its verification (4.5.2.1).
type VerifyInit struct {
	Metadata
	Public []byte
	Helper Ciphertext
	Part   []byte // of the VDAF's verification, by the leader
}

// AggregationReq has the helper verify reports, and add those that are valid to a batch.
type AggregationReq struct {
	Batch   BatchID
	Reports []VerifyInit
}

// batchExtension is the type of the extension with the batch's id (5.2.2).
const batchExtension = 1

// The types of a ping-pong message of a VDAF of one round (VDAF, 5.7.1).
const (
	pingInitialize = 0
	pingFinish     = 2
)

// Marshal writes an AggregationJobInitReq.
func (q AggregationReq) Marshal() []byte {
	b := []byte{0}             // of the verification keys, the only one
	b = appendOpaque32(b, nil) // Prio3's aggregation parameter
	b = appendExtensions(b, []Extension{{batchExtension, q.Batch[:]}})
	for _, v := range q.Reports {
		b = v.Helper.append(appendOpaque32(v.Metadata.append(b), v.Public))
		b = appendOpaque32(b, appendOpaque32([]byte{pingInitialize}, v.Part))
	}
	return b
}

// ParseAggregation reads an AggregationReq of at most so many reports, and at least one.
// No two have one id.
func ParseAggregation(b []byte, most int) (q AggregationReq, err error) {
	r := reader{rest: b}
	key, parameter, extensions := r.number(1), r.opaque(4, 0), r.extensions()
	if r.bad || key != 0 || len(parameter) != 0 || len(extensions) != 1 || extensions[0].Type != batchExtension || len(extensions[0].Data) != len(q.Batch) {
		return q, errForm("request for an aggregation job")
	}
	q.Batch = BatchID(extensions[0].Data)
	seen := map[ReportID]bool{}
	for r.more() {
		v := VerifyInit{Metadata: r.metadata(), Public: r.opaque(4, 0), Helper: r.ciphertext()}
		v.Part = r.ping(pingInitialize)
		if seen[v.ID] || len(q.Reports) == most {
			r.bad = true
		}
		seen[v.ID] = true
		q.Reports = append(q.Reports, v)
	}
	if !r.whole() || len(q.Reports) == 0 {
		return AggregationReq{}, errForm("request for an aggregation job")
	}
	return q, nil
}

// ping reads a ping-pong message of one field.
func (r *reader) ping(kind byte) []byte {
	m := reader{rest: r.opaque(4, 1)}
	got, field := m.number(1), m.opaque(4, 0)
	if !m.whole() || got != uint64(kind) {
		r.bad = true
	}
	return field
}

// VerifyResp is what the helper says of one report (4.5.2.2).
type VerifyResp struct {
	ID      ReportID
	Message []byte      // with which the leader finishes; nil: it was not taken
	Error   ReportError // why not
}

const (
	respContinue = 0
	respReject   = 2
)

// MarshalAggregationResp writes an AggregationJobResp.
func MarshalAggregationResp(all []VerifyResp) (b []byte) {
	for _, v := range all {
		b = append(b, v.ID[:]...)
		if v.Message == nil {
			b = append(b, respReject, byte(v.Error))
			continue
		}
		b = append(b, respContinue)
		b = appendOpaque32(b, appendOpaque32([]byte{pingFinish}, v.Message))
	}
	return b
}

// ParseAggregationResp reads the answer to a request: it has the same reports in the
// same order.
func ParseAggregationResp(b []byte, to AggregationReq) ([]VerifyResp, error) {
	r := reader{rest: b}
	all := make([]VerifyResp, 0, len(to.Reports))
	for _, asked := range to.Reports {
		var v VerifyResp
		r.fixed(v.ID[:])
		switch kind := r.number(1); {
		case r.bad:
		case kind == respContinue:
			v.Message = r.ping(pingFinish)
			r.bad = r.bad || len(v.Message) == 0
		case kind == respReject:
			v.Error = r.reportError()
		default:
			r.bad = true
		}
		if r.bad || v.ID != asked.ID {
			return nil, errForm("answer to the request for an aggregation job")
		}
		all = append(all, v)
	}
	if !r.whole() {
		return nil, errForm("answer to the request for an aggregation job")
	}
	return all, nil
}
