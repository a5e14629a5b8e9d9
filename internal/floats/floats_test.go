package floats

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

type both struct {
	S Singles
	D Doubles
}

// Every bit of a number comes back, and the text is the one that files have.
func TestNumbersComeBack(t *testing.T) {
	want := both{Singles{1, -0.5, math.SmallestNonzeroFloat32}, Doubles{1, math.Inf(-1)}}
	text, err := json.Marshal(want)
	if err != nil || string(text) != `{"S":"AACAPwAAAL8BAAAA","D":"AAAAAAAA8D8AAAAAAADw/w=="}` {
		t.Fatalf("%s, %v", text, err)
	}
	var got both
	if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got.S, want.S) || !slices.Equal(got.D, want.D) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatIsNoNumbers(t *testing.T) {
	for _, text := range []string{`{"S":"AACA"}`, `{"D":"AACAPw=="}`, `{"S":"!"}`, `{"S":[1]}`, `{"D":1}`} {
		if json.Unmarshal([]byte(text), new(both)) == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
