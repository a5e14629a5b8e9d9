package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// stateName is what everything of this package is kept under, beside the ledger.
const stateName = "metrics"

// state is what a device keeps. Agreements and values go with consent; seasons never do, nor does the ledger.
type state struct {
	App     string               `json:"app"`
	Version int                  `json:"version"`         // of the highest registry
	Seen    time.Time            `json:"seen"`            // what the clock showed last
	First   time.Time            `json:"first,omitzero"`  // the quarter of the first yes
	Agreed  map[string]agreement `json:"agreed"`          // by metric
	Arms    map[string]arm       `json:"arms,omitempty"`  // by experiment
	Ahead   map[string]value     `json:"ahead,omitempty"` // by sequence: one that will be over in a season that is not drawn yet
	Seasons map[string]*season   `json:"seasons"`
	Aside   *aside               `json:"aside,omitempty"`
}

// kept reports whether anything is kept: nothing is before a person's first word.
func kept(store client.Store) (bool, error) {
	_, err := store.Stamp(stateName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("metrics: %w", err)
	}
	return true, nil
}

// agreement says to what of a metric a person has agreed, and since when.
type agreement struct {
	To    string    `json:"to"`
	Since time.Time `json:"since"`
}

// season is one of a series. Its study is the first that the device has met: no other is answered in its place.
type season struct {
	Study string           `json:"study"`
	Round int              `json:"round"`          // drawn, as the ledger has it
	Wait  time.Duration    `json:"wait"`           // after the period's end, drawn too
	Said  bool             `json:"said,omitempty"` // the answer is in the ledger
	Over  bool             `json:"over,omitempty"` // nothing is to be done any more
	Kept  map[string]value `json:"kept,omitempty"` // of the drawn period, by metric
}

// value is what was counted of a metric in a period.
type value struct {
	Some  bool     `json:"-"`
	N     float64  `json:"n,omitempty"`
	Text  string   `json:"text,omitempty"`
	Items []string `json:"items,omitempty"`
	// Of a sequence N is how many steps it has reached, and Since when it began.
	Since time.Time `json:"since,omitzero"`
	Arm   string    `json:"-"` // of an experiment, whose outcome Text is
	steps []stepped // that are not kept yet
}

// load returns what is kept.
func load(store client.Store) (*state, error) {
	s := &state{Agreed: map[string]agreement{}, Seasons: map[string]*season{}}
	text, err := store.Load(stateName)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if strictjson.JSON(text, s) != nil || s.Agreed == nil || s.Seasons == nil {
		return nil, errors.New("metrics: what was kept is damaged, or of a later version: nothing is counted")
	}
	for _, one := range s.Seasons {
		if one == nil {
			return nil, errors.New("metrics: what was kept is damaged: nothing is counted")
		}
	}
	return s, nil
}

// change lets f change what is kept, alone, and then removes what is kept under other names, where it can.
func change(store client.Store, f func(*state) error, remove ...string) error {
	unlock, err := store.Lock()
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	defer unlock()
	s, err := load(store)
	if err != nil {
		return err
	}
	if err := f(s); err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = store.Replace(stateName, text)
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	for _, name := range remove {
		_ = store.Remove(name)
	}
	return nil
}

// open takes a registry, and refuses one of another app or one that was rolled back.
func (s *state) open(r Registry, listed map[string]Metric) error {
	switch {
	case s.App != "" && s.App != r.App:
		return refuse("other-app", "metrics: the store is of the app %q, and this is %q: give each app a store of its own", s.App, r.App)
	case r.Version < s.Version:
		return refuse("rolled-back", "metrics: registry %d of %s comes after registry %d: it was rolled back, and is not taken", r.Version, r.App, s.Version)
	}
	s.App, s.Version = r.App, r.Version
	s.retire(listed)
	s.draw(listed)
	return nil
}

// retire deletes what was kept of metrics that are not listed any more, and the agreement to them.
func (s *state) retire(listed map[string]Metric) {
	gone := func(name string) bool { _, there := listed[name]; return !there }
	for name := range s.Agreed {
		if gone(name) {
			delete(s.Agreed, name)
		}
	}
	maps.DeleteFunc(s.Arms, func(name string, a arm) bool {
		return gone(name) || a.Arm != "" && !slices.Contains(listed[name].Arms, a.Arm)
	})
	maps.DeleteFunc(s.Ahead, func(name string, _ value) bool { return gone(name) })
	for _, one := range s.Seasons {
		for name := range one.Kept {
			if gone(name) {
				delete(one.Kept, name)
			}
		}
	}
}

// agree notes that the person has agreed to what is listed. Who had agreed to the same before has since then.
func (s *state) agree(listed map[string]Metric, now time.Time) {
	before := s.Agreed
	s.Agreed = map[string]agreement{}
	for name, m := range listed {
		if s.Agreed[name] = (agreement{m.hash(), now.UTC()}); before[name].To == m.hash() {
			s.Agreed[name] = before[name]
		}
	}
	if s.First.IsZero() {
		at := now.UTC()
		s.First = time.Date(at.Year(), (at.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
	}
}

// fresh returns in words what is listed that the person has not agreed to.
func (s *state) fresh(listed map[string]Metric) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if m := listed[name]; s.Agreed[name].To != m.hash() {
			all = append(all, m.Says())
		}
	}
	return all
}

// forget deletes every value and agreement.
func (s *state) forget() {
	s.Agreed, s.Ahead, s.First = map[string]agreement{}, nil, time.Time{}
	s.leave()
	for _, one := range s.Seasons {
		one.Kept = nil
	}
	if s.Aside != nil {
		s.Aside = &aside{Number: s.Aside.Number + 1, Registry: s.Aside.Registry, Windows: []window{}}
	}
}

