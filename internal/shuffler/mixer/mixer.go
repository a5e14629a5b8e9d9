// Package mixer mixes one crowd that is larger than memory, from parts in a store of blobs, by steps that any
// process may take and repeat. Used by internal/service/shufflerd and simulate.
//
//	part -> Scatter -> deals -> (all parts are scattered) -> Gather -> bucket
//
// Everything in the store is sealed under the crowd's key. Each step writes its result last, under a name of its
// own: what has a result is done.
package mixer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// Crowd is a crowd whose parts are in a store: a mark that whoever mixes it must have.
// Without it nothing of the crowd can be read any more.
type Crowd struct {
	Key         shuffler.Key `json:"key,omitzero"`
	Under       string       `json:"under"` // what the names of its blobs begin with
	Crowd       uint32       `json:"crowd"`
	Envelopes   uint64       `json:"envelopes"`
	Respondents uint64       `json:"respondents"`
	Size        int          `json:"size"`             // of each envelope as it came, bytes
	Bodies      uint64       `json:"bodies,omitempty"` // at the entry: contributions, in which the envelopes come
	Body        int          `json:"body,omitempty"`   // of each of them, bytes
	Part        int          `json:"part"`             // envelopes in each part but the last; contributions at the entry
	Buckets     int          `json:"buckets"`          // it is dealt to
}

// PartBytes is about how many bytes of envelopes a part and a bucket have at least.
const PartBytes = 16 << 20

// New names a crowd of a hop, with a key that has not been used. A part has at least so
// many bytes (blob.PartBytes).
func New(post string, head envelope.Head, partBytes int) Crowd {
	return named(post, Crowd{Crowd: head.Crowd, Envelopes: head.Envelopes, Respondents: head.Respondents, Size: head.Size}, partBytes)
}

// NewEntry returns New of an entry's crowd, which comes in contributions of so many bytes, one of each respondent. A part
// ends between two of them. Buckets are counted by the envelopes within.
func NewEntry(post string, head envelope.Head, body, partBytes int) Crowd {
	return named(post, Crowd{Crowd: head.Crowd, Envelopes: head.Envelopes, Respondents: head.Respondents, Size: head.Size, Bodies: head.Respondents, Body: body}, partBytes)
}

func named(post string, c Crowd, partBytes int) Crowd {
	_, size := c.came()
	total := int64(c.Envelopes) * int64(c.Size)
	part := blob.PartBytes(total, partBytes)
	c.Key, c.Part = shuffler.NewKey(), max(1, part/size)
	c.Buckets = min(max(1, int((total+int64(part)-1)/int64(part))), shuffler.MaxBuckets)
	// Another attempt has other names: who wakes up late disturbs nobody.
	id := sha256.Sum256(append([]byte("confetti attempt"), c.Key[:]...))
	c.Under = fmt.Sprintf("%s/%x", Folder(post, c.Crowd), id[:8])
	return c
}

// came returns how many came, contributions or envelopes, and how long each is.
func (c Crowd) came() (n uint64, size int) {
	if c.Bodies > 0 {
		return c.Bodies, c.Body
	}
	return c.Envelopes, c.Size
}

// Bytes returns how many bytes came.
func (c Crowd) Bytes() int64 {
	n, size := c.came()
	return int64(n) * int64(size)
}

// Folder returns what the names of all blobs of a hop's crowd begin with, of any attempt.
func Folder(post string, crowd uint32) string { return fmt.Sprintf("%s/%d", post, crowd) }

// Parts returns how many there are.
func (c Crowd) Parts() int {
	n, _ := c.came()
	return (int(n) + c.Part - 1) / c.Part
}

// Validate refuses what New does not make.
func (c Crowd) Validate() error {
	if c.Envelopes < 1 || c.Part < 1 || c.Size < 1 || c.Size > sizes.Max || c.Buckets < 1 || c.Buckets > shuffler.MaxBuckets || c.Under == "" ||
		(c.Bodies > 0) != (c.Body > 0) || c.Body < 0 || c.Body > sizes.MaxContribution || c.Bodies > 0 && c.Envelopes%c.Bodies != 0 {
		return errors.New("mixer: no crowd is laid out like that")
	}
	return nil
}

func (c Crowd) name(format string, a ...any) string { return c.Under + "/" + fmt.Sprintf(format, a...) }

func (c Crowd) partName(i int) string              { return c.name("part/%d", i) }
func (c Crowd) dealName(i, j int) string           { return c.name("fragment/%d/%d", i, j) }
func (c Crowd) bucketName(j int) string            { return c.name("bucket/%d", j) }
func (c Crowd) doneName(what string, n int) string { return c.name("%s/%d/done", what, n) }
func (c Crowd) lostName() string                   { return c.name("lost") }

// What a step is, in the names of its results.
const (
	scattered = "scattered"
	gathered  = "gathered"
)

func (c Crowd) put(ctx context.Context, s blob.Store, name string, body []byte) error {
	return s.Put(ctx, name, c.Key.Seal(name, body))
}

