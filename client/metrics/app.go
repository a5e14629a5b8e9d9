package metrics

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/plan"
)

// App counts what its registry lists, on one device. Code that confetti metrics code writes makes one. It counts nothing
// before Start or Open, and is safe for concurrent use.
type App struct {
	Registry   []byte   // as confetti metrics sign wrote it
	Publishers []string // who must have signed it, and its studies
	// Problem is called by the steps that Start takes in the background, once for each failure that differs from the
	// last, such as a clock that was set back. The step is tried again. nil: failures are dropped.
	Problem func(error)
	// Aside says that calls are written down beside the state where this package is not loaded, as in a page. Step takes
	// them, and says in the state what may be written until the next one.
	Aside bool

	stepping sync.Mutex // one Step, Consent or Close at a time

	mu       sync.Mutex // of what follows
	options  client.Options
	registry Registry
	metrics  map[string]Metric // that are asked now; nil: the app is not open
	pending  map[string]value  // what was counted since it was kept last
	arms     map[string]arm    // as they were kept last
	first    map[string]bool   // experiments that showed their first arm without a draw, since it was kept last
}

var errClosed = refuse("ended", "metrics: the app is not open")

// off reports that a device is switched off.
func off() bool { return os.Getenv(client.Off) != "" }

// Open begins to count, in the store of the options, for the publishers of the app. Nothing is kept until the person
// agrees, and nothing is answered but by Step.
func (a *App) Open(o client.Options) error {
	o.Publishers = plan.Trust(a.Publishers...)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) error { return nil }
	}
	registry, err := Parse(a.Registry, o.Publishers)
	if err != nil {
		return err
	}
	if o.Store == nil || o.Transport == nil {
		return errors.New("metrics: no store or no transport: give Options.Store and Options.Transport, such as native.Folder and native.Transport")
	}
	listed := map[string]Metric{}
	for _, m := range registry.Metrics {
		listed[m.Name] = m
	}
	// Of somebody who has said nothing yet the device keeps nothing: neither that there is the app, nor which registry it has.
	if some, err := kept(o.Store); err != nil {
		return err
	} else if some {
		if err := a.change(o.Store, func(s *state) error { return s.open(registry, listed) }); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.options, a.registry, a.metrics, a.pending = o, registry, listed, map[string]value{}
	return nil
}

// change changes what is kept, as the function does that is no method, and notes which arms are kept.
func (a *App) change(store client.Store, f func(*state) error, remove ...string) error {
	var arms map[string]arm
	err := change(store, func(s *state) error {
		defer func() { arms = s.Arms }()
		return f(s)
	}, remove...)
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.arms = arms
	}
	return err
}

