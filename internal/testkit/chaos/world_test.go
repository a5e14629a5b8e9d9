package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/client/policy"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// world is a collection under way: nodes, a network, the true time, and what an
// omniscient observer has seen.
type world struct {
	ring  *ring
	shape shape

	publishers *serve.Publishers

	dir    string
	signed plan.Signed // of a study the newest round that devices may know of
	proto  *protocol.Protocol
	study  study
	now    time.Time
	nodes  map[string]*node
	net    *network
	twin   func(*parcel) *http.Response // a broken entry in the place of the real one, for a request; nil: none
	tick   func()                       // of the twin, after each event; nil: nothing

	// hide is a twin's way to pass over a file that has rotted: it changes what else
	// would tell. whole is the disk as it was; nil: nothing is hidden.
	hide    func(n *node, path, whole string) error
	lies    bool                // of a twin: an aggregator's full disk passes over what does not fit
	twinned func(n *node) error // of a twin, when an issuer has started on a rotten disk; nil: nothing

	said       map[[32]byte]*contribution
	sent       map[string][32]byte // digest of the batch that left for a hop and crowd
	tokens     map[int]bool        // devices that have got some
	left       map[place]bool      // from whose entry something has left
	sums       sumsSeen
	violations []string
	broken     error // the harness itself
	log        []string
}

// place is an instance of a plan.
type place struct {
	plan     [32]byte
	instance uint16
}

// contribution is one that somebody sent.
type contribution struct {
	plan     [32]byte
	who      string // respondent; "" for somebody whom no service knows
	cell     int
	instance uint16
	crowd    uint32
	kept     bool // the entry acknowledged it
	at       bool // it reached the entry whole while that could take it
}

func newWorld(s shape, title string) (*world, error) {
	return newWorldOf(s, title, serve.Trust(rings().trusted()))
}

// newWorldOf is a world in which services take the plans of those publishers.
func newWorldOf(s shape, title string, publishers *serve.Publishers) (*world, error) {
	w := &world{
		publishers: publishers, ring: rings(), shape: s, now: opens.Add(time.Minute), nodes: map[string]*node{},
		said: map[[32]byte]*contribution{}, tokens: map[int]bool{}, sent: map[string][32]byte{}, left: map[place]bool{},
	}
	w.net = &network{w: w, fault: map[string][]string{}}
	var err error
	planned := w.ring.plan
	if s.sum {
		planned = w.ring.sumPlan
	}
	if w.signed, err = planned(title, s, address, plan.Times{Opens: opens, Closes: closes}); err == nil && s.rounds > 0 {
		w.signed, err = w.ring.firstRound(w.signed.Plan, s)
	}
	if err != nil {
		return nil, err
	}
	if w.proto, err = protocol.New(w.signed.Plan); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp(atomicfiletest.Memory(), "confetti-chaos-"); err != nil {
		return nil, err
	}
	w.study = study{rounds: []plan.Signed{w.signed}, knows: map[int]plan.Signed{}, names: map[int]string{}, files: map[string][32]byte{}}
	for i := range s.hops {
		deny := fmt.Sprintf(`{"operators": {"deny": [%q]}}`, hopName(1-i, 0)) // there are two at most
		if err := os.WriteFile(w.policy(i), []byte(deny), 0o600); err != nil {
			return w, err
		}
	}
	for _, name := range w.names() {
		n := &node{w: w, name: name, dir: filepath.Join(w.dir, name), armed: map[string]int{}, writes: -1}
		w.nodes[name] = n
		if err := os.Mkdir(n.dir, 0o700); err != nil {
			return w, err
		}
		if err := n.start(); err != nil {
			return w, err
		}
		if strings.HasPrefix(name, "device") {
			if err := client.Consent(native.Folder{Path: n.dir}, true); err != nil {
				return w, err
			}
			continue
		}
		if err := w.register(name); err != nil {
			return w, err
		}
	}
	return w, nil
}

// names are the nodes of the shape, in the order in which batches travel.
func (w *world) names() []string {
	var names []string
	for d := range w.shape.devices {
		names = append(names, deviceName(d))
	}
	return append(names, w.services()...)
}

func (w *world) services() []string {
	var names []string
	if w.shape.tokens {
		names = append(names, "issuer")
	}
	for i, hops := range w.shape.hops {
		for h := range hops {
			names = append(names, hopName(i, h))
		}
	}
	if w.shape.sum {
		names = append(names, "leader", "helper")
	}
	names = append(names, "analyzer")
	if w.shape.logged {
		names = append(names, "log")
	}
	return names
}

