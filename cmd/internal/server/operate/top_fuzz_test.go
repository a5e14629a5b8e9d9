package operate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// What a service tells of itself is shown or refused, and takes no more memory than
// a few times its length.
func FuzzStatus(f *testing.F) {
	for _, text := range []string{"null", "{}", `{"alarms":["a\u001b"],"gauges":[{"share":-1e300}],"tables":[{"columns":["a"],"rows":[["b","c"],[]]}]}`, `{"tables":[null]}`, "[]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			st, err := readStatus(text)
			if err != nil {
				return
			}
			var b bytes.Buffer
			show(&b, []sight{{URL: "https://x", Status: st}})
			if strings.ContainsAny(b.String(), "\x1b\x07\r\u009b\u202e") {
				t.Errorf("%q", b.String())
			}
		})
	})
}
