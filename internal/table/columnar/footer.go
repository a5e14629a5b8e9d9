package columnar

import (
	"encoding/binary"
	"errors"
	"io"
)

// A parquet file ends with its metadata in the compact Thrift encoding, the
// length of that (4 bytes, little-endian) and "PAR1". The library allocates a
// list before it reads it, so a few damaged bytes can ask for many gigabytes.
// checkFooter walks the metadata first: each element of a list takes at least a
// byte, so none may be longer than what is left.
func checkFooter(r io.ReaderAt, size int64) error {
	damaged := errors.New("not a parquet file, or a damaged one")
	var tail [8]byte
	if size < 12 {
		return damaged
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil || string(tail[4:]) != "PAR1" {
		return damaged
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	if length > size-12 || length > maxFooter {
		return damaged
	}
	w := walker{left: make([]byte, length)}
	if _, err := r.ReadAt(w.left, size-8-length); err != nil {
		return damaged
	}
	if w.value(typeStruct, 0); w.bad {
		return damaged
	}
	return nil
}

const (
	maxFooter = 64 << 20 // tens of thousands of columns and row groups
	maxDepth  = 32       // the format nests seven deep
)

// Types of the compact encoding.
const (
	typeTrue = iota + 1
	typeFalse
	typeByte
	typeI16
	typeI32
	typeI64
	typeDouble
	typeBinary
	typeList
	typeSet
	typeMap
	typeStruct
)

// walker consumes values until something does not fit.
type walker struct {
	left []byte
	bad  bool
}

func (w *walker) skip(n uint64) {
	if w.bad = w.bad || n > uint64(len(w.left)); !w.bad {
		w.left = w.left[n:]
	}
}

func (w *walker) byte() byte {
	if w.bad = w.bad || len(w.left) == 0; w.bad {
		return 0
	}
	b := w.left[0]
	w.left = w.left[1:]
	return b
}

func (w *walker) varint() uint64 {
	v, n := binary.Uvarint(w.left)
	if w.bad = w.bad || n <= 0; w.bad {
		return 0
	}
	w.left = w.left[n:]
	return v
}

// value consumes a value; booleans of fields are in their type.
func (w *walker) value(kind byte, depth int) {
	switch {
	case w.bad:
	case depth > maxDepth:
		w.bad = true
	case kind == typeTrue || kind == typeFalse:
	case kind == typeByte:
		w.skip(1)
	case kind >= typeI16 && kind <= typeI64:
		w.varint()
	case kind == typeDouble:
		w.skip(8)
	case kind == typeBinary:
		w.skip(w.varint())
	case kind == typeList || kind == typeSet:
		head := w.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = w.varint()
		}
		if n > uint64(len(w.left)) {
			w.bad = true
		}
		for range n {
			if w.bad {
				return
			}
			w.element(head&15, depth)
		}
	case kind == typeStruct:
		for {
			head := w.byte()
			if w.bad || head == 0 {
				return
			}
			if head>>4 == 0 {
				w.varint() // the field's number, where it is not the last one's plus a little
			}
			w.value(head&15, depth+1)
		}
	default: // parquet's metadata has no maps
		w.bad = true
	}
}

// element consumes an element of a list, where booleans take a byte.
func (w *walker) element(kind byte, depth int) {
	if kind == typeTrue || kind == typeFalse {
		kind = typeByte
	}
	w.value(kind, depth+1)
}
