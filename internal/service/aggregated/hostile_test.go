package aggregated

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// Thousands of uploads that no device makes: cut, changed at any byte, of other tasks,
// twice the length, each of somebody else who may send one. Some hundred are kept, for only
// their proof, or what they are sealed with, is wrong: each of these is counted as refused, and
// what honest devices said comes out as it would without them.
func TestHostileUploads(t *testing.T) {
	w := newWorld(t, nil)
	const hostile = 3000
	names := make([]string, hostile)
	for i := range names {
		names[i] = fmt.Sprint("hostile", i)
	}
	path := filepath.Join(t.TempDir(), "bearers")
	tokens, err := serve.AddBearers(w.random, path, names...)
	if err != nil {
		t.Fatal(err)
	}
	w.all(said...)
	known, err := serve.ReadBearers(path)
	if err != nil {
		t.Fatal(err)
	}
	leader := w.nodes[dap.Leader].service
	found(leader, w.plan.Hash()).auth.Bearers = known
	leader.most = 200
	good, r := w.report(1).Append(nil), w.random
	reports, kept := dap.ReportsPath(w.task().ID), map[string]bool{}
	for i := range hostile {
		body, to := bytes.Clone(good), reports
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
			copy(body, fmt.Sprintf("%016x", i)) // another report's name
			body[26+r.IntN(len(body)-26)] ^= byte(1 + r.IntN(255))
		}
		status, text, _ := w.ask(dap.Leader, to, dap.UploadType, tokens[i], body)
		switch {
		case status == http.StatusOK:
			kept[string(body)] = true // the same bytes of two are one report
		case status/100 != 4:
			t.Fatalf("upload %d is answered %d: %s", i, status, text)
		}
	}
	if len(kept) < hostile/10 {
		t.Fatalf("only %d get so far that a proof refuses them", len(kept))
	}
	for _, bearer := range []string{"", "nobody", w.tokens[0]} {
		if status, _, _ := w.ask(dap.Leader, reports, dap.UploadType, bearer, good); status == http.StatusOK {
			t.Errorf("a report of %q is taken", bearer)
		}
	}
	w.close()
	w.finish()
	w.want(want, uint64(len(said)))
	all, err := w.kept(dap.Leader).Crowds(t.Context())
	if err != nil || all[0].Refused != uint64(len(kept)) {
		t.Errorf("%d of %d are counted as refused: %v", all[0].Refused, len(kept), err)
	}
}
