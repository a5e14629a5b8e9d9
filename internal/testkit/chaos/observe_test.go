package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	counts "github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// observe sees every request when it is sent.
func (w *world) observe(x *parcel) {
	if id, c, ok := contributionOf(x); ok && w.said[id] == nil {
		one := &contribution{plan: c.Plan, instance: c.Instance, crowd: c.Crowd, cell: -1}
		if n := w.nodes[x.from]; n != nil {
			one.who = x.from
		}
		w.said[id] = one
	}
	if strings.Contains(x.path, "/batches/") {
		w.observeBatch(x)
	}
	if x.header.Get("Content-Type") == wire.SignedRoundType {
		w.observeRound(x)
	}
}

// observeBatch checks what leaves a hop.
func (w *world) observeBatch(x *parcel) {
	h, err := handover.ParseHandover(x.body)
	if err != nil {
		w.violation("%s sends what is no batch: %v", x.from, err)
		return
	}
	b := h.Batch
	if int(b.Respondents) < w.shape.minimum || len(b.Envelopes) < w.shape.minimum {
		w.violation("%s lets a batch of %d respondents and %d envelopes leave: the minimum is %d", x.from, b.Respondents, len(b.Envelopes), w.shape.minimum)
	}
	key := fmt.Sprintf("%x %d %d %d", b.Plan, b.Instance, b.Hop, b.Crowd)
	if before, there := w.sent[key]; there && before != h.Digest {
		w.violation("%s lets another batch of crowd %d leave than before", x.from, b.Crowd)
	}
	w.sent[key] = h.Digest
	w.left[place{b.Plan, b.Instance}] = true
}

// heard sees every answer that a service gives, whether or not it gets through.
func (w *world) heard(x *parcel, res *http.Response) {
	w.maybe(x)
	if w.shape.sum {
		w.heardSum(x, res)
	}
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body) // from memory
		res.Body = io.NopCloser(bytes.NewReader(text))
		if p := web.ReadProblem(res); p != nil {
			seen.add("answer " + string(p.Code))
		}
		res.Body = io.NopCloser(bytes.NewReader(text)) // whoever asked reads it too
	}
	if strings.HasSuffix(x.path, "/tokens") && res.StatusCode < 300 && w.nodes[x.from] != nil {
		w.tokens[w.deviceCell(x.from)] = true
	}
	id, c, ok := contributionOf(x)
	if !ok || res.StatusCode >= 300 {
		return
	}
	one := w.said[id]
	one.kept = true
	if one.who == "" {
		w.violation("%s takes a contribution from somebody unknown", x.to)
	}
	if res.StatusCode == http.StatusCreated && w.left[place{c.Plan, c.Instance}] {
		w.violation("%s takes a contribution after something has left", x.to)
	}
}

// maybe notes that a contribution has reached its entry.
func (w *world) maybe(x *parcel) {
	if id, _, ok := contributionOf(x); ok {
		w.said[id].at = true
	}
}

// finish heals everything, lets the collection come to its end, and checks what
// has come of it. Crashes that are still to come, come.
func (w *world) finish() {
	w.heal()
	if w.shape.sum {
		w.concludeSum()
		return
	}
	w.conclude()
	if w.shape.rounds > 0 {
		w.finishStudy()
	}
}

// heal ends what has befallen.
func (w *world) heal() {
	w.net.fault = map[string][]string{}
	w.net.arrive()
	for _, name := range w.names() {
		n := w.nodes[name]
		n.offset = 0
		if n.room != 0 {
			n.room = 0
			n.crash()
		}
	}
	w.restartAll()
}

