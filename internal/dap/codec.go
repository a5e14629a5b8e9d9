package dap

import "encoding/binary"

// reader cuts fields off a message. Once something is missing or too long, bad is set
// and all that follows is zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) number(bytes int) (n uint64) {
	for _, b := range r.take(bytes) {
		n = n<<8 | uint64(b)
	}
	return n
}

// opaque returns a field that begins with its length, a number of so many bytes; shorter
// than least it is refused.
func (r *reader) opaque(lengthBytes, least int) []byte {
	n := r.number(lengthBytes)
	if n < uint64(least) || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	return r.take(int(n))
}

// fixed fills in a field of one length.
func (r *reader) fixed(into []byte) { copy(into, r.take(len(into))) }

// whole reports that everything was read and nothing was wrong.
func (r *reader) whole() bool { return !r.bad && len(r.rest) == 0 }

// more reports that there is another element of a list.
func (r *reader) more() bool { return !r.bad && len(r.rest) > 0 }

func appendOpaque16(b, field []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(field))), field...)
}

func appendOpaque32(b, field []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(field))), field...)
}
