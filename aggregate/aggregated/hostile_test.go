package aggregated

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/confetti-dp/confetti/internal/dap"
)

// Thousands of uploads that no device makes: cut, changed at any byte, of other tasks,
// twice the length. Each is answered with a problem or counted as refused, and what honest
// devices said comes out whole.
func TestHostileUploads(t *testing.T) {
	w := newWorld(t, nil)
	w.all(said...)
	good, r := w.report(1).Append(nil), w.random
	path, kept := dap.ReportsPath(w.task().ID), 0
	for i := range 3000 {
		body, to := bytes.Clone(good), path
		switch i % 5 {
		case 0:
			body = body[:r.IntN(len(body))]
		case 1:
			body = append(body, body...)
		case 2:
			body[r.IntN(26)] ^= byte(1 + r.IntN(255)) // of the name, the time, the length of extensions
		case 3:
			to = dap.ReportsPath(dap.TaskID{byte(i)})
		case 4:
			body[26+r.IntN(len(body)-26)] ^= byte(1 + r.IntN(255))
		}
		status, text, _ := w.ask(dap.Leader, to, dap.UploadType, w.tokens[11], body)
		switch {
		case status == http.StatusOK:
			kept++
		case status/100 != 4:
			t.Fatalf("upload %d is answered %d: %s", i, status, text)
		}
	}
	if kept > 3000 {
		t.Fatal("more was kept than came")
	}
	for _, bearer := range []string{"", "nobody", w.tokens[0]} {
		if status, _, _ := w.ask(dap.Leader, path, dap.UploadType, bearer, good); status == http.StatusOK {
			t.Errorf("a report of %q is taken", bearer)
		}
	}
	w.close()
	w.finish()
	sums, n := w.opened()
	all := int64(0)
	for cell, x := range sums {
		if all += x; x < want[cell] || x > want[cell]+1 {
			t.Errorf("cell %d has %d, of %d that said so and one that was changed", cell, x, want[cell])
		}
	}
	// Whoever changed a report's bytes has changed what it is sealed with, or nothing.
	if n < uint64(len(said)) || n > uint64(len(said))+1 || all != int64(n) {
		t.Errorf("%d reports with a sum of %d, of %d honest ones", n, all, len(said))
	}
}
