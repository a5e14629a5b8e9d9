package envelope

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hpke"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/x25519"
)

// bothWays runs a test with the lanes, where the processor has them, and with the switch that turns them off.
func bothWays(t *testing.T, test func(t *testing.T)) {
	for _, way := range []string{"", "standard"} {
		t.Run(x25519.Switch+"="+way, func(t *testing.T) {
			t.Setenv(x25519.Switch, way)
			test(t)
		})
	}
}

// withLanes returns an opener whose products come from lanes, or skips.
func withLanes(t testing.TB, key PrivateKey, c Context, size int) *Opener {
	t.Helper()
	if !x25519.Lanes() {
		t.Skip("no lanes on this processor")
	}
	o := mustOpener(t, key, c, size)
	if o.fast == nil {
		t.Fatal("the processor has lanes, and the opener none")
	}
	return o
}

// mixed returns n envelopes of all sorts: whole, damaged everywhere, of other lengths, with keys of small order.
func mixed(t testing.TB, suite Suite, public PublicKey, c Context, n, payload int) (all [][]byte) {
	t.Helper()
	s, err := NewSealer(Route(c.Plan, c.Instance, c.Crowd, public), payload)
	if err != nil {
		t.Fatal(err)
	}
	point := suite.Overhead() - tagSize - 32
	for i := range n {
		e, err := s.Seal(bytes.Repeat([]byte{byte(i)}, payload))
		if err != nil {
			t.Fatal(err)
		}
		switch i % 9 {
		case 2:
			e[len(e)-1] ^= 1
		case 3:
			e = e[:len(e)-1]
		case 4:
			e = append(e, 0)
		case 5:
			clear(e[point : point+32])
		case 6:
			e[point+31] ^= 128 // the same point, and another context
		case 7:
			e[point] ^= 1
		case 8:
			e = nil
		}
		all = append(all, e)
	}
	return all
}

// OpenAll says of each envelope, in its place, what Open says, with lanes and without.
func TestOpenAllIsOpenOfEach(t *testing.T) {
	for _, suite := range suites {
		private, public := newKeys(t, suite, 1)
		for _, payload := range []int{0, 8} {
			c := Context{Plan: [32]byte{1}, Instance: 2, Crowd: 3}
			all := mixed(t, suite, public[0], c, 150, payload)
			bothWays(t, func(t *testing.T) {
				o := mustOpener(t, private[0], c, suite.Size(1, payload))
				if o.fast != nil {
					o.fast.fault = func() { t.Error("an envelope opened with crypto/ecdh alone") }
				}
				for _, n := range []int{0, 1, 2, 63, 64, 65, 150} {
					got := o.OpenAll(c.Crowd, all[:n])
					if len(got) != n {
						t.Fatalf("%d of %d envelopes", len(got), n)
					}
					opened := 0
					for i, e := range all[:n] {
						want, err := o.Open(c.Crowd, e)
						if (err == nil) != (got[i] != nil) || !bytes.Equal(got[i], want) {
							t.Fatalf("%s, %d of %d: %x, want %x (%v)", suite, i, n, got[i], want, err)
						}
						if err == nil {
							opened++
						}
					}
					if n > 9 && (opened == 0 || opened == n) {
						t.Fatalf("%d of %d open: the test asks nothing", opened, n)
					}
				}
				for i, inner := range o.OpenAll(c.Crowd+1, all) {
					if inner != nil {
						t.Fatalf("envelope %d opens for another crowd", i)
					}
				}
			})
		}
	}
}

// A wrong product loses nothing and tells nothing: the envelope opens all the same, the fault is reported, and what does
// not open with crypto/ecdh either is no fault.
func TestAWrongProductIsOpenedAgain(t *testing.T) {
	for _, suite := range suites {
		private, public := newKeys(t, suite, 1)
		c := Context{Plan: [32]byte{1}}
		all := mixed(t, suite, public[0], c, 80, 8)
		for what, spoil := range map[string]func(out [][32]byte){
			"a bit of one": func(out [][32]byte) { out[9][5] ^= 1 },
			"zeros":        func(out [][32]byte) { clear(out) },
			"out of order": func(out [][32]byte) { out[9], out[10] = out[10], out[9] },
			"of garbage":   func(out [][32]byte) { out[2][0] ^= 1 }, // whose envelope is damaged: no fault
		} {
			t.Run(fmt.Sprint(suite, ", ", what), func(t *testing.T) {
				o := withLanes(t, private[0], c, suite.Size(1, 8))
				right, faults := o.fast.products, 0
				o.fast.products = func(out, points [][32]byte) {
					right(out, points)
					if len(out) == batch {
						spoil(out)
					}
				}
				o.fast.fault = func() { faults++ }
				for i, inner := range o.OpenAll(0, all) {
					if want, err := o.Open(0, all[i]); (err == nil) != (inner != nil) || !bytes.Equal(inner, want) {
						t.Fatalf("envelope %d: %x, want %x", i, inner, want)
					}
				}
				if wrong := what != "of garbage"; (faults > 0) != wrong {
					t.Errorf("%d faults", faults)
				}
			})
		}
	}
}

