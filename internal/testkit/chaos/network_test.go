package chaos

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire"
)

// faults are what a link can do to a request. The sender hears of an error in
// every case.
var faults = []string{
	"cut",     // it does not arrive
	"broken",  // half of it arrives
	"unheard", // it arrives, the answer does not
	"late",    // it arrives when nobody waits any more, after others that were sent later
	"twice",   // it arrives twice, and both answers are heard
}

var errLink = errors.New("chaos: the link failed")

// network carries requests between nodes: function calls, so that a schedule
// always runs in the same order.
type network struct {
	w     *world
	fault map[string][]string // what happens to the next requests to a node
	late  []*parcel           // under way
	past  []*parcel           // contributions that have been under way
	tap   func(*parcel)       // sees every request before it arrives; nil: nobody
}

// parcel is a request that can be delivered again.
type parcel struct {
	from, to     string
	method, path string
	header       http.Header
	body         []byte
}

// from is the network as a node sees it.
func (n *network) from(name string) http.RoundTripper { return &port{n, name} }

type port struct {
	n    *network
	name string
}

// address is the URL of a node in a plan.
func address(name string) string { return "https://" + name + ".test" }

// RoundTrip implements http.RoundTripper.
func (p *port) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	x := &parcel{p.name, strings.TrimSuffix(r.URL.Host, ".test"), r.Method, r.URL.RequestURI(), r.Header, body}
	return p.n.send(x)
}

func (n *network) send(x *parcel) (*http.Response, error) {
	if from := n.w.nodes[x.from]; from != nil && !from.up() {
		return nil, errCrash // what a dead process still does
	}
	fault := ""
	if queue := n.fault[x.to]; len(queue) > 0 && x.method != http.MethodGet {
		fault, n.fault[x.to] = queue[0], queue[1:]
		n.w.say("%s -> %s: %s", x.from, x.to, fault)
		seen.add("link " + fault)
	}
	if x.method == http.MethodGet { // what neighbours ask each other: no fault of the schedule is spent on it
		return n.deliver(x, 0)
	}
	n.w.observe(x)
	if n.tap != nil {
		n.tap(x)
	}
	if strings.Contains(x.path, "/contributions/") || strings.HasSuffix(x.path, "/reports") {
		n.past = append(n.past, x)
	}
	switch fault {
	case "cut":
		return nil, errLink
	case "broken":
		n.deliver(x, len(x.body)/2)
		return nil, errLink
	case "unheard":
		n.deliver(x, len(x.body))
		return nil, errLink
	case "late":
		n.late = append(n.late, x)
		return nil, errLink
	case "twice":
		n.deliver(x, len(x.body))
	}
	return n.deliver(x, len(x.body))
}

// deliver hands a request to its node, the first bytes of its body.
func (n *network) deliver(x *parcel, bytesOfBody int) (*http.Response, error) {
	to := n.w.nodes[x.to]
	if to == nil || !to.up() {
		return nil, errLink
	}
	whole := bytesOfBody == len(x.body)
	if n.w.twin != nil && whole {
		if res := n.w.twin(x); res != nil {
			n.w.heard(x, res)
			return res, nil
		}
	}
	var body io.Reader = bytes.NewReader(x.body)
	if !whole {
		body = io.MultiReader(bytes.NewReader(x.body[:bytesOfBody]), brokenReader{})
	}
	r := httptest.NewRequest(x.method, x.path, body)
	r.ContentLength = int64(len(x.body))
	r.Header = x.header.Clone()
	rec := httptest.NewRecorder()
	to.handler.ServeHTTP(rec, r)
	if !to.up() { // it crashed over this
		n.w.maybe(x)
		return nil, errLink
	}
	res := rec.Result()
	if whole {
		n.w.heard(x, res)
	}
	return res, nil
}

// handIn hands a contribution to its entry past every twin, and nobody hears the answer.
func (n *network) handIn(x *parcel) {
	to := n.w.nodes[x.to]
	if to == nil || !to.up() {
		return
	}
	id, _, _ := contributionOf(x)
	r := httptest.NewRequest(x.method, wire.ContributionPath(n.w.signed.Plan.Hash(), x.instance(), id), bytes.NewReader(x.body))
	r.Header = x.header.Clone()
	to.handler.ServeHTTP(httptest.NewRecorder(), r)
}

func (x *parcel) instance() uint16 {
	_, c, _ := contributionOf(x)
	return c.Instance
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// arrive delivers what is under way, last sent first.
func (n *network) arrive() {
	late := n.late
	n.late = nil
	for i := len(late) - 1; i >= 0; i-- {
		n.w.say("%s -> %s: arrives late", late[i].from, late[i].to)
		n.deliver(late[i], len(late[i].body))
	}
}

// contributionOf parses a contribution that is under way.
func contributionOf(x *parcel) (id [32]byte, to destination, ok bool) {
	if !strings.Contains(x.path, "/contributions/") {
		return id, to, false
	}
	form, crowd, err := envelope.ParseForm(x.body)
	return wire.ContributionID(x.body), destination{form.Plan, form.Instance, crowd}, err == nil
}

// destination is where a contribution says that it goes.
type destination struct {
	Plan     [32]byte
	Instance uint16
	Crowd    uint32
}
