package token

import (
	"bytes"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func issue(t testing.TB, key PrivateKey, seed Seed, c Context) (request *Request, answer, token []byte) {
	t.Helper()
	request, err := NewRequest(seed, key.Public(), c)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err = key.Sign(request.Blinded); err != nil {
		t.Fatal(err)
	}
	if token, err = request.Finish(answer); err != nil {
		t.Fatal(err)
	}
	return request, answer, token
}

func TestTokensAreGoodInTheirContextOnly(t *testing.T) {
	_, key := readVector(t)
	rapid.Check(t, func(t *rapid.T) {
		context := rapid.Custom(func(t *rapid.T) Context {
			// Few values, so that contexts often differ in one field only.
			return Context{[32]byte{rapid.ByteRange(0, 1).Draw(t, "plan")}, rapid.Uint16Range(0, 1).Draw(t, "instance"), rapid.ByteRange(0, 1).Draw(t, "hop")}
		})
		a, b := context.Draw(t, "a"), context.Draw(t, "b")
		seed := Seed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
		request, err := NewRequest(seed, key.Public(), a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := NewRequest(seed, key.Public(), a)
		if err != nil || !bytes.Equal(request.Blinded, again.Blinded) {
			t.Error("the same request differs")
		}
		answer, err := key.Sign(request.Blinded)
		if err != nil {
			t.Fatal(err)
		}
		token, err := again.Finish(answer) // of the device that has come up again
		if err != nil {
			t.Fatal(err)
		}
		if err := key.Public().Verify(b, token); (err == nil) != (a == b) {
			t.Errorf("a token for %v in context %v: %v", a, b, err)
		}
		at := rapid.IntRange(0, Size*8-1).Draw(t, "flipped bit")
		token[at/8] ^= 1 << (at % 8)
		if err := key.Public().Verify(a, token); !errors.Is(err, errInvalid) {
			t.Errorf("with bit %d flipped: %v", at, err)
		}
	})
}

// Each context and each key has a request and a nonce of its own from one seed.
func TestRequestsOfOneSeedShareNothing(t *testing.T) {
	_, key := readVector(t)
	seen := map[string]bool{}
	for _, c := range []Context{{}, {Hop: 1}, {Instance: 1}, {Plan: [32]byte{1}}, {Instance: 256}} {
		q, err := NewRequest(Seed{1}, key.Public(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{q.Blinded, q.nonce} {
			if seen[string(b)] {
				t.Errorf("%v repeats bytes of another context", c)
			}
			seen[string(b)] = true
		}
	}
}

func TestFinishRefusesWhatIsNoAnswer(t *testing.T) {
	v, key := readVector(t)
	request, err := NewRequest(Seed(v.Seed), key.Public(), v.context())
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewRequest(Seed{}, key.Public(), v.context())
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := key.Sign(other.Blinded)
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string][]byte{
		"nothing": nil, "another request's": wrong, "zeros": make([]byte, RequestSize),
		"ones": bytes.Repeat([]byte{255}, RequestSize), "short": v.Answer[1:], "long": append(v.Answer, 0),
	} {
		if _, err := request.Finish(answer); err == nil {
			t.Errorf("%s was taken for an answer", name)
		}
	}
	for name, request := range map[string][]byte{"nothing": nil, "short": v.Blinded[1:], "long": append(v.Blinded, 0), "above the modulus": bytes.Repeat([]byte{255}, RequestSize)} {
		if _, err := key.Sign(request); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
}

// blinding is the one factor r with which a request's answer y belongs to a
// token: y = r s.
func blinding(key PrivateKey, answer, token []byte) *big.Int {
	n := key.key().N
	r := new(big.Int).ModInverse(new(big.Int).SetBytes(token[nonceBytes:]), n)
	r.Mul(r, new(big.Int).SetBytes(answer))
	return r.Mod(r, n)
}

// The law behind Request.Blinded: whatever request and token one sets side by
// side, they belong together under one blinding factor.
func TestEveryRequestCouldBeOfEveryToken(t *testing.T) {
	_, key := readVector(t)
	n, e := key.key().N, big.NewInt(exponent)
	type issued struct {
		blinded, answer, token []byte
	}
	var all []issued
	for i := range byte(8) {
		request, answer, token := issue(t, key, Seed{i}, Context{})
		all = append(all, issued{request.Blinded, answer, token})
	}
	for i, asked := range all {
		for j, spent := range all {
			m := new(big.Int).Exp(new(big.Int).SetBytes(spent.token[nonceBytes:]), e, n)
			z := new(big.Int).Exp(blinding(key, asked.answer, spent.token), e, n)
			z.Mul(z, m).Mod(z, n)
			if z.Cmp(new(big.Int).SetBytes(asked.blinded)) != 0 {
				t.Errorf("request %d cannot be of token %d", i, j)
			}
		}
	}
}

// An issuer that keeps all requests is shown two tokens and guesses which of
// them is of a request: the one whose blinding factor is the smaller number, as
// good a guess as any. The twin blinds with 1,024 bits instead of 2,048. Among
// 200 guesses a success rate of 0.73 instead of 0.5 is caught nine times in ten.
func TestTokensDoNotLinkToRequests(t *testing.T) {
	_, key := readVector(t)
	const trials = 200
	r := stattest.Rand(t)
	newSeed := func() (s Seed) {
		rng.Reader(r).Read(s[:])
		return s
	}
	guess := func(answer, right, wrong []byte) bool {
		return blinding(key, answer, right).Cmp(blinding(key, answer, wrong)) < 0
	}
	won, wonTwin := 0, 0
	for range trials {
		_, answer, token := issue(t, key, newSeed(), Context{})
		_, _, decoy := issue(t, key, newSeed(), Context{})
		if guess(answer, token, decoy) {
			won++
		}
		short := newSeed()
		y := new(big.Int).SetBytes(token[nonceBytes:])
		y.Mul(y, new(big.Int).SetBytes(bytes.Repeat(short[:], 4))).Mod(y, key.key().N)
		if guess(y.Bytes(), token, decoy) {
			wonTwin++
		}
	}
	stattest.Binomial(t, 0.5, trials, won)
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, 0.5, trials, wonTwin) })
}

func TestParsePublicKeyRefuses(t *testing.T) {
	v, _ := readVector(t)
	raw, err := keytext.Decode(Suite, v.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func([]byte) []byte) string { return keytext.Encode(Suite, change(bytes.Clone(raw))) }
	for name, text := range map[string]string{
		"empty": "", "no suite": strings.TrimPrefix(v.PublicKey, "rsa2048:"), "another suite": "rsa4096:" + strings.TrimPrefix(v.PublicKey, "rsa2048:"),
		"padding": v.PublicKey + "=", "a line break": v.PublicKey + "\n", "cut": v.PublicKey[:100],
		"a byte more":     changed(func(b []byte) []byte { return append(b, 0) }),
		"exponent 3":      changed(func(b []byte) []byte { return append(b[:len(b)-3], 0, 0, 3) }),
		"an even modulus": changed(func(b []byte) []byte { b[len(b)-6] &^= 1; return b }),
	} {
		if _, err := ParsePublicKey(text); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestPrivateKeyDoesNotPrintItself(t *testing.T) {
	_, key := readVector(t)
	secret := key.key().D.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		for _, x := range []any{key, &key, struct{ Key PrivateKey }{key}, struct{ key PrivateKey }{key}} {
			if s := fmt.Sprintf(verb, x); strings.Contains(s, secret) || strings.Contains(s, fmt.Sprintf("%x", key.key().D)) {
				t.Errorf("%s prints the key", verb)
			}
		}
	}
}

func TestZeroKeys(t *testing.T) {
	if _, err := NewRequest(Seed{}, PublicKey{}, Context{}); err == nil {
		t.Error("asked under no key")
	}
	if _, err := (PrivateKey{}).Sign(make([]byte, RequestSize)); err == nil {
		t.Error("signed with no key")
	}
	if err := (PublicKey{}).Verify(Context{}, make([]byte, Size)); !errors.Is(err, errInvalid) {
		t.Error("verified under no key")
	}
	if (PrivateKey{}).RSA() != nil {
		t.Error("no key is some key")
	}
	if short, err := rsa.GenerateKey(nil, 1024); err != nil {
		t.Fatal(err)
	} else if _, err := NewPrivateKey(short); err == nil {
		t.Error("took a short key")
	}
}

func FuzzParsePublicKey(f *testing.F) {
	v, _ := readVector(f)
	f.Add(v.PublicKey)
	f.Add("rsa2048:")
	f.Fuzz(func(t *testing.T, text string) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if k, err := ParsePublicKey(text); err == nil && k.String() != text {
				t.Error("a key with a second text form was accepted")
			}
		})
	})
}

