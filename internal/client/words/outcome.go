package words

import (
	"errors"
	"time"

	"github.com/confetti-dp/confetti/client"
)

// What became of an answer.
const (
	Sent      = "sent"      // the answer, whole
	Unfit     = "unfit"     // in the place of an answer that the plan has no room for, what the plan says
	Delivered = "delivered" // what was drawn earlier; whether the answer fitted is not kept
	Waiting   = "waiting"   // it is safe on the device
)

// Outcome is what became of an answer, for the page that asked.
type Outcome struct {
	Status string    `json:"status"`
	Parts  int       `json:"parts"` // contributions that wait
	Next   time.Time `json:"next,omitzero"`
	Why    string    `json:"why,omitempty"`
	Said   string    `json:"said,omitempty"` // client.Entry's
	Fits   *bool     `json:"fits,omitempty"` // whether the plan has room for the answer; nil: not known any more
}

// Became returns what became of an answer that is in the ledger as e, of which a report or a
// delivery said err, and of which it is known whether it fits (nil: it is not). What was dropped is
// an error, whatever else was sent.
func Became(err error, e client.Entry, fits *bool) (Outcome, error) {
	o := Outcome{Status: Delivered, Said: e.Said, Fits: fits}
	if fits != nil && *fits {
		o.Status = Sent
	} else if fits != nil {
		o.Status = Unfit
	}
	if w, waits := errors.AsType[*client.WaitingError](err); waits {
		o.Status, o.Parts, o.Next, o.Why = Waiting, w.Parts, w.Next, w.Cause.Error()
		return o, nil
	}
	if _, alone := err.(*client.OutOfDomainError); err != nil && !alone { // not beside another error
		return o, err
	}
	for _, p := range e.Parts {
		if p.Status == client.Dropped {
			return o, &client.DroppedError{Reason: p.Reason}
		}
	}
	return o, nil
}
