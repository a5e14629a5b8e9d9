package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// reader is what there is to read at one, by its public paths.
type reader struct {
	base string
	ask  Asker

	mu       sync.Mutex
	plans    map[string]*asked    // by name: a plan never changes
	releases map[string]*released // likewise
	rounds   map[string]*trended  // likewise

	reading sync.Mutex // held while a release is read
}

// kept is how many plans, and how many releases, are held at once.
const kept = 32

// asked is a plan, with what follows from it.
type asked struct {
	signed   plan.Signed
	text     []byte
	protocol *protocol.Protocol
	promise  protocol.Promise
	words    statement.Plan // of its releases
}

// keep holds one more, in the place of another where there are enough: whichever a map gives first,
// which is nobody's to choose.
func keep[T any](all *map[string]T, name string, one T) {
	if *all == nil {
		*all = map[string]T{}
	}
	if _, there := (*all)[name]; !there && len(*all) >= kept {
		for other := range *all {
			delete(*all, other)
			break
		}
	}
	(*all)[name] = one
}

// errSilent is of an analyzer that gives no answer of its own.
var errSilent = errors.New("the analyzer does not answer")

// get asks the analyzer for one of its public paths.
func (a *reader) get(ctx context.Context, url string) ([]byte, error) {
	text, err := a.ask.Get(ctx, url)
	if _, answers := errors.AsType[*wire.Problem](err); err != nil && !answers {
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	}
	return text, err
}

// list returns every collection that the analyzer has, the newest first.
func (a *reader) list(ctx context.Context) ([]analyzerd.Plan, error) {
	all, err := analyzerd.ListPlans(ctx, a.base, a.get)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b analyzerd.Plan) int { return b.Registered.Compare(a.Registered) })
	return all, nil
}

// find returns one collection of the list.
func (a *reader) find(ctx context.Context, name string) (analyzerd.Plan, error) {
	all, err := a.list(ctx)
	if err != nil {
		return analyzerd.Plan{}, err
	}
	for _, p := range all {
		if p.Plan == name {
			return p, nil
		}
	}
	return analyzerd.Plan{}, errNoPage
}

// withdrawn lists the rounds of a study, up to this one, that were withdrawn.
func (a *reader) withdrawn(ctx context.Context, of analyzerd.Plan) (rounds []int, err error) {
	all, err := a.list(ctx)
	for _, p := range all {
		if p.Study == of.Study && p.Study != "" && p.Round <= of.Round && p.Withdrawal != nil {
			rounds = append(rounds, p.Round)
		}
	}
	slices.Sort(rounds)
	return rounds, err
}

// collection returns one of the list, with its plan.
func (a *reader) collection(ctx context.Context, name string) (analyzerd.Plan, *asked, error) {
	p, err := a.find(ctx, name)
	if err != nil {
		return p, nil, err
	}
	one, err := a.plan(ctx, name)
	return p, one, err
}

// signed reads a plan. It refuses one that has another name, or that its own signatures do not verify.
func (a *reader) signed(ctx context.Context, name string) (plan.Signed, []byte, error) {
	hash, err := wire.ParsePlanName(name)
	if err != nil {
		return plan.Signed{}, nil, errNoPage
	}
	text, err := a.get(ctx, a.base+wire.PlanPath(hash))
	if err != nil {
		return plan.Signed{}, nil, err
	}
	signed, err := verified(text)
	if err == nil && signed.Plan.Name() != name {
		err = errors.New("the analyzer gives another plan than was asked for")
	}
	return signed, text, err
}

// plan reads a signed plan, and computes what it promises.
func (a *reader) plan(ctx context.Context, name string) (*asked, error) {
	a.mu.Lock()
	one := a.plans[name]
	a.mu.Unlock()
	if one != nil {
		return one, nil
	}
	signed, text, err := a.signed(ctx, name)
	if err != nil {
		return nil, err
	}
	one = &asked{signed: signed, text: text}
	if one.protocol, err = protocol.New(signed.Plan); err != nil {
		return nil, err
	}
	if one.promise, err = one.protocol.Promise(); err != nil {
		return nil, err
	}
	one.words = statement.Plan{Protocol: one.protocol, Promise: one.promise, Study: signed.Study}
	if one.promise.Statements, err = one.protocol.Stated(one.promise, signed.Study); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	keep(&a.plans, name, one)
	return one, nil
}

