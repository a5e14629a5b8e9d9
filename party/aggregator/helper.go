package aggregator

import (
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/token"
)

// Helper is the aggregator that verifies what the leader brings.
type Helper struct {
	side
	tokens *token.PublicKey // nil: none are demanded
}

// NewHelper returns the helper of a task with its private key. tokens is the key of the tokens
// that it demands, nil where it demands none.
func NewHelper(t *task.Task, key envelope.PrivateKey, pair Pair, tokens *token.PublicKey) *Helper {
	return &Helper{side{t, dap.Helper, key, pair.verifyKey(t.ID)}, tokens}
}

// Verified is what the helper found of one report.
type Verified struct {
	dap.VerifyResp              // what the leader is told; an error: it is not valid
	Token          []byte       // the name of its token, which counts once; nil: none is demanded
	Share          prio3.Vector // to be added, where it is valid
}

// Verify verifies reports, in their order. Whether one of them, or its token, was here
// before it does not know: that is found where they are written down.
func (h *Helper) Verify(q dap.AggregationReq) []Verified {
	all := make([]Verified, len(q.Reports))
	h.starts(len(all), func(i int) report {
		return report{q.Reports[i].Metadata, q.Reports[i].Public, q.Reports[i].Helper}
	}, func(i int, r report, share []byte) {
		all[i] = h.one(q.Reports[i], r, share)
	})
	return all
}

func (h *Helper) one(v dap.VerifyInit, r report, opened []byte) Verified {
	failed := func(e dap.ReportError) Verified { return Verified{VerifyResp: dap.VerifyResp{ID: v.ID, Error: e}} }
	state, part, bearer, fault := h.start(r, opened)
	if fault != 0 {
		return failed(fault)
	}
	var name []byte
	if h.tokens != nil {
		if h.tokens.Verify(token.Context{Plan: h.Plan, Hop: 1}, bearer) != nil {
			return failed(dap.InvalidMessage)
		}
		id := token.ID(bearer)
		name = id[:]
	}
	message, err := h.VDAF.Decide(v.Part, part)
	if err != nil {
		return failed(dap.VerifyFailed)
	}
	share, err := h.VDAF.Finish(state, message)
	if err != nil {
		return failed(dap.VerifyFailed)
	}
	return Verified{VerifyResp: dap.VerifyResp{ID: v.ID, Message: message}, Token: name, Share: share}
}
