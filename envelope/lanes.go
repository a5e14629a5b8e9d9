package envelope

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/mlkem"
	"crypto/sha3"
	"crypto/subtle"
	"errors"

	"github.com/confetti-dp/confetti/internal/x25519"
)

// batch is how many envelopes OpenAll multiplies for before it opens them.
const batch = 64

// OpenAll returns what Open does of each envelope, in its place, and nil where one does not open. It is the faster by
// far where the processor multiplies in lanes.
//
// A product of ours decides nothing: what does not open with it is opened again with crypto/ecdh, and that verdict
// counts. Otherwise whoever finds a point that our arithmetic gets wrong could lose people's answers, and read bits of
// the key from what was dropped.
func (o *Opener) OpenAll(crowd uint32, envelopes [][]byte) [][]byte {
	inner := make([][]byte, len(envelopes))
	for from := 0; from < len(envelopes); from += batch {
		to := min(from+batch, len(envelopes))
		keys := o.fast.keys(o, envelopes[from:to])
		for i, e := range envelopes[from:to] {
			var opened []byte
			err := ErrOpen
			if keys[i] != nil {
				opened, err = o.open(keys[i], crowd, e)
			}
			if err != nil {
				if opened, err = o.Open(crowd, e); err == nil && keys[i] != nil {
					o.fast.fault()
				}
			}
			switch {
			case err != nil:
			case opened == nil: // an empty payload
				inner[from+i] = []byte{}
			default:
				inner[from+i] = opened
			}
		}
	}
	return inner
}

// lanes opens with products that were computed before, eight at a time.
type lanes struct {
	products func(out, points [][32]byte)
	public   *ecdh.PublicKey
	private  func(ecdh.KeyExchanger) (hpke.PrivateKey, error)
	fault    func() // an envelope opened with crypto/ecdh alone
}

// newLanes returns nil where lanes are not to be used. The ordinary key stays: a key made from an exchanger has no bytes.
func newLanes(key PrivateKey) *lanes {
	if !x25519.Lanes() {
		return nil
	}
	raw, err := key.key().Bytes()
	if err != nil {
		return nil
	}
	private := hpke.NewDHKEMPrivateKey
	if key.suite == XWing { // draft-ietf-hpke-pq, expandDecapsulationKey: 64 bytes for ML-KEM, then the scalar
		expanded := sha3.SumSHAKE256(raw, mlkem.SeedSize+32)
		pq, err := mlkem.NewDecapsulationKey768(expanded[:mlkem.SeedSize])
		if err != nil {
			return nil
		}
		raw = expanded[mlkem.SeedSize:]
		private = func(t ecdh.KeyExchanger) (hpke.PrivateKey, error) { return hpke.NewHybridPrivateKey(pq, t) }
	}
	scalar, err := ecdh.X25519().NewPrivateKey(raw)
	if err != nil {
		return nil
	}
	return &lanes{products: x25519.NewScalar(scalar).Products, public: scalar.PublicKey(), private: private, fault: func() {
		x25519.Distrust("envelope: one did not open with a product of our own arithmetic, and opens with crypto/ecdh: lanes are off until this program is started again")
	}}
}

// keys returns a key for each envelope, which opens it alone; nil for all where lanes are off, and for what has not the
// length of an envelope. Fewer than two are not worth eight lanes.
func (l *lanes) keys(o *Opener, envelopes [][]byte) []hpke.PrivateKey {
	keys := make([]hpke.PrivateKey, len(envelopes))
	if l == nil || len(envelopes) < 2 || !x25519.Lanes() {
		return keys
	}
	var points, shared [batch][32]byte
	for i, e := range envelopes {
		if len(e) == o.size {
			copy(points[i][:], e[o.enc-32:o.enc])
		}
	}
	l.products(shared[:len(envelopes)], points[:len(envelopes)])
	for i, e := range envelopes {
		if len(e) != o.size {
			continue
		}
		if key, err := l.private(&product{l.public, points[i], shared[i]}); err == nil {
			keys[i] = key
		}
	}
	clear(shared[:])
	return keys
}

// product answers crypto/hpke for one encapsulated key, as a private key would.
type product struct {
	public        *ecdh.PublicKey
	point, shared [32]byte
}

func (p *product) PublicKey() *ecdh.PublicKey { return p.public }
func (p *product) Curve() ecdh.Curve          { return ecdh.X25519() }

var errProduct = errors.New("envelope: no product for this point")

// ECDH refuses what crypto/hpke does not: a point that the product is not of, and the product of a point of small order.
func (p *product) ECDH(remote *ecdh.PublicKey) ([]byte, error) {
	if !bytes.Equal(remote.Bytes(), p.point[:]) || subtle.ConstantTimeCompare(p.shared[:], make([]byte, 32)) == 1 {
		return nil, errProduct
	}
	return bytes.Clone(p.shared[:]), nil
}
