package chaos

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hpke"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
)

// view is what the analyzer and all hops but one have together of one batch. What
// comes before the honest hop they can follow to the device, since opening a layer
// has one result; what comes after it they can open. What is left to guess is
// which of the envelopes that leave the honest hop was which of those that came.
type view struct {
	in, out [][]byte
	who     []int // device of each that came in, in the order in which they came to the entry
	target  int   // of those that came in: where did it go?

	// The judge's: what became of each that came in, -1 for what was dropped.
	truth []int
}

const (
	mixedDevices = 8
	linkRounds   = 3000 // over all positions of the honest hop
)

// attacks guess an envelope that left. Whatever they do with what they see, the
// guess is right with probability 1 / (number that left) if nothing links the two.
var attacks = map[string]func(*rand.Rand, view) int{
	"order": func(_ *rand.Rand, v view) int { return v.target % len(v.out) },
	"order, reversed": func(_ *rand.Rand, v view) int {
		return len(v.out) - 1 - v.target%len(v.out)
	},
	// Who came later is later, as of devices: a mixer that sorts by respondent.
	"time": func(_ *rand.Rand, v view) int {
		rank := 0
		for i := range v.in {
			if v.who[i] < v.who[v.target] {
				rank++
			}
		}
		return rank % len(v.out)
	},
	"size": func(r *rand.Rand, v view) int {
		return best(r, v, func(e []byte) int { return -abs(len(e) + envelope.X25519.Overhead() - len(v.in[v.target])) })
	},
	"equality of ciphertext": func(r *rand.Rand, v view) int {
		return best(r, v, func(e []byte) int { return common(e, v.in[v.target]) })
	},
	// A copy in the place of another's envelope: what comes out twice is the target's.
	"retries": func(r *rand.Rand, v view) int {
		return best(r, v, func(e []byte) int {
			n := 0
			for _, o := range v.out {
				if bytes.Equal(o, e) {
					n++
				}
			}
			return n
		})
	},
}

// best is the envelope with the highest score, one of them at random.
func best(r *rand.Rand, v view, score func([]byte) int) (at int) {
	top, ties := 0, 0
	for i, e := range v.out {
		s := score(e)
		if ties == 0 || s > top {
			top, ties = s, 0
		}
		if s == top {
			if ties++; r.IntN(ties) == 0 {
				at = i
			}
		}
	}
	return at
}

// common is the length of the longest text that is in both, of those that are not
// there by chance: 8 bytes are in two envelopes of 300 with probability 5e-15.
func common(a, b []byte) (longest int) {
	const chance = 8
	for i := 0; i+chance <= len(a); i++ {
		n := chance
		for i+n <= len(a) && bytes.Contains(b, a[i:i+n]) {
			longest = max(longest, n)
			n++
		}
	}
	return longest
}

// sibling guesses another envelope of the device of one that left, by what the two
// have in common; right with probability 1 / (number that left - 1) where nothing
// links them.
func sibling(r *rand.Rand, v view) (of, guess int) {
	of = v.truth[v.target]
	rest := view{}
	var places []int
	for i, e := range v.out {
		if i != of {
			rest.out, places = append(rest.out, e), append(places, i)
		}
	}
	return of, places[best(r, rest, func(e []byte) int { return common(e, v.out[of]) })]
}

// lab is an honest hop of a cascade of three whose others collude.
type lab struct {
	plan   plan.Plan
	hop    int
	keys   []envelope.PrivateKey
	layers []envelope.Layer
	form   envelope.Form
	opener []*envelope.Opener // of the hops up to the honest one; nil for the entry's
	known  map[string][]byte  // the judge's: what is in an envelope at the honest hop
}

func newLab(t testing.TB, hop int) *lab {
	t.Helper()
	r := rings()
	signed, err := r.plan("unlinkable", shape{hops: []int{maxHops}, minimum: 2, crowds: 1}, address, plan.Times{Opens: opens, Closes: closes})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{plan: signed.Plan, hop: hop, form: example.Form(signed.Plan, 0)}
	var public []envelope.PublicKey
	for h := range maxHops {
		l.keys = append(l.keys, r.open[0][h])
		public = append(public, r.open[0][h].Public())
	}
	l.layers = envelope.Route(l.plan.Hash(), 0, 0, append(public, r.analyzer.Public())...)
	l.opener = append(l.opener, nil)
	for h := 1; h <= hop; h++ {
		o, err := envelope.NewOpener(l.keys[h], l.plan.Hash(), 0, uint8(h), envelope.Size(l.layers[h:], l.plan.Envelopes.PayloadBytes))
		if err != nil {
			t.Fatal(err)
		}
		l.opener = append(l.opener, o)
	}
	return l
}

func (l *lab) must(err error) {
	if err != nil {
		panic(err)
	}
}