// conclude lets the collection come to its end, and checks what has come of it.
func (w *world) conclude() {
	closes := w.signed.Plan.Times.Closes
	for round := 0; round < 3 && w.now.Before(closes); round++ {
		for d := range w.shape.devices {
			w.again(d)
		}
		w.restartAll()
	}
	w.now = slices.MaxFunc([]time.Time{w.now, closes}, time.Time.Compare)
	for calm := 0; calm < 6; calm++ {
		before := w.crashes()
		for _, name := range w.services() {
			if name != "analyzer" {
				w.step(name)
			}
		}
		if w.crashes() > before { // each ends a step, and comes once
			calm--
		}
		w.restartAll()
	}
	w.check()
	w.now = slices.MaxFunc([]time.Time{w.now, closes.Add(2 * time.Hour)}, time.Time.Compare)
	for range 6 {
		w.step("analyzer")
		w.restartAll()
	}
	w.checkVerdict()
}

func (w *world) crashes() (n int) {
	for _, one := range w.nodes {
		n += one.runs
	}
	return n
}

func (w *world) restartAll() {
	for _, name := range w.names() {
		w.nodes[name].restart()
	}
}

// counted is what the analyzer has of every batch: how often each cell came.
func (w *world) counted() map[[2]int][]uint64 {
	ctx := context.Background()
	all := map[[2]int][]uint64{}
	s := w.nodes["analyzer"].store
	batches, err := s.Batches(ctx, w.signed.Plan.Name())
	if err != nil {
		w.violation("the analyzer's batches: %v", err)
		return nil
	}
	for _, b := range batches {
		t := w.proto.NewTally().(*counts.Counts)
		kept, err := s.Tally(ctx, b)
		if err == nil {
			err = t.UnmarshalBinary(kept)
		}
		if err != nil {
			w.violation("the analyzer's counts: %v", err)
		}
		all[[2]int{b.Instance, b.Crowd}] = t.N
	}
	return all
}

// check compares what was counted with what was acknowledged, and looks at the disks.
func (w *world) check() {
	for d := range w.shape.devices {
		w.readLedger(d)
	}
	w.compare()
	w.checkDisks()
}

// compare is what was said beside what was counted.
func (w *world) compare() {
	counts := w.counted()
	kept, whole := map[[2]int]int{}, map[string]int{}
	for _, c := range w.claims() {
		if c.plan != w.signed.Plan.Hash() {
			continue
		}
		at := [2]int{int(c.instance), int(c.crowd)}
		if c.kept {
			seen.add("contribution acknowledged")
		}
		if c.kept && w.known(c) {
			kept[at]++
		}
		batch, released := counts[at]
		if !released {
			continue
		}
		times := int(batch[c.cell])
		whole[fmt.Sprint(c.who, " ", c.instance)] += times
		switch {
		case c.kept && times != 1:
			w.violation("%s was acknowledged by instance %d and counted %d times", c.who, c.instance, times)
		case times > 0 && (c.who == "" || !c.at):
			w.violation("cell %d was counted %d times: nobody who may sent it", c.cell, times)
		}
	}
	for who, times := range whole {
		if times > 1 {
			w.violation("%s was counted %d times", who, times)
		}
	}
	for at, batch := range counts {
		seen.add("crowd released")
		people := 0
		for cell, times := range batch {
			if w.known(contribution{cell: cell, instance: uint16(at[0])}) {
				people += min(1, int(times))
			}
		}
		if people < w.shape.minimum {
			w.violation("crowd %d of instance %d was released with %d people: the minimum is %d", at[1], at[0], people, w.shape.minimum)
		}
	}
	for at, n := range kept {
		if _, released := counts[at]; n >= w.shape.minimum && !released && w.takesBatches() {
			w.violation("crowd %d of instance %d has %d contributions and was not released", at[1], at[0], n)
		}
	}
}

// known says whether every hop takes a contribution for a respondent's. The entry takes
// what was forged with a token that a device has not brought in yet; the tokens inside it,
// for the hops behind, are made up, and these count respondents by them: with fewer than
// the minimum they let nothing leave.
func (w *world) known(c contribution) bool {
	return c.cell < maxDevices || !w.shape.tokens || w.shape.hops[c.instance] == 1
}