func BenchmarkVerify(b *testing.B) {
	v, key := readVector(b)
	public := key.Public()
	for b.Loop() {
		if err := public.Verify(v.context(), v.Token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	v, key := readVector(b)
	public := key.Public()
	for b.Loop() {
		if _, err := NewRequest(Seed(v.Seed), public, v.context()); err != nil {
			b.Fatal(err)
		}
	}
}

// A signature that is right by one prime alone would give the key away: whoever has it and the request computes the
// other prime. It is never answered.
func TestAMiscalculatedSignatureIsKept(t *testing.T) {
	v, key := readVector(t)
	for _, spoil := range []func(*rsa.PrecomputedValues){
		func(c *rsa.PrecomputedValues) { c.Dp = new(big.Int).Add(c.Dp, big.NewInt(2)) },
		func(c *rsa.PrecomputedValues) { c.Dq = new(big.Int).Add(c.Dq, big.NewInt(2)) },
		func(c *rsa.PrecomputedValues) { c.Qinv = big.NewInt(1) },
	} {
		bad := *key.RSA()
		spoil(&bad.Precomputed)
		right := new(big.Int).SetBytes(v.Answer)
		wrong := root(&bad, new(big.Int).SetBytes(v.Blinded))
		if p := new(big.Int).GCD(nil, nil, wrong.Sub(wrong, right), bad.N); p.Cmp(bad.Primes[0]) != 0 && p.Cmp(bad.Primes[1]) != 0 {
			t.Fatal("the fault that is planted gives nothing away")
		}
		if answer, err := wrapPrivateKey(&bad).Sign(v.Blinded); err == nil || answer != nil {
			t.Errorf("%x, %v", answer, err)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	v, key := readVector(b)
	for b.Loop() {
		if _, err := key.Sign(v.Blinded); err != nil {
			b.Fatal(err)
		}
	}
}
