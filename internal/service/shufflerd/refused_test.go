package shufflerd

import (
	"errors"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/wire"
)

// A batch that the next one refuses for good is not sent for ever: it is an alarm,
// and goes again after a restart, when somebody may have seen to it.
func TestABatchRefusedForGoodIsNotSentForEver(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.contribute(0, 1, 2, 3)
	w.end()
	times, code := 0, wire.BatchRefused
	w.refuse = func() *wire.Problem { times++; return wire.Problemf(code, "of no use") }
	for i := range 10 {
		err := w.step()
		if p, ok := errors.AsType[*wire.Problem](err); i < enough && (!ok || p.Code != code) || i >= enough && err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if times != enough {
		t.Errorf("sent %d times, want %d", times, enough)
	}
	if alarms := strings.Join(w.hops[0].service.Status(t.Context()).Alarms, " "); !strings.Contains(alarms, "refuses: batch-refused: the batch of crowd 1 is not sent again before a restart") {
		t.Errorf("alarms %q", alarms)
	}
	// What may pass by itself is tried for as long as it takes.
	w.restart(0)
	times, code = 0, wire.Overloaded
	for range 10 {
		if err := w.step(); err == nil {
			t.Error("a busy neighbour was taken for one that has the batch")
		}
	}
	if times != 10 {
		t.Errorf("a busy neighbour is asked %d times, want 10", times)
	}
	w.refuse = nil
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})
}