// claims are the contributions that were sent, those of one cell taken together.
func (w *world) claims() []contribution {
	type claim struct {
		plan     [32]byte
		cell     int
		instance uint16
		crowd    uint32
	}
	all := map[claim]contribution{}
	for _, c := range w.said {
		key := claim{c.plan, c.cell, c.instance, c.crowd}
		one, there := all[key]
		if !there {
			one = *c
		}
		one.kept, one.at = one.kept || c.kept, one.at || c.at
		all[key] = one
	}
	return slices.Collect(maps.Values(all))
}

// takesBatches reports whether the analyzer's collection is open: a clock that
// runs fast may have closed it before a batch came.
func (w *world) takesBatches() bool {
	p, err := w.nodes["analyzer"].store.Plan(context.Background(), w.signed.Plan.Name())
	if err != nil {
		w.violation("the analyzer's plan: %v", err)
	}
	return p.Closed.IsZero()
}

// checkDisks wants nothing left on hops but marks.
func (w *world) checkDisks() {
	if !w.takesBatches() {
		return // what cannot be delivered waits until the retention is over
	}
	for _, name := range w.services() {
		n := w.nodes[name]
		if n.shelves == nil {
			continue
		}
		left, err := n.left(w.signed.Plan.Name())
		left = slices.DeleteFunc(left, func(name string) bool { return strings.Contains(name, "/spent/") })
		if err != nil || len(left) > 0 {
			w.violation("%s still holds %v, %v", name, left, err)
		}
	}
}

// left returns the shelves and blobs of a plan at a hop.
func (n *node) left(plan string) ([]string, error) {
	shelves, err := n.shelves.List(context.Background())
	blobs, failed := n.blobs.List(context.Background(), "")
	return slices.DeleteFunc(append(shelves, blobs...), func(name string) bool { return !strings.Contains(name, plan) }), errors.Join(err, failed)
}

// readLedger tells the cells of what a device has said from its own ledger.
func (w *world) readLedger(d int) {
	l, err := client.ReadLedger(native.Folder{Path: w.nodes[deviceName(d)].dir})
	if err != nil {
		w.violation("ledger of %s: %v", deviceName(d), err)
		return
	}
	for _, one := range w.said {
		if one.who != deviceName(d) || one.cell >= 0 {
			continue
		}
		at := slices.IndexFunc(l.Entries, func(e client.Entry) bool { return e.Plan == fmt.Sprintf("%x", one.plan) })
		if at < 0 || len(l.Entries[at].Parts) != 1 || len(l.Entries[at].Parts[0].Messages) != 1 {
			w.violation("%s sent what its ledger does not have", one.who)
			one.cell = d
			continue
		}
		channel, _, err := counts.ParseMessage(l.Entries[at].Parts[0].Messages[0])
		if err != nil {
			w.violation("ledger of %s: %v", one.who, err)
		}
		one.cell = int(channel)
	}
	// What the device takes for sent was acknowledged.
	for _, e := range l.Entries {
		for _, p := range e.Parts {
			if p.Status == client.Sent && !slices.ContainsFunc(slices.Collect(maps.Values(w.said)), func(c *contribution) bool {
				return c.who == deviceName(d) && c.kept && int(c.instance) == p.Instance && fmt.Sprintf("%x", c.plan) == e.Plan
			}) {
				w.violation("%s takes for sent what nobody has acknowledged", deviceName(d))
			}
		}
	}
}

// checkVerdict wants one verdict, the same each time that it is asked for.
func (w *world) checkVerdict() {
	p, err := w.nodes["analyzer"].store.Plan(context.Background(), w.signed.Plan.Name())
	if err != nil || p.Decided.IsZero() {
		w.violation("the collection ended without a verdict: %v", err)
		return
	}
	if released := len(w.counted()) > 0; released != p.Released {
		w.violation("%d batches were counted, released is %v: %s", len(w.counted()), p.Released, p.Reason)
	}
}
