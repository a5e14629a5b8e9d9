package client

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client/internal/journal"
)

// coder writes a compacted ledger, or reads one: each field has one line here, for both. A
// compacted ledger is a table of texts, and then numbers and texts one behind the other. A
// text of the table is its number there, and so is what a plan promises and costs, which all
// plans of one metric share. A year of fifty metrics a day takes some 90 bytes a plan,
// beside what was said.
type coder struct {
	reads    bool
	b        []byte // what was written, or is left to read
	wrong    bool   // what is read makes no sense
	texts    []string
	numbers  map[string]int  // of the texts, where it writes
	promises map[int]promise // by the number of the text that they are, where it reads
	parts    []Part          // of the entries that were read
}

// promise keeps an entry's charge beside its statements, so that neither is read again.
type promise struct {
	Charge
	statements []account.Statement
}

// compacted writes the whole ledger.
func (l *Ledger) compacted() []byte {
	c := coder{numbers: map[string]int{}}
	c.ledger(l)
	table := coder{}
	n := len(c.texts)
	table.length(&n, 1)
	for _, text := range c.texts {
		b := []byte(text)
		table.bytes(&b)
	}
	return append(table.b, c.b...)
}

// expand reads what compacted wrote, and journal.ErrDamaged else.
func expand(b []byte) (*Ledger, error) {
	l := &Ledger{Entries: []Entry{}, backstops: map[[32]byte][]byte{}}
	if len(b) == 0 {
		return l, nil
	}
	c := coder{reads: true, b: b, promises: map[int]promise{}}
	n := 0
	c.length(&n, 1)
	c.texts = make([]string, n)
	for i := range c.texts {
		var text []byte
		c.bytes(&text)
		c.texts[i] = string(text)
	}
	c.ledger(l)
	if c.wrong || len(c.b) > 0 {
		return nil, journal.ErrDamaged
	}
	return l, nil
}

