package ohttp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// octets are bytes in hexadecimal.
type octets []byte

func (b *octets) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

func read[V any](t testing.TB, file string) (v V) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors/v1/" + file)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sealed is the example of RFC 9458.
type sealed struct {
	PrivateKey           octets `json:"private_key"`
	PublicKey            octets `json:"public_key"`
	KeyID                byte   `json:"key_id"`
	Config               octets `json:"config"`
	Request              octets `json:"request"`
	Info                 octets `json:"info"`
	EncapsulatedRequest  octets `json:"encapsulated_request"`
	Response             octets `json:"response"`
	ExportedSecret       octets `json:"exported_secret"`
	ResponseNonce        octets `json:"response_nonce"`
	AEADNonce            octets `json:"aead_nonce"`
	EncapsulatedResponse octets `json:"encapsulated_response"`
}

func (v sealed) key(t testing.TB) PrivateKey {
	t.Helper()
	key, err := NewPrivateKey("x25519:"+base64.RawURLEncoding.EncodeToString(v.PublicKey), v.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key.id = v.KeyID // which is ours to choose, and the document's another
	return key
}

func TestTheExampleOfRFC9458(t *testing.T) {
	v := read[sealed](t, "ohttp.json")
	key := v.key(t)
	if got := info(key.header()); !bytes.Equal(got, v.Info) {
		t.Errorf("info %x, want %x", got, v.Info)
	}
	// The document's gateway takes two ciphers, and ours the first.
	if got, want := key.config(), append(bytes.Clone(v.Config[:35]), 0, 4, 0, 1, 0, 1); !bytes.Equal(got, want) {
		t.Errorf("configuration %x, want %x", got, want)
	}
	r, e, err := Decapsulate([]PrivateKey{key}, v.EncapsulatedRequest)
	if want := (Request{Method: "GET", Scheme: "https", Authority: "example.com", Path: "/"}); err != nil || cmp.Diff(want, r) != "" {
		t.Fatal(err, cmp.Diff(want, r))
	}
	if !bytes.Equal(e.secret(), v.ExportedSecret) {
		t.Errorf("secret %x, want %x", e.secret(), v.ExportedSecret)
	}
	if _, nonce, err := e.cipher(v.ResponseNonce); err != nil || !bytes.Equal(nonce, v.AEADNonce) {
		t.Errorf("nonce %x, want %x: %v", nonce, v.AEADNonce, err)
	}
	if got, err := e.seal(v.ResponseNonce, v.Response); err != nil || !bytes.Equal(got, v.EncapsulatedResponse) {
		t.Errorf("response %x, want %x: %v", got, v.EncapsulatedResponse, err)
	}
	if r, err := e.Open(v.EncapsulatedResponse); err != nil || r.Status != 200 {
		t.Error(r, err)
	}
}

// Every changed bit, and every beginning, is refused on both ways.
func TestWhatWasChangedIsRefused(t *testing.T) {
	v := read[sealed](t, "ohttp.json")
	keys := []PrivateKey{v.key(t)}
	_, e, err := Decapsulate(keys, v.EncapsulatedRequest)
	if err != nil {
		t.Fatal(err)
	}
	each := func(good []byte, open func([]byte) error) {
		t.Helper()
		for i := range good {
			changed := bytes.Clone(good)
			changed[i] ^= 1
			if open(changed) == nil {
				t.Errorf("byte %d of %d is changed, and it opens", i, len(good))
			}
			if open(good[:i]) == nil {
				t.Errorf("%d bytes of %d open", i, len(good))
			}
		}
	}
	each(v.EncapsulatedRequest, func(b []byte) error { _, _, err := Decapsulate(keys, b); return err })
	each(v.EncapsulatedResponse, func(b []byte) error { _, err := e.Open(b); return err })
}

// message is a vector of RFC 9292.
type message struct {
	Name, Method, Scheme, Authority, Path string
	Status                                int
	Bytes, Content                        octets
	Fields                                [][2]string
}

func (m message) fields() (all []Field) {
	for _, f := range m.Fields {
		all = append(all, Field{f[0], f[1]})
	}
	return all
}

func (m message) content() []byte {
	if len(m.Content) == 0 {
		return nil
	}
	return m.Content
}

// plain are the examples of RFC 9292.
type plain struct {
	Integers            map[string]uint64
	Requests, Responses []message
	BadRequests         map[string]octets `json:"bad_requests"`
	BadResponses        map[string]octets `json:"bad_responses"`
}

func TestTheExamplesOfRFC9292(t *testing.T) {
	v := read[plain](t, "bhttp.json")
	empty := cmp.Transformer("empty", func(b []byte) string { return string(b) }) // nothing is nothing
	for text, want := range v.Integers {
		var b octets
		if err := b.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		r := reader{rest: b}
		if got := r.number(); got != want || r.bad || len(r.rest) > 0 {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
		if got := appendNumber(nil, want); len(got) == len(b) && !bytes.Equal(got, b) {
			t.Errorf("%d is written %x, want %s", want, got, text)
		}
	}
	for _, m := range v.Requests {
		want := Request{m.Method, m.Scheme, m.Authority, m.Path, m.fields(), m.content()}
		got, err := parseRequest(m.Bytes)
		if err != nil || cmp.Diff(want, got, empty) != "" {
			t.Errorf("%s: %v %s", m.Name, err, cmp.Diff(want, got, empty))
		}
		if b := got.marshal(); m.Name == "figure 8" && (len(b)%block != 0 || !bytes.Equal(bytes.TrimRight(b, "\x00"), bytes.TrimRight(m.Bytes, "\x00"))) {
			t.Errorf("%s is written %x", m.Name, b)
		}
	}
	for _, m := range v.Responses {
		want := Response{m.Status, m.fields(), m.content()}
		got, err := parseResponse(m.Bytes)
		if err != nil || cmp.Diff(want, got, empty) != "" {
			t.Errorf("%s: %v %s", m.Name, err, cmp.Diff(want, got, empty))
		}
	}
	for name, b := range v.BadRequests {
		if r, err := parseRequest(b); err == nil {
			t.Errorf("%s is taken: %+v", name, r)
		}
	}
	for name, b := range v.BadResponses {
		if r, err := parseResponse(b); err == nil {
			t.Errorf("%s is taken: %+v", name, r)
		}
	}
}
