// Package keeptest holds every engine of storage to what package keep promises: random sequences of calls beside a
// reference in memory, and many callers at once. Used by tests of internal/storage/keep, and by whoever writes a
// keep.Store over another database.
package keeptest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Engine makes stores of one kind.
type Engine struct {
	// New makes a store that has its main shelf and nothing more. It goes with the test.
	New func(testing.TB) Disk

	// Shared says that a second process may open a store that is open.
	Shared bool
}

// Disk is where a store lies, whoever opens it.
type Disk struct {
	// Open opens the store, as a process does that starts.
	Open func(context.Context) (keep.Store, error)

	// Kill ends whoever has the store open without a warning, as kill -9 does or a
	// database that is cut off. What they have opened need not work any more. nil leaves out
	// what needs it.
	Kill func()

	// Spoil changes a byte of a row as it lies there, as a disk does, whoever has the store open.
	// nil leaves out what needs it.
	Spoil func(tb testing.TB, shelf string, t keep.Table, key string)
}

// A part is a group of promises.
type part struct {
	name string
	hold func(testing.TB, Engine)
}

var parts = []part{
	{"Sequences", sequences},
	{"Names", names},
	{"Keys", keys},
	{"Bounds", bounds},
	{"Refusals", refusals},
	{"Order", order},
	{"Values", values},
	{"Contexts", contexts},
	{"Closed", closed},
	{"Secrets", secrets},
	{"Alone", alone},
	{"Counted", counted},
	{"SealWaits", sealWaits},
	{"SealStops", sealStops},
	{"OneWins", oneWins},
	{"WholeCalls", wholeCalls},
	{"Drops", drops},
	{"Ended", ended},
	{"Killed", Killed},
	{"Aside", aside},
	{"NotAside", notAside},
}

// Run holds an engine to all promises, but for parts by these names.
func Run(t *testing.T, e Engine, but ...string) {
	for _, p := range parts {
		if !slices.Contains(but, p.name) {
			t.Run(p.name, func(t *testing.T) { p.hold(t, e) })
		}
	}
}

// open opens a store, which the caller closes or kills.
func open(tb testing.TB, d Disk) keep.Store {
	tb.Helper()
	s, err := d.Open(tb.Context())
	if err != nil {
		tb.Fatalf("the store does not open: %v", err)
	}
	return s
}

// made returns a store with a shelf of the name "shelf", and closes it with the test.
func made(tb testing.TB, e Engine) (Disk, keep.Store, keep.Shelf) {
	tb.Helper()
	d := e.New(tb)
	store := open(tb, d)
	tb.Cleanup(func() { store.Close() })
	s, err := store.Create(tb.Context(), "shelf")
	if err != nil {
		tb.Fatalf("a shelf cannot be made: %v", err)
	}
	return d, store, s
}

// seats returns the shelf as each of n callers sees it: where the engine is shared, every
// second one is of another process.
func seats(tb testing.TB, e Engine, n int) []keep.Shelf {
	tb.Helper()
	d, _, s := made(tb, e)
	all := make([]keep.Shelf, n)
	other := s
	if e.Shared {
		store := open(tb, d)
		tb.Cleanup(func() { store.Close() })
		var err error
		if other, err = store.Open(tb.Context(), "shelf"); err != nil {
			tb.Fatalf("another process does not find the shelf: %v", err)
		}
	}
	for i := range all {
		if all[i] = s; i%2 == 1 {
			all[i] = other
		}
	}
	return all
}

// together runs n callers at once and fails with what any of them says.
func together(tb testing.TB, n int, call func(i int) error) {
	tb.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = call(i) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}

// kinds are the errors that callers tell apart.
var kinds = map[error]string{
	keep.ErrTaken: "taken", keep.ErrSealed: "sealed", keep.ErrFull: "full", keep.ErrDamaged: "damaged",
	keep.ErrUnavailable: "unavailable", keep.ErrMissing: "missing", keep.ErrExists: "exists", keep.ErrDropped: "dropped",
	errOwn: "own",
}

// errOwn is an error of a caller's function.
var errOwn = errors.New("keeptest: of the caller's own")

// kind returns which error it is, in a word.
func kind(err error) string {
	if err == nil {
		return "done"
	}
	for known, word := range kinds {
		if errors.Is(err, known) {
			return word
		}
	}
	return "refused"
}

// want fails where an error is of another kind.
func want(tb testing.TB, what string, err error, word string) {
	tb.Helper()
	if got := kind(err); got != word {
		tb.Fatalf("%s is %q and must be %q: %v", what, got, word, err)
	}
}

// must fails with an error.
func must(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// all returns a table's rows by key.
func all(tb testing.TB, s keep.Shelf, t keep.Table) map[string]string {
	tb.Helper()
	rows := map[string]string{}
	must(tb, "reading a table", s.Each(tb.Context(), t, "", func(key string, value []byte) error {
		rows[key] = string(value)
		return nil
	}))
	return rows
}