// register brings a service the plan, as its publisher does.
func (w *world) register(name string) error {
	header := http.Header{"Content-Type": {wire.PlanType(w.signed)}, "Authorization": {"Bearer " + w.ring.operator}}
	res, err := w.net.deliver(&parcel{"publisher", name, http.MethodPut, wire.PlanPath(w.signed.Plan.Hash()), header, w.signed.Marshal()}, len(w.signed.Marshal()))
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("chaos: %s refuses the plan: %v", name, web.ReadProblem(res))
	}
	return nil
}

func (w *world) close() {
	for _, n := range w.nodes {
		n.end()
	}
	err := os.RemoveAll(w.dir)
	for range 50 { // a log's library still writes a little when it has been stopped
		if err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
		err = os.RemoveAll(w.dir)
	}
	w.broken = errors.Join(w.broken, err)
}

func (w *world) say(format string, a ...any) {
	w.log = append(w.log, fmt.Sprintf("%s  ", w.now.Format("15:04"))+fmt.Sprintf(format, a...))
}

func (w *world) violation(format string, a ...any) {
	v := fmt.Sprintf(format, a...)
	w.say("VIOLATION: %s", v)
	if !slices.Contains(w.violations, v) {
		w.violations = append(w.violations, v)
	}
}

// instanceOf is where a device's policy lets it send: a schedule is to run the
// same way each time.
func (w *world) instanceOf(d int) int { return d % len(w.shape.hops) }

func (w *world) policy(instance int) string {
	return filepath.Join(w.dir, fmt.Sprintf("policy-%d.json", instance))
}

func (w *world) deviceCell(name string) (cell int) {
	fmt.Sscanf(name, "device%d", &cell)
	return cell
}

func (w *world) crowdOf(d int) int { return d / len(w.shape.hops) % w.shape.crowds }

// device opens a device's client, does something with it and lets go of it; of a study
// it answers the round that it has heard of, which it asks for first if it learns. The
// context ends at the first failure, so that nothing waits for the clock on the wall.
func (w *world) device(d int, learns bool, do func(context.Context, *client.Client) error) {
	n := w.nodes[deviceName(d)]
	if !n.up() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signed := w.signed
	if w.shape.rounds > 0 {
		if learns {
			w.learns(ctx, d)
		}
		signed = w.study.known(d)
	}
	c, err := client.Open(signed, w.options(d, cancel))
	if err != nil {
		if n.up() {
			w.violation("%s cannot open its folder: %v", n.name, err)
		}
		return
	}
	defer c.Close()
	if err := do(ctx, c); err != nil {
		w.say("%s: %v", n.name, err)
	}
}

// options are those of a device; cancel is called at the first failure.
func (w *world) options(d int, cancel context.CancelFunc) client.Options {
	n := w.nodes[deviceName(d)]
	o := client.Options{
		Publishers: plan.Trust(w.ring.trusted()), Store: native.Folder{Path: n.dir}, Bearer: w.ring.bearers[d], Now: n.now, Failpoint: n.failpoint, Delay: client.NoDelay,
		Caps:      client.Caps{Plan: client.Cap{Epsilon: 100, Delta: 0.1, Local: 100}, Window: client.Cap{Epsilon: 100, Delta: 0.1, Local: 100}, Period: time.Hour},
		Transport: &native.Transport{RoundTripper: &hasty{w.net.from(n.name), cancel}},
	}
	if w.shape.sum {
		o.Caps.Plan.Local, o.Caps.Window.Local = math.Inf(1), math.Inf(1) // both aggregators together have everything
	}
	if len(w.shape.hops) > 1 {
		o.Policy = policy.File(w.policy(w.instanceOf(d)))
	}
	return o
}

// hasty ends a context at the first failure.
type hasty struct {
	http.RoundTripper
	cancel context.CancelFunc
}

// RoundTrip implements http.RoundTripper.
func (h *hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := h.RoundTripper.RoundTrip(r)
	if err != nil || res.StatusCode >= 300 {
		h.cancel()
	}
	return res, err
}

func (w *world) report(d int) {
	w.device(d, true, func(ctx context.Context, c *client.Client) error {
		return c.Report(ctx, histogram.Answers{Crowd: w.crowdOf(d), Values: []any{d}})
	})
}

func (w *world) again(d int) {
	w.device(d, false, func(ctx context.Context, c *client.Client) error { return c.Deliver(ctx) })
}

// step lets a service do what is due.
func (w *world) step(name string) {
	n := w.nodes[name]
	if n == nil || !n.up() || n.step == nil {
		return
	}
	if err := n.step(context.Background()); err != nil {
		w.say("%s: %v", name, err)
	}
}
