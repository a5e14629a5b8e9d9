package terms

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
)

// What is said of questions whose devices answer rows in secret (docs/secret-rows.md).
const (
	// Thinned says what they need of hops that drop messages.
	Thinned = "The contributions of honest respondents arrive whole, or a hop drops envelopes by coins of their own: of drops that leave a fixed number of a device's envelopes no proof is known, as its rows then depend on each other."
	// OwnCoins says what they assume of devices.
	OwnCoins = "Each device draws the rows that it answers by coins of its own, and tells nobody (docs/vector-rr.md, section 6)."
)

// secretPayload is how many bytes the message of a row has.
const secretPayload = 6

// RequireSecret lists what is wrong with a plan whose devices answer rows in secret, whatever it asks.
func RequireSecret(p plan.Plan, ps *plan.Problems) {
	ps.Require(p.Budget.LocalEpsilon == 0, "budget.local_epsilon: barely flipped bits promise nothing where everyone colludes: leave it out")
	ps.Require(p.Crowd.Deletion == nil, "crowd.deletion: rows cannot be secret where the number of respondents is private: leave it out")
	ps.Require(p.Envelopes.PayloadBytes == 0 || p.Envelopes.PayloadBytes >= secretPayload, "envelopes.payload_bytes must be at least %d", secretPayload)
	RequireUnfit(p, ps)
	RequireWhole(p, ps)
}

// RequireBits lists what is wrong with the numbers of rows that devices answer in secret, which stand at a place of a plan.
func RequireBits(at string, b plan.BitsSent, p plan.Plan, ps *plan.Problems) {
	ps.Require(b.Answered >= 1 && b.Answered <= b.Rows, "%sanswered must be between 1 and the number of rows", at)
	ps.Require(b.Clip >= 0.5 && b.Clip <= 100, "%sclip must be between 0.5 and 100 deviations", at)
	ps.Require(b.Flip > 0 && b.Flip < 0.5, "%sflip_probability must be above 0 and below 1/2", at)
	ps.Require(b.Rare > 0 && b.Rare < 1, "%srare must be above 0 and below 1", at)
	ps.Require(p.MostMessages() >= min(b.Answered, b.Rows), "envelopes.per_device must be at least the %d rows that a device answers on average (%sanswered)", b.Answered, at)
}

// SecretRows states what rows that devices answer in secret tell: an event is of all of them together, and local of
// those of one device, opened.
func SecretRows(p plan.Plan, e account.Event, local, shuffled account.Guarantee, note string) ([]account.Statement, error) {
	one, err := account.OneMessage(e, shuffled.Delta)
	if err != nil {
		return nil, err
	}
	local.Epsilon = math.Nextafter(local.Epsilon, math.Inf(1))
	return []account.Statement{
		{Observer: account.EveryoneColludes, Who: Everyone, Guarantee: local, Note: note},
		{Observer: account.OneFragmentSeen, Who: OneFragment, Guarantee: one, Note: note},
		{Observer: account.ShufflerHonest, Who: ShufflerHonest(p), Guarantee: shuffled, Note: note},
	}, nil
}

// Signs returns how many messages have the sign of one of so many rows.
func Signs(bodies [][]byte, rows int) (n int) {
	for _, body := range bodies {
		if row, _, err := tally.ParseMessage(body); err == nil && int(row) < rows {
			n++
		}
	}
	return n
}
