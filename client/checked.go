package client

import (
	"bytes"
	"encoding/json"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// checkedName is what the last plan's check is kept under.
const checkedName = "checked"

// checked is what the accountant found of a plan. It is a function of the plan and of the
// program, so that it is kept for both by their hashes, and for nothing else.
type checked struct {
	Program    string   `json:"program"`
	Plan       string   `json:"plan"`
	Charge     Charge   `json:"charge"`
	Question   []byte   `json:"question,omitempty"`
	Statements []stated `json:"statements"`
}

// check runs the accountant and says what an answer costs, or recalls what the same program
// found of the same plan, which names its study. Whoever can write into the store can have the
// device spend anyway.
func (o Options) check(proto *protocol.Protocol, s *plan.Study) (checked, error) {
	c := checked{Program: o.Program, Plan: proto.Plan.Name()}
	if known, ok := o.recall(c); ok {
		return known, nil
	}
	promise, err := proto.Promise()
	if err != nil {
		return c, err
	}
	if c.Charge, c.Question, err = price(proto, promise); err != nil {
		return c, err
	}
	all, err := proto.Stated(promise, s)
	if err != nil {
		return c, err
	}
	c.Statements = recorded(all)
	if record, err := json.Marshal(c); err == nil && o.Program != "" {
		_ = o.Store.Replace(checkedName, journal.Line(nil, record)) // it is checked again otherwise
	}
	return c, nil
}

// recall returns what is kept of that plan and program, if it is whole.
func (o Options) recall(of checked) (known checked, ok bool) {
	if o.Program == "" {
		return known, false
	}
	line, err := o.Store.Load(checkedName)
	if err != nil || len(line) < len("01234567 ") {
		return known, false
	}
	record := bytes.TrimSuffix(line[len("01234567 "):], []byte("\n"))
	if !bytes.Equal(journal.Line(nil, record), line) || strictjson.JSON(record, &known) != nil {
		return known, false
	}
	_, whole := recalled(known.Statements)
	return known, whole && known.Program == of.Program && known.Plan == of.Plan && known.Charge.valid()
}
