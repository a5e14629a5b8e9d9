package shufflerd

import (
	"context"
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// Status is how one hop of one instance of a plan is getting on. It holds what
// anybody may know: nothing of a crowd that is still being collected but a rough
// number, and not that where the plan keeps the sizes of crowds private.
type Status struct {
	Plan      string    `json:"plan"`
	Title     string    `json:"title"`
	Instance  int       `json:"instance"`
	Hop       int       `json:"hop"`
	Opens     time.Time `json:"opens,omitzero"`
	Closes    time.Time `json:"closes"`
	Phase     string    `json:"phase"`               // "collecting", "closed"; later hops "waiting" until a batch has come
	Failing   string    `json:"failing,omitempty"`   // what was tried last and is tried again
	Stopped   string    `json:"stopped,omitempty"`   // "suspended": nothing is done until its publishers are trusted again; "withdrawn": it is being destroyed
	Forgotten string    `json:"forgotten,omitempty"` // what the next one acknowledged and does not know any more
	Lost      string    `json:"lost,omitempty"`      // contributions that were damaged on disk and set aside: a number, or "private"
	Crowds    []Crowd   `json:"crowds"`
}

// Crowd is a Status's crowd.
type Crowd struct {
	Crowd uint32 `json:"crowd"`
	Phase string `json:"phase"`          // "collecting", "arriving", "received", "mixing", "mixed", "forwarded", "withheld"
	Lost  bool   `json:"lost,omitzero"`  // withheld, because its batch was damaged on disk
	Aside int    `json:"aside,omitzero"` // envelopes of its batch that were damaged on disk and set aside
	About string `json:"about,omitzero"` // collecting: "fewer than n_min", "at least N", N a power of two or n_min; "private"

	// From mixed on, as in the receipt; of the contributions that stayed, where
	// sizes are private.
	Respondents uint64 `json:"respondents,omitempty"`
	In          uint64 `json:"in,omitempty"`
	Out         uint64 `json:"out,omitempty"`
	Dropped     uint64 `json:"dropped,omitempty"`
	Duplicates  uint64 `json:"duplicates,omitempty"`
	Tokens      uint64 `json:"tokens,omitempty"`
}

// Statuses lists all posts of all plans.
func (s *Service) Statuses(ctx context.Context) []Status {
	var all []Status
	for _, t := range s.posts() {
		all = append(all, t.status(ctx))
	}
	return all
}

func (t *post) status(ctx context.Context) Status {
	var lost uint64
	counts := make([]int, len(t.crowds))
	if t.entry != nil {
		lost = t.entry.Lost(ctx)
		for c := range counts {
			if t.plan.Crowd.Deletion == nil && t.state(uint32(c)).Phase == "" {
				counts[c] = t.entry.Count(ctx, uint32(c))
			}
		}
	}
	stopped := ""
	if _, withdrawn := t.s.withdrawals.Find(t.hash); withdrawn {
		stopped = "withdrawn"
	} else if p, served := t.s.plans.Find(t.hash); served && t.s.plans.Suspended(p.hash) != nil {
		stopped = "suspended"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	st := Status{
		Plan: t.plan.Name(), Title: t.plan.Title, Instance: t.instance, Hop: t.hop,
		Opens: t.plan.Times.Opens, Closes: t.plan.Times.Closes, Phase: "waiting", Failing: t.failed, Stopped: stopped, Forgotten: t.forgotten,
	}
	for c, r := range t.refusals {
		if r.times >= enough {
			st.Failing = fmt.Sprintf("%s: the batch of crowd %d is not sent again before a restart", r.why, c+1)
		}
	}
	if t.entry != nil {
		st.Phase = "collecting"
		if t.entry.Mark().Closed {
			st.Phase = "closed"
		}
	}
	switch {
	case lost > 0 && t.plan.Crowd.Deletion != nil:
		st.Lost = "private"
	case lost > 0:
		st.Lost = fmt.Sprint(lost)
	}
	for c, state := range t.crowds {
		one := Crowd{Crowd: uint32(c), Phase: string(state.Phase), Lost: state.Lost, Aside: state.Damaged + state.Before}
		switch state.Phase {
		case "":
			one.Phase = "collecting"
			if t.entry != nil {
				one.About = t.about(counts[c])
			}
		case mixed, forwarded:
			if r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1]); err == nil {
				one.Respondents, one.In, one.Out, one.Dropped, one.Duplicates, one.Tokens = r.Respondents, r.In, r.Out, r.Dropped, r.Duplicates, r.Tokens
			}
			st.Phase = "closed"
		case received, laidOut, withheld:
			st.Phase = "closed"
		}
		st.Crowds = append(st.Crowds, one)
	}
	return st
}

