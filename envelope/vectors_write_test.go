package envelope

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
)

// TestWriteVectors makes the vectors. Keys, plan and payload are fixed; the
// envelopes differ from run to run, as sealing draws fresh keys.
func TestWriteVectors(t *testing.T) {
	if !*writeVectors {
		t.Skip("writes testdata; ask for it with -write-vectors")
	}
	for _, suite := range suites {
		write(t, string(suite), newEnvelopeVector(t, suite))
	}
	write(t, "messages", newMessageVectors(t))
}

func write(t *testing.T, name string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(vectorPath(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorPath(name), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// counting returns n bytes that count up from first: easy to tell apart in a dump.
func counting(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func newEnvelopeVector(t *testing.T, suite Suite) envelopeVector {
	v := envelopeVector{
		Comment: "one message through two hops to the analyzer; the bad ones are for the analyzer's key and length",
		Source:  vectorSource, Suite: suite, SuiteID: suite.id(),
		Plan: counting(0xa0, 32), Instance: 258, Crowd: 16909060, Payload: counting(1, 8),
	}
	var private []PrivateKey
	var public []PublicKey
	for hop := range 3 {
		raw := counting(byte(16*hop+1), 32)
		key, err := NewPrivateKey(suite, raw)
		if err != nil {
			t.Fatal(err)
		}
		private, public = append(private, key), append(public, key.Public())
		v.Layers = append(v.Layers, layerVector{Hop: uint8(hop), PrivateKey: raw, PublicKey: key.Public().String(), KeyID: key.Public().ID()})
	}
	message, err := Seal(Route([32]byte(v.Plan), v.Instance, v.Crowd, public...), v.Payload)
	if err != nil {
		t.Fatal(err)
	}
	for hop := range v.Layers {
		l := &v.Layers[hop]
		c := Context{Plan: [32]byte(v.Plan), Instance: v.Instance, Hop: l.Hop, Crowd: v.Crowd}
		enc := suite.Overhead() - tagSize
		l.Info, l.AAD = c.info(suite), c.aad()
		l.Envelope, l.Enc, l.Ciphertext = message, message[:enc], message[enc:]
		if message, err = mustOpener(t, private[hop], c, len(message)).Open(c.Crowd, message); err != nil {
			t.Fatal(err)
		}
		l.Inner = message
	}
	v.Bad = newBadVectors(v)
	return v
}

func newBadVectors(v envelopeVector) []badVector {
	analyzer := v.Layers[2]
	bad := func(comment, error string, change func(*badVector)) badVector {
		b := badVector{
			Comment: comment, Hop: 2, Plan: slices.Clone(v.Plan), Instance: v.Instance, Crowd: v.Crowd,
			Envelope: slices.Clone(analyzer.Envelope), Error: error,
		}
		change(&b)
		return b
	}
	const shut = "does not open"
	size, enc := len(analyzer.Envelope), len(analyzer.Enc)
	return []badVector{
		bad("last byte missing", "truncated", func(b *badVector) { b.Envelope = b.Envelope[:size-1] }),
		bad("empty", "truncated", func(b *badVector) { b.Envelope = hexBytes{} }),
		bad("one byte more", "oversized", func(b *badVector) { b.Envelope = append(b.Envelope, 0) }),
		bad("another layer still on", "oversized", func(b *badVector) { b.Envelope = v.Layers[1].Envelope }),
		bad("wrong plan", shut, func(b *badVector) { b.Plan[31] ^= 1 }),
		bad("wrong instance", shut, func(b *badVector) { b.Instance++ }),
		bad("wrong hop", shut, func(b *badVector) { b.Hop-- }),
		bad("wrong crowd", shut, func(b *badVector) { b.Crowd++ }),
		bad("first bit of the encapsulated key flipped", shut, func(b *badVector) { b.Envelope[0] ^= 0x80 }),
		bad("bit 255 of the X25519 point flipped, which the function itself ignores", shut, func(b *badVector) { b.Envelope[enc-1] ^= 0x80 }),
		bad("the X25519 point is the point of order one", shut, func(b *badVector) { clear(b.Envelope[enc-32 : enc]) }),
		bad("first bit of the ciphertext flipped", shut, func(b *badVector) { b.Envelope[enc] ^= 0x80 }),
		bad("last bit of the tag flipped", shut, func(b *badVector) { b.Envelope[size-1] ^= 1 }),
	}
}

func newMessageVectors(t *testing.T) []messageVector {
	b := Batch{
		Plan: [32]byte(counting(0xa0, 32)), Instance: 258, Crowd: 16909060, Hop: 1, Respondents: 84281096,
		Envelopes: [][]byte{counting(1, sizes.Min), counting(101, sizes.Min)},
	}
	batch, err := b.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	contribution, err := Contribution{Plan: b.Plan, Instance: b.Instance, Crowd: b.Crowd, Envelopes: b.Envelopes}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelopes := []hexBytes{b.Envelopes[0], b.Envelopes[1]}
	vs := []messageVector{
		{Comment: "two envelopes of 48 bytes", Kind: "contribution", Bytes: contribution, Plan: b.Plan[:], Instance: b.Instance, Crowd: b.Crowd, Envelopes: envelopes},
		{Comment: "the same as a batch on its way to hop 1", Kind: "batch", Bytes: batch, Plan: b.Plan[:], Instance: b.Instance, Crowd: b.Crowd, Hop: b.Hop, Respondents: b.Respondents, Envelopes: envelopes},
	}
	for _, good := range slices.Clone(vs) {
		bad := func(comment, error string, change func(data []byte) []byte) {
			vs = append(vs, messageVector{Comment: comment, Kind: good.Kind, Error: error, Bytes: change(bytes.Clone(good.Bytes))})
		}
		put := func(at int, value uint32) func([]byte) []byte {
			return func(data []byte) []byte {
				binary.BigEndian.PutUint32(data[at:], value)
				return data
			}
		}
		bad("empty", "truncated", func([]byte) []byte { return []byte{} })
		bad("the header cut", "truncated", func(d []byte) []byte { return d[:47] })
		bad("the last byte missing", "truncated", func(d []byte) []byte { return d[:len(d)-1] })
		bad("a byte too many", "oversized", func(d []byte) []byte { return append(d, 0) })
		bad("a format version of the future", "version", func(d []byte) []byte { d[0] = 2; return d })
		bad("the other kind", "kind", func(d []byte) []byte { d[1] ^= 3; return d })
		bad("no envelopes", "no envelopes", func(d []byte) []byte { return put(40, 0)(d[:headerSize(d[1])]) })
		bad("2^32 - 1 envelopes stated", "truncated", put(40, 1<<32-1))
		bad("one envelope stated, two follow", "oversized", put(40, 1))
		bad("envelopes of no length", "need", put(44, 0))
		bad("envelopes longer than any", "need", put(44, sizes.Max+1))
		bad("envelopes of 4 GiB", "need", put(44, 1<<32-1))
	}
	return vs
}
