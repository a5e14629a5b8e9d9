package analyzerd

import (
	"container/list"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// textRoom bounds the bytes of signed plans and releases in memory.
const textRoom = 64 << 20

// texts keeps in memory what anybody may read, each text once for however many
// read it: a reader may be slow, and there may be many. A text that is being read
// stays; where there is no room beside those, the next one is refused.
type texts struct {
	room    int64      // bytes
	loading sync.Mutex // one text at a time comes from the database

	mu    sync.Mutex
	held  map[string]*list.Element // of *text
	order list.List                // the one asked for last is in front
	used  int64                    // bytes
}

type text struct {
	name    string
	body    []byte
	digest  [32]byte
	readers int
}

// read finds a text or loads it. done lets it go.
func (c *texts) read(name string, load func() (body []byte, digest [32]byte, err error)) (t *text, done func(), err error) {
	if t, done := c.find(name); t != nil {
		return t, done, nil
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	if t, done := c.find(name); t != nil {
		return t, done, nil
	}
	body, digest, err := load()
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t = &text{name: name, body: body, digest: digest}
	if !c.keep(t) {
		p := wire.Problemf(wire.Overloaded, "too many texts are being read")
		p.RetryAfter = time.Second
		return nil, nil, p
	}
	return t, c.begin(t), nil
}

func (c *texts) find(name string) (*text, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.held[name]
	if e == nil {
		return nil, nil
	}
	c.order.MoveToFront(e)
	t := e.Value.(*text)
	return t, c.begin(t)
}

// forget lets go of a text that has changed; who reads it now reads on.
func (c *texts) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.held[name]; e != nil {
		c.order.Remove(e)
		delete(c.held, name)
		c.used -= int64(len(e.Value.(*text).body))
	}
}

// begin has one reader more. The caller holds mu.
func (c *texts) begin(t *text) (done func()) {
	t.readers++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.readers--
	}
}

// keep makes room for a text, those first that were not asked for longest. One
// that is larger than all the room is kept alone. The caller holds mu.
func (c *texts) keep(t *text) bool {
	size := int64(len(t.body))
	for e := c.order.Back(); e != nil && c.used+size > c.room; {
		old, before := e.Value.(*text), e.Prev()
		if old.readers == 0 {
			c.order.Remove(e)
			delete(c.held, old.name)
			c.used -= int64(len(old.body))
		}
		e = before
	}
	if c.used > 0 && c.used+size > c.room {
		return false
	}
	if c.held == nil {
		c.held = map[string]*list.Element{}
	}
	c.held[t.name] = c.order.PushFront(t)
	c.used += size
	return true
}
