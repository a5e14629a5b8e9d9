package envelope

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The vectors are opened, not sealed again: sealing draws fresh keys. Writing
// them anew changes what other implementations were checked against, so do it
// only together with the label or the format version, and say why.
var writeVectors = flag.Bool("write-vectors", false, "write testdata/vectors/v1 anew instead of checking it")

const vectorSource = "go test ./envelope -run TestWriteVectors -write-vectors"

// hexBytes is bytes written in hexadecimal.
type hexBytes []byte

func (b hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// envelopeVector is one message on its way through all hops, with every value in between.
type envelopeVector struct {
	Comment  string        `json:"comment"`
	Source   string        `json:"source"`
	Suite    Suite         `json:"suite"`
	SuiteID  hexBytes      `json:"suite_id"` // KEM, KDF and AEAD identifiers, two bytes each
	Plan     hexBytes      `json:"plan"`
	Instance uint16        `json:"instance"`
	Crowd    uint32        `json:"crowd"`
	Payload  hexBytes      `json:"payload"`
	Layers   []layerVector `json:"layers"` // outermost first
	Bad      []badVector   `json:"bad"`
}

type layerVector struct {
	Hop        uint8    `json:"hop"`
	PrivateKey hexBytes `json:"private_key"`
	PublicKey  string   `json:"public_key"`
	KeyID      string   `json:"key_id"`
	Info       hexBytes `json:"info"`
	AAD        hexBytes `json:"aad"`
	Envelope   hexBytes `json:"envelope"`         // as it reaches the hop
	Enc        hexBytes `json:"encapsulated_key"` // its two parts
	Ciphertext hexBytes `json:"ciphertext"`
	Inner      hexBytes `json:"inner"` // what the hop hands on
}

// badVector is an envelope that the analyzer of the vector must not open.
type badVector struct {
	Comment  string   `json:"comment"`
	Hop      uint8    `json:"hop"`
	Plan     hexBytes `json:"plan"`
	Instance uint16   `json:"instance"`
	Crowd    uint32   `json:"crowd"`
	Envelope hexBytes `json:"envelope"`
	Error    string   `json:"error"` // "truncated", "oversized" or "does not open"
}

// messageVector is an encoded contribution or batch, or bytes that are neither.
type messageVector struct {
	Comment     string     `json:"comment"`
	Kind        string     `json:"kind"` // "contribution" or "batch"
	Bytes       hexBytes   `json:"bytes"`
	Error       string     `json:"error,omitempty"` // a word of the refusal; empty for good ones
	Plan        hexBytes   `json:"plan,omitempty"`
	Instance    uint16     `json:"instance,omitempty"`
	Crowd       uint32     `json:"crowd,omitempty"`
	Hop         uint8      `json:"hop,omitempty"`
	Respondents uint64     `json:"respondents,omitempty"`
	Envelopes   []hexBytes `json:"envelopes,omitempty"`
}

func vectorPath(name string) string {
	return filepath.Join("testdata", "vectors", "v1", name+".json")
}

func readVector(t testing.TB, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(vectorPath(name))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func readMessageVectors(t testing.TB) []messageVector {
	t.Helper()
	var vs []messageVector
	readVector(t, "messages", &vs)
	if len(vs) < 2 {
		t.Fatal("no message vectors")
	}
	return vs
}

func TestEnvelopeVectors(t *testing.T) {
	for _, suite := range suites {
		t.Run(string(suite), func(t *testing.T) {
			var v envelopeVector
			readVector(t, string(suite), &v)
			if len(v.Layers) < 3 || len(v.Bad) < 9 {
				t.Fatal("vectors are missing")
			}
			if !bytes.Equal(v.SuiteID, suite.id()) {
				t.Errorf("suite id %x", suite.id())
			}
			for i, l := range v.Layers {
				if err := l.check(v); err != nil {
					t.Errorf("layer %d: %v", i, err)
				}
				next := v.Payload
				if i+1 < len(v.Layers) {
					next = v.Layers[i+1].Envelope
				}
				if !bytes.Equal(l.Inner, next) {
					t.Errorf("layer %d: what is inside is not what the next one gets", i)
				}
			}
			analyzer := v.Layers[len(v.Layers)-1]
			key, err := NewPrivateKey(suite, analyzer.PrivateKey)
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range v.Bad {
				c := Context{Plan: [32]byte(bad.Plan), Instance: bad.Instance, Hop: bad.Hop, Crowd: bad.Crowd}
				_, err := mustOpener(t, key, c, len(analyzer.Envelope)).Open(c.Crowd, bad.Envelope)
				if err == nil || !strings.Contains(err.Error(), bad.Error) {
					t.Errorf("%s: %v, want %q", bad.Comment, err, bad.Error)
				}
			}
		})
	}
}

func (l layerVector) check(v envelopeVector) error {
	key, err := NewPrivateKey(v.Suite, l.PrivateKey)
	if err != nil {
		return err
	}
	if key.Public().String() != l.PublicKey || key.Public().ID() != l.KeyID {
		return errors.New("public key or id differ")
	}
	c := Context{Plan: [32]byte(v.Plan), Instance: v.Instance, Hop: l.Hop, Crowd: v.Crowd}
	if !bytes.Equal(c.info(v.Suite), l.Info) || !bytes.Equal(c.aad(), l.AAD) {
		return errors.New("info or aad differ")
	}
	if !bytes.Equal(append(bytes.Clone(l.Enc), l.Ciphertext...), l.Envelope) {
		return errors.New("the parts do not make the envelope")
	}
	o, err := NewOpener(key, c.Plan, c.Instance, c.Hop, len(l.Envelope))
	if err != nil {
		return err
	}
	inner, err := o.Open(c.Crowd, l.Envelope)
	if err != nil {
		return err
	}
	if !bytes.Equal(inner, l.Inner) {
		return errors.New("it opens to something else")
	}
	return nil
}

func TestMessageVectors(t *testing.T) {
	for _, v := range readMessageVectors(t) {
		var b Batch
		var again []byte
		var err error
		switch v.Kind {
		case "batch":
			if b, err = ParseBatch(v.Bytes); err == nil {
				again, _ = b.Marshal()
			}
		case "contribution":
			var c Contribution
			if c, err = ParseContribution(v.Bytes); err == nil {
				again, _ = c.Marshal()
				b = Batch{Plan: c.Plan, Instance: c.Instance, Crowd: c.Crowd, Envelopes: c.Envelopes}
			}
		default:
			t.Fatalf("kind %q", v.Kind)
		}
		if v.Error != "" {
			if err == nil || !strings.Contains(err.Error(), v.Error) {
				t.Errorf("%s: %v, want %q", v.Comment, err, v.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.Comment, err)
			continue
		}
		if !bytes.Equal(again, v.Bytes) || !bytes.Equal(b.Plan[:], v.Plan) || b.Instance != v.Instance || b.Crowd != v.Crowd ||
			b.Hop != v.Hop || b.Respondents != v.Respondents || fmt.Sprintf("%x", b.Envelopes) != fmt.Sprintf("%x", v.Envelopes) {
			t.Errorf("%s: other fields came out", v.Comment)
		}
	}
}
