package serve

import (
	"container/list"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// pool is the places of requests of one kind. A request that waits for its sender
// gives its place up, once it has had it for a while and another one needs it: who
// sends slowly, however often, keeps nobody out.
type pool struct {
	most      int // places
	ofConn    int // that one connection may have
	ofAddress int // that connections of one address may have
	ofSender  int // that one respondent may have
	patience  time.Duration
	quick     int64   // bytes a second: who sends, or takes, so many keeps its place; 0: who waits for its sender does not
	memory    *memory // of their bodies

	mu      sync.Mutex
	order   list.List // of *place, those under way longest in front
	conns   map[*connection]int
	address map[netip.Addr]int
	senders map[Respondent]int
}

func newPool(most, ofConn, ofAddress int, patience time.Duration, m *memory) *pool {
	return &pool{
		most: most, ofConn: ofConn, ofAddress: ofAddress, ofSender: DefaultLimits.PerSender, patience: patience, memory: m,
		conns: map[*connection]int{}, address: map[netip.Addr]int{}, senders: map[Respondent]int{},
	}
}

// place is what one request holds of a pool.
type place struct {
	pool    *pool
	conn    *connection // nil in a test without a network
	sender  Respondent  // zero: not known
	since   time.Time
	control *http.ResponseController
	element *list.Element // nil once it is given up

	// Guarded by the pool's mu.
	reading, writing bool  // waits for the sender
	got              int64 // bytes that the sender sent, or took
	cut              bool  // gave its place up
	over             bool  // is answered
}

// enter takes a place, of somebody who is slow if there is no other. The error is a
// *wire.Problem.
func (p *pool) enter(control *http.ResponseController, conn *connection, sender Respondent) (*place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl := &place{pool: p, conn: conn, sender: sender, since: time.Now(), control: control}
	if conn != nil {
		if p.conns[conn] >= p.ofConn {
			return nil, overloaded("too many requests of this connection are under way")
		}
		if p.address[conn.address] >= p.ofAddress && !p.displace(func(o *place) bool { return o.conn != nil && o.conn.address == conn.address }) {
			return nil, overloaded("too many requests of this address are under way")
		}
	}
	if sender != (Respondent{}) && p.senders[sender] >= p.ofSender {
		return nil, overloaded("too many requests of this respondent are under way")
	}
	if p.order.Len() >= p.most && !p.displace(func(*place) bool { return true }) {
		return nil, overloaded("too many requests are under way")
	}
	pl.element = p.order.PushBack(pl)
	if conn != nil {
		p.conns[conn]++
		p.address[conn.address]++
	}
	if sender != (Respondent{}) {
		p.senders[sender]++
	}
	return pl, nil
}

// displace takes the place of the request that has been under way longest among
// those that wait for their senders. The caller holds mu.
func (p *pool) displace(of func(*place) bool) bool {
	for e := p.order.Front(); e != nil; e = e.Next() {
		pl := e.Value.(*place)
		if time.Since(pl.since) < p.patience {
			return false // the others are younger still
		}
		if (pl.reading || pl.writing) && !pl.quick() && of(pl) {
			pl.cut = true
			pl.control.SetReadDeadline(longAgo)
			if pl.writing {
				pl.control.SetWriteDeadline(longAgo)
			}
			p.remove(pl)
			return true
		}
	}
	return false
}

// quick says that a sender keeps up the rate at which nobody takes its place. The
// caller holds mu.
func (pl *place) quick() bool {
	return pl.pool.quick > 0 && float64(pl.got) >= time.Since(pl.since).Seconds()*float64(pl.pool.quick)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// remove takes a place out of the pool. The caller holds mu.
func (p *pool) remove(pl *place) {
	if pl.element == nil {
		return
	}
	p.order.Remove(pl.element)
	pl.element = nil
	if pl.conn != nil {
		less(p.conns, pl.conn)
		less(p.address, pl.conn.address)
	}
	if pl.sender != (Respondent{}) {
		less(p.senders, pl.sender)
	}
}

func less[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// leave gives the place up after the answer, or for one in another pool.
func (pl *place) leave() {
	pl.pool.mu.Lock()
	defer pl.pool.mu.Unlock()
	pl.over = true // the connection is no longer this request's
	pl.pool.remove(pl)
}

// waitToRead runs do, which waits for the sender's bytes until the deadline and says
// how many came; zero: the deadline stays as it was set before. false: another request
// has the place now.
func (pl *place) waitToRead(deadline time.Time, do func() int) bool {
	begin := func() {
		pl.reading = true
		if deadline.IsZero() {
			return
		}
		// They fail where there is no connection, as in a test's recorder.
		pl.control.SetReadDeadline(deadline)
		pl.control.SetWriteDeadline(deadline.Add(answerTime))
	}
	if !pl.guarded(begin) {
		return false
	}
	n := do()
	return pl.guarded(func() { pl.reading, pl.got = false, pl.got+int64(n) })
}

// waitToWrite runs do, which waits for the sender to take so many bytes of the answer. A long
// answer may take as long as the sender keeps taking it. false: another request has the place,
// and do did not run.
func (pl *place) waitToWrite(do func() int) bool {
	begin := func() {
		pl.writing = true
		if pl.pool.quick > 0 {
			pl.control.SetWriteDeadline(time.Now().Add(answerTime))
		}
	}
	if !pl.guarded(begin) {
		return false
	}
	n := do()
	pl.guarded(func() { pl.writing, pl.got = false, pl.got+int64(n) })
	return true
}

// guarded runs do unless the place is given up.
func (pl *place) guarded(do func()) bool {
	pl.pool.mu.Lock()
	defer pl.pool.mu.Unlock()
	if pl.cut || pl.over {
		return false
	}
	do()
	return true
}

// hold is what a request holds until it is answered.
type hold struct {
	edge    *Edge
	kind    kind
	conn    *connection
	sender  Respondent // of pages: zero of strangers
	place   *place     // nil before Enter
	checked func()     // the credential is; nil where none is looked at
	body    int64      // bytes of memory
	window  time.Duration
	w       http.ResponseWriter
}

type holdKey struct{}

func held(r *http.Request) *hold {
	h, under := r.Context().Value(holdKey{}).(*hold)
	if !under {
		panic("serve: a request outside a Server")
	}
	return h
}

// kind is a kind of request: which pool it belongs to once its sender is known.
type kind int

const (
	strangers   kind = iota // whoever they are of
	longs                   // of those the one with a long body
	batches                 // of hops, known by a receipt at the beginning of the body; of pages what is long of known senders
	respondents             // known by a credential
	operators               // of pages
	relays                  // known by their networks; others who bring what relays do are strangers
)

func (c Config) kindOf(pattern string) kind {
	switch {
	case pattern == wire.ContributionPattern, pattern == wire.TokensPattern, slices.Contains(c.Visited, pattern):
		return respondents
	case pattern == wire.BatchPattern, slices.Contains(c.Handed, pattern):
		return batches
	}
	return strangers
}

// Enter takes the request in, now that its credential is checked: it gets a place
// among those of its kind. sender is the respondent, or zero. Requests of routes
// that need no credential have a place already.
func Enter(r *http.Request, sender Respondent) error {
	h := held(r)
	if h.kind == strangers {
		return nil
	}
	pl, err := h.edge.pools[h.kind].enter(http.NewResponseController(h.w), h.conn, sender)
	if err != nil {
		return err
	}
	if h.place != nil {
		h.place.leave()
	}
	if h.checked != nil {
		h.checked()
	}
	h.place = pl
	return nil
}

// release gives back all that a request holds.
func (h *hold) release() {
	if h.place == nil {
		return
	}
	h.place.pool.memory.give(h.body)
	h.place.leave()
}
