package x25519

import (
	"bytes"
	"crypto/ecdh"
	"fmt"
	"testing"

	"filippo.io/edwards25519/field"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// hard are secrets whose digits are all 0 but the top one, all carry, or are all as far from 0 as they can be.
func hard() (all [][32]byte) {
	for _, b := range []byte{0, 1, 7, 8, 0x77, 0x78, 0x80, 0x87, 0x88, 0x99, 0xf8, 0xff} {
		all = append(all, [32]byte(bytes.Repeat([]byte{b}, 32)))
	}
	return append(all, [32]byte{31: 64}, [32]byte{31: 127}, [32]byte{0: 8}, [32]byte{30: 0xff, 31: 0x7f})
}

// same holds pairs by tables, and by lanes where the processor has them, to crypto/ecdh.
func same(t *testing.T, name string, key *Key, secrets [][32]byte) {
	t.Helper()
	ways := map[string]*Key{"tables": {key.point, key.table}}
	if wide {
		ways["lanes"] = &Key{key.point, nil}
	}
	for way, k := range ways {
		public, shared := make([][32]byte, len(secrets)), make([][32]byte, len(secrets))
		if err := k.pairs(public, shared, secrets); err != nil {
			t.Fatalf("%s, %s: %v", name, way, err)
		}
		for i, s := range secrets {
			if want := standard(t, s, [32]byte{9}); public[i] != want {
				t.Fatalf("%s, %s: public key of secret %d is %x, want %x", name, way, i, public[i], want)
			}
			if want := standard(t, s, k.point); shared[i] != want {
				t.Fatalf("%s, %s: product of secret %d is %x, want %x", name, way, i, shared[i], want)
			}
		}
	}
}

func withTable(t *testing.T, u [32]byte) *Key {
	t.Helper()
	table, err := tableOf(u)
	if err != nil {
		t.Fatalf("%x: %v", u, err)
	}
	return &Key{u, table}
}

func random(t testing.TB, n int) [][32]byte {
	r, all := stattest.Rand(t), make([][32]byte, n)
	for i := range all {
		for j := range all[i] {
			all[i][j] = byte(r.Uint32())
		}
	}
	return all
}

func TestPairsAreTheStandardLibrarys(t *testing.T) {
	for i, s := range random(t, 4) {
		own, err := ecdh.X25519().NewPrivateKey(s[:])
		if err != nil {
			t.Fatal(err)
		}
		key := withTable(t, [32]byte(own.PublicKey().Bytes()))
		same(t, fmt.Sprint("key ", i), key, append(hard(), random(t, 80)...))
	}
}

// The sender's key of RFC 9180, appendix A.1.1, and its recipient's.
func TestPairOfRFC9180(t *testing.T) {
	key := withTable(t, unhex(t, "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"))
	var public, shared [1][32]byte
	if err := key.pairs(public[:], shared[:], [][32]byte{unhex(t, "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")}); err != nil {
		t.Fatal(err)
	}
	if public[0] != unhex(t, "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431") {
		t.Errorf("encapsulated key %x", public[0])
	}
}

// uOf returns u of a point.
func uOf(p *point) (u [32]byte) {
	var above, below field.Element
	above.Add(&p.z, &p.y)
	below.Subtract(&p.z, &p.y)
	copy(u[:], above.Multiply(&above, below.Invert(&below)).Bytes())
	return u
}

// A clamped secret is not reduced by the order of the group, so that a key with a part of small order gives what
// crypto/ecdh gives: all eight parts.
func TestKeysWithATorsionPart(t *testing.T) {
	small, err := edwards(unhex(t, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"))
	if err == nil {
		t.Fatal("a point of order 8 has a table")
	}
	own, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{3}, 32))
	if err != nil {
		t.Fatal(err)
	}
	p, err := edwards([32]byte(own.PublicKey().Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[32]byte]bool{}
	for part := range 8 {
		u := uOf(&p)
		seen[u] = true
		same(t, fmt.Sprint("part ", part), withTable(t, u), append(hard(), random(t, 20)...))
		p.add(&small)
	}
	if len(seen) != 8 {
		t.Errorf("%d keys, want 8", len(seen))
	}
}

// Every point either has a table, and then its products are right, or is of the twist or of small order. A key's other
// encodings are the same point.
func TestWhichKeysHaveTables(t *testing.T) {
	with, without := 0, 0
	secret := [][32]byte{hard()[4]}
	for _, u := range append(extremes(), random(t, 100)...) {
		table, err := tableOf(u)
		if err == nil {
			with++
			if with%10 == 0 { // tables are dear
				same(t, fmt.Sprintf("%x", u), &Key{u, table}, secret)
			}
			continue
		}
		without++
		if table != nil {
			t.Fatalf("%x: a table and %v", u, err)
		}
	}
	if with < 200 || without < 200 {
		t.Errorf("%d points with tables, %d without: half of all are of the twist", with, without)
	}
	for _, small := range [][32]byte{{}, {1}, unhex(t, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"), unhex(t, "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"), unhex(t, "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"), unhex(t, "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff")} {
		if _, err := NewKey(small); err == nil {
			t.Errorf("%x is of small order and has a table", small)
		}
	}
}

// Each digit picks its multiple, 0 the identity, by the same masks.
func TestPick(t *testing.T) {
	table := base()
	for _, row := range []int{0, 31, 63} {
		for digit := int8(-8); digit <= 8; digit++ {
			e := pick(&table[row], digit)
			want := entry{0: 1, 4: 1}
			if digit > 0 {
				want = table[row][digit-1]
			} else if digit < 0 {
				want = table[row][-digit-1]
				a, b := want[:4], want[4:8]
				for i := range a {
					a[i], b[i] = b[i], a[i]
				}
			}
			if e != want {
				t.Errorf("row %d, digit %d: %x, want %x", row, digit, e, want)
			}
		}
	}
}

// One product that has no u fails the whole chunk, and gives nothing.
func TestAZeroFailsTheChunk(t *testing.T) {
	identities := new(table)
	for i := range identities {
		for j := range identities[i] {
			identities[i][j] = entry{0: 1, 4: 1}
		}
	}
	public, shared := make([][32]byte, 3), make([][32]byte, 3)
	if err := identities.pairs(public, shared, random(t, 3)); err == nil || public[0] != ([32]byte{}) {
		t.Errorf("error %v, public key %x", err, public[0])
	}
}

// Secrets are drawn anew for each place and call.
func TestPairsAreFresh(t *testing.T) {
	own, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{3}, 32))
	if err != nil {
		t.Fatal(err)
	}
	key, err := NewKey([32]byte(own.PublicKey().Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[32]byte]bool{}
	for range 3 {
		public, shared := make([][32]byte, 65), make([][32]byte, 65)
		if err := key.Pairs(public, shared); err != nil {
			t.Fatal(err)
		}
		for i, p := range public {
			seen[p] = true
			if want := standard(t, [32]byte(own.Bytes()), p); shared[i] != want {
				t.Fatalf("pair %d: %x, want %x", i, shared[i], want)
			}
		}
	}
	if len(seen) != 3*65 {
		t.Errorf("%d public keys of %d draws", len(seen), 3*65)
	}
}

func FuzzPairs(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0x88}, 32))
	key, err := tableOf([32]byte{9})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, secret []byte) {
		if len(secret) != 32 {
			t.Skip()
		}
		var public, shared [1][32]byte
		costlimit.Heap(t, costlimit.Factor, len(secret), func() {
			if err := key.pairs(public[:], shared[:], [][32]byte{[32]byte(secret)}); err != nil {
				t.Fatal(err)
			}
		})
		if want := standard(t, [32]byte(secret), [32]byte{9}); public[0] != want || shared[0] != want {
			t.Errorf("%x: %x and %x, want %x", secret, public[0], shared[0], want)
		}
	})
}
