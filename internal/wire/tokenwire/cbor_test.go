package tokenwire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// libraryRequest and libraryResponse are the same messages to the library.
type (
	libraryRequest struct {
		Asks []struct {
			Instance uint16 `cbor:"1,keyasint"`
			Hop      uint8  `cbor:"2,keyasint"`
			Blinded  []byte `cbor:"3,keyasint"`
		} `cbor:"1,keyasint"`
	}
	libraryResponse struct {
		Answers [][]byte `cbor:"1,keyasint"`
	}
)

// library reads as strictly as a library of all of CBOR can: what it takes and writes again as
// it was is in the one encoding.
func library(t testing.TB, data []byte, into any) (written []byte, ok bool) {
	t.Helper()
	decode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, MaxNestedLevels: 4, MaxArrayElements: maxAsks, MaxMapPairs: 16,
	}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	encode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	if decode.Unmarshal(data, into) != nil {
		return nil, false
	}
	written, err = encode.Marshal(into)
	return written, err == nil && bytes.Equal(written, data)
}

// agree checks that whatever is taken here the library takes, as the same, and that what the
// library takes and is refused here is refused for its lengths or for two asks of one hop.
func agree(t testing.TB, data []byte) {
	t.Helper()
	var request libraryRequest
	_, takes := library(t, data, &request)
	got, err := ParseRequest(data)
	if err == nil {
		if !takes || len(got.Asks) != len(request.Asks) || !bytes.Equal(got.Marshal(), data) {
			t.Fatalf("taken as %d asks, by the library %v as %d: %x", len(got.Asks), takes, len(request.Asks), data)
		}
		for i, a := range request.Asks {
			if !reflect.DeepEqual(got.Asks[i], Ask{a.Instance, a.Hop, a.Blinded}) {
				t.Fatalf("ask %d is %+v and %+v", i, got.Asks[i], a)
			}
		}
	} else if takes && len(data) <= MaxBody {
		odd, seen := len(request.Asks) == 0, map[[2]uint16]bool{}
		for _, a := range request.Asks {
			k := [2]uint16{a.Instance, uint16(a.Hop)}
			odd = odd || seen[k] || len(a.Blinded) != 256
			seen[k] = true
		}
		if !odd {
			t.Fatalf("the library takes what is refused: %v: %x", err, data)
		}
	}
	var response libraryResponse
	_, takes = library(t, data, &response)
	answers, err := ParseResponse(data)
	if err == nil {
		if !takes || !reflect.DeepEqual(answers.Answers, response.Answers) || !bytes.Equal(answers.Marshal(), data) {
			t.Fatalf("a response is taken, by the library %v: %x", takes, data)
		}
	} else if takes && len(data) <= MaxBody {
		odd := len(response.Answers) == 0
		for _, a := range response.Answers {
			odd = odd || len(a) != 256
		}
		if !odd {
			t.Fatalf("the library takes a response that is refused: %v: %x", err, data)
		}
	}
}

// Every message of the vectors, good and bad, and every one with a byte changed, cut off or put
// in, is taken here if and only if the library takes it.
func TestTokenMessagesAgreeWithALibrary(t *testing.T) {
	n := 0
	for _, v := range readVectors(t) {
		n++
		agree(t, v.Bytes)
		// Structure stands at the front and between the strings of 256 bytes.
		for at := range v.Bytes {
			if at > 40 && (at < 255 || at > 300) && at < len(v.Bytes)-10 {
				continue
			}
			agree(t, v.Bytes[:at])
			for _, to := range []byte{0, 1, 2, 3, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1f, 0x40, 0x58, 0x59, 0x5f, 0x80, 0x81, 0x82, 0x98, 0x9f, 0xa0, 0xa1, 0xa3, 0xb8, 0xbf, 0xc0, 0xf6, 0xff} {
				changed := bytes.Clone(v.Bytes)
				changed[at] = to
				agree(t, changed)
				agree(t, append(append(bytes.Clone(v.Bytes[:at]), to), v.Bytes[at:]...))
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d messages were compared", n)
	}
}

func FuzzTokenMessagesAgree(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add([]byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, 2*costlimit.Factor, len(data), func() { // of two decoders
			_, _ = ParseRequest(data)
			_, _ = ParseResponse(data)
		})
		agree(t, data)
	})
}
