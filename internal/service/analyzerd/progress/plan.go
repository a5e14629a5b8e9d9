// Package progress defines what an analyzer tells, as JSON: how far plans have come, and what populations have spent.
// Used by internal/service/analyzerd, which writes it, and by cmd/internal/services and other commands, which read it.
package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// Status says how far a plan has come.
type Status string

const (
	Open     Status = "open"   // takes batches
	Closed   Status = "closed" // takes none, and is being written up
	Failed   Status = "failed" // a sum of it can never be had; it is not written up yet
	Released Status = "released"
	Withheld Status = "withheld"
	// Withdrawn by its publisher before there was a release, and so for good.
	Withdrawn Status = "withdrawn"
)

// Plan is a registered plan as the service tells it.
type Plan struct {
	Plan       string    `json:"plan"`
	Title      string    `json:"title"`
	Publisher  string    `json:"publisher"`
	Status     Status    `json:"state"`
	Registered time.Time `json:"registered"`
	Closes     time.Time `json:"closes,omitzero"`
	Closed     time.Time `json:"closed,omitzero"`
	Closer     string    `json:"closer,omitempty"` // for operators only
	Decided    time.Time `json:"decided,omitzero"`
	Reason     string    `json:"reason,omitempty"` // why it is withheld
	Formats    []string  `json:"formats,omitempty"`
	Study      string    `json:"study,omitempty"` // that it is a round of
	Round      int       `json:"round,omitempty"`
	Over       string    `json:"over,omitempty"`      // why the study has no further round
	Suspended  bool      `json:"suspended,omitempty"` // nothing is done until its publishers are trusted again
	Coming     bool      `json:"coming,omitempty"`    // a round that some service does not have yet, so that nobody is asked

	// Withdrawal is there of a plan that its publisher has withdrawn, before a release or after it: what
	// is published stays, and whoever shows it says so.
	Withdrawal *Withdrawal `json:"withdrawal,omitempty"`
}

// Withdrawal is what a publisher said; wire.WithdrawalPath has it as they signed it.
type Withdrawal struct {
	Publisher string    `json:"publisher"`
	At        time.Time `json:"at"`
	Reason    string    `json:"reason"`
}

// Missing returns why a decided plan has no numbers that stand; "" where it has some, or is not decided yet.
func (p Plan) Missing() string {
	switch {
	case p.Withdrawal != nil:
		return fmt.Sprintf("withdrawn on %s: %s", p.Withdrawal.At.UTC().Format("2 January 2006"), p.Withdrawal.Reason)
	case p.Status == Open || p.Status == Closed || p.Status == Released:
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", p.Status, p.Reason), ": ")
}

// Standing returns the status that people are told: of a plan that was withdrawn that, whatever was
// published before, and of an open round that some service does not have yet that it is coming.
func (p Plan) Standing() Status {
	switch {
	case p.Withdrawal != nil:
		return Withdrawn
	case p.Coming && p.Status == Open:
		return "coming"
	}
	return p.Status
}

// Progress is how a collection is getting on.
type Progress struct {
	Plan
	Crowds    int     `json:"crowds"`
	Instances int     `json:"instances"`
	Batches   []Batch `json:"batches"`
}

// Batch is one batch that was counted.
type Batch struct {
	Instance    int       `json:"instance"`
	Crowd       int       `json:"crowd"`
	Respondents int       `json:"respondents"`
	Whole       int       `json:"whole"`   // contributions' worth of envelopes that were counted
	Dropped     int       `json:"dropped"` // envelopes that were not
	Counted     time.Time `json:"counted"`
}

// Page is how many plans an analyzer lists at once, but for the last page, which has fewer.
// "?after=" and the name of its last plan asks for the next.
const Page = 500

// mostPlans is how many plans are read of an analyzer: far above what one has.
const mostPlans = 1_000_000

// Plans reads the plans of an analyzer at a base address, page after page, in the order of
// their registration. An analyzer whose pages do not end, or come again, is refused.
func Plans(ctx context.Context, base string, get func(context.Context, string) ([]byte, error)) (all []Plan, err error) {
	seen := map[string]bool{}
	for at := base + "/v1/plans"; ; at = base + "/v1/plans?after=" + all[len(all)-1].Plan {
		text, err := get(ctx, at)
		if err != nil {
			return nil, err
		}
		var page []Plan
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", base, err)
		}
		for _, p := range page {
			if seen[p.Plan] || len(seen) == mostPlans {
				return nil, fmt.Errorf("%s: its list of plans does not end: plan %.16q comes again, or there are more than %d", base, p.Plan, mostPlans)
			}
			seen[p.Plan] = true
		}
		all = append(all, page...)
		if len(page) != Page { // an analyzer of an earlier version gives all at once
			return all, nil
		}
		if _, err := wire.ParsePlanName(all[len(all)-1].Plan); err != nil {
			return nil, fmt.Errorf("%s: the name of a plan in its list is %w", base, err)
		}
	}
}