// Lay writes the parts of a crowd. Each gives what came one after the other: contributions at the entry, and
// envelopes later.
func (c Crowd) Lay(ctx context.Context, s blob.Store, each func(func(came []byte) error) error) error {
	all, size := c.came()
	part, n := make([]byte, 0, min(c.Part, int(all))*size), uint64(0)
	err := each(func(one []byte) error {
		if len(one) != size {
			return &envelope.SizeError{Got: len(one), Want: size}
		}
		part = append(part, one...)
		n++
		if len(part) < c.Part*size {
			return nil
		}
		err := c.put(ctx, s, c.partName(int(n-1)/c.Part), part)
		part = part[:0]
		return err
	})
	if err == nil && n != all {
		err = fmt.Errorf("mixer: %d came where %d were counted", n, all)
	}
	if err == nil && len(part) > 0 {
		err = c.put(ctx, s, c.partName(c.Parts()-1), part)
	}
	return err
}

// A batch that comes in parts is laid out part by part. Its manifest stands beside them,
// and says nothing of what is in them.

// KeepManifest writes what says which parts there are to be.
func (c Crowd) KeepManifest(ctx context.Context, s blob.Store, text []byte) error {
	return c.put(ctx, s, c.name("manifest"), text)
}

// Manifest reads what KeepManifest wrote.
func (c Crowd) Manifest(ctx context.Context, s blob.Store) ([]byte, error) {
	text, err := s.Get(ctx, c.name("manifest"))
	if err != nil {
		return nil, err
	}
	return c.Key.Open(c.name("manifest"), text)
}

// KeepPart writes a part, whole.
func (c Crowd) KeepPart(ctx context.Context, s blob.Store, i int, part []byte) error {
	return c.put(ctx, s, c.partName(i), part)
}

// Has reports whether a part is there.
func (c Crowd) Has(ctx context.Context, s blob.Store, i int) (bool, error) {
	return s.Has(ctx, c.partName(i))
}

// Lacking returns the first parts that are not there, at most so many.
func (c Crowd) Lacking(ctx context.Context, s blob.Store, most int) (numbers []int, err error) {
	there, err := c.there(ctx, s, "part")
	for i := 0; err == nil && i < c.Parts() && len(numbers) < most; i++ {
		if !there[c.partName(i)] {
			numbers = append(numbers, i)
		}
	}
	return numbers, err
}

// ErrLost is the error of a part that the store has lost: nothing of the crowd may leave.
var ErrLost = errors.New("mixer: a part of a crowd is lost")

// ErrElsewhere is the error of a crowd of which the store has no part at all: it is
// another store, or it is not there.
var ErrElsewhere = errors.New("mixer: the store has nothing of the crowd: is it the one it was laid out in?")

// Step is something to be done, by anybody.
type Step struct {
	Gather bool `json:"gather"`
	Number int  `json:"number"` // of the part, or of the bucket
}

// Steps returns those that can be done now; none: all are done. The error is ErrLost where
// somebody has found out that a part is. The results of all steps are listed: who takes
// many asks again when some of them are done, and not after each.
func (c Crowd) Steps(ctx context.Context, s blob.Store) ([]Step, error) {
	if lost, err := s.Has(ctx, c.lostName()); err != nil || lost {
		return nil, cmp.Or(err, ErrLost)
	}
	missing, err := c.missing(ctx, s, scattered, c.Parts())
	if err != nil || len(missing) > 0 {
		return steps(missing, false), err
	}
	missing, err = c.missing(ctx, s, gathered, c.Buckets)
	return steps(missing, true), err
}

func steps(numbers []int, gather bool) (all []Step) {
	for _, n := range numbers {
		all = append(all, Step{gather, n})
	}
	return all
}

func (c Crowd) missing(ctx context.Context, s blob.Store, what string, n int) (numbers []int, err error) {
	there, err := c.there(ctx, s, what)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if !there[c.doneName(what, i)] {
			numbers = append(numbers, i)
		}
	}
	return numbers, nil
}

// there returns the set of the crowd's blobs under a name.
func (c Crowd) there(ctx context.Context, s blob.Store, what string) (map[string]bool, error) {
	names, err := s.List(ctx, c.name("%s", what))
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	return there, err
}

// Done reports whether a step has its result, or a part is lost and it needs none.
func (c Crowd) Done(ctx context.Context, s blob.Store, step Step) (bool, error) {
	lost, err := s.Has(ctx, c.lostName())
	if lost || err != nil {
		return lost, err
	}
	what := scattered
	if step.Gather {
		what = gathered
	}
	return s.Has(ctx, c.doneName(what, step.Number))
}

// Do takes a step. It may have been taken before, or be taken by somebody else at the
// same time.
func (c Crowd) Do(ctx context.Context, h *shuffler.Hop, s blob.Store, step Step) error {
	if step.Gather {
		return c.gather(ctx, h, s, step.Number)
	}
	return c.scatter(ctx, h, s, step.Number)
}

