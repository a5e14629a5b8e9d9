package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/seeded"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
)

// schedule is a collection and what befalls it. Every list of events makes sense,
// so that one can be made shorter by leaving any of them out.
type schedule struct {
	shape  shape
	events []event
}

// event is one step of a schedule.
type event struct {
	do  string // see world.run
	who string // the node it concerns
	at  string // a failpoint, a fault, a kind of stranger
	n   int    // times, bytes or minutes
}

// String is an event for people.
func (e event) String() string {
	text := e.do
	if e.who != "" {
		text += " " + e.who
	}
	if e.at != "" {
		text += " " + e.at
	}
	if e.n != 0 {
		text += fmt.Sprint(" ", e.n)
	}
	return text
}

// String is a schedule for people.
func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", s.shape)
	for _, e := range s.events {
		b.WriteString("\n  " + e.String())
	}
	return b.String()
}

// draw makes the schedule of a seed. One crash of it goes in turn through all
// failpoints of all roles, so that so many seeds reach every one.
func draw(seed uint64) schedule {
	r := seeded.New(seed, 1)
	crashes := everyCrash()
	kind, point, _ := strings.Cut(crashes[seed%uint64(len(crashes))], " at ")
	s := schedule{shape: shape{tokens: r.IntN(3) == 0, minimum: 2 + r.IntN(2), devices: 6 + r.IntN(maxDevices-5), crowds: 1 + r.IntN(2)}}
	for range 1 + r.IntN(maxInstances) {
		s.shape.hops = append(s.shape.hops, 1+r.IntN(maxHops))
	}
	if kind == "issuer" {
		s.shape.tokens = true
	}
	if kind == "hop" {
		s.shape.hops[0] = max(2, s.shape.hops[0])
	}
	w := &world{shape: s.shape}
	for _, name := range w.names() {
		if n := (node{name: name}); n.kind() == kind {
			s.events = append(s.events, event{do: "crash at", who: name, at: point})
			break
		}
	}
	pick := func() string { names := w.services(); return names[r.IntN(len(names))] }
	devices := r.Perm(s.shape.devices)
	for len(devices) > 0 {
		switch r.IntN(5) {
		case 0, 1:
			s.events = append(s.events, event{do: "report", who: deviceName(devices[0])})
			devices = devices[1:]
		case 2:
			s.events = append(s.events, event{do: "deliver", who: deviceName(r.IntN(s.shape.devices))})
		default:
			s.events = append(s.events, trouble(r, s.shape, pick)...)
		}
	}
	s.events = append(s.events, event{do: "close"})
	for range 4 + r.IntN(12) {
		s.events = append(s.events, event{do: "step", who: pick()})
		if r.IntN(3) > 0 {
			s.events = append(s.events, trouble(r, s.shape, pick)...)
		}
	}
	return s
}

// trouble is one thing that goes wrong, with what follows from it.
func trouble(r *rand.Rand, s shape, pick func() string) []event {
	who := pick()
	d := deviceName(r.IntN(s.devices))
	torn := 0
	if r.IntN(2) == 0 {
		torn = 1 + r.IntN(200)
	}
	switch r.IntN(12) {
	case 0:
		return []event{{do: "crash", who: who, n: torn}, {do: "restart", who: who}}
	case 1:
		return []event{{do: "crash", who: who, n: torn}}
	case 2, 3, 4:
		points := failpoints[(&node{name: who}).kind()]
		if who == "analyzer" && s.rounds > 0 {
			points = slices.Concat(points, roundPoints)
		}
		return []event{{do: "crash at", who: who, at: points[r.IntN(len(points))], n: r.IntN(3)}}
	case 5:
		points := failpoints["device"]
		return []event{{do: "crash at", who: d, at: points[r.IntN(len(points))]}}
	case 6, 7:
		return []event{{do: "link", who: who, at: faults[r.IntN(len(faults))], n: 1 + r.IntN(3)}}
	case 8:
		return []event{{do: "arrive"}, {do: "replay", n: r.IntN(10)}}
	case 9:
		kinds := []string{"nobody", "forged", "elsewhere"}
		return []event{{do: "second", who: d}, {do: "stranger", who: d, at: kinds[r.IntN(len(kinds))]}}
	case 10:
		if !strings.HasPrefix(who, "hop") {
			return []event{{do: "restart", who: who}}
		}
		return []event{{do: "full", who: who, n: r.IntN(20_000)}}
	default:
		if r.IntN(3) == 0 {
			who = d
		}
		minutes := r.IntN(240) - 120
		if who == "analyzer" && r.IntN(4) > 0 {
			minutes = r.IntN(30)
		}
		return []event{{do: "clock", who: who, n: minutes}}
	}
}