// seal is the envelopes of all devices as they reach the honest hop. To the entry they come in contributions:
// of each envelope there is the stretch of its contribution that it lies in.
func (l *lab) seal() (in [][]byte) {
	s, err := envelope.NewSealer(l.layers[1:], l.plan.Envelopes.PayloadBytes)
	l.must(err)
	for i := range mixedDevices * l.plan.Envelopes.PerDevice {
		payload := make([]byte, l.plan.Envelopes.PayloadBytes)
		payload[0] = byte(i)
		e, err := s.Seal(payload)
		l.must(err)
		for h := 1; h < l.hop; h++ {
			e, err = l.opener[h].Open(0, e)
			l.must(err)
		}
		in = append(in, e)
	}
	if l.hop > 0 {
		return in
	}
	n := l.plan.Envelopes.PerDevice
	for d := range mixedDevices {
		inner := in[d*n : (d+1)*n]
		body, err := l.form.Seal(l.keys[0].Public(), 0, inner)
		l.must(err)
		for j, at := 0, len(body)-n*l.form.Size; j < n; j, at = j+1, at+l.form.Size {
			from := at
			if j == 0 {
				from = 0
			}
			stretch := body[from : at+l.form.Size]
			l.known[string(stretch)], inner[j] = inner[j], stretch
		}
	}
	return in
}

// bodies are the contributions whose stretches came to the entry.
func (l *lab) bodies(in [][]byte) (bodies [][]byte) {
	for some := range slices.Chunk(in, l.plan.Envelopes.PerDevice) {
		bodies = append(bodies, bytes.Join(some, nil))
	}
	return bodies
}

// mix is the honest hop itself.
func (l *lab) mix(in [][]byte) [][]byte {
	h, err := shuffler.NewHop(l.plan, 0, l.hop, l.keys[l.hop])
	l.must(err)
	if l.hop == 0 {
		out, _, err := h.Enter(shuffler.Collected{Plan: l.plan.Hash(), Bodies: l.bodies(in)})
		l.must(err)
		return out.Envelopes
	}
	out, _, err := h.Mix(envelope.Batch{Plan: l.plan.Hash(), Hop: uint8(l.hop), Respondents: mixedDevices, Envelopes: in})
	l.must(err)
	return out.Envelopes
}

func (l *lab) open(e []byte) ([]byte, error) {
	if l.hop == 0 {
		return l.known[string(e)], nil
	}
	return l.opener[l.hop].Open(0, e)
}

// system is a way to seal and to mix.
type system struct {
	seal func(*lab) [][]byte
	mix  func(*lab, *rand.Rand, [][]byte) [][]byte
	open func(*lab, []byte) ([]byte, error) // for the judge
}

var honest = system{
	seal: (*lab).seal,
	mix:  func(l *lab, _ *rand.Rand, in [][]byte) [][]byte { return l.mix(in) },
	open: (*lab).open,
}

// links plays so many rounds of every attack against a system. A round has one
// target, so that successes are independent. With 1000 rounds of 16 envelopes a
// success in 11 % of all is caught nine times in ten, where chance has 6.3 %.
func links(t testing.TB, hop, rounds int, s system) {
	l := newLab(t, hop)
	r := stattest.Rand(t)
	right, siblings, neighbours := map[string]int{}, 0, 0
	var in [][]byte
	for round := range rounds {
		if round%100 == 0 { // opening has one result: the permutation is all that is new in a round
			l.known = map[string][]byte{}
			in = s.seal(l)
		}
		target := r.IntN(len(in))
		plain := s.look(l, r, in, target)
		copied := append([][]byte(nil), in...)
		if n := l.plan.Envelopes.PerDevice; hop > 0 {
			copied[(target+1+r.IntN(len(in)-1))%len(in)] = in[target]
		} else { // at the entry a whole contribution
			from := target - target%n
			copy(copied[(from+n*(1+r.IntN(mixedDevices-1)))%len(in):], in[from:from+n])
		}
		doubled := s.look(l, r, copied, target)
		for name, attack := range attacks {
			v := plain
			if name == "retries" {
				v = doubled
			}
			guess := attack(r, v)
			// Where a copy was dropped, 15 are left: made up to 16 by one that is never
			// right, or chance would differ by attack.
			if bytes.Equal(v.out[guess], v.out[v.truth[target]]) && r.IntN(len(in)) < len(v.out) {
				right[name]++
			}
		}
		if of, other := sibling(r, plain); plain.device(of) == plain.device(other) {
			siblings++
		}
		if at := r.IntN(len(plain.out) - 1); plain.device(at) == plain.device(at+1) {
			neighbours++
		}
	}
	n := mixedDevices * l.plan.Envelopes.PerDevice
	for name := range attacks {
		stattest.Binomial(named{t, name}, 1/float64(n), rounds, right[name])
	}
	stattest.Binomial(named{t, "siblings"}, float64(l.plan.Envelopes.PerDevice-1)/float64(n-1), rounds, siblings)
	stattest.Binomial(named{t, "neighbours"}, float64(l.plan.Envelopes.PerDevice-1)/float64(n-1), rounds, neighbours)
}

// look mixes and takes down what the colluders have.
func (s system) look(l *lab, r *rand.Rand, in [][]byte, target int) view {
	v := view{in: in, out: s.mix(l, r, in), target: target}
	for i := range in {
		v.who = append(v.who, i/l.plan.Envelopes.PerDevice)
	}
	v.truth = judge(l, s, v)
	return v
}