// about says roughly how many there are: so roughly that watching it does not
// show when somebody came.
func (t *post) about(n int) string {
	least := t.plan.Crowd.Minimum
	switch {
	case t.plan.Crowd.Deletion != nil:
		return "private"
	case n < least:
		return fmt.Sprintf("fewer than %d", least)
	}
	return fmt.Sprintf("at least %d", max(least, 1<<(bits.Len(uint(n))-1)))
}

// Status returns the page of the service, for serve.Config.
func (s *Service) Status(ctx context.Context) *serve.Status {
	page := &serve.Status{Alarms: s.plans.Unserved()}
	if s.disclosing() {
		page.Facts = append(page.Facts, serve.Fact{Name: "on disk", Value: "private, as the sizes of crowds here are"})
	} else if n, err := s.quota.Bytes(ctx); err == nil {
		page.Facts = append(page.Facts, serve.Fact{Name: "on disk", Value: fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)), Data: onDisk{n}})
	}
	if n, oldest := s.backlog(); n > 0 {
		waits := s.o.Now().Sub(oldest).Round(time.Second)
		page.Facts = append(page.Facts, serve.Fact{Name: "backlog", Value: fmt.Sprintf("%s, the oldest for %s", serve.Count(n, "batch waits", "batches wait"), waits), Data: waiting{n, oldest.UTC()}})
	} else {
		page.Facts = append(page.Facts, serve.Fact{Name: "backlog", Value: "no batch waits", Data: waiting{}})
	}
	for _, st := range s.Statuses(ctx) {
		where := fmt.Sprintf("%s instance %d hop %d", plan.Short(st.Plan), st.Instance+1, st.Hop+1)
		if st.Failing != "" {
			page.Alarms = append(page.Alarms, where+": "+st.Failing)
		}
		if st.Forgotten != "" {
			page.Alarms = append(page.Alarms, where+": "+st.Forgotten)
		}
		if st.Lost != "" {
			page.Alarms = append(page.Alarms, fmt.Sprintf("%s: contributions were damaged on disk and set aside, %s in number: look at the disk", where, st.Lost))
		}
		if full, known := st.reached(); known {
			page.Gauges = append(page.Gauges, serve.Gauge{
				Name: where, Share: float64(full) / float64(len(st.Crowds)),
				Text: fmt.Sprintf("%d of %s enough respondents", full, serve.Count(len(st.Crowds), "crowd has", "crowds have")),
				Data: filling{st.Plan, st.Instance, st.Hop, full, len(st.Crowds)},
			})
		}
		table := serve.Table{
			Title:   fmt.Sprintf("%s: %s, %s, closes %s", where, st.Title, st.Phase, st.Closes.UTC().Format(time.RFC3339)),
			Columns: []string{"crowd", "phase", "respondents", "in", "out", "dropped", "duplicates", "tokens"},
			Data:    st,
		}
		for _, c := range st.Crowds {
			if c.Lost {
				page.Alarms = append(page.Alarms, fmt.Sprintf("%s: the batch of crowd %d was damaged on disk and is lost: look at the disk", where, c.Crowd+1))
			}
			if c.Aside > 0 {
				page.Alarms = append(page.Alarms, fmt.Sprintf("%s: of the batch of crowd %d, %s damaged on disk and set aside: look at the disk", where, c.Crowd+1, serve.Count(c.Aside, "envelope was", "envelopes were")))
			}
			row := []string{fmt.Sprint(c.Crowd + 1), c.Phase, c.About}
			if c.Respondents > 0 {
				row[2] = fmt.Sprint(c.Respondents)
				for _, n := range []uint64{c.In, c.Out, c.Dropped, c.Duplicates, c.Tokens} {
					row = append(row, fmt.Sprint(n))
				}
			}
			table.Rows = append(table.Rows, row)
		}
		page.Tables = append(page.Tables, table)
	}
	page.Tables = append(page.Tables, s.withdrawals.Table()...)
	return page
}

