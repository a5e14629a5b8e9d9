package handover

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// ReceiptHeader is the HTTP header in which aggregators' receipts travel beside their
// shares, in URL-safe base64 without padding: the leader's, and the helper's after it.
const ReceiptHeader = "Confetti-Receipts"

// SharesDigest returns the BatchOut of the helper's receipt: of the leader's, which is the
// SHA-256 of the leader's share, and the helper's share.
func SharesDigest(leader [32]byte, helper []byte) [32]byte {
	return sha256.Sum256(append(bytes.Clone(leader[:]), helper...))
}

// CheckShares checks the receipts of both aggregators of a crowd, which sign for the
// sealed shares that they hand on: in the place of hops they have added up reports, In that
// came and Out that were valid.
func CheckShares(receipts []byte, keys []relay.VerifyKey, plan [32]byte, crowd uint32, leader, helper []byte) error {
	if len(receipts) != 2*relay.ReceiptSize || len(keys) != 2 {
		return errors.New("wire: two aggregators have two receipts")
	}
	all := make([]relay.SignedReceipt, 2)
	for i := range all {
		var err error
		if all[i], err = relay.ParseReceipt(receipts[i*relay.ReceiptSize : (i+1)*relay.ReceiptSize]); err != nil {
			return err
		}
	}
	if err := relay.CheckLinks(all, keys, plan, 0, crowd); err != nil {
		return err
	}
	switch {
	case all[0].BatchOut != sha256.Sum256(leader):
		return fmt.Errorf("wire: receipt of hop 1: the share is not the one that it handed on")
	case all[1].BatchOut != SharesDigest(all[0].BatchOut, helper):
		return fmt.Errorf("wire: receipt of hop 2: the share is not the one that it handed on")
	}
	return nil
}