// device of an envelope that left.
func (v view) device(out int) int {
	for i, at := range v.truth {
		if at == out {
			return v.who[i]
		}
	}
	return -1
}

// judge finds what became of each envelope: the honest hop's own key tells.
func judge(l *lab, s system, v view) []int {
	truth := make([]int, len(v.in))
	for i, e := range v.in {
		truth[i] = -1
		inner := l.known[string(e)]
		if inner == nil {
			var err error
			inner, err = s.open(l, e)
			l.must(err)
			l.known[string(e)] = inner
		}
		for at, o := range v.out {
			if bytes.Equal(o, inner) {
				truth[i] = at
			}
		}
	}
	return truth
}

// named says which attack a failure is of.
type named struct {
	testing.TB
	name string
}

// Errorf implements testing.TB.
func (n named) Errorf(format string, a ...any) {
	n.TB.Errorf("%s: %s", n.name, fmt.Sprintf(format, a...))
}

func TestNobodyButTheHonestHopCanLink(t *testing.T) {
	for hop := range maxHops {
		t.Run(fmt.Sprint("honest hop ", hop), func(t *testing.T) { links(t, hop, linkRounds/maxHops, honest) })
	}
}

func TestLinkableTwinsAreCaught(t *testing.T) {
	inOrder := func(l *lab, _ *rand.Rand, in [][]byte) (out [][]byte) {
		for _, e := range in {
			inner, err := l.open(e)
			l.must(err)
			out = append(out, inner)
		}
		return out
	}
	for name, twin := range map[string]system{
		"no permutation": {(*lab).seal, inOrder, (*lab).open},
		"copies are not dropped": {(*lab).seal, func(l *lab, r *rand.Rand, in [][]byte) [][]byte {
			out := inOrder(l, r, in)
			rng.Shuffle(r, out)
			return out
		}, (*lab).open},
		"the layer stays on": {(*lab).seal, func(_ *lab, r *rand.Rand, in [][]byte) [][]byte {
			out := append([][]byte(nil), in...)
			rng.Shuffle(r, out)
			return out
		}, func(_ *lab, e []byte) ([]byte, error) { return e, nil }},
		"not padded":       {unpadded, mixAnySize, openAnySize},
		"a reused context": {reused, mixAnySize, openAnySize},
	} {
		t.Run(name, func(t *testing.T) {
			stattest.Caught(t, func(tb testing.TB) { links(tb, 1, 100, twin) })
		})
	}
	// It passes every count, and hands on a device's envelopes in a row.
	t.Run("an entry that orders contributions", func(t *testing.T) {
		stattest.Caught(t, func(tb testing.TB) {
			links(tb, 0, 100, system{(*lab).seal, func(l *lab, r *rand.Rand, in [][]byte) (out [][]byte) {
				bodies := l.bodies(in)
				rng.Shuffle(r, bodies)
				seen := map[string]bool{}
				for _, body := range bodies {
					inner, err := l.form.Open(l.keys[0], 0, body)
					l.must(err)
					for _, e := range inner {
						if !seen[string(e)] {
							out = append(out, e)
						}
						seen[string(e)] = true
					}
				}
				return out
			}, (*lab).open})
		})
	})
}

// unpadded devices send payloads as long as what they have to say.
func unpadded(l *lab) (in [][]byte) {
	for i := range mixedDevices * l.plan.Envelopes.PerDevice {
		e, err := envelope.Seal(l.layers[l.hop:], make([]byte, 8+i))
		l.must(err)
		in = append(in, e)
	}
	return in
}

// reused has all messages of a device under one context behind the honest hop.
func reused(l *lab) (in [][]byte) {
	key, err := ecdh.X25519().GenerateKey(nil)
	l.must(err)
	public, err := hpke.NewDHKEMPublicKey(key.PublicKey())
	l.must(err)
	for range mixedDevices {
		enc, sender, err := hpke.NewSender(public, hpke.HKDFSHA256(), hpke.AES128GCM(), nil)
		l.must(err)
		for i := range l.plan.Envelopes.PerDevice {
			inner, err := sender.Seal(nil, []byte{byte(i)})
			l.must(err)
			e, err := envelope.Seal(l.layers[l.hop:l.hop+1], append(bytes.Clone(enc), inner...))
			l.must(err)
			in = append(in, e)
		}
	}
	return in
}

func mixAnySize(l *lab, r *rand.Rand, in [][]byte) (out [][]byte) {
	seen := map[string]bool{}
	for _, e := range in {
		if inner, err := openAnySize(l, e); err == nil && !seen[string(e)] {
			out = append(out, inner)
		}
		seen[string(e)] = true
	}
	rng.Shuffle(r, out)
	return out
}

func openAnySize(l *lab, e []byte) ([]byte, error) {
	o, err := envelope.NewOpener(l.keys[l.hop], l.plan.Hash(), 0, uint8(l.hop), len(e))
	if err != nil {
		return nil, err
	}
	return o.Open(0, e)
}

func abs(n int) int { return max(n, -n) }
