package envelope

import (
	"bytes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/sha3"
	"encoding/binary"
	"encoding/hex"
	"os"
	"os/exec"
	"testing"

	"github.com/confetti-dp/confetti/internal/x25519"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// vector is RFC 9180, appendix A.1.1, with the fixed key of its sender; accumulated is what crypto/hpke's own tests hold
// of that suite, over a thousand messages (crypto/hpke/testdata/rfc9180.json of Go 1.26).
var vector = struct{ info, ephemeral, public, enc, ciphertext, accumulated string }{
	info:        "4f6465206f6e2061204772656369616e2055726e",
	ephemeral:   "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
	public:      "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
	enc:         "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
	ciphertext:  "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
	accumulated: "dcabb32ad8e8acea785275323395abd0",
}

const beauty = "Beauty is truth, truth beauty"

// exchange returns the product of a scalar and a point by crypto/ecdh.
func exchange(t *testing.T, scalar, point []byte) []byte {
	t.Helper()
	key, err := ecdh.X25519().NewPrivateKey(scalar)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := ecdh.X25519().NewPublicKey(point)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := key.ECDH(remote)
	if err != nil {
		t.Fatal(err)
	}
	return shared
}

func TestSenderOfRFC9180(t *testing.T) {
	s := newSender(unhex(t, vector.public), unhex(t, vector.info))
	if s == nil {
		t.Fatal("no sender")
	}
	shared := exchange(t, unhex(t, vector.ephemeral), unhex(t, vector.public))
	gcm, nonce := s.schedule(unhex(t, vector.enc), shared)
	if got := hex.EncodeToString(gcm.Seal(nil, nonce, []byte(beauty), []byte("Count-0"))); got != vector.ciphertext {
		t.Errorf("%s, want %s", got, vector.ciphertext)
	}
	// The thousand messages of crypto/hpke's own test, whose nonces count on from ours.
	if got := accumulated(t, gcm, nonce); got != vector.accumulated {
		t.Errorf("accumulated %s, want %s", got, vector.accumulated)
	}
}

func accumulated(t *testing.T, gcm cipher.AEAD, base []byte) string {
	t.Helper()
	source, sink := sha3.NewSHAKE128(), sha3.NewSHAKE128()
	draw := func() []byte {
		var n [1]byte
		source.Read(n[:])
		b := make([]byte, n[0])
		source.Read(b)
		return b
	}
	for i := range uint64(1000) {
		aad, message, nonce := draw(), draw(), bytes.Clone(base)
		tail := nonce[len(nonce)-8:]
		binary.BigEndian.PutUint64(tail, binary.BigEndian.Uint64(tail)^i)
		sink.Write(gcm.Seal(nil, nonce, message, aad))
	}
	var out [16]byte
	sink.Read(out[:])
	return hex.EncodeToString(out[:])
}

// The other direction: what crypto/hpke seals, our schedule opens.
func TestScheduleOpensWhatCryptoHPKESeals(t *testing.T) {
	private, public := newKeys(t, X25519, 1)
	raw, err := private[0].key().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		info, aad, message := bytes.Repeat([]byte{1}, 3*n), bytes.Repeat([]byte{2}, n), bytes.Repeat([]byte{3}, 7*n)
		enc, theirs, err := hpke.NewSender(public[0].key, kdf, aead, info)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := theirs.Seal(aad, message)
		if err != nil {
			t.Fatal(err)
		}
		gcm, nonce := newSender(public[0].Bytes(), info).schedule(enc, exchange(t, raw, enc))
		if got, err := gcm.Open(nil, nonce, sealed, aad); err != nil || !bytes.Equal(got, message) {
			t.Fatalf("message %d: %x, %v", n, got, err)
		}
	}
}

// What SealAll seals, whoever multiplies, crypto/hpke opens layer by layer: payloads and slots in their places, every
// encapsulated key another.
func TestSealAll(t *testing.T) {
	private, public := newKeys(t, X25519, 3)
	c := Context{Plan: [32]byte{1}, Instance: 2, Crowd: 3}
	for _, n := range []int{0, 1, worthwhile - 1, worthwhile, batch + 1, 150} {
		bothWays(t, func(t *testing.T) {
			const payload, slot = 8, 5
			layers := Route(c.Plan, c.Instance, c.Crowd, public...)
			layers[1].Slot = slot
			s, err := NewSealer(layers, payload)
			if err != nil {
				t.Fatal(err)
			}
			payloads, slots := make([][]byte, n), make([][][]byte, n)
			for i := range payloads {
				payloads[i] = bytes.Repeat([]byte{byte(i)}, payload)
				if i%3 == 1 {
					slots[i] = [][]byte{nil, bytes.Repeat([]byte{byte(i), 7}, 3)[:slot]}
				}
			}
			sealed, err := s.SealAll(payloads, slots)
			if err != nil || len(sealed) != n {
				t.Fatalf("%d envelopes of %d: %v", len(sealed), n, err)
			}
			keys := map[string]bool{}
			for i, e := range sealed {
				for h := range layers {
					keys[string(e[:32])] = true
					o := mustOpener(t, private[h], layers[h].Context, Size(layers[h:], payload))
					if e, err = o.Open(c.Crowd, e); err != nil {
						t.Fatalf("envelope %d, layer %d: %v", i, h, err)
					}
					if h == 1 {
						want := make([]byte, slot)
						if slots[i] != nil {
							want = slots[i][1]
						}
						if !bytes.Equal(e[:slot], want) {
							t.Fatalf("envelope %d: slot %x, want %x", i, e[:slot], want)
						}
						e = e[slot:]
					}
				}
				if !bytes.Equal(e, payloads[i]) || e[0] != byte(i) {
					t.Fatalf("envelope %d: %x, want %x", i, e, payloads[i])
				}
			}
			if len(keys) != 3*n {
				t.Errorf("%d encapsulated keys for %d layers", len(keys), 3*n)
			}
		})
	}
}