// read has the answer to one of the analyzer's public paths read as it comes.
func (a *reader) read(ctx context.Context, url string, read func(io.Reader) error) error {
	err := a.ask.Read(ctx, url, read)
	if _, answers := errors.AsType[*wire.Problem](err); err != nil && !answers {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return err
}

// released is a release, with its counts where it has any.
type released struct {
	release.Release
	digest [sha256.Size]byte // of release.json
	counts []sheets.ValueCount
	tables [][]table // by attribute and crowd
	apart  string    // why there are no tables
}

// Bounds of what is drawn: of more counts a spreadsheet draws what it likes. All releases that are
// kept have no more counts together than one may have.
const (
	maxCounts = 50_000
	maxSheet  = 32 << 20 // bytes
)

// released returns the release that is kept, if it is.
func (a *reader) released(name string) *released {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.releases[name]
}

// release reads a release. One is read at a time: it takes more memory than it does once it is read.
func (a *reader) release(ctx context.Context, of *asked) (*released, error) {
	name := of.signed.Plan.Name()
	if one := a.released(name); one != nil {
		return one, nil
	}
	a.reading.Lock()
	defer a.reading.Unlock()
	if one := a.released(name); one != nil { // another request has read it
		return one, nil
	}
	text, err := a.file(ctx, name, "json")
	if err != nil {
		return nil, err
	}
	r, err := release.Read(bytes.NewReader(text))
	if err == nil && r.Plan != name {
		err = errors.New("the analyzer gives the release of another plan than was asked for")
	}
	if err == nil {
		err = of.words.Write(&r)
	}
	if err != nil {
		return nil, err
	}
	one := &released{Release: r, digest: sha256.Sum256(text)}
	if len(results.Offered(of.signed.Plan.Question)) > 0 { // there are counts of what has a name
		if err := one.count(ctx, a, of); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := len(one.counts)
	for other, r := range a.releases { // some of them, which a map gives in no order of anybody's
		if counts += len(r.counts); counts > maxCounts {
			counts -= len(r.counts)
			delete(a.releases, other)
		}
	}
	keep(&a.releases, name, one)
	return one, nil
}

// count reads the counts of a histogram, and puts its tables together.
func (r *released) count(ctx context.Context, a *reader, of *asked) error {
	p := of.signed.Plan
	if err := r.read(ctx, a, p); err != nil || r.apart != "" {
		return err
	}
	all, err := results.Tables(p, r.Release, r.counts)
	if err != nil {
		r.apart = "Values cannot be put together here: " + err.Error()
	}
	r.tables = r.tabled(all)
	return nil
}

// read reads the counts of a plan, as they come.
func (r *released) read(ctx context.Context, a *reader, p plan.Plan) error {
	at, err := a.path(p.Name(), sheets.CountsFile)
	if err != nil {
		return err
	}
	var unfit error // of the table: the analyzer has answered
	err = a.read(ctx, at, func(from io.Reader) error {
		broken := &breaks{from: http.MaxBytesReader(nil, io.NopCloser(from), maxSheet)}
		r.counts, unfit = sheets.ReadCounts(broken, maxCounts)
		if _, long := errors.AsType[*http.MaxBytesError](broken.err); long {
			return nil
		}
		return broken.err
	})
	if err != nil {
		return err
	}
	if unfit != nil {
		r.counts, r.apart = nil, "There are too many values to draw here, or the table is of another form; the table of counts has all."
	}
	return nil
}

// breaks remembers why a text broke off before its end.
type breaks struct {
	from io.Reader
	err  error
}

func (b *breaks) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// path returns where one file of a release is.
func (a *reader) path(name, format string) (string, error) {
	hash, err := wire.ParsePlanName(name)
	if err != nil {
		return "", errNoPage
	}
	return a.base + wire.ReleasePath(hash, format), nil
}

// file reads one file of a release.
func (a *reader) file(ctx context.Context, name, format string) ([]byte, error) {
	at, err := a.path(name, format)
	if err != nil {
		return nil, err
	}
	return a.get(ctx, at)
}

// verified reads a signed plan whose signatures are its publishers', whoever they are: pages
// say who.
func verified(text []byte) (plan.Signed, error) {
	u, err := plan.SplitSigned(text)
	if err != nil {
		return plan.Signed{}, err
	}
	if err := u.Verify(plan.Trust(u.Signers()...)); err != nil {
		return plan.Signed{}, err
	}
	return u.Parse()
}
