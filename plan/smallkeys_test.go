package plan

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"
)

// The list at https://cr.yp.to/ecdh.html#validate has five more, which are of small order only where the top bit counts;
// RFC 7748, section 5, has it ignored.
var topBitCounts = []string{
	"cdeb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b880",
	"4c9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11d7",
	"d9ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"daffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"dbffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

// A key is of small order where its product with any secret is zero, which crypto/ecdh refuses (RFC 7748, section 6.1):
// the points of the list, their neighbours by a bit, all small numbers and all around p are asked.
func TestSmallOrderIsAProductOfZero(t *testing.T) {
	secret, err := ecdh.X25519().NewPrivateKey([]byte("a secret that everybody may know"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, text := range append(slices.Clone(smallPoints), topBitCounts...) {
		point, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, point)
		for bit := range 256 {
			other := slices.Clone(point)
			other[bit/8] ^= 1 << (bit % 8)
			all = append(all, other)
		}
	}
	for low := range 256 {
		near := bytes.Repeat([]byte{255}, 32) // 2^255 - 256 + low, p among them
		near[0], near[31] = byte(low), 127
		all = append(all, near, append([]byte{byte(low)}, make([]byte, 31)...))
	}
	zeros := map[string]bool{}
	for _, u := range all {
		key, err := ecdh.X25519().NewPublicKey(u)
		if err != nil {
			t.Fatal(err)
		}
		_, err = secret.ECDH(key)
		if small := smallOrder("x25519:" + base64.RawURLEncoding.EncodeToString(u)); small != (err != nil) {
			t.Errorf("%x: of small order %v, and its product: %v", u, small, err)
		}
		if err != nil {
			zeros[string(u)] = true
		}
	}
	if len(zeros) != 2*len(smallPoints) {
		t.Errorf("%d products are zero, want %d", len(zeros), 2*len(smallPoints))
	}
}

const goodKey = "x25519:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA"

// keyed returns a plan of the sample with keys that are no zeros.
func keyed(p Plan) Plan {
	p.Analyzer.Key = goodKey
	for _, in := range p.Route.Mix.Instances {
		for h := range in.Hops {
			in.Hops[h].Key = goodKey
		}
	}
	return p
}

// A plan of which a party's key is of small order collects nothing, whichever party it is, and the error names it. The
// twins are the points beside, and the plan with good keys.
func TestKeysOfSmallOrderAreRefused(t *testing.T) {
	mixed := func() Plan { return keyed(newest()) }
	summed := func() Plan {
		p := mixed()
		party := func(name string) Party { return Party{Operator: name, Key: goodKey} }
		p.Route = Route{Kind: RouteSum, Sum: &Sum{Leader: party("Leader"), Helper: party("Helper")}}
		return p
	}
	wing := func(point []byte) string { // its first part is of ML-KEM-768
		return "x-wing:" + base64.RawURLEncoding.EncodeToString(append(bytes.Repeat([]byte{1}, 1184), point...))
	}
	for name, c := range map[string]struct {
		plan func() Plan
		key  func(*Plan) *string
		of   string
	}{
		"analyzer":       {mixed, func(p *Plan) *string { return &p.Analyzer.Key }, sample().Analyzer.Operator},
		"first hop":      {mixed, func(p *Plan) *string { return &p.Route.Mix.Instances[0].Hops[0].Key }, sample().Route.Mix.Instances[0].Hops[0].Operator},
		"leader":         {summed, func(p *Plan) *string { return &p.Route.Sum.Leader.Key }, "Leader"},
		"helper":         {summed, func(p *Plan) *string { return &p.Route.Sum.Helper.Key }, "Helper"},
		"leader's relay": {summed, func(p *Plan) *string { p.Route.Sum.Leader.Relay = relayTo("a"); return &p.Route.Sum.Leader.Relay.Key }, "Leader"},
	} {
		for i, text := range append(slices.Clone(smallPoints), topBitCounts...) {
			point, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, top := range []byte{0, 128} {
				point[31] |= top
				for suite, key := range map[string]string{"x25519": "x25519:" + base64.RawURLEncoding.EncodeToString(point), "x-wing": wing(point)} {
					p := c.plan()
					*c.key(&p) = key
					err := p.Collected()
					if small := i < len(smallPoints); small != (err != nil && strings.Contains(err.Error(), Quoted(c.of)) && strings.Contains(err.Error(), "small order")) {
						t.Errorf("%s, %s of %x: %v", name, suite, point, err)
					}
				}
			}
		}
		p := c.plan()
		c.key(&p)
		if err := p.Collected(); err != nil {
			t.Errorf("%s, good: %v", name, err)
		}
	}
	// It is refused at registration, where signers suffice, and an earlier version is refused as one.
	signer := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	trust := Trust(Publisher(signer.Public().(ed25519.PublicKey)))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := trust.Admit(Sign(mixed(), signer), now); err != nil {
		t.Errorf("good keys: %v", err)
	}
	p := mixed()
	p.Analyzer.Key = "x25519:" + strings.Repeat("A", 43)
	if err := trust.Admit(Sign(p, signer), now); err == nil || !strings.Contains(err.Error(), "small order") {
		t.Errorf("admitted: %v", err)
	}
}
