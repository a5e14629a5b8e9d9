package envelope

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"

	"github.com/confetti-dp/confetti/internal/x25519"
)

// worthwhile bounds from below how many payloads of a sealer repay the tables of its keys.
const worthwhile = 64

// sender seals many messages to one key of the suite x25519, each under a context of its own: base mode of RFC 9180 with
// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM. crypto/hpke has no place for pairs of keys that were computed
// before.
type sender struct {
	key     *x25519.Key
	public  []byte // as the plan has it
	context []byte // key_schedule_context of section 5.1: the mode, psk_id_hash and info_hash
}

var (
	kemID   = []byte{'K', 'E', 'M', 0, 0x20}
	suiteID = []byte{'H', 'P', 'K', 'E', 0, 0x20, 0, 1, 0, 1}
)

// newSender prepares 32 bytes of a key. It returns nil for one that crypto/hpke has to seal to, or to refuse.
func newSender(public, info []byte) *sender {
	key, err := x25519.NewKey([32]byte(public))
	if err != nil {
		return nil
	}
	context := append([]byte{0}, labeledExtract(suiteID, nil, "psk_id_hash", nil)...)
	return &sender{key, public, append(context, labeledExtract(suiteID, nil, "info_hash", info)...)}
}

// labeledExtract computes LabeledExtract of section 4.
func labeledExtract(suite, salt []byte, label string, ikm []byte) []byte {
	prk, err := hkdf.Extract(sha256.New, labeled(nil, suite, label, ikm), salt)
	if err != nil {
		panic("envelope: " + err.Error()) // fails under FIPS 140 alone, where there is no sender
	}
	return prk
}

// labeledExpand computes LabeledExpand of section 4.
func labeledExpand(suite, prk []byte, label string, info []byte, length int) []byte {
	out, err := hkdf.Expand(sha256.New, prk, string(labeled(binary.BigEndian.AppendUint16(nil, uint16(length)), suite, label, info)), length)
	if err != nil {
		panic("envelope: " + err.Error()) // the length is a constant
	}
	return out
}

func labeled(before, suite []byte, label string, after []byte) []byte {
	return append(append(append(append(before, "HPKE-v1"...), suite...), label...), after...)
}

// schedule returns the cipher and its first nonce for a product and its encapsulated key (sections 4.1 and 5.1).
func (s *sender) schedule(enc, shared []byte) (cipher.AEAD, []byte) {
	kemContext := append(append(make([]byte, 0, 64), enc...), s.public...)
	sharedSecret := labeledExpand(kemID, labeledExtract(kemID, nil, "eae_prk", shared), "shared_secret", kemContext, 32)
	secret := labeledExtract(suiteID, sharedSecret, "secret", nil)
	block, err := aes.NewCipher(labeledExpand(suiteID, secret, "key", s.context, 16))
	if err != nil {
		panic("envelope: " + err.Error()) // the key has 16 bytes
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic("envelope: " + err.Error()) // AES has blocks of 16 bytes
	}
	return gcm, labeledExpand(suiteID, secret, "base_nonce", s.context, 12)
}

// sealAll replaces each message by its layer.
func (s *sender) sealAll(aad []byte, messages [][]byte) error {
	var enc, shared [batch][32]byte
	defer clear(shared[:])
	for len(messages) > 0 {
		n := min(batch, len(messages))
		if err := s.key.Pairs(enc[:n], shared[:n]); err != nil {
			return err
		}
		for i, m := range messages[:n] {
			gcm, nonce := s.schedule(enc[i][:], shared[i][:])
			messages[i] = gcm.Seal(append(make([]byte, 0, len(enc[i])+len(m)+tagSize), enc[i][:]...), nonce, m, aad)
		}
		messages = messages[n:]
	}
	return nil
}
