package handover

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
)

// The vectors outlive the code: do not write them anew to make a test pass.
//
//	go test ./internal/wire/handover -run TestWriteVectors -write-vectors
var writeVectors = flag.Bool("write-vectors", false, "write testdata/vectors anew")

var vectorPath = filepath.Join("testdata", "vectors", "v1", "messages.json")

// hexBytes is bytes written in hexadecimal.
type hexBytes []byte

func (b hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// messageVector is an encoded message, or bytes that are none.
type messageVector struct {
	Comment string   `json:"comment"`
	Kind    string   `json:"kind"` // "handover", "token request" or "token response"
	Bytes   hexBytes `json:"bytes"`
	Error   string   `json:"error,omitempty"` // words of the refusal; empty for good ones
	// Of a good handover: what its receipts say, the keys they are signed with
	// ("" for none), and the digest of its batch.
	Receipts []receiptVector `json:"receipts,omitempty"`
	Digest   hexBytes        `json:"digest,omitempty"`
}

type receiptVector struct {
	Key         string   `json:"key"`
	Hop         uint8    `json:"hop"`
	Respondents uint64   `json:"respondents"`
	Tokens      uint64   `json:"tokens"`
	In          uint64   `json:"in"`
	Out         uint64   `json:"out"`
	Dropped     uint64   `json:"dropped"`
	Duplicates  uint64   `json:"duplicates"`
	BatchIn     hexBytes `json:"batch_in"`
	BatchOut    hexBytes `json:"batch_out"`
	Previous    hexBytes `json:"previous"`
	Signature   hexBytes `json:"signature"`
}

// counting returns n bytes that count up from first: easy to tell apart in a dump.
func counting(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func newVectors(t *testing.T) []messageVector {
	h, data, keys := cascade(t, 2)
	good := MarshalHandover(h.Receipts, data)
	v := messageVector{Comment: "a batch for hop 2 behind two receipts; the second hop has no key", Kind: "handover", Bytes: good, Digest: h.Digest[:]}
	for i, r := range h.Receipts {
		v.Receipts = append(v.Receipts, receiptVector{keys[i].String(), r.Hop, r.Respondents, r.Tokens, r.In, r.Out, r.Dropped, r.Duplicates, r.BatchIn[:], r.BatchOut[:], r.Previous[:], r.Signature[:]})
	}
	asks := func(a ...tokenwire.Ask) tokenwire.Request { return tokenwire.Request{Asks: a} }
	request := asks(tokenwire.Ask{Blinded: counting(0, token.RequestSize)}, tokenwire.Ask{Instance: 258, Hop: 3, Blinded: counting(9, token.RequestSize)})
	response := tokenwire.Response{Answers: [][]byte{counting(1, token.RequestSize), counting(2, token.RequestSize)}}
	all := []messageVector{v,
		{Comment: "for two hops", Kind: "token request", Bytes: request.Marshal()},
		{Comment: "for two hops", Kind: "token response", Bytes: response.Marshal()},
	}
	bad := func(kind, comment, reason string, data []byte, change func([]byte) []byte) {
		all = append(all, messageVector{Comment: comment, Kind: kind, Error: reason, Bytes: change(slices.Clone(data))})
	}
	at := func(i int, b byte) func([]byte) []byte {
		return func(d []byte) []byte { d[i] = b; return d }
	}
	for _, c := range []struct {
		comment, reason string
		change          func([]byte) []byte
	}{
		{"empty", "truncated", func([]byte) []byte { return nil }},
		{"another version", "version 2", at(0, 2)},
		{"of another kind", "kind 2", at(1, 2)},
		{"a receipt fewer", "receipts with a batch", func(d []byte) []byte {
			d[2] = 1
			return append(d[:3+relay.ReceiptSize], d[3+2*relay.ReceiptSize:]...)
		}},
		{"more receipts than bytes", "truncated", at(2, 255)},
		{"a receipt of another version", "version 2", at(3, 2)},
		{"numbers that do not add up", "add up", at(3+51, 99)},
		{"an entry that follows something", "follows nothing", at(3+64, 1)},
		{"a batch cut short", "truncated", func(d []byte) []byte { return d[:len(d)-1] }},
		{"bytes after the batch", "oversized", func(d []byte) []byte { return append(d, 0) }},
	} {
		bad("handover", c.comment, c.reason, good, c.change)
	}
	q := request.Marshal()
	twice := asks(request.Asks[0], request.Asks[0])
	bad("token request", "empty", "not the CBOR", nil, slices.Clone[[]byte])
	bad("token request", "no asks", "empty", tokenwire.Request{Asks: []tokenwire.Ask{}}.Marshal(), slices.Clone[[]byte])
	bad("token request", "two for one hop", "same hop", twice.Marshal(), slices.Clone[[]byte])
	bad("token request", "a short request", "bytes: all have", asks(tokenwire.Ask{Blinded: counting(0, 255)}).Marshal(), slices.Clone[[]byte])
	bad("token request", "bytes after it", "not the CBOR", q, func(d []byte) []byte { return append(d, 0) })
	bad("token request", "an unknown field", "not the CBOR", q, func(d []byte) []byte { return append(append([]byte{0xa2}, d[1:]...), 2, 0) })
	bad("token request", "a field twice", "not the CBOR", q, func(d []byte) []byte { return append(append([]byte{0xa2}, d[1:]...), d[1:]...) })
	bad("token request", "a number in a longer form", "one encoding", q, func(d []byte) []byte { return append([]byte{0xa1, 0x18, 0x01}, d[2:]...) })
	bad("token request", "an array without a length", "not the CBOR", q, func(d []byte) []byte { return append(append([]byte{0xa1, 0x01, 0x9f}, d[3:]...), 0xff) })
	bad("token request", "cut short", "not the CBOR", q, func(d []byte) []byte { return d[:len(d)-1] })
	bad("token response", "no answers", "empty", tokenwire.Response{Answers: [][]byte{}}.Marshal(), slices.Clone[[]byte])
	bad("token response", "a long answer", "bytes: all have", tokenwire.Response{Answers: [][]byte{counting(0, 257)}}.Marshal(), slices.Clone[[]byte])
	return all
}

func readVectors(t testing.TB) []messageVector {
	t.Helper()
	data, err := os.ReadFile(vectorPath)
	if err != nil {
		t.Fatal(err)
	}
	var v []messageVector
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWriteVectors(t *testing.T) {
	if !*writeVectors {
		t.Skip("writes testdata; ask for it with -write-vectors")
	}
	data, err := json.MarshalIndent(newVectors(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(vectorPath), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorPath, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// decode reads a handover and encodes what it has read.
func decode(data []byte) (again []byte, h Handover, err error) {
	if h, err = ParseHandover(data); err != nil {
		return nil, h, err
	}
	batch, err := h.Batch.Marshal()
	return MarshalHandover(h.Receipts, batch), h, err
}

func TestVectors(t *testing.T) {
	good := 0
	for _, v := range readVectors(t) {
		if v.Kind != "handover" { // package wire reads the others
			continue
		}
		again, h, err := decode(v.Bytes)
		if v.Error != "" {
			if err == nil || !strings.Contains(err.Error(), v.Error) {
				t.Errorf("%s, %s: %v, want %q", v.Kind, v.Comment, err, v.Error)
			}
			continue
		}
		good++
		if err != nil || !bytes.Equal(again, v.Bytes) {
			t.Errorf("%s, %s: does not come back (%v)", v.Kind, v.Comment, err)
			continue
		}
		var keys []relay.VerifyKey
		for i, want := range v.Receipts {
			var key relay.VerifyKey
			if want.Key != "" {
				if key, err = relay.ParseVerifyKey(want.Key); err != nil {
					t.Fatal(err)
				}
			}
			keys = append(keys, key)
			r := h.Receipts[i]
			if r.Hop != want.Hop || r.Respondents != want.Respondents || r.Tokens != want.Tokens || r.In != want.In || r.Out != want.Out || r.Dropped != want.Dropped || r.Duplicates != want.Duplicates ||
				!bytes.Equal(r.BatchIn[:], want.BatchIn) || !bytes.Equal(r.BatchOut[:], want.BatchOut) || !bytes.Equal(r.Previous[:], want.Previous) || !bytes.Equal(r.Signature[:], want.Signature) {
				t.Errorf("receipt %d differs", i)
			}
		}
		if !bytes.Equal(h.Digest[:], v.Digest) {
			t.Error("the digest of the batch differs")
		}
		if err := CheckChain(h.Receipts, keys, h.Batch.Head(), h.Digest); err != nil {
			t.Error(err)
		}
	}
	if good == 0 {
		t.Fatal("no good vector")
	}
}

func FuzzHandover(f *testing.F) {
	for _, v := range readVectors(f) {
		if v.Kind == "handover" {
			f.Add([]byte(v.Bytes))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			if again, _, err := decode(data); err == nil && !bytes.Equal(again, data) {
				t.Error("accepted, but encodes to other bytes")
			}
		})
	})
}

func BenchmarkParseHandover(b *testing.B) {
	batch := envelope.Batch{Hop: 1, Respondents: 1000, Envelopes: make([][]byte, 64_000)}
	for i := range batch.Envelopes {
		batch.Envelopes[i] = make([]byte, 102)
	}
	data, err := batch.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	data = MarshalHandover([]relay.SignedReceipt{{}}, data)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParseHandover(data); err != nil {
			b.Fatal(err)
		}
	}
}