// A fault turns the lanes off for the whole process, another opener's too, and the log says so. The test runs itself in a
// process of its own.
func TestAFaultTurnsLanesOff(t *testing.T) {
	if os.Getenv("CONFETTI_TEST_FAULT") == "" {
		if !x25519.Lanes() {
			t.Skip("no lanes on this processor")
		}
		run := exec.Command(os.Args[0], "-test.run", "^TestAFaultTurnsLanesOff$", "-test.v")
		run.Env = append(os.Environ(), "CONFETTI_TEST_FAULT=1")
		if out, err := run.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS: TestAFaultTurnsLanesOff")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	var said bytes.Buffer
	log.SetOutput(&said)
	private, public := newKeys(t, X25519, 1)
	c := Context{Plan: [32]byte{1}}
	all := mixed(t, X25519, public[0], c, 20, 8)
	o, other := withLanes(t, private[0], c, X25519.Size(1, 8)), withLanes(t, private[0], c, X25519.Size(1, 8))
	right := o.fast.products
	o.fast.products = func(out, points [][32]byte) { right(out, points); out[0][0] ^= 1 }
	if o.OpenAll(0, all)[0] == nil {
		t.Error("the envelope is lost")
	}
	other.fast.products = func(_, _ [][32]byte) { t.Error("lanes are used after a fault") }
	if other.OpenAll(0, all)[0] == nil || x25519.Lanes() {
		t.Error("lanes are on after a fault")
	}
	if n := strings.Count(said.String(), "lanes are off"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, &said)
	}
}

// A key made of a product answers for its own point alone, all 32 bytes of it, and never with zeros. crypto/hpke asks
// for neither: a twin without the checks opens.
func TestAProductIsOfOnePoint(t *testing.T) {
	private, public := newKeys(t, X25519, 1)
	c := Context{Plan: [32]byte{1}}
	sealed, err := Seal(Route(c.Plan, 0, 0, public[0]), []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := private[0].key().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := ecdh.X25519().NewPrivateKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := ecdh.X25519().NewPublicKey(sealed[:32])
	if err != nil {
		t.Fatal(err)
	}
	shared, err := scalar.ECDH(remote)
	if err != nil {
		t.Fatal(err)
	}
	o := mustOpener(t, private[0], c, len(sealed))
	opens := func(p ecdh.KeyExchanger) bool {
		key, err := hpke.NewDHKEMPrivateKey(p)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.open(key, 0, sealed)
		return err == nil
	}
	right := product{scalar.PublicKey(), [32]byte(sealed), [32]byte(shared)}
	if !opens(&right) {
		t.Fatal("the right product does not open")
	}
	for i := range 32 {
		other := right
		other.point[i] ^= 1
		if opens(&other) {
			t.Errorf("a product of another point opens: byte %d is not compared", i)
		}
		if !opens(unchecked{&other}) {
			t.Error("the twin that compares nothing does not open: the test asks nothing")
		}
	}
	zero := right
	zero.shared = [32]byte{}
	if _, err := zero.ECDH(remote); err == nil {
		t.Error("a product of zeros is given out")
	}
	if key, err := hpke.NewDHKEMPrivateKey(unchecked{&zero}); err != nil {
		t.Fatal(err)
	} else if _, err := hpke.NewRecipient(sealed[:32], key, kdf, aead, nil); err != nil {
		t.Errorf("crypto/hpke refuses zeros by itself now (%v): the check may go", err)
	}
}

// unchecked is the twin of a product without its checks.
type unchecked struct{ *product }

func (u unchecked) ECDH(*ecdh.PublicKey) ([]byte, error) { return u.shared[:], nil }

// OpenBaseAll says of each message, in its place, what OpenBase says, with lanes and without.
func TestOpenBaseAllIsOpenBaseOfEach(t *testing.T) {
	type message struct{ aad, enc, ciphertext []byte }
	for _, suite := range suites {
		private, public := newKeys(t, suite, 1)
		info := []byte("info")
		var all []message
		for i := range 150 {
			m := message{aad: []byte{byte(i)}}
			var err error
			if m.enc, m.ciphertext, err = public[0].SealBase(info, m.aad, bytes.Repeat([]byte{1}, i%3)); err != nil {
				t.Fatal(err)
			}
			switch i % 7 {
			case 2:
				m.aad = nil
			case 3:
				m.enc = m.enc[:len(m.enc)-1]
			case 4:
				clear(m.enc[len(m.enc)-32:])
			case 5:
				m.enc, m.ciphertext = nil, nil
			case 6:
				m.ciphertext[0] ^= 1
			}
			all = append(all, m)
		}
		bothWays(t, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 64, 150} {
				got := private[0].OpenBaseAll(info, n, func(i int) (aad, enc, ciphertext []byte) { return all[i].aad, all[i].enc, all[i].ciphertext })
				if len(got) != n {
					t.Fatalf("%d of %d messages", len(got), n)
				}
				for i, m := range all[:n] {
					want, err := private[0].OpenBase(info, m.aad, m.enc, m.ciphertext)
					if (err == nil) != (got[i] != nil) || !bytes.Equal(got[i], want) || (err == nil) != (i%7 < 2) {
						t.Fatalf("%s, %d of %d: %x, want %x (%v)", suite, i, n, got[i], want, err)
					}
				}
			}
		})
	}
	if got := (PrivateKey{}).OpenBaseAll(nil, 2, nil); len(got) != 2 || got[0] != nil {
		t.Errorf("no key opens %x", got)
	}
}
