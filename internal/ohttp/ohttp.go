package ohttp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
)

// The media types of what goes through a relay, and of a gateway's keys (RFC 9458).
const (
	RequestType  = "message/ohttp-req"
	ResponseType = "message/ohttp-res"
	KeysType     = "application/ohttp-keys"
)

// KeyProblem is the type of the problem of a request to a key that a gateway does not have.
const KeyProblem = "https://iana.org/assignments/http-problem-types#ohttp-key"

const (
	// MaxRequest and MaxResponse bound what goes through a relay, in bytes.
	MaxRequest  = 8 << 20
	MaxResponse = 1 << 20

	// Overhead is more than a relay's way adds to a request's body, in bytes.
	Overhead = 8 << 10
)

const (
	requestLabel  = "message/bhttp request"
	responseLabel = "message/bhttp response"

	headerSize = 7  // key, KEM, KDF, AEAD
	tagSize    = 16 // of AES-GCM
	keySize    = 16 // of AES-128
	nonceSize  = 12 // of AES-GCM
	saltSize   = 16 // of a response: the larger of the two
)

// The algorithms are those of envelopes. To find a KEM by its number would link all of them.
var (
	kems = map[envelope.Suite]hpke.KEM{envelope.X25519: hpke.DHKEM(ecdh.X25519()), envelope.XWing: hpke.MLKEM768X25519()}
	kdf  = hpke.HKDFSHA256()
	aead = hpke.AES128GCM()
)

// Key is the public key of a gateway.
type Key struct {
	id     byte // the first of the SHA-256 of its text
	kem    hpke.KEM
	public hpke.PublicKey
}

// ParseKey reads a key as plans write it: "x25519:" or "x-wing:", and base64url.
func ParseKey(text string) (Key, error) {
	parsed, err := envelope.ParsePublicKey(text)
	if err != nil {
		return Key{}, err
	}
	k := Key{id: sha256.Sum256([]byte(text))[0], kem: kems[parsed.Suite()]}
	if k.public, err = k.kem.NewPublicKey(parsed.Bytes()); err != nil {
		return Key{}, fmt.Errorf("ohttp: %w", err)
	}
	return k, nil
}

// header returns what a request to the key begins with.
func (k Key) header() []byte {
	b := binary.BigEndian.AppendUint16([]byte{k.id}, k.kem.ID())
	b = binary.BigEndian.AppendUint16(b, kdf.ID())
	return binary.BigEndian.AppendUint16(b, aead.ID())
}

// config returns the key configuration (RFC 9458, section 3.1).
func (k Key) config() []byte {
	b := append(k.header()[:3], k.public.Bytes()...)
	return append(append(b, 0, 4), k.header()[3:]...) // four bytes of symmetric algorithms
}

// info returns the HPKE info of a request with that header.
func info(header []byte) []byte { return append([]byte(requestLabel+"\x00"), header...) }

// Encapsulate seals a request. What is answered opens with the exchange.
func (k Key) Encapsulate(r Request) (sealed []byte, e Exchange, err error) {
	header := k.header()
	enc, sender, err := hpke.NewSender(k.public, kdf, aead, info(header))
	if err != nil {
		return nil, e, fmt.Errorf("ohttp: %w", err)
	}
	text, err := sender.Seal(nil, r.marshal())
	if err != nil {
		return nil, e, fmt.Errorf("ohttp: %w", err)
	}
	secret, err := sender.Export(responseLabel, keySize)
	if err != nil {
		return nil, e, fmt.Errorf("ohttp: %w", err)
	}
	sealed = append(append(header, enc...), text...)
	if len(sealed) > MaxRequest {
		return nil, e, fmt.Errorf("ohttp: the request has %d bytes, and a relay takes at most %d", len(sealed), MaxRequest)
	}
	return sealed, Exchange{enc, func() []byte { return secret }}, nil
}

// Exchange is one request with its response, as both ends know it. It never prints its secret.
type Exchange struct {
	enc    []byte
	secret func() []byte
}