// failpoints are those that a schedule crashes a node at. Registering is not in
// it: it comes before the schedule.
var failpoints = map[string][]string{
	"device":   client.Failpoints,
	"issuer":   {"before mark", "after mark"},
	"analyzer": append(slices.Clone(analyzerd.Failpoints), "rows/count", "rows/count/committed", "rows/seal", "rows/close", "rows/close/committed", "rows/decide", "rows/decide/committed"),
	"entry":    slices.DeleteFunc(slices.Clone(shufflerd.Failpoints), func(p string) bool { return strings.HasPrefix(p, "batch-") }),
	"hop": slices.DeleteFunc(slices.Clone(shufflerd.Failpoints), func(p string) bool {
		return strings.HasPrefix(p, "contribution-") || strings.HasPrefix(p, "epoch-")
	}),
}

// everyCrash lists them.
func everyCrash() (all []string) {
	for _, kind := range slices.Sorted(maps.Keys(failpoints)) {
		for _, point := range failpoints[kind] {
			all = append(all, kind+" at "+point)
		}
	}
	return all
}

// run lets a schedule happen and returns what must not have. A nil world says
// that the harness itself failed.
func (s schedule) run(title string, twin func(*world)) (*world, error) {
	w, err := newWorld(s.shape, title)
	if w != nil {
		defer w.close()
	}
	if err != nil {
		return nil, err
	}
	if twin != nil {
		twin(w)
	}
	for _, e := range s.events {
		w.happens(e)
		w.hears()
		if w.tick != nil {
			w.tick()
		}
		w.now = w.now.Add(time.Second)
	}
	if w.tick != nil {
		w.tick()
	}
	w.finish()
	return w, w.broken
}

// happens is what an event does.
func (w *world) happens(e event) {
	n := w.nodes[e.who]
	d := w.deviceCell(e.who)
	w.say("* %s", e)
	switch e.do {
	case "report":
		n.restart()
		w.report(d)
	case "deliver":
		n.restart()
		w.again(d)
	case "step":
		n.restart()
		w.step(e.who)
	case "crash":
		n.torn = e.n
		n.crash()
	case "crash at":
		n.armed[e.at], n.torn = e.n, 100*(e.n%2)
	case "restart":
		n.restart()
	case "link":
		for range e.n {
			w.net.fault[e.who] = append(w.net.fault[e.who], e.at)
		}
	case "arrive":
		w.net.arrive()
	case "replay":
		if len(w.net.past) > 0 {
			x := w.net.past[e.n%len(w.net.past)]
			w.net.deliver(x, len(x.body))
		}
	case "second":
		if w.shape.sum {
			w.secondReport(d)
			return
		}
		w.second(d)
	case "stranger":
		w.stranger(d, e.at)
	case "withdraw":
		n.restart()
		w.withdrawSum(e.who)
	case "full":
		w.fill(n, int64(e.n))
	case "rot":
		w.rot(n, e.at, e.n)
	case "clock":
		n.offset = time.Duration(e.n) * time.Minute
		w.study.clocked = w.study.clocked || e.who == "analyzer"
	case "close":
		w.now = slices.MaxFunc([]time.Time{w.now, w.signed.Plan.Times.Closes}, time.Time.Compare)
	case "conclude":
		w.now = slices.MaxFunc([]time.Time{w.now, w.signed.Plan.Times.Closes.Add(time.Hour)}, time.Time.Compare)
	default:
		panic("chaos: no event " + e.do)
	}
}

// fill restarts a hop on a disk with so much room left. An aggregator's has room for so many writes.
func (w *world) fill(n *node, bytes int64) {
	n.restart()
	if w.shape.sum {
		n.writes = int(bytes) // from now on, without a restart
		return
	}
	if n.shelves == nil {
		return // it does not start, as was said
	}
	used, _, err := n.shelves.Usage(w.ctx())
	if err != nil {
		w.say("%s: %v", n.name, err)
		return
	}
	n.crash()
	n.room = used + bytes + 1
	n.restart()
}
