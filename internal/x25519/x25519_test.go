package x25519

import (
	"bytes"
	"crypto/ecdh"
	"encoding/hex"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// needLanes skips where the processor has none: elsewhere there is nothing of ours to test.
func needLanes(t testing.TB) {
	t.Helper()
	if !wide {
		t.Skip("this processor has no AVX-512 with DQ and IFMA")
	}
}

func unhex(t testing.TB, text string) (b [32]byte) {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 32 {
		t.Fatalf("not 32 bytes of hexadecimal: %q", text)
	}
	return [32]byte(raw)
}

// standard returns the product by crypto/ecdh, and zeros for a point of small order.
func standard(t testing.TB, scalar, point [32]byte) (out [32]byte) {
	t.Helper()
	key, err := ecdh.X25519().NewPrivateKey(scalar[:])
	if err != nil {
		t.Fatal(err)
	}
	remote, err := ecdh.X25519().NewPublicKey(point[:])
	if err != nil {
		t.Fatal(err)
	}
	if product, err := key.ECDH(remote); err == nil {
		copy(out[:], product)
	}
	return out
}

// times multiplies eight pairs.
func times(scalars, points *[width][32]byte) (out [width][32]byte) {
	swaps := swapsOf(scalars)
	eight(&out, &swaps, points)
	return out
}

// everywhere holds a product in each lane by itself, beside neighbours of another kind.
func everywhere(t *testing.T, name string, scalar, point, want [32]byte) {
	t.Helper()
	for lane := range width {
		var scalars, points [width][32]byte
		for l := range points {
			scalars[l][0], points[l][0] = byte(l+1), 9
		}
		scalars[lane], points[lane] = scalar, point
		if got := times(&scalars, &points); got[lane] != want {
			t.Fatalf("%s, lane %d: %x, want %x", name, lane, got[lane], want)
		}
	}
}

// RFC 7748, section 5.2: one and a thousand rounds of its loop.
func TestLoopOfRFC7748(t *testing.T) {
	needLanes(t)
	k, u := [32]byte{9}, [32]byte{9}
	for round := 1; round <= 1000; round++ {
		var scalars, points [width][32]byte
		for l := range points {
			scalars[l], points[l] = k, u
		}
		out := times(&scalars, &points)
		if slices.ContainsFunc(out[:], func(o [32]byte) bool { return o != out[0] }) {
			t.Fatalf("round %d: lanes differ", round)
		}
		u, k = k, out[0]
		switch {
		case round == 1 && k != unhex(t, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"):
			t.Fatalf("one round: %x", k)
		case round == 1000 && k != unhex(t, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"):
			t.Fatalf("a thousand rounds: %x", k)
		}
	}
}

// RFC 7748, section 6.1: Alice's key and the secret that she has with Bob.
func TestAliceAndBobOfRFC7748(t *testing.T) {
	needLanes(t)
	alice, bob := unhex(t, "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"), unhex(t, "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
	everywhere(t, "Alice's key", alice, [32]byte{9}, unhex(t, "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"))
	everywhere(t, "their secret", alice, bob, unhex(t, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
}

// wycheproof returns all vectors, and fails on a file that has lost some.
func wycheproof(t testing.TB) (all [][3][32]byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/wycheproof.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		all = append(all, [3][32]byte{unhex(t, f[1]), unhex(t, f[2]), unhex(t, f[3])})
	}
	if len(all) != 518 {
		t.Fatalf("%d vectors of Wycheproof, want 518", len(all))
	}
	return all
}

func TestWycheproof(t *testing.T) {
	needLanes(t)
	for i, v := range wycheproof(t) {
		everywhere(t, fmt.Sprint("vector ", i+1), v[0], v[1], v[2])
	}
}

// extremes are points at which limbs, carries and the last reduction have most to do: small order, all u that are not
// below p, powers of two and their neighbours, limbs of ones, each with and without the top bit.
func extremes() (all [][32]byte) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	add := func(n *big.Int) {
		for _, top := range []byte{0, 128} {
			var b [32]byte
			n.FillBytes(b[:])
			slices.Reverse(b[:])
			b[31] |= top
			all = append(all, b)
		}
	}
	for d := int64(-20); d <= 18; d++ { // around p, up to 2^255 - 1
		add(new(big.Int).Add(p, big.NewInt(d)))
	}
	for n := int64(0); n <= 20; n++ {
		add(big.NewInt(n))
	}
	for bit := uint(1); bit < 255; bit++ {
		two := new(big.Int).Lsh(big.NewInt(1), bit)
		add(two)
		add(new(big.Int).Sub(two, big.NewInt(1)))
		add(new(big.Int).Sub(p, two))
	}
	for limbs := range 32 { // each limb of 51 bits all ones or zeros
		n := new(big.Int)
		for k := range uint(5) {
			if limbs>>k&1 == 1 {
				n.Or(n, new(big.Int).Lsh(big.NewInt(1<<51-1), 51*k))
			}
		}
		add(n)
	}
	for _, small := range []string{ // order 8, and -1
		"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
		"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		b, _ := hex.DecodeString(small)
		all = append(all, [32]byte(b))
	}
	return all
}

// Products are those of crypto/ecdh at every extreme point and at random ones, with extreme and with random scalars.
func TestProductsAreTheStandardLibrarys(t *testing.T) {
	needLanes(t)
	r := stattest.Rand(t)
	points, zeros := extremes(), 0
	for range 500 {
		var b [32]byte
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		points = append(points, b)
	}
	scalars := [][32]byte{{}, {0: 8}, {31: 64}, [32]byte(bytes.Repeat([]byte{255}, 32)), [32]byte(bytes.Repeat([]byte{0xaa}, 32))}
	for range 3 {
		scalars = append(scalars, points[len(points)-1-r.IntN(500)])
	}
	for _, scalar := range scalars {
		key, err := ecdh.X25519().NewPrivateKey(scalar[:])
		if err != nil {
			t.Fatal(err)
		}
		out := make([][32]byte, len(points))
		NewScalar(key).Products(out, points)
		for i, p := range points {
			want := standard(t, scalar, p)
			if out[i] != want {
				t.Fatalf("point %x: %x, want %x", p, out[i], want)
			}
			if want == [32]byte{} {
				zeros++
			}
		}
	}
	if zeros < 8*10 {
		t.Errorf("%d products were zero: points of small order are missing", zeros)
	}
}

// Eight secrets at once, each with a point of its own: no lane takes from another.
func TestLanesAreApart(t *testing.T) {
	needLanes(t)
	r := stattest.Rand(t)
	for range 200 {
		var scalars, points [width][32]byte
		for l := range points {
			for i := range 32 {
				scalars[l][i], points[l][i] = byte(r.Uint32()), byte(r.Uint32())
			}
		}
		out := times(&scalars, &points)
		for l := range out {
			if want := standard(t, scalars[l], points[l]); out[l] != want {
				t.Fatalf("lane %d: %x, want %x", l, out[l], want)
			}
		}
	}
}

// Some is a number of products that leaves lanes over.
func TestAnyNumberOfProducts(t *testing.T) {
	needLanes(t)
	key, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		out, points := make([][32]byte, n+1), make([][32]byte, n)
		for i := range points {
			points[i][0] = byte(9 + i)
		}
		NewScalar(key).Products(out, points)
		for i := range points {
			if want := standard(t, [32]byte(key.Bytes()), points[i]); out[i] != want {
				t.Fatalf("%d products: the one at %d is %x, want %x", n, i, out[i], want)
			}
		}
		if out[n] != [32]byte{} {
			t.Fatalf("%d products wrote one more", n)
		}
	}
}

// The check at the start passes what is right, and fails what is wrong in a single lane.
func TestKnownAnswers(t *testing.T) {
	slow := func(out *[width][32]byte, swaps *[256]byte, points *[width][32]byte) {
		for l := range out {
			out[l] = standard(t, scalarOf(swaps, l), points[l])
		}
	}
	if !known(slow) {
		t.Fatal("crypto/ecdh fails the known answers")
	}
	for lane := range width {
		if known(func(out *[width][32]byte, swaps *[256]byte, points *[width][32]byte) {
			slow(out, swaps, points)
			out[lane][31] ^= 1
		}) {
			t.Errorf("a wrong bit in lane %d is not seen", lane)
		}
		if known(func(out *[width][32]byte, swaps *[256]byte, points *[width][32]byte) {
			slow(out, swaps, points)
			out[lane] = out[(lane+2)%width] // a neighbour's, of the same example
			out[(lane+1)%width] = out[lane]
		}) {
			t.Errorf("lane %d has its neighbour's product, and it is not seen", lane)
		}
	}
	if wide && !known(eight) {
		t.Error("the lanes fail the known answers")
	}
}

// scalarOf undoes swapsOf.
func scalarOf(swaps *[256]byte, lane int) (s [32]byte) {
	var bit byte
	for step := range 255 {
		bit ^= swaps[step] >> lane & 1
		at := 254 - step
		s[at/8] |= bit << (at % 8)
	}
	return s
}

// The switch, FIPS 140 and a fault each turn the lanes off.
func TestSwitch(t *testing.T) {
	t.Setenv(Switch, "")
	if Lanes() != wide {
		t.Fatalf("lanes are %v where the processor has them: %v", Lanes(), wide)
	}
	t.Setenv(Switch, "standard")
	if Trusted() || Lanes() {
		t.Error("the switch does not turn them off")
	}
	t.Setenv(Switch, "")
	t.Cleanup(func() { distrusted.Store(false) })
	Distrust("a test does")
	if Trusted() || Lanes() {
		t.Error("a fault does not turn them off")
	}
}

// TestUnderFIPS runs this test again in a process that demands FIPS 140.
func TestUnderFIPS(t *testing.T) {
	if os.Getenv("CONFETTI_TEST_FIPS") != "" {
		if Trusted() || Lanes() {
			t.Fatal("our arithmetic is on where FIPS 140 is enforced")
		}
		return
	}
	run := exec.Command(os.Args[0], "-test.run", "^TestUnderFIPS$", "-test.v")
	run.Env = append(os.Environ(), "CONFETTI_TEST_FIPS=1", "GODEBUG=fips140=only")
	if out, err := run.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS: TestUnderFIPS")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// FuzzProducts holds one lane to crypto/ecdh. Run it long to look for a carry that is lost.
func FuzzProducts(f *testing.F) {
	for i, p := range extremes() {
		if i%40 == 0 {
			f.Add(bytes.Repeat([]byte{byte(i)}, 32), p[:])
		}
	}
	f.Fuzz(func(t *testing.T, scalar, point []byte) {
		needLanes(t)
		if len(scalar) != 32 || len(point) != 32 {
			t.Skip()
		}
		var scalars, points [width][32]byte
		for l := range points { // each lane has another neighbour of what was asked
			scalars[l], points[l] = [32]byte(scalar), [32]byte(point)
			scalars[l][8] ^= byte(l)
			points[l][16] ^= byte(l)
		}
		var out [width][32]byte
		costlimit.Heap(t, costlimit.Factor, len(scalar)+len(point), func() { out = times(&scalars, &points) })
		for l := range out {
			if want := standard(t, scalars[l], points[l]); out[l] != want {
				t.Errorf("%x times %x is %x, want %x", scalars[l], points[l], out[l], want)
			}
		}
	})
}

// leak returns the first instruction whose time or address could depend on a secret: a jump on anything but a counter,
// an address that is no constant behind an argument, or an instruction that is not among those of a ladder.
func leak(assembly string) string {
	address := regexp.MustCompile(`\(([A-Z0-9]+)\)(\([^)]*\))?`)
	straight := regexp.MustCompile(`^(VMOVDQU64|VP(ADDQ|SUBQ|ANDQ|XORQ|SRLQ|SLLQ|MADD52LUQ|MADD52HUQ|BLENDMQ|BROADCASTQ)|KXORB|KMOVB|VZEROUPPER|RET|CALL|LEAQ|MOVQ|INCQ|DECQ)$`)
	before := ""
	for line := range strings.Lines(assembly) {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "\t") || len(fields) == 0 {
			continue
		}
		op := fields[0]
		for _, m := range address.FindAllStringSubmatch(line, -1) {
			if !slices.Contains([]string{"DI", "SI", "R8", "R9", "R10", "SB", "FP"}, m[1]) || m[2] != "" {
				return line
			}
		}
		last := strings.TrimSuffix(fields[len(fields)-1], ",")
		switch {
		case op == "JNZ":
			if before != "DECQ CX" && before != "DECQ BX" {
				return line
			}
		case !straight.MatchString(op):
			return line
		case (op == "MOVQ" && !regexp.MustCompile(`^(\$\d+|\w+\+\d+\(FP\)),$`).MatchString(fields[1])) || (op == "INCQ" && last != "SI"):
			return line
		case op == "LEAQ" && !regexp.MustCompile(`^\d+\(DI\),$`).MatchString(fields[1]):
			return line
		}
		before = strings.Join(fields, " ")
	}
	return ""
}

// No jump and no address depends on data; twins that do are seen.
func TestNoJumpOnASecret(t *testing.T) {
	text, err := os.ReadFile("lanes_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if bad := leak(string(text)); bad != "" {
		t.Errorf("time may depend on a secret: %s", bad)
	}
	for _, twin := range []string{"\tKORTESTB K1, K1\n\tJZ skip\n", "\tJNZ step\n", "\tMOVQ (SI), AX\n", "\tVPGATHERQQ (R8)(Z1*8), K1, Z2\n", "\tLEAQ 64(SI), R8\n", "\tVMOVDQU64 (DI)(AX*1), Z1\n"} {
		if leak(strings.Replace(string(text), "\tCALL swap<>(SB)\n", "\tCALL swap<>(SB)\n"+twin, 1)) == "" {
			t.Errorf("not seen: %q", twin)
		}
	}
}

// The ladder's last instructions clear every vector register and the mask.
func TestRegistersAreCleared(t *testing.T) {
	text, err := os.ReadFile("lanes_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	tail := string(text)[strings.LastIndex(string(text), "CALL"):]
	for i := range 32 {
		if want := fmt.Sprintf("\tVPXORQ Z%d, Z%[1]d, Z%[1]d\n", i); !strings.Contains(tail, want) {
			t.Errorf("Z%d is not cleared", i)
		}
	}
	if !strings.Contains(tail, "\tKXORB K1, K1, K1\n") {
		t.Error("K1 is not cleared")
	}
}
