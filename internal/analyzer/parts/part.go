// Package parts counts a batch that lies in files: any worker counts its share into a table, and the tables add up
// to the batch's tally. Used by internal/analyzer/shards, by cmd/internal/server/count for engines that others
// run, and by simulate.
package parts

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/party/analyzer"
)

// A batch is dealt to shards, so that copies of an envelope fall into one, and each shard
// comes in as many pieces as the batch was read in. A piece of a shard is a part, and has a
// file of its own, SHARD/PIECE, also where it is empty: who finds them all misses nothing.
//
//	offset  length  field
//	0       16      "confetti part 1\n"
//	16      32      plan hash
//	48      2       instance
//	50      4       crowd
//	54      1       hop: how many the batch has come through
//	55      8       respondents
//	63      8       envelopes of the whole batch, at least 1
//	71      4       length of each, bytes
//	75      4       shards, 1 to 65536
//	79      4       shard, counted from 0
//	83      4       pieces of each shard, at least 1
//	87      4       piece, counted from 0
//	91      n       envelopes
//	91+n    32      SHA-256 of everything before
//
// Integers are unsigned, most significant byte first.
type part struct {
	Of            Of
	Shard         int
	Pieces, Piece int
	Envelopes     [][]byte // slices of what was parsed
}

// Of is what a part, or a table, is of.
type Of struct {
	Head   envelope.Head
	Shards int
}

const (
	partMagic = "confetti part 1\n"
	ofSize    = 63
	partHead  = len(partMagic) + ofSize + 12

	mostShards = 1 << 16
	mostPieces = 1 << 24

	mostCounted = 1 << 56 // what is above is no number of envelopes
)

// Error is a fault of parts or tables, as against one of the store that they are in.
type Error struct{ error }

func (e Error) Unwrap() error { return e.error }

func faulty(format string, a ...any) error { return Error{fmt.Errorf("parts: "+format, a...)} }

func (o Of) append(b []byte) []byte {
	h := o.Head
	b = append(b, h.Plan[:]...)
	b = binary.BigEndian.AppendUint16(b, h.Instance)
	b = binary.BigEndian.AppendUint32(b, h.Crowd)
	b = append(b, h.Hop)
	b = binary.BigEndian.AppendUint64(b, h.Respondents)
	b = binary.BigEndian.AppendUint64(b, h.Envelopes)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Size))
	return binary.BigEndian.AppendUint32(b, uint32(o.Shards))
}

func parseOf(b []byte) (o Of, err error) {
	respondents, envelopes := binary.BigEndian.Uint64(b[39:]), binary.BigEndian.Uint64(b[47:])
	o = Of{envelope.Head{
		Plan: [32]byte(b), Instance: binary.BigEndian.Uint16(b[32:]), Crowd: binary.BigEndian.Uint32(b[34:]), Hop: b[38],
		Size: int(binary.BigEndian.Uint32(b[55:])),
	}, int(binary.BigEndian.Uint32(b[59:]))}
	switch {
	case envelopes < 1 || max(envelopes, respondents) > mostCounted:
		return o, fmt.Errorf("%d envelopes of %d respondents: no batch has so many", envelopes, respondents)
	case o.Head.Size < 1 || o.Head.Size > sizes.Max:
		return o, fmt.Errorf("envelopes of %d bytes: need 1 to %d", o.Head.Size, sizes.Max)
	case o.Shards < 1 || o.Shards > mostShards:
		return o, fmt.Errorf("%d shards: need 1 to %d", o.Shards, mostShards)
	}
	o.Head.Respondents, o.Head.Envelopes = respondents, envelopes
	return o, nil
}

// Same refuses two things that are of different batches, or of one that was dealt twice.
func (o Of) Same(other Of) error {
	a, b := o.Head, other.Head
	switch {
	case a.Plan != b.Plan:
		return fmt.Errorf("it is of plan %x, the others of %x", b.Plan[:6], a.Plan[:6])
	case a != b:
		return fmt.Errorf("it is of another batch (instance %d, crowd %d, %d envelopes) than the others (instance %d, crowd %d, %d envelopes)",
			int(b.Instance)+1, int64(b.Crowd)+1, b.Envelopes, int(a.Instance)+1, int64(a.Crowd)+1, a.Envelopes)
	case o.Shards != other.Shards:
		return fmt.Errorf("its batch was dealt to %d shards, that of the others to %d", other.Shards, o.Shards)
	}
	return nil
}

// Marshal encodes the part.
func (p part) Marshal() []byte {
	b := make([]byte, 0, partHead+len(p.Envelopes)*p.Of.Head.Size+sha256.Size)
	b = p.Of.append(append(b, partMagic...))
	for _, n := range []int{p.Shard, p.Pieces, p.Piece} {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, e := range p.Envelopes {
		b = append(b, e...)
	}
	return sealed(b)
}

func sealed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// unsealed checks what a file begins and ends with, and returns what is between.
func unsealed(data []byte, magic string, least int) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, fmt.Errorf("it does not begin with %q", magic)
	}
	if len(data) < least+sha256.Size {
		return nil, fmt.Errorf("truncated: %d bytes where at least %d are expected", len(data), least+sha256.Size)
	}
	body := data[:len(data)-sha256.Size]
	if sha256.Sum256(body) != [32]byte(data[len(body):]) {
		return nil, errors.New("damaged: its checksum is another one")
	}
	return body[len(magic):], nil
}

