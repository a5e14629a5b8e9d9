package envelope

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

var suites = []Suite{X25519, XWing}

func newKeys(t testing.TB, s Suite, n int) ([]PrivateKey, []PublicKey) {
	t.Helper()
	private, public := make([]PrivateKey, n), make([]PublicKey, n)
	for i := range private {
		key, err := GenerateKey(s)
		if err != nil {
			t.Fatal(err)
		}
		private[i], public[i] = key, key.Public()
	}
	return private, public
}

func mustOpener(t testing.TB, key PrivateKey, c Context, size int) *Opener {
	t.Helper()
	o, err := NewOpener(key, c.Plan, c.Instance, c.Hop, size)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEachHopTakesOffItsLayer(t *testing.T) {
	for _, suite := range suites {
		private, public := newKeys(t, suite, 4) // made once: keys of X-Wing are slow to make
		rapid.Check(t, func(t *rapid.T) {
			hops := rapid.IntRange(1, 4).Draw(t, "layers")
			payload := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
			c := Context{
				Plan:     [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "plan")),
				Instance: rapid.Uint16().Draw(t, "instance"),
				Crowd:    rapid.Uint32().Draw(t, "crowd"),
			}
			message, err := Seal(Route(c.Plan, c.Instance, c.Crowd, public[:hops]...), payload)
			if err != nil {
				t.Fatal(err)
			}
			for hop := range hops {
				size := suite.Size(hops-hop, len(payload))
				if len(message) != size {
					t.Fatalf("hop %d gets %d bytes, want %d", hop, len(message), size)
				}
				o, err := NewOpener(private[hop], c.Plan, c.Instance, uint8(hop), size)
				if err != nil {
					t.Fatal(err)
				}
				if message, err = o.Open(c.Crowd, message); err != nil {
					t.Fatalf("hop %d: %v", hop, err)
				}
			}
			if !bytes.Equal(message, payload) {
				t.Fatal("another payload came out")
			}
		})
	}
}

func TestOpensNowhereElse(t *testing.T) {
	for _, suite := range suites {
		private, public := newKeys(t, suite, 2)
		right := Context{Plan: [32]byte{1}, Instance: 2, Hop: 0, Crowd: 3}
		layers := Route(right.Plan, right.Instance, right.Crowd, public[0])
		message, err := Seal(layers, []byte("bit"))
		if err != nil {
			t.Fatal(err)
		}
		open := func(key PrivateKey, c Context, m []byte) error {
			_, err := mustOpener(t, key, c, suite.Size(1, 3)).Open(c.Crowd, m)
			return err
		}
		if err := open(private[0], right, message); err != nil {
			t.Fatal(err)
		}
		plan, instance, hop, crowd := right, right, right, right
		plan.Plan[31] ^= 1
		instance.Instance++
		hop.Hop++
		crowd.Crowd++
		for name, c := range map[string]Context{"plan": plan, "instance": instance, "hop": hop, "crowd": crowd} {
			if err := open(private[0], c, message); !errors.Is(err, ErrOpen) {
				t.Errorf("%s: wrong %s: %v", suite, name, err)
			}
		}
		if err := open(private[1], right, message); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: wrong key: %v", suite, err)
		}
		for i := 0; i < len(message); i += 1 + len(message)/64 {
			tampered := bytes.Clone(message)
			tampered[i] ^= 0x80
			if err := open(private[0], right, tampered); !errors.Is(err, ErrOpen) {
				t.Errorf("%s: bit flipped in byte %d: %v", suite, i, err)
			}
		}
		var size *SizeError
		if err := open(private[0], right, message[1:]); !errors.As(err, &size) || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: one byte short: %v", suite, err)
		}
		if err := open(private[0], right, append(bytes.Clone(message), 0)); !errors.As(err, &size) || !strings.Contains(err.Error(), "oversized") {
			t.Errorf("%s: one byte long: %v", suite, err)
		}
	}
}