// What the page has beside its texts, for programs; a table has a Status.
type (
	onDisk struct {
		Bytes any `json:"bytes"`
	}
	waiting struct {
		Batches int       `json:"batches"`
		Oldest  time.Time `json:"oldest,omitzero"`
	}
	filling struct {
		Plan     string `json:"plan"`
		Instance int    `json:"instance"`
		Hop      int    `json:"hop"`
		Full     int    `json:"full"` // crowds with enough respondents
		Crowds   int    `json:"crowds"`
	}
)

// backlog returns how many crowds are here to be mixed or handed on, and since when the one is that
// has waited longest, as far as this process has seen.
func (s *Service) backlog() (n int, oldest time.Time) {
	for _, t := range s.posts() {
		t.mu.Lock()
		for c, state := range t.crowds {
			if state.Phase != received && state.Phase != laidOut && state.Phase != mixed {
				continue
			}
			if at := t.changed[uint32(c)]; n == 0 || at.Before(oldest) {
				oldest = at
			}
			n++
		}
		t.mu.Unlock()
	}
	return n, oldest
}

// disclosing reports whether the bytes on disk would tell the size of a crowd that
// is private: contributions are of one length, and lie there until they are mixed.
func (s *Service) disclosing() bool {
	return slices.ContainsFunc(s.posts(), func(t *post) bool {
		return t.entry != nil && t.plan.Crowd.Deletion != nil && !t.entry.Mark().Purged
	})
}

// reached returns how many crowds that are being collected have enough respondents,
// where that may be known.
func (st Status) reached() (full int, known bool) {
	for _, c := range st.Crowds {
		if c.About == "private" || c.About == "" {
			return 0, false
		}
		if strings.HasPrefix(c.About, "at least") {
			full++
		}
	}
	return full, true
}

// meters are the numbers of /metrics. They add up over plans, and leave out what
// would show the size of a crowd that is private.
type meters struct{ contributions, batches, withheld, envelopes *metrics.Counter }

func newMeters(m *serve.Metrics) meters {
	return meters{
		contributions: m.Meter.Counter("contributions", "Contributions accepted, of plans whose crowds have public sizes."),
		batches:       m.Meter.Counter("batches", "Crowds mixed."),
		withheld:      m.Meter.Counter("crowds_withheld", "Crowds destroyed for having fewer respondents than their plan's minimum."),
		envelopes:     m.Meter.Counter("envelopes", "Envelopes handed on."),
	}
}

// showStatus answers with the statuses of a plan's posts here.
func (s *Service) showStatus(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	if err := s.withdrawals.Err(hash); err != nil {
		return err
	}
	p, ok := s.plans.Find(hash)
	if !ok {
		return wire.Problemf(wire.UnknownPlan, "the plan %s", plan.Short(fmt.Sprintf("%x", hash)))
	}
	var all []Status
	for _, t := range p.posts {
		all = append(all, t.status(r.Context()))
	}
	return serve.WriteJSON(w, all)
}
