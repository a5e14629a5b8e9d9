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

// batch is how many messages openAll multiplies for before it opens them.
const batch = 64

// OpenAll returns what Open does of each envelope, in its place, and nil where one does not open. It is the faster by
// far where the processor multiplies in lanes.
func (o *Opener) OpenAll(crowd uint32, envelopes [][]byte) [][]byte {
	return o.fast.openAll(len(envelopes), o.enc, func(i int) []byte {
		if len(envelopes[i]) != o.size {
			return nil
		}
		return envelopes[i][:o.enc]
	}, func(key hpke.PrivateKey, i int) ([]byte, error) {
		if key == nil {
			return o.Open(crowd, envelopes[i])
		}
		return o.open(key, crowd, envelopes[i])
	})
}

// lanes opens with products that were computed before, eight at a time.
type lanes struct {
	products func(out, points [][32]byte)
	public   *ecdh.PublicKey
	private  func(ecdh.KeyExchanger) (hpke.PrivateKey, error)
	fault    func() // an envelope opened with crypto/ecdh alone
}

// openAll calls open for each of n messages, with a key that opens it alone, or with nil: then the party's own key
// opens it. encapsulated returns the key that message i brings, of enc bytes. What does not open stays nil.
//
// A product of ours decides nothing: what does not open with it is opened again with crypto/ecdh, and that verdict
// counts. Otherwise whoever finds a point that our arithmetic gets wrong could lose people's answers, and read bits of
// the key from what was dropped.
func (l *lanes) openAll(n, enc int, encapsulated func(i int) []byte, open func(key hpke.PrivateKey, i int) ([]byte, error)) [][]byte {
	inner := make([][]byte, n)
	for from := 0; from < n; from += batch {
		to := min(from+batch, n)
		for i, key := range l.keys(to-from, enc, func(i int) []byte { return encapsulated(from + i) }) {
			var opened []byte
			err := ErrOpen
			if key != nil {
				opened, err = open(key, from+i)
			}
			if err != nil {
				if opened, err = open(nil, from+i); err == nil && key != nil {
					l.fault()
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

// keys returns a key for each of n messages, which opens it alone; nil for all where lanes are off, and for what brings
// no key of enc bytes. Fewer than two are not worth eight lanes.
func (l *lanes) keys(n, enc int, encapsulated func(i int) []byte) []hpke.PrivateKey {
	keys := make([]hpke.PrivateKey, n)
	if l == nil || n < 2 || !x25519.Lanes() {
		return keys
	}
	var points, shared [batch][32]byte
	whole := func(i int) bool { return len(encapsulated(i)) == enc }
	for i := range n {
		if whole(i) {
			copy(points[i][:], encapsulated(i)[enc-32:])
		}
	}
	l.products(shared[:n], points[:n])
	for i := range n {
		if !whole(i) {
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
