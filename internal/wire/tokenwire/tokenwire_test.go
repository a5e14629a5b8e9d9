package tokenwire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/token"
)

func TestTokenMessagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Request
		for i := range rapid.IntRange(1, 5).Draw(t, "asks") {
			q.Asks = append(q.Asks, Ask{rapid.Uint16().Draw(t, "instance"), byte(i), rapid.SliceOfN(rapid.Byte(), token.RequestSize, token.RequestSize).Draw(t, "blinded")})
		}
		got, err := ParseRequest(q.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(q, got); d != "" {
			t.Fatal(d)
		}
		var a Response
		for _, ask := range q.Asks {
			a.Answers = append(a.Answers, ask.Blinded)
		}
		back, err := ParseResponse(a.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, back); d != "" {
			t.Fatal(d)
		}
	})
	var most Request
	for i := range maxAsks {
		most.Asks = append(most.Asks, Ask{uint16(i / 16), uint8(i % 16), make([]byte, token.RequestSize)})
	}
	if data := most.Marshal(); len(data) > MaxBody {
		t.Errorf("the largest request has %d bytes and the limit is %d", len(data), MaxBody)
	} else if _, err := ParseRequest(data); err != nil {
		t.Error(err)
	}
}

func TestTokenAuthorization(t *testing.T) {
	good := Authorization(counting(1, token.Size))
	if b, ok := ParseAuthorization(good); !ok || !bytes.Equal(b, counting(1, token.Size)) {
		t.Error("a token does not come back")
	}
	for _, bad := range []string{"", "Bearer x", "PrivateToken", good + " ", good[:len(good)-1], strings.Replace(good, `"`, "'", 1), strings.Replace(good, "PrivateToken", "privatetoken", 1), Authorization(counting(1, token.Size-1))} {
		if _, ok := ParseAuthorization(bad); ok {
			t.Errorf("%.30q was read as a token", bad)
		}
	}
}