// parse decodes exactly what Marshal writes.
func parse(data []byte) (p part, err error) {
	body, err := unsealed(data, partMagic, partHead)
	if err != nil {
		return p, faulty("a part: %w", err)
	}
	if p.Of, err = parseOf(body); err != nil {
		return p, faulty("a part: %w", err)
	}
	body = body[ofSize:]
	p.Shard, p.Pieces, p.Piece = int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:])), int(binary.BigEndian.Uint32(body[8:]))
	body = body[12:]
	size := p.Of.Head.Size
	switch {
	case p.Shard >= p.Of.Shards || p.Pieces < 1 || p.Pieces > mostPieces || p.Piece >= p.Pieces:
		return p, faulty("a part: piece %d of %d of shard %d of %d", p.Piece, p.Pieces, p.Shard, p.Of.Shards)
	case len(body)%size != 0:
		return p, faulty("a part: %d bytes, which are no whole envelopes of %d", len(body), size)
	case uint64(len(body)/size) > uint64(p.Of.Head.Envelopes):
		return p, faulty("a part: more envelopes than the whole batch has")
	}
	p.Envelopes = make([][]byte, len(body)/size)
	for i := range p.Envelopes {
		p.Envelopes[i] = body[i*size : (i+1)*size : (i+1)*size]
	}
	return p, nil
}

// Dealer writes a batch as parts, as its envelopes come. It holds about as many bytes as
// a part has.
type Dealer struct {
	of     Of
	piece  int
	pieces int
	each   int // envelopes of a piece, all shards together
	held   int
	came   uint64
	dealt  [][][]byte
	put    func(name string, body []byte) error
}

// NewDealer deals a batch to shards of at least so many bytes. Put keeps a part under
// its name, SHARD/PIECE.
func NewDealer(head envelope.Head, least int, put func(name string, body []byte) error) *Dealer {
	size := blob.PartBytes(head.Bytes(), least)
	shards := ShardsOf(head, least)
	each := (size + head.Size - 1) / head.Size
	return &Dealer{
		of: Of{head, shards}, pieces: int((int64(head.Envelopes) + int64(each) - 1) / int64(each)), each: each,
		dealt: make([][][]byte, shards), put: put,
	}
}

// ShardsOf returns how many shards of at least so many bytes a batch is dealt to.
func ShardsOf(head envelope.Head, least int) int {
	size := int64(blob.PartBytes(head.Bytes(), least))
	return int(min(mostShards, (head.Bytes()+size-1)/size))
}

// Deal writes one piece of each shard of a batch that comes in so many pieces, from
// its envelopes, one after the other. It may be done again, and in any order.
func Deal(head envelope.Head, shards, pieces, piece int, envelopes []byte, put func(name string, body []byte) error) error {
	d := Dealer{of: Of{head, shards}, pieces: pieces, piece: piece, dealt: make([][][]byte, shards), put: put}
	for size := head.Size; len(envelopes) >= size; envelopes = envelopes[size:] {
		s := analyzer.Shard(envelopes[:size], shards)
		d.dealt[s] = append(d.dealt[s], envelopes[:size:size])
	}
	return d.flush()
}

// Shards returns how many there are.
func (d *Dealer) Shards() int { return d.of.Shards }

// Add takes an envelope, of which it keeps a copy until the part is full.
func (d *Dealer) Add(e []byte) error {
	if d.came++; d.came > uint64(d.of.Head.Envelopes) {
		return faulty("more envelopes than the batch's head states")
	}
	if len(e) != d.of.Head.Size {
		return &envelope.SizeError{Got: len(e), Want: d.of.Head.Size}
	}
	s := analyzer.Shard(e, d.of.Shards)
	d.dealt[s] = append(d.dealt[s], bytes.Clone(e))
	if d.held++; d.held == d.each {
		return d.flush()
	}
	return nil
}

func (d *Dealer) flush() error {
	for s, some := range d.dealt {
		p := part{Of: d.of, Shard: s, Pieces: d.pieces, Piece: d.piece, Envelopes: some}
		if err := d.put(fmt.Sprintf("%d/%d", s, d.piece), p.Marshal()); err != nil {
			return err
		}
		d.dealt[s] = some[:0]
	}
	d.held, d.piece = 0, d.piece+1
	return nil
}

// Close writes what is left.
func (d *Dealer) Close() error {
	if d.came != uint64(d.of.Head.Envelopes) {
		return faulty("fewer envelopes than the batch's head states")
	}
	if d.held == 0 {
		return nil
	}
	return d.flush()
}