// counts reports whether the device counted the metric in the whole of a period that began then, and the person has
// agreed to it as its series asks it. Who agrees to another one in between says nothing of this one any more.
func (s *state) counts(m Metric, listed map[string]Metric, from time.Time) bool {
	if m.Kind == "sequence" {
		from, _ = m.began(from, from)
	}
	a, agreed := s.Agreed[m.Name]
	now, still := listed[m.Name]
	return agreed && still && now.Kind == m.Kind && a.To == m.hash() && !a.Since.After(from) && !m.Ended(from)
}

// says returns what a device says of a metric of a period, given what was kept of all that its series asks.
func (s *state) says(m Metric, series Series, kept map[string]value, listed map[string]Metric, from, until time.Time) any {
	v, some := kept[m.Name]
	whole := s.counts(m, listed, from)
	switch m.Kind {
	case "table":
		return s.cross(m, series, kept, listed, from, until)
	case "experiment":
		if v.Arm = s.drawn(m, until); v.Arm == "" {
			some = false
		} else if some = true; v.Text == "" {
			v.Text = m.Outcomes[0]
		}
	}
	return m.answer(v, some, whole)
}

// fits returns the value as the metric keeps it, and says if it is outside its domain. One with nothing to keep is
// none.
func (m Metric) fits(v value) (value, error) {
	v.Some = true
	switch m.Kind {
	case "counter":
		if v.N < 0 {
			return value{}, refuse("outside-domain", "metrics: %s counts from 0 up, and not down", m.Name)
		}
	case "number":
		if !plan.Finite(v.N) {
			return value{}, refuse("outside-domain", "metrics: %s takes finite numbers", m.Name)
		}
	case "string":
		if n := m.length(v.Text); n < 1 || n > m.Longest {
			return value{}, refuse("outside-domain", "metrics: %s takes texts of 1 to %d characters of its alphabet, and this is none: it is not kept", m.Name, m.Longest)
		}
	case "sequence":
		if !slices.Contains(m.Steps, v.Text) {
			return value{}, fmt.Errorf("metrics: %s has %d steps, and this is none of them: it is not kept", m.Name, len(m.Steps))
		}
	case "experiment":
		if !slices.Contains(m.Outcomes, v.Text) {
			return value{}, fmt.Errorf("metrics: %s has %d outcomes, and this is none of them: it is not kept", m.Name, len(m.Outcomes))
		}
	default:
		if !slices.Contains(m.Values, v.Text) {
			v.Text = other
			return v, refuse("outside-domain", "metrics: %s lists %d values, and this is none of them: it counts as another one", m.Name, len(m.Values))
		}
	}
	return v, nil
}

// length returns how many characters a string has; 0 where one is not in the alphabet.
func (m Metric) length(text string) (n int) {
	if m.Alphabet == "" {
		return len(text)
	}
	for _, r := range text {
		if !strings.ContainsRune(m.Alphabet, r) {
			return 0
		}
		n++
	}
	return n
}

// field returns the name that a plan asks the metric by.
func (m Metric) field() string {
	if m.Kind == "string" {
		return "string"
	}
	return m.Name
}

// add returns what is kept of a metric once another value has come to what there was.
func (m Metric) add(before, v value) value {
	if m.Kind == "set" {
		items := v.Items
		if v.Text != "" {
			items = []string{v.Text}
		}
		all := value{Some: true, Items: before.Items}
		for _, item := range items {
			if !slices.Contains(all.Items, item) {
				all.Items = append(slices.Clip(all.Items), item)
			}
		}
		return all
	}
	if m.Kind == "sequence" {
		return value{Some: true, steps: m.append(before.steps, v.steps)}
	}
	if !before.Some {
		return v
	}
	v.Some = true
	switch {
	case m.Kind == "experiment":
		if slices.Index(m.Outcomes, v.Text) < slices.Index(m.Outcomes, before.Text) {
			v.Text = before.Text
		}
		if !before.Since.IsZero() {
			v.Since = before.Since
		}
	case m.Kind == "counter":
		v.N = math.Min(before.N+v.N, math.MaxInt32)
	case m.Keep == "highest":
		v.N = math.Max(before.N, v.N)
	case m.Keep == "lowest":
		v.N = math.Min(before.N, v.N)
	}
	return v
}

// answer returns what a device says of the metric, as its series asks. Whole reports whether it counted the whole period,
// some whether there was anything.
func (m Metric) answer(v value, some, whole bool) any {
	if m.Kind == "set" {
		if !some || !whole {
			return []string{}
		}
		return v.Items[:min(len(v.Items), m.Most)]
	}
	switch {
	case m.Kind == "string" && !(some && whole):
		return strings.Repeat("?", m.Longest+1) // too long: the plan says one reserved string of those without any
	case whole && !some && (m.Kind == "sequence" || m.Kind == "experiment"):
		return none
	case !whole, !some && m.Kind != "counter":
		return unset
	case m.Kind == "sequence":
		return m.reached()[min(len(m.Steps), max(1, int(v.N)))-1]
	case m.Kind == "experiment":
		return v.Arm + " / " + v.Text
	case m.Kind == "category", m.Kind == "string":
		return v.Text
	}
	return m.cell(m.cellOf(v.N))
}

// cellOf returns the cell of a number.
func (m Metric) cellOf(n float64) (cell int) {
	for cell < len(m.Edges) && n >= m.Edges[cell] {
		cell++
	}
	return cell
}