func (c *coder) ledger(l *Ledger) {
	c.flags(&l.OptedIn)
	c.time(&l.Since, time.Time{})
	n := len(l.Studies)
	c.length(&n, 3)
	for i := range n {
		if c.reads {
			l.Studies = append(l.Studies, Joined{})
		}
		s := &l.Studies[i]
		c.time(&s.At, time.Time{})
		text(c, &s.Study)
		c.number(&s.Round)
	}
	n = len(l.backstops)
	c.length(&n, 2)
	keys := slices.SortedFunc(maps.Keys(l.backstops), func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	for i := range n {
		var key string
		var kept []byte
		if !c.reads {
			key, kept = string(keys[i][:]), l.backstops[keys[i]]
		}
		text(c, &key)
		c.bytes(&kept)
		if c.reads && len(key) == 32 {
			l.backstops[[32]byte([]byte(key))] = kept
		}
	}
	n = len(l.Entries)
	c.length(&n, smallestEntry)
	if !c.reads {
		for _, e := range l.Entries {
			name, _ := hex.DecodeString(e.Plan) // add has looked
			c.b = append(c.b, name...)
		}
		for i := range l.Entries {
			c.entry(&l.Entries[i])
		}
		return
	}
	l.Entries, c.parts = make([]Entry, 0, n), make([]Part, 0, n)
	names := hex.EncodeToString(c.take(32 * n))
	for i := range n {
		if c.wrong {
			return
		}
		e := Entry{Plan: names[64*i : 64*(i+1)]}
		c.entry(&e)
		c.wrong = c.wrong || !l.add(e)
	}
}

// smallestEntry bounds the bytes of an entry from below, so that a length that is read makes no more room than
// there can be entries.
const smallestEntry = 48

func (c *coder) entry(e *Entry) {
	backed := e.Backed != nil
	counts := e.Most > 0
	c.flags(&e.Reused, &e.Covered, &e.Forgotten, &backed, &counts)
	c.time(&e.At, time.Time{})
	c.time(&e.Expires, e.At)
	text(c, &e.Title)
	text(c, &e.Publisher)
	c.promise(e)
	c.number(&e.Crowd)
	text(c, &e.CrowdName)
	text(c, &e.Said)
	text(c, &e.Study)
	c.number(&e.Round)
	if backed {
		if c.reads {
			e.Backed = &Backed{}
		}
		c.shared(&e.Backed.Question)
		c.shared(&e.Backed.Key)
		c.time(&e.Backed.Term, time.Time{})
	}
	if counts {
		c.time(&e.From, e.At)
		c.time(&e.Until, e.At)
		c.number(&e.Events)
		c.number(&e.Most)
	}
	n := len(e.Parts)
	c.length(&n, smallestPart)
	if c.reads {
		at := len(c.parts)
		c.parts = append(c.parts, make([]Part, n)...)
		e.Parts = c.parts[at : at+n : at+n]
	}
	for i := range e.Parts {
		c.part(&e.Parts[i], e.At)
	}
}

const smallestPart = 6 // as smallestEntry

func (c *coder) part(p *Part, at time.Time) {
	s := &p.said
	said, vector, messages := s.Size > 0, s.Vector != nil, s.Messages != nil
	c.flags(&p.sealed, &said, &vector, &messages)
	c.number(&p.Instance)
	text(c, &p.Status)
	c.time(&p.Ended, at)
	text(c, &p.Reason)
	if said {
		c.number(&s.Size)
		c.number(&s.Body)
		c.bytes(&s.Bodies)
		c.bytes(&s.Dummies)
	}
	if vector {
		c.bytes(&s.Vector)
	}
	if messages {
		c.bytes(&s.Messages)
	}
	if c.reads {
		s.Instance = p.Instance
		now, ok := s.current()
		c.wrong = c.wrong || !ok || p.Status != Waiting && p.Status != Sent && p.Status != Dropped
		p.said, p.Messages = now, now.said()
	}
}

// promise writes or reads what an entry costs and states, as one text.
func (c *coder) promise(e *Entry) {
	inner := coder{reads: c.reads, texts: c.texts, numbers: c.numbers}
	n := 0
	if c.reads {
		if c.length(&n, 0); n >= len(c.texts) {
			c.wrong = true
			return
		}
		known, ok := c.promises[n]
		if ok {
			e.Charge, e.Statements = known.Charge, known.statements
			return
		}
		inner.b = []byte(c.texts[n])
	}
	all := recorded(e.Statements)
	inner.charge(&e.Charge)
	rows := len(all)
	if inner.length(&rows, 20); c.reads {
		all = make([]stated, rows)
	}
	for i := range all {
		inner.stated(&all[i])
	}
	if !c.reads {
		c.texts = inner.texts
		whole := string(inner.b)
		text(c, &whole)
		return
	}
	var ok bool
	e.Statements, ok = recalled(all)
	c.wrong = c.wrong || inner.wrong || len(inner.b) > 0 || !ok
	c.promises[n] = promise{e.Charge, e.Statements}
}

func (c *coder) charge(x *Charge) {
	for _, number := range []*float64{&x.Epsilon, &x.Delta, &x.Local, &x.Shift, &x.Tail} {
		c.real(number)
	}
	text(c, &x.Adjacency)
}

func (c *coder) stated(s *stated) {
	text(c, &s.Observer)
	c.real(&s.Epsilon)
	c.real(&s.Delta)
	text(c, &s.Adjacency)
	text(c, &s.Trust)
	c.number(&s.Users)
	c.number(&s.Rounds)
	text(c, &s.Bound)
	text(c, &s.Method)
	text(c, &s.Note)
}

// flags writes or reads up to eight of them in a byte.
func (c *coder) flags(all ...*bool) {
	b := byte(0)
	for i, set := range all {
		if *set {
			b |= 1 << i
		}
	}
	if !c.reads {
		c.b = append(c.b, b)
		return
	}
	b = c.take(1)[0]
	for i, set := range all {
		*set = b>>i&1 == 1
	}
	c.wrong = c.wrong || b>>len(all) != 0
}

// take returns the next bytes; zeros where there are not so many.
func (c *coder) take(n int) (b []byte) {
	if n > len(c.b) {
		c.wrong, c.b = true, nil
		return make([]byte, min(n, 32))
	}
	b, c.b = c.b[:n:n], c.b[n:]
	return b
}

// length writes or reads how many follow, each of at least so many bytes: it refuses more than there is room for.
func (c *coder) length(n *int, each int) {
	if !c.reads {
		c.b = binary.AppendUvarint(c.b, uint64(*n))
		return
	}
	x, size := binary.Uvarint(c.b)
	if size <= 0 || x > math.MaxInt32 || x*uint64(each) > uint64(len(c.b)) {
		c.wrong, c.b, *n = true, nil, 0
		return
	}
	*n, c.b = int(x), c.b[size:]
}

func (c *coder) number(n *int) {
	if !c.reads {
		c.b = binary.AppendVarint(c.b, int64(*n))
		return
	}
	x, size := binary.Varint(c.b)
	if size <= 0 {
		c.wrong, c.b = true, nil
		return
	}
	*n, c.b = int(x), c.b[size:]
}

func (c *coder) real(x *float64) {
	if !c.reads {
		c.b = binary.BigEndian.AppendUint64(c.b, math.Float64bits(*x))
		return
	}
	*x = math.Float64frombits(binary.BigEndian.Uint64(c.take(8)))
}

// time writes or reads a time by the seconds that lie between it and an earlier one.
func (c *coder) time(t *time.Time, before time.Time) {
	seconds, nanoseconds := int(t.Unix()-before.Unix()), t.Nanosecond()
	c.number(&seconds)
	if c.number(&nanoseconds); !c.reads {
		return
	}
	*t = time.Unix(before.Unix()+int64(seconds), int64(nanoseconds)).UTC()
	c.wrong = c.wrong || nanoseconds < 0 || nanoseconds >= 1e9
}

func (c *coder) bytes(b *[]byte) {
	n := len(*b)
	c.length(&n, 1)
	if !c.reads {
		c.b = append(c.b, *b...)
	} else if n > 0 {
		*b = c.take(n)
	}
}

// text writes or reads a text by its number in the table.
func text[T ~string](c *coder, s *T) {
	n, known := 0, false
	if !c.reads {
		if n, known = c.numbers[string(*s)]; !known {
			n = len(c.texts)
			c.numbers[string(*s)] = n
			c.texts = append(c.texts, string(*s))
		}
	}
	c.length(&n, 0)
	switch {
	case !c.reads:
	case n >= len(c.texts):
		c.wrong = true
	default:
		*s = T(c.texts[n])
	}
}

// shared writes or reads bytes by the number of their text in the table.
func (c *coder) shared(b *[]byte) {
	s := string(*b)
	if text(c, &s); c.reads {
		*b = []byte(s)
	}
}
