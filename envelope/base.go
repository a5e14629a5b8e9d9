package envelope

import (
	"crypto/hpke"
	"fmt"
)

// IDs returns the KEM, KDF and AEAD of the suite in the registries of HPKE.
func (s Suite) IDs() (kemID, kdfID, aeadID uint16) { return s.kem().ID(), kdf.ID(), aead.ID() }

// SealBase seals as SealBase of RFC 9180, section 6.1, does: what travels in other protocols than
// ours, and is no envelope.
func (k PublicKey) SealBase(info, aad, plaintext []byte) (enc, ciphertext []byte, err error) {
	if k.key == nil {
		return nil, nil, fmt.Errorf("envelope: no public key to seal to")
	}
	enc, sender, err := hpke.NewSender(k.key, kdf, aead, info)
	if err != nil {
		return nil, nil, fmt.Errorf("envelope: seal: %w", err)
	}
	if ciphertext, err = sender.Seal(aad, plaintext); err != nil {
		return nil, nil, fmt.Errorf("envelope: seal: %w", err)
	}
	return enc, ciphertext, nil
}

// OpenBase opens what SealBase sealed. The error is ErrOpen.
func (k PrivateKey) OpenBase(info, aad, enc, ciphertext []byte) ([]byte, error) {
	if k.key == nil {
		return nil, ErrOpen
	}
	return openBase(k.key(), info, aad, enc, ciphertext)
}

// OpenBaseAll returns what OpenBase does of each of n messages, in its place, and nil where one does not open. It is
// faster for the same reason as Opener.OpenAll.
func (k PrivateKey) OpenBaseAll(info []byte, n int, message func(i int) (aad, enc, ciphertext []byte)) [][]byte {
	if k.key == nil {
		return make([][]byte, n)
	}
	type sealed struct{ aad, enc, ciphertext []byte }
	all := make([]sealed, n)
	for i := range all {
		all[i].aad, all[i].enc, all[i].ciphertext = message(i)
	}
	own := k.key()
	return newLanes(k).openAll(n, k.suite.Overhead()-tagSize, func(i int) []byte { return all[i].enc }, func(key hpke.PrivateKey, i int) ([]byte, error) {
		if key == nil {
			key = own
		}
		return openBase(key, info, all[i].aad, all[i].enc, all[i].ciphertext)
	})
}

func openBase(key hpke.PrivateKey, info, aad, enc, ciphertext []byte) ([]byte, error) {
	recipient, err := hpke.NewRecipient(enc, key, kdf, aead, info)
	if err != nil {
		return nil, ErrOpen
	}
	plaintext, err := recipient.Open(aad, ciphertext)
	if err != nil {
		return nil, ErrOpen
	}
	return plaintext, nil
}
