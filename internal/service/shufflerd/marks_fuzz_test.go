package shufflerd

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// A mark that is read is one that a step can have left: it comes back from what is
// written of it, and its receipts are receipts.
func FuzzMarkOfACrowd(f *testing.F) {
	receipt := relay.Receipt{}.Sign(relay.SignKey{}).Bytes()
	laid := mixer.New("post", envelope.Head{Envelopes: 7, Size: 152, Respondents: 3}, 300)
	for _, c := range []crowd{{}, {Phase: laidOut, Laid: &laid}, {Phase: laidOut, Laid: &mixer.Crowd{}}, {Phase: received, Laid: &laid}, {Phase: withheld}, {Phase: mixed, In: make([]byte, 32), Receipts: [][]byte{receipt, receipt}, Size: 7, Box: "attempt"}} {
		value, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Add([]byte(`{"phase":"mixed"}`))
	f.Add([]byte(`{"phase":"received","receipts":["AA=="],"size":-1}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		costlimit.Heap(t, costlimit.Factor, len(value), func() {
			c, err := parseCrowd(value)
			if err != nil {
				return
			}
			if left := c.Phase == received || c.Phase == mixed || c.Phase == forwarded; left && len(c.Receipts) == 0 {
				t.Error("a batch without a receipt")
			}
			if (c.Phase == laidOut) != (c.Laid != nil) || c.Laid != nil && c.Laid.Parts() < 1 {
				t.Error("parts that are not there")
			}
			if c.Laid != nil {
				c.Laid.Key = shuffler.Key{} // it is in no mark
			}
			if d, err := parseCrowd(c.value()); err != nil || !cmp.Equal(c, d, cmp.AllowUnexported(crowd{}), cmpopts.EquateEmpty()) {
				t.Errorf("it comes back as another: %v", err)
			}
		})
	})
}
