package handover

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// CheckLast checks that the receipts are of all hops of a leg, whose keys are given, and
// that the last of them signed for that leg: whoever cannot show that sends no batch,
// however large. CheckChain checks the rest, when the batch's head is there.
func CheckLast(receipts []relay.SignedReceipt, keys []relay.VerifyKey, leg wire.Leg) error {
	if len(receipts) != len(keys) || len(keys) == 0 {
		return fmt.Errorf("wire: %d receipts of %d hops", len(receipts), len(keys))
	}
	last := receipts[len(receipts)-1]
	if err := last.Verify(keys[len(keys)-1]); err != nil {
		return err
	}
	if last.Plan != leg.Plan || last.Instance != leg.Instance || last.Crowd != leg.Crowd {
		return errors.New("wire: the last receipt is of another batch than the path names")
	}
	return nil
}

// CheckChain checks the receipts of all hops that a batch has come through, from
// the entry on, against each other, the batch, and the keys that the plan names
// for its instance's hops (the zero key where it names none). It says which
// hop's receipt does not bear the batch out.
func CheckChain(receipts []relay.SignedReceipt, keys []relay.VerifyKey, batch envelope.Head, digest [32]byte) error {
	if len(receipts) != int(batch.Hop) || len(receipts) > len(keys) || len(receipts) == 0 {
		return fmt.Errorf("wire: %d receipts with a batch that came through %d hops: need one of each", len(receipts), batch.Hop)
	}
	if err := relay.CheckLinks(receipts, keys, batch.Plan, batch.Instance, batch.Crowd); err != nil {
		return err
	}
	last := receipts[len(receipts)-1]
	if last.Respondents != batch.Respondents {
		return fmt.Errorf("wire: receipt of hop %d: another number of respondents than the batch has", int(last.Hop)+1)
	}
	if last.BatchOut != digest || last.Out != batch.Envelopes {
		return fmt.Errorf("wire: receipt of hop %d: the batch is not the one that it handed on", int(last.Hop)+1)
	}
	return nil
}
