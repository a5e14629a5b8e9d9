package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/dp/fragment"
	"github.com/confetti-dp/confetti/dp/tally"
)

// record is one line of the journal. Kind says which fields it has.
type record struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`

	OptedIn bool `json:"opted_in,omitempty"` // consent

	Plan      string         `json:"plan,omitempty"` // all others
	Spent     *spending      `json:"spent,omitempty"`
	Backstops []keptBackstop `json:"backstops,omitempty"` // spent, and what a compaction keeps of one
	Instance  int            `json:"instance,omitempty"`  // sent, dropped
	Reason    string         `json:"reason,omitempty"`    // dropped

	Study string `json:"study,omitempty"` // joined
	Round int    `json:"round,omitempty"` // joined: which one the device answers
}

const (
	kindConsent = "consent"
	kindJoined  = "joined"
	kindSpent   = "spent"
	kindSent    = "sent"
	kindDropped = "dropped"
)

type spending struct {
	Title      string       `json:"title"`
	Publisher  string       `json:"publisher"`
	Charge     Charge       `json:"charge"`
	Reused     bool         `json:"reused,omitempty"`
	Backed     *Backed      `json:"backed,omitempty"` // nil in the records of versions that did not keep it
	OneMessage float64      `json:"one_message"`
	OneDelta   float64      `json:"one_message_delta,omitempty"`
	Note       string       `json:"note,omitempty"`
	Crowd      int          `json:"crowd"`
	CrowdName  string       `json:"crowd_name"`
	Parts      []spokenPart `json:"parts"`
	Expires    time.Time    `json:"expires"`
	Forgotten  bool         `json:"forgotten,omitempty"`
	Study      string       `json:"study,omitempty"`
	Round      int          `json:"round,omitempty"`
	Covered    bool         `json:"covered,omitempty"`
}

type spokenPart struct {
	Instance int    `json:"instance"`
	Size     int    `json:"size,omitempty"`     // bytes of a payload
	Vector   []byte `json:"vector,omitempty"`   // of an answer that is summed, in the place of payloads: see secret.shut
	Payloads []byte `json:"payloads,omitempty"` // one after the other; none once they are forgotten
	Messages []byte `json:"messages,omitempty"` // of the ledger's version 1, in the place of payloads: the body of each message
}

type keptBackstop struct {
	Key  []byte `json:"key"` // HMAC, by the device's secret, of protocol's key
	Kept []byte `json:"kept"`
}

// spoken is the record of a part.
func spoken(p Packed) spokenPart {
	return spokenPart{Instance: p.Instance, Size: len(p.Payloads[0]), Payloads: slices.Concat(p.Payloads...)}
}

// part reads back what was said; ok is false where it makes no sense.
func (s spokenPart) part() (p Part, ok bool) {
	p = Part{Instance: s.Instance, State: Waiting, vector: s.Vector}
	if s.Vector != nil {
		return p, len(s.Messages) == 0 && len(s.Payloads) == 0 && s.Size == 0
	}
	if len(s.Messages)%tally.MessageBytes != 0 || len(s.Payloads) > 0 && (s.Size <= 0 || len(s.Payloads)%s.Size != 0 || len(s.Messages) > 0) {
		return p, false
	}
	if len(s.Messages) > 0 {
		p.Messages = slices.Collect(slices.Chunk(s.Messages, tally.MessageBytes))
	}
	if len(s.Payloads) > 0 {
		p.payloads = slices.Collect(slices.Chunk(s.Payloads, s.Size))
	}
	for _, payload := range p.payloads {
		body, err := fragment.Unpack(payload)
		if err != nil {
			return p, false
		}
		if body != nil {
			p.Messages = append(p.Messages, body)
		}
	}
	return p, true
}

// parseRecord is strict: a record of a later version must not be passed over.
func parseRecord(line []byte) (r record, err error) {
	if strict(line, &r) != nil {
		return r, errDamaged
	}
	return r, nil
}

// strict reads one JSON document whose fields are all known, and nothing after it.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text goes on after the closing brace")
	}
	return nil
}

func (r record) bytes() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("client: " + err.Error()) // numbers are finite and times have a year
	}
	return b
}