// read returns a part as it was laid out.
func (c Crowd) read(ctx context.Context, s blob.Store, i int) ([]byte, error) {
	part, err := s.Get(ctx, c.partName(i))
	if err != nil {
		return nil, err
	}
	return c.Key.Open(c.partName(i), part)
}

// gone reports whether an error says that a blob is not there, or is another one.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, shuffler.ErrSealed)
}

func (c Crowd) scatter(ctx context.Context, h *shuffler.Hop, s blob.Store, i int) error {
	if i < 0 || i >= c.Parts() {
		return fmt.Errorf("mixer: there is no part %d", i)
	}
	part, err := c.read(ctx, s, i)
	if gone(err) {
		if there, fault := c.there(ctx, s, "part"); fault != nil || len(there) == 0 { // what steps write may be there already
			return errors.Join(ErrElsewhere, fault)
		}
		// The store may have been put back since: a part is lost when it lacks beside others.
		if part, err = c.read(ctx, s, i); gone(err) {
			return errors.Join(fmt.Errorf("%w: %w", ErrLost, err), c.put(ctx, s, c.lostName(), nil))
		}
	}
	if err != nil {
		return err
	}
	var came [][]byte
	for _, size := c.came(); len(part) >= size; part = part[size:] {
		came = append(came, part[:size])
	}
	did, err := h.Scatter(c.Key, c.Crowd, came, c.Buckets)
	if err != nil {
		return err
	}
	for j, f := range did.Dealt {
		if err := s.Put(ctx, c.dealName(i, j), f); err != nil {
			return err
		}
		did.Dealt[j] = nil
	}
	return c.put(ctx, s, c.doneName(scattered, i), binary.BigEndian.AppendUint64(nil, uint64(did.Dropped)))
}

func (c Crowd) gather(ctx context.Context, h *shuffler.Hop, s blob.Store, j int) error {
	if j < 0 || j >= c.Buckets {
		return fmt.Errorf("mixer: there is no bucket %d", j)
	}
	at := 0
	var deals iter.Seq2[[]byte, error] = func(yield func([]byte, error) bool) {
		for at = range c.Parts() {
			f, err := s.Get(ctx, c.dealName(at, j))
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
	did, err := h.Gather(c.Key, c.Crowd, j, c.Buckets, deals)
	if gone(err) {
		// The deal was lost: its part is scattered once more.
		return errors.Join(err, c.undo(ctx, s, scattered, at))
	}
	if err != nil {
		return err
	}
	var body []byte
	for _, e := range did.Envelopes {
		body = append(body, e...)
	}
	if err := c.put(ctx, s, c.bucketName(j), body); err != nil {
		return err
	}
	result := binary.BigEndian.AppendUint64(nil, uint64(len(did.Envelopes)))
	result = binary.BigEndian.AppendUint64(result, uint64(did.Duplicates))
	for _, id := range did.Tokens {
		result = append(result, id[:]...)
	}
	return c.put(ctx, s, c.doneName(gathered, j), result)
}

// undo takes a result away, so that its step is taken again.
func (c Crowd) undo(ctx context.Context, s blob.Store, what string, i int) error {
	return s.Delete(ctx, c.name("%s/%d", what, i))
}

// Sums returns what all steps together counted, and the tokens that were found.
func (c Crowd) Sums(ctx context.Context, s blob.Store) (did shuffler.Receipt, tokens []shuffler.TokenID, err error) {
	did.In = int(c.Envelopes)
	for i := range c.Parts() {
		result, err := c.result(ctx, s, scattered, i, 8)
		if err != nil {
			return did, nil, err
		}
		did.Dropped += int(binary.BigEndian.Uint64(result))
	}
	for j := range c.Buckets {
		result, err := c.result(ctx, s, gathered, j, 16)
		if err != nil {
			return did, nil, err
		}
		did.Out += int(binary.BigEndian.Uint64(result))
		did.Duplicates += int(binary.BigEndian.Uint64(result[8:]))
		for result = result[16:]; len(result) >= len(shuffler.TokenID{}); result = result[len(shuffler.TokenID{}):] {
			tokens = append(tokens, shuffler.TokenID(result))
		}
	}
	return did, tokens, nil
}

func (c Crowd) result(ctx context.Context, s blob.Store, what string, i, least int) ([]byte, error) {
	name := c.doneName(what, i)
	result, err := s.Get(ctx, name)
	if err == nil {
		result, err = c.Key.Open(name, result)
	}
	if err == nil && len(result) < least {
		err = shuffler.ErrSealed
	}
	if errors.Is(err, shuffler.ErrSealed) {
		err = errors.Join(err, c.undo(ctx, s, what, i))
	}
	return result, err
}

// Write writes the envelopes that leave, in their order.
func (c Crowd) Write(ctx context.Context, s blob.Store, w io.Writer) error {
	for j := range c.Buckets {
		body, err := s.Get(ctx, c.bucketName(j))
		if err == nil {
			body, err = c.Key.Open(c.bucketName(j), body)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, shuffler.ErrSealed) {
			return errors.Join(err, c.undo(ctx, s, gathered, j))
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(body); err != nil {
			return err
		}
	}
	return nil
}
