package client

import (
	"cmp"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

// Options say whom a device trusts and what it may spend and keep. Only
// Publishers, Store and Transport must be set.
type Options struct {
	Publishers plan.Publishers        // whose plans are answered: plan.Trust, or plan.ReadPublishers
	Store      Store                  // where the ledger is and what waits: native.Folder natively
	Transport  Transport              // what carries requests: native.Transport natively, which may show a certificate
	Policy     func() (Policy, error) // the administrator's, asked for before each answer and each sending: policy.File natively; nil: none
	Operators  Operators              // the respondent's choice of operators; the zero value: all that the policy allows, alike
	Caps       Caps                   // the zero value stands for DefaultCaps

	// State is the public state that the plan names (FetchState); nil where it names none.
	State []byte

	// Who the respondent is to the token issuer and, where it demands no token, to
	// the entry hop: a bearer token, the Transport's certificate, or both. An entry hop that
	// takes tokens gets neither.
	Bearer string

	// Delay is the longest that a contribution waits on the device after its tokens
	// were asked for. Each waits a uniform part of it, or of half the time until the
	// plan closes if that is less: whoever sees a contribution come then learns only
	// that its tokens were asked for within the last Delay, at every moment of it
	// with the same probability. 0: DefaultDelay where the entry hop takes tokens,
	// and knows a respondent by them alone; otherwise none. NoDelay: none.
	Delay time.Duration

	// Wait is the longest that one Report or Deliver waits in all, for delays and
	// between attempts, beside the time that its requests take. 0: it does not wait,
	// tries each contribution that is due once, and leaves the rest for a later
	// Deliver.
	Wait time.Duration

	SpoolBytes int64         // most of what waits; 0: 64 MB
	SpoolAge   time.Duration // of what waits; 0: seven days
	// The ledger forgets messages above LedgerBytes, oldest first, and after LedgerAge. It may be
	// late by a part in 32. 0: 16 MB, and a year.
	LedgerBytes int
	LedgerAge   time.Duration

	// Program tells this program from every other one, such as the hash of its bytes. Where it
	// is given the Store keeps what the accountant found of the last plan, and the same program
	// need not find it again. "": the plan is checked each time.
	Program string

	Now func() time.Time // nil: the system's clock

	// Failpoint is called at each named step (see Failpoints), in tests of
	// crashes. Its error ends what is being done as a crash would: nothing after it
	// happens. nil: none.
	Failpoint func(name string) error
}

const (
	// DefaultDelay is the Delay that stands where none is set and tokens are taken.
	DefaultDelay = time.Hour
	// NoDelay sends at once. Together the issuer, who knows whose a token request is,
	// and the entry hop can then tell by time which contribution is whose: for
	// trials and tests.
	NoDelay time.Duration = -1
)

// Failpoints are the steps that Options.Failpoint is called at, in order.
var Failpoints = []string{
	"answer-drawn",              // nothing of it lasts
	"answer-spent",              // in the ledger, not sealed
	"contribution-sealed",       // not on disk
	"contribution-kept",         // on disk, and the ledger does not say so
	"contribution-spooled",      // on disk, not sent
	"contribution-acknowledged", // by the entry hop, not marked
	"contribution-marked",       // as sent, its file still there
}

func (o Options) withDefaults() Options {
	if o.Caps == (Caps{}) {
		o.Caps = DefaultCaps
	}
	o.SpoolBytes = cmp.Or(o.SpoolBytes, 64<<20)
	o.SpoolAge = cmp.Or(o.SpoolAge, 7*24*time.Hour)
	o.LedgerBytes = cmp.Or(o.LedgerBytes, 16<<20)
	o.LedgerAge = cmp.Or(o.LedgerAge, 365*24*time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) error { return nil }
	}
	return o
}
