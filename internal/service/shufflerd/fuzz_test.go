package shufflerd

import (
	"bytes"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// No bytes but those that the entry signed are taken for its batch.
func FuzzBatch(f *testing.F) {
	w, good := caught(f)
	f.Add(good)
	for _, n := range []int{0, 3, 100, 230, 280, len(good) - 1} {
		f.Add(good[:n])
	}
	for _, at := range []int{0, 2, 40, 70, 228, 260, 270, 276, len(good) - 1} {
		b := bytes.Clone(good)
		b[at] ^= 0x81
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		costlimit.Heap(t, costlimit.Factor, len(body), func() {
			w.t = t
			status, code := w.do(1, w.batchRequest(body))
			// 200: its receipts say that it is the one that is here.
			if status == 201 && !bytes.Equal(body, good) || status == 500 {
				t.Errorf("%d %s", status, code)
			}
		})
	})
}

// What is taken for a contribution is one, of the plan's form.
func FuzzContribution(f *testing.F) {
	w := newWorld(f, 1, nil)
	good := w.contribution(0, 1)
	f.Add(good)
	for _, n := range []int{0, 1, 47, 48, len(good) - 1} {
		f.Add(good[:n])
	}
	for at := range 48 {
		b := bytes.Clone(good)
		b[at] ^= 1
		f.Add(b)
	}
	entry := found(w.hops[0].service, w.plan.Hash()).posts[0].entry
	f.Fuzz(func(t *testing.T, body []byte) {
		costlimit.Heap(t, costlimit.Factor, len(body), func() {
			w.t = t
			status, code := w.do(0, w.request("device1", body))
			_, err := entry.Rules().Check(body)
			// 409: another one is here already.
			if (status < 400 || status == 409) != (err == nil) || status == 500 {
				t.Errorf("%d %s for what is %v", status, code, err)
			}
		})
	})
}
