package dap

import (
	"encoding/binary"
	"errors"

	"github.com/confetti-dp/confetti/envelope"
)

// Key is one of the keys to which shares for a party are sealed (4.4.1).
type Key struct {
	ID             byte
	KEM, KDF, AEAD uint16
	Public         []byte
}

// KeyOf returns a party's key in a plan, which has one.
func KeyOf(k envelope.PublicKey) Key {
	kem, kdf, aead := k.Suite().IDs()
	return Key{KEM: kem, KDF: kdf, AEAD: aead, Public: k.Bytes()}
}

// MarshalConfig writes an HpkeConfigList.
func MarshalConfig(all []Key) []byte {
	var list []byte
	for _, k := range all {
		list = append(list, k.ID)
		for _, n := range []uint16{k.KEM, k.KDF, k.AEAD} {
			list = binary.BigEndian.AppendUint16(list, n)
		}
		list = appendOpaque16(list, k.Public)
	}
	return appendOpaque16(nil, list)
}

// Seal seals to a key of a plan.
func Seal(to envelope.PublicKey, info, data, plaintext []byte) (Ciphertext, error) {
	enc, payload, err := to.SealBase(info, data, plaintext)
	return Ciphertext{Enc: enc, Payload: payload}, err
}

// errConfig is the error of a ciphertext for a key that the party does not have.
var errConfig = errors.New("dap: sealed to a key that is not here")

// Open opens what Seal sealed.
func Open(key envelope.PrivateKey, info, data []byte, c Ciphertext) ([]byte, error) {
	if c.Config != 0 {
		return nil, errConfig
	}
	return key.OpenBase(info, data, c.Enc, c.Payload)
}
