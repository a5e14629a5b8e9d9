package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// record is one line of the journal. Kind says which fields it has.
type record struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`

	OptedIn bool `json:"opted_in,omitempty"` // consent

	Plan      string         `json:"plan,omitempty"` // all others
	Spent     *spending      `json:"spent,omitempty"`
	Backstops []keptBackstop `json:"backstops,omitempty"` // spent, and what a compaction keeps of one
	Instance  int            `json:"instance,omitempty"`  // sealed, sent, dropped
	Reason    string         `json:"reason,omitempty"`    // dropped

	Study string `json:"study,omitempty"` // joined
	Round int    `json:"round,omitempty"` // joined: which one the device answers
}

const (
	kindConsent = "consent"
	kindJoined  = "joined"
	kindSpent   = "spent"
	kindSealed  = "sealed" // and in the spool: from here on it may have been sent
	kindSent    = "sent"
	kindDropped = "dropped"
)

type spending struct {
	Title      string       `json:"title"`
	Publisher  string       `json:"publisher"`
	Charge     Charge       `json:"charge"`
	Reused     bool         `json:"reused,omitempty"`
	Backed     *Backed      `json:"backed,omitempty"` // nil in the records of versions that did not keep it
	Statements []stated     `json:"statements,omitempty"`
	OneMessage float64      `json:"one_message,omitempty"` // this and the next two: of earlier versions
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
	From       time.Time    `json:"from,omitzero"`
	Until      time.Time    `json:"until,omitzero"`
	Events     int          `json:"events,omitempty"`
	Most       int          `json:"most_events,omitempty"`
	Said       string       `json:"said,omitempty"` // none in the records of versions that did not keep it
}

type keptBackstop struct {
	Key  []byte `json:"key"` // HMAC, by the device's secret, of protocol's key
	Kept []byte `json:"kept"`
}

// parseRecord reads strictly: a record of a later version must not be passed over.
func parseRecord(line []byte) (r record, err error) {
	if strictjson.JSON(line, &r) != nil {
		return r, journal.ErrDamaged
	}
	return r, nil
}

// line writes the record.
func (r record) line() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("client: a record that cannot be written: %w", err)
	}
	return b, nil
}