// TestSealedTwiceSharesNothing is the reason for a fresh context per message:
// the same payload sealed twice has no layer in common, so nobody can match them.
func TestSealedTwiceSharesNothing(t *testing.T) {
	_, public := newKeys(t, X25519, 1)
	s, err := NewSealer(Route([32]byte{}, 0, 0, public...), 4)
	if err != nil {
		t.Fatal(err)
	}
	a, err1 := s.Seal([]byte("same"))
	b, err2 := s.Seal([]byte("same"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if bytes.Equal(a[:32], b[:32]) || bytes.Equal(a[32:], b[32:]) {
		t.Error("two envelopes share their encapsulated key or their ciphertext")
	}
}

func TestSealerRefuses(t *testing.T) {
	_, public := newKeys(t, X25519, 2)
	_, other := newKeys(t, XWing, 1)
	good := func() []Layer { return Route([32]byte{7}, 1, 2, public...) }
	skip, crowd, mixed, none := good(), good(), good(), good()
	skip[1].Hop = 2
	crowd[1].Crowd++
	mixed[1].Key = other[0]
	none[0].Key = PublicKey{}
	for name, layers := range map[string][]Layer{
		"no layers": nil, "too many": make([]Layer, maxLayers+1),
		"a hop left out": skip, "two crowds": crowd, "two suites": mixed, "no key": none,
	} {
		if _, err := NewSealer(layers, 8); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for _, payload := range []int{-1, sizes.Max} {
		if _, err := NewSealer(good(), payload); err == nil {
			t.Errorf("a payload of %d bytes was accepted", payload)
		}
	}
	s, err := NewSealer(good(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seal(make([]byte, 9)); err == nil {
		t.Error("a payload of another length was sealed")
	}
}

func TestOpenerRefuses(t *testing.T) {
	private, _ := newKeys(t, X25519, 1)
	for _, size := range []int{0, X25519.Overhead() - 1, sizes.Max + 1} {
		if _, err := NewOpener(private[0], [32]byte{}, 0, 0, size); err == nil {
			t.Errorf("an opener for %d bytes was made", size)
		}
	}
	if _, err := NewOpener(PrivateKey{}, [32]byte{}, 0, 0, 100); err == nil {
		t.Error("an opener without a key was made")
	}
}

func TestOpenerServesSeveralAtOnce(t *testing.T) {
	for _, suite := range suites {
		private, public := newKeys(t, suite, 1)
		s, err := NewSealer(Route([32]byte{1}, 0, 5, public...), 1)
		if err != nil {
			t.Fatal(err)
		}
		o := mustOpener(t, private[0], Context{Plan: [32]byte{1}}, suite.Size(1, 1))
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 4 {
					message, err := s.Seal([]byte{byte(i)})
					if err != nil {
						t.Error(err)
						return
					}
					if got, err := o.Open(5, message); err != nil || got[0] != byte(i) {
						t.Errorf("%s: message %d: %v", suite, i, err)
					}
				}
			})
		}
		wg.Wait()
	}
}

func FuzzOpen(f *testing.F) {
	key, err := NewPrivateKey(X25519, bytes.Repeat([]byte{9}, 32))
	if err != nil {
		f.Fatal(err)
	}
	message, err := Seal(Route([32]byte{}, 0, 0, key.Public()), []byte{1})
	if err != nil {
		f.Fatal(err)
	}
	o := mustOpener(f, key, Context{}, len(message))
	f.Add(uint32(0), message)
	f.Add(uint32(1), message)
	f.Add(uint32(0), make([]byte, len(message))) // the point of order one
	f.Fuzz(func(t *testing.T, crowd uint32, message []byte) {
		costlimit.Heap(t, costlimit.Factor, len(message), func() {
			inner, err := o.Open(crowd, message)
			var size *SizeError
			if err == nil && len(inner) != 1 {
				t.Fatal("opened to a payload of another length")
			}
			if err != nil && !errors.Is(err, ErrOpen) && !errors.As(err, &size) {
				t.Fatalf("an error of another kind: %v", err)
			}
		})
	})
}