// The same tests in a process that is told that its processor has no lanes: its keys have tables.
func TestSealAllByTables(t *testing.T) {
	if !x25519.Lanes() {
		t.Skip("without lanes all tests are by tables")
	}
	run := exec.Command(os.Args[0], "-test.run", "^(TestSealAll|TestSealAllToOddKeys|TestOpenAllIsOpenOfEach)$", "-test.v")
	run.Env = append(os.Environ(), "GODEBUG=cpu.avx512ifma=off")
	if out, err := run.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS: TestSealAllToOddKeys")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A payload or a slot of another length is refused wherever it stands.
func TestSealAllRefuses(t *testing.T) {
	_, public := newKeys(t, X25519, 1)
	layers := Route([32]byte{1}, 0, 0, public...)
	layers[0].Slot = 4
	s, err := NewSealer(layers, 8)
	if err != nil {
		t.Fatal(err)
	}
	payloads := make([][]byte, 100)
	for i := range payloads {
		payloads[i] = make([]byte, 8)
	}
	payloads[70] = make([]byte, 7)
	if _, err := s.SealAll(payloads, nil); err == nil {
		t.Error("a short payload is sealed")
	}
	payloads[70] = make([]byte, 8)
	slots := make([][][]byte, 100)
	slots[99] = [][]byte{{1}}
	if _, err := s.SealAll(payloads, slots); err == nil {
		t.Error("a short slot is sealed")
	}
}

// Keys without tables go by crypto/hpke: of the twist as one, of small order refused as one is. A key's bytes stand in the
// context as the plan has them, also where another encoding of the point is usual.
func TestSealAllToOddKeys(t *testing.T) {
	payloads := make([][]byte, worthwhile)
	for i := range payloads {
		payloads[i] = []byte{byte(i)}
	}
	sealTo := func(t *testing.T, raw []byte) ([][]byte, error) {
		key, err := X25519.kem().NewPublicKey(raw)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSealer(Route([32]byte{1}, 0, 0, PublicKey{X25519, key}), 1)
		if err != nil {
			t.Fatal(err)
		}
		return s.SealAll(payloads, nil)
	}
	bothWays(t, func(t *testing.T) {
		twist := unhex(t, "63aa40c6e38346c5caf23a6df0a5e6c80889a08647e551b3563449befcfc9733") // Wycheproof, test 2
		if sealed, err := sealTo(t, twist); err != nil || len(sealed) != worthwhile {
			t.Errorf("a key of the twist: %v", err)
		}
		if _, err := sealTo(t, make([]byte, 32)); err == nil {
			t.Error("sealed to a key of small order")
		}
		scalar, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{5}, 32))
		if err != nil {
			t.Fatal(err)
		}
		odd := scalar.PublicKey().Bytes()
		odd[31] |= 128
		sealed, err := sealTo(t, odd)
		if err != nil {
			t.Fatal(err)
		}
		public, err := ecdh.X25519().NewPublicKey(odd)
		if err != nil {
			t.Fatal(err)
		}
		key, err := hpke.NewDHKEMPrivateKey(known{public, scalar})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range sealed {
			o := Opener{info: Context{Plan: [32]byte{1}}.info(X25519), enc: 32}
			if got, err := o.open(key, 0, e); err != nil || !bytes.Equal(got, payloads[i]) {
				t.Fatalf("envelope %d to an odd encoding: %x, %v", i, got, err)
			}
		}
	})
}

// known is a private key whose public one is known by other bytes.
type known struct {
	public *ecdh.PublicKey
	*ecdh.PrivateKey
}

func (k known) PublicKey() *ecdh.PublicKey { return k.public }

// After a fault of our arithmetic nothing is sealed by it: the switch, looked at for each call, decides.
func TestSealersLookAtTheSwitch(t *testing.T) {
	_, public := newKeys(t, X25519, 1)
	s, err := NewSealer(Route([32]byte{1}, 0, 0, public...), 1)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	s.layers[0].many = func() *sender { asked++; return nil }
	payloads := make([][]byte, worthwhile)
	for i := range payloads {
		payloads[i] = []byte{0}
	}
	for i, way := range []string{"standard", ""} {
		t.Setenv(x25519.Switch, way)
		if _, err := s.SealAll(payloads, nil); err != nil {
			t.Fatal(err)
		}
		if asked != i {
			t.Errorf("%s=%s: asked for tables %d times", x25519.Switch, way, asked)
		}
	}
	// Tables are made for many seals, at once or by and by, and not for a payload alone.
	if s, err = NewSealer(Route([32]byte{1}, 0, 0, public...), 1); err != nil {
		t.Fatal(err)
	}
	asked = 0
	s.layers[0].many = func() *sender { asked++; return nil }
	for i, c := range []struct{ seals, asked int }{{worthwhile - 1, 0}, {1, 0}, {2, 1}, {1, 1}} {
		if _, err := s.SealAll(payloads[:c.seals], nil); err != nil || asked != c.asked {
			t.Errorf("call %d, of %d seals: asked for tables %d times (%v)", i, c.seals, asked, err)
		}
	}
}