// cipher returns what seals the response with a salt.
func (e Exchange) cipher(salt []byte) (c cipher.AEAD, nonce []byte, err error) {
	prk, err := hkdf.Extract(sha256.New, e.secret(), append(append([]byte(nil), e.enc...), salt...))
	if err != nil {
		return nil, nil, err
	}
	key, err := hkdf.Expand(sha256.New, prk, "key", keySize)
	if err != nil {
		return nil, nil, err
	}
	if nonce, err = hkdf.Expand(sha256.New, prk, "nonce", nonceSize); err != nil {
		return nil, nil, err
	}
	of, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	c, err = cipher.NewGCM(of)
	return c, nonce, err
}

// Seal seals the response.
func (e Exchange) Seal(r Response) ([]byte, error) {
	salt := make([]byte, saltSize)
	rng.Reader(rng.New()).Read(salt)
	return e.seal(salt, r.marshal())
}

func (e Exchange) seal(salt, text []byte) ([]byte, error) {
	c, nonce, err := e.cipher(salt)
	if err != nil {
		return nil, fmt.Errorf("ohttp: %w", err)
	}
	return c.Seal(salt, nonce, text, nil), nil
}

// Open opens the response.
func (e Exchange) Open(sealed []byte) (Response, error) {
	if len(sealed) < saltSize+tagSize {
		return Response{}, errors.New("ohttp: the response is too short")
	}
	c, nonce, err := e.cipher(sealed[:saltSize])
	if err != nil {
		return Response{}, fmt.Errorf("ohttp: %w", err)
	}
	text, err := c.Open(nil, nonce, sealed[saltSize:], nil)
	if err != nil {
		return Response{}, errors.New("ohttp: the response is not the gateway's, of this request: it was changed on its way")
	}
	return parseResponse(text)
}

// PrivateKey is that of a gateway. It never prints itself.
type PrivateKey struct {
	Key
	private func() hpke.PrivateKey
	enc     int // bytes of an encapsulated key
}

// NewPrivateKey returns the private key that belongs to a public one, as its KEM serializes it.
func NewPrivateKey(public string, raw []byte) (PrivateKey, error) {
	of, err := ParseKey(public)
	if err != nil {
		return PrivateKey{}, err
	}
	private, err := of.kem.NewPrivateKey(raw)
	if err != nil || string(private.PublicKey().Bytes()) != string(of.public.Bytes()) {
		return PrivateKey{}, errors.New("ohttp: the two halves of a gateway's key do not belong together")
	}
	parsed, err := envelope.ParsePublicKey(public)
	return PrivateKey{of, func() hpke.PrivateKey { return private }, parsed.Suite().Overhead() - tagSize}, err
}

// Keys returns the public halves as a gateway publishes them.
func Keys(all []PrivateKey) (b []byte) {
	for _, k := range all {
		config := k.config()
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(config))), config...)
	}
	return b
}

// ErrKey is the error of a request that none of a gateway's keys opens.
var ErrKey = errors.New("ohttp: sealed to a key that this gateway does not have, or changed on its way")

// Decapsulate opens a request with whichever of the keys it is for. The error is ErrKey, unless what was
// sealed is no request.
func Decapsulate(keys []PrivateKey, sealed []byte) (Request, Exchange, error) {
	for _, k := range keys {
		header := k.header()
		if len(sealed) < headerSize+k.enc || string(sealed[:headerSize]) != string(header) {
			continue
		}
		enc := sealed[headerSize : headerSize+k.enc]
		recipient, err := hpke.NewRecipient(enc, k.private(), kdf, aead, info(header))
		if err != nil {
			continue
		}
		text, err := recipient.Open(nil, sealed[headerSize+k.enc:])
		if err != nil {
			continue // two keys may have one identifier
		}
		secret, err := recipient.Export(responseLabel, keySize)
		if err != nil {
			return Request{}, Exchange{}, fmt.Errorf("ohttp: %w", err)
		}
		r, err := parseRequest(text)
		return r, Exchange{enc, func() []byte { return secret }}, err
	}
	return Request{}, Exchange{}, ErrKey
}