// Close keeps what was counted, and counts no more. What waits stays in the store.
func (a *App) Close() error {
	a.stepping.Lock()
	defer a.stepping.Unlock()
	err := a.keep()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.metrics, a.pending = nil, nil
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// Consent writes down what the person has said to the list of metrics as it is now. False destroys what is kept and
// what waits to be sent. What was drawn and spent stays, so that who agrees again is asked nothing twice.
func (a *App) Consent(agreed bool) error {
	a.stepping.Lock()
	defer a.stepping.Unlock()
	if agreed {
		if err := a.keep(); err != nil {
			return err
		}
	}
	taken, first := a.take(), a.takeFirst()
	o, r, listed := a.opened()
	if listed == nil {
		return errClosed
	}
	if !agreed {
		// What is kept goes first: who is interrupted in between keeps nothing of somebody who has said no.
		err := a.change(o.Store, func(s *state) error {
			if err := s.fold(o.Store, r, listed); err != nil {
				return err
			}
			s.showed(first, listed)
			s.expose(taken)
			s.forget()
			return o.Store.Remove(asideName)
		})
		if err != nil {
			a.restoreFirst(first)
			return err
		}
		return client.Consent(o.Store, false)
	}
	if err := client.Consent(o.Store, true); err != nil {
		a.restoreFirst(first)
		return err
	}
	err := a.change(o.Store, func(s *state) error {
		s.showed(first, listed)
		s.agree(listed, o.Now())
		return s.open(r, listed)
	})
	if err != nil {
		a.restoreFirst(first)
	}
	return err
}

// New returns in words what is asked that the person has not agreed to: at first all of it, later what an update has
// added or changed. Until Consent a device says "unset" of that.
func (a *App) New() ([]string, error) {
	o, _, listed := a.opened()
	if listed == nil {
		return nil, errClosed
	}
	s, err := load(o.Store)
	if err != nil {
		return nil, err
	}
	return s.fresh(listed), nil
}

// Record counts by name, for scripts. A counter takes a whole number, a number takes a number, and all others take a
// text: of a set one item, of a sequence one step, of an experiment one outcome. Record refuses a name that is not
// listed and a value of another type. It counts a value outside the metric's domain as such, and says so.
func (a *App) Record(name string, v any) error {
	switch v := v.(type) {
	case int:
		return a.count(name, true, value{N: float64(v)}, "counter", "number")
	case float64:
		return a.count(name, true, value{N: v}, "number")
	case string:
		return a.count(name, true, value{Text: v}, texts...)
	}
	return refuse("wrong-type", "metrics: %s: a %T is no value of a metric: give a whole number, a number or a text", plan.Quoted(name), v)
}

// texts lists the kinds that take a text.
var texts = []string{"category", "set", "string", "sequence", "experiment"}

// count adds a value to what is pending. Strict reports too that the app is not open.
func (a *App) count(name string, strict bool, v value, kinds ...string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.metrics == nil {
		if strict {
			return errClosed
		}
		return nil
	}
	m, listed := a.metrics[name]
	switch {
	case !listed:
		return refuse("unknown-metric", "metrics: %s is no metric of %s", plan.Quoted(name), a.registry.App)
	case !slices.Contains(kinds, m.Kind):
		return refuse("wrong-type", "metrics: %s is a %s, and takes no value of this type", name, m.Kind)
	}
	v, err := m.fits(v)
	if m.Kind == "sequence" && v.Some {
		v.steps = []stepped{{a.options.Now(), v.Text}}
	}
	if v.Some {
		a.pending[name] = m.add(a.pending[name], v)
	}
	return err
}

// counted reports whether something is pending.
func (a *App) counted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending)+len(a.first) > 0
}

// take returns what is pending, which it is no more.
func (a *App) take() map[string]value {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := maps.Clone(a.pending)
	clear(a.pending)
	return taken
}

// restore makes pending again what could not be kept.
func (a *App) restore(taken map[string]value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, v := range taken {
		if m, listed := a.metrics[name]; listed {
			if later, some := a.pending[name]; some {
				v = m.add(v, later)
			}
			a.pending[name] = v
		}
	}
}

// takeFirst returns which experiments showed their first arm without a draw, which are to be kept.
func (a *App) takeFirst() map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.first
	a.first = nil
	return taken
}

// restoreFirst makes pending again what could not be kept.
func (a *App) restoreFirst(taken map[string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range taken {
		a.shown(name)
	}
}

// opened returns what Open has set; listed is nil where the app is closed.
func (a *App) opened() (o client.Options, r Registry, listed map[string]Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.options, a.registry, a.metrics
}

// Counter counts how often something happens in a period.
type Counter struct {
	App  *App
	Name string
}

// Add counts n more; fewer are none.
func (c Counter) Add(n int) { _ = c.App.count(c.Name, false, value{N: float64(n)}, "counter") }

// Category keeps the last value of a period.
type Category[V ~string] struct {
	App  *App
	Name string
}

// Set keeps the value.
func (c Category[V]) Set(v V) { _ = c.App.count(c.Name, false, value{Text: string(v)}, "category") }

// Set keeps which items there were in a period.
type Set[V ~string] struct {
	App  *App
	Name string
}

// Add keeps an item.
func (s Set[V]) Add(item V) { _ = s.App.count(s.Name, false, value{Text: string(item)}, "set") }

// Number keeps one number of a period: the last, highest or lowest.
type Number struct {
	App  *App
	Name string
}

// Set gives it a number.
func (n Number) Set(x float64) { _ = n.App.count(n.Name, false, value{N: x}, "number") }

// String keeps the last text of a period, of which nobody has a list.
type String struct {
	App  *App
	Name string
}

// Set keeps the text.
func (s String) Set(text string) { _ = s.App.count(s.Name, false, value{Text: text}, "string") }

// Sequence keeps how far somebody came of some steps, in their order.
type Sequence[V ~string] struct {
	App  *App
	Name string
}

// Step keeps that this happened.
func (s Sequence[V]) Step(step V) {
	_ = s.App.count(s.Name, false, value{Text: string(step)}, "sequence")
}
