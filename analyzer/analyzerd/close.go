package analyzerd

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/analyzer"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/store"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/findings"
	"github.com/confetti-dp/confetti/release/page"
)

// byTime is the name under which a collection is closed whose time has come.
const byTime = "the plan's times.closes"

// Run closes collections when their time has come, takes up what an earlier
// process left half done, and deletes what has expired, until the context ends.
func (s *Service) Run(ctx context.Context) error {
	tick, daily := time.NewTicker(poll), time.NewTicker(checkEvery)
	defer tick.Stop()
	defer daily.Stop()
	s.check(ctx, s.o.Store.CheckLedger) // the rest was read when the store was opened
	for {
		if err := s.Step(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Error("closing collections", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-daily.C:
			s.check(ctx, s.o.Store.Check)
		case <-tick.C:
		}
	}
}

// checkEvery is how often the whole database is read for damage.
const checkEvery = 24 * time.Hour

// check looks for damage, and keeps what it finds for the status.
func (s *Service) check(ctx context.Context, look func(context.Context) error) {
	err := look(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.o.Log.Error("the database is not as it was written", "reason", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rotten = err
}

// rot is what the last check found; the ledger is asked each time.
func (s *Service) rot() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.rotten, store.ErrLedger) {
		return nil
	}
	return s.rotten
}

// Step does once what Run does all the time. What goes wrong with one plan does
// not keep the others waiting.
func (s *Service) Step(ctx context.Context) error {
	plans, err := s.o.Store.Plans(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range plans {
		if !p.Decided.IsZero() {
			if err := s.follow(ctx, p); err != nil {
				errs = append(errs, fmt.Errorf("analyzer: what follows plan %s: %w", p.Name, err))
			}
			continue
		}
		if err := s.ripe(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("analyzer: plan %s: %w", p.Name, err))
		}
		due, err := s.due(ctx, p)
		if err == nil && due && s.suspended(ctx, p.Name) != nil {
			continue // the status says so
		}
		if err == nil && due && p.Closed.IsZero() {
			err = s.agreed(ctx, p.Name)
		}
		if err == nil && due {
			err = s.Conclude(ctx, p.Name, byTime)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("analyzer: plan %s: %w", p.Name, err))
		}
	}
	return errors.Join(append(errs, s.expire(ctx))...)
}

// ripe fetches sums from the end of a collection on, until it is written up.
func (s *Service) ripe(ctx context.Context, p store.Plan) error {
	o, err := s.outline(ctx, p.Name)
	if err != nil || !o.summed || o.closes.IsZero() || s.o.Now().Before(o.closes) || s.suspended(ctx, p.Name) != nil {
		return nil // what is wrong with a plan, due says
	}
	return s.collect(ctx, p.Name)
}

// due reports whether a plan is to be written up: it is closed, or its time has come.
func (s *Service) due(ctx context.Context, p store.Plan) (bool, error) {
	if !p.Closed.IsZero() {
		return true, nil
	}
	o, err := s.outline(ctx, p.Name)
	if err != nil {
		return false, err
	}
	if o.closes.IsZero() || s.o.Now().Before(o.closes.Add(s.o.Grace)) {
		return false, nil
	}
	return true, s.o.Clock.Settled() // a verdict is for good
}

// expire deletes old tallies, now and then.
func (s *Service) expire(ctx context.Context) error {
	now := s.o.Now()
	s.mu.Lock()
	due := now.Sub(s.expired) >= time.Minute || now.Before(s.expired) // a clock may go back
	s.mu.Unlock()
	if !due || s.o.Clock.Settled() != nil {
		return nil
	}
	n, err := s.o.Store.Expire(ctx, now.Add(-s.o.Retention))
	if err != nil {
		return err
	}
	if n > 0 {
		s.o.Log.Info("old tallies deleted", "batches", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = now
	return nil
}

// Conclude closes a collection and publishes its release, or records why there is
// none. What was concluded before stays as it was.
func (s *Service) Conclude(ctx context.Context, name, closer string) error {
	s.concluding.Lock() // tallies of one plan at a time
	defer s.concluding.Unlock()
	if hash, err := wire.ParsePlanName(name); err != nil {
		return err
	} else if err := s.standing(ctx, hash); err != nil {
		return err
	}
	// Whoever closes it by hand is told that a sum cannot be had. Once its time is over
	// it is written up without.
	if err := s.collect(ctx, name); err != nil && closer != byTime {
		return err
	}
	if _, err := s.o.Store.CloseCollection(ctx, name, closer, s.o.Now()); err != nil {
		return err
	}
	if err := s.o.Failpoint("closed"); err != nil {
		return err
	}
	p, err := s.o.Store.Plan(ctx, name)
	if err != nil || !p.Decided.IsZero() {
		return err
	}
	run, err := s.run(ctx, name)
	if err != nil {
		return err
	}
	if err := s.compare(ctx, name); err != nil {
		return err
	}
	c, err := s.counted(ctx, name, run.protocol)
	if err != nil {
		return err
	}
	if c.study = run.signed.Study; c.study != nil && c.study.Merged {
		if c.all, err = s.together(ctx, run); err != nil {
			return err
		}
	}
	if p := run.signed.Plan; s.o.Audit != nil && p.State != "" {
		if c.state, err = s.o.Store.State(ctx, p.State); err != nil {
			return err
		}
	}
	var public findings.Public
	if s.o.Public != nil {
		if public, err = s.o.Public(run.signed.Plan); err != nil {
			return err
		}
	}
	v := s.verdict(run.protocol, c, public)
	if err := s.o.Failpoint("written-up"); err != nil {
		return err
	}
	if outcome, err := s.o.Store.Decide(ctx, name, v); err != nil || outcome == store.Again { // withdrawn meanwhile
		return err
	}
	s.forget(name)
	s.metrics.decided(ctx, v.Reason == "")
	s.o.Log.Info("collection concluded", "plan", name, "released", v.Reason == "", "reason", v.Reason)
	return nil
}

// counted is what is on disk of a collection.
type counted struct {
	crowds  []tally.Crowd
	batches []store.Batch
	notes   []string    // what a release must say of them
	study   *plan.Study // of which they are a round; nil: of none
	state   []byte      // that they were asked with; nil: none
	all     *counted    // with the earlier rounds, where the study merges them; nil: it does not
}

// counted adds up what the instances counted of a plan, or of one that differs in its
// round.
func (s *Service) counted(ctx context.Context, name string, p *protocol.Protocol) (counted, error) {
	c := counted{crowds: make([]tally.Crowd, p.Plan.Crowds())}
	batches, err := s.o.Store.Batches(ctx, name)
	if err != nil {
		return c, err
	}
	c.batches = batches
	dropped, came := 0, make([]int, len(c.crowds))
	for _, b := range batches {
		if b.Crowd >= len(c.crowds) {
			return c, fmt.Errorf("analyzer: a batch of crowd %d was counted for a plan of %d: the database is damaged", b.Crowd, len(c.crowds))
		}
		t := p.NewTally()
		kept, err := s.o.Store.Tally(ctx, b)
		if err != nil {
			return c, err
		}
		if err := t.UnmarshalBinary(kept); err != nil {
			return c, fmt.Errorf("analyzer: the tally of instance %d and crowd %d: %w: %w", b.Instance+1, b.Crowd+1, store.ErrDamaged, err)
		}
		dropped += b.Dropped
		came[b.Crowd]++
		if err := c.crowds[b.Crowd].Merge(tally.Crowd{Tally: t, Respondents: b.Respondents, Smallest: b.Smallest}); err != nil {
			return c, err
		}
	}
	c.notes = analyzer.Lacks(dropped)
	if p.Plan.Route.Sum != nil {
		c.notes = analyzer.LacksReports(dropped)
	}
	// Where every device has a part of its report in each instance, a missing batch
	// is a part of everybody's report, and no estimate allows for that.
	if all := p.Plan.Contributions(); all > 1 {
		for crowd, n := range came {
			if n > 0 && n < all {
				c.crowds[crowd] = tally.Crowd{}
				c.notes = append(c.notes, fmt.Sprintf("Crowd %d is not in this release: %d of %d batches came, one an instance, and its reports are spread over all.", crowd+1, n, all))
			}
		}
	}
	return c, nil
}

// verdict writes up a release, or says why there is none. It depends on nothing
// but its arguments and the clock: what it cannot write up once it never can.
func (s *Service) verdict(p *protocol.Protocol, c counted, public findings.Public) store.Verdict {
	files, err := s.writeUp(p, c, public)
	if err != nil {
		return store.Verdict{Reason: err.Error(), At: s.o.Now()}
	}
	return store.Verdict{Files: files, At: s.o.Now()}
}

func (s *Service) writeUp(p *protocol.Protocol, c counted, public findings.Public) (map[string][]byte, error) {
	if err := analyzer.Kept(p, c.crowds); err != nil {
		return nil, err
	}
	r, model, err := s.publish(p, c, public)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if findings.Counted(p.Plan.Question) {
		sheet, err := findings.Beside(model, public)
		if err != nil {
			return nil, err
		}
		if sheet.Note != "" {
			r.Notes = append(r.Notes, sheet.Note)
		}
		files[formatCounts] = sheet.Text
	}
	if s.o.Audit != nil {
		found, err := s.o.Audit(p.Plan, c.state)
		if err != nil {
			return nil, err
		}
		r.Protection, files[formatAudit] = append(r.Protection, found.Section), found.File
	}
	if err := draw(files, r, formatJSON, formatHTML); err != nil {
		return nil, err
	}
	if c.all != nil {
		all, _, err := s.publish(p, *c.all, public)
		if err != nil {
			return nil, err
		}
		all.Title += " (all rounds so far)"
		if err := draw(files, all, formatStudyJSON, formatStudyHTML); err != nil {
			return nil, err
		}
	}
	if files[formatReceipts], err = c.receipts(p.Plan, files); err != nil {
		return nil, err
	}
	return files, nil
}

// publish is the release of what was counted, and what was learned.
func (s *Service) publish(p *protocol.Protocol, c counted, public findings.Public) (release.Release, question.Model, error) {
	r, model, err := analyzer.Publish(p, c.crowds, public)
	if err != nil {
		return r, nil, err
	}
	r.Created = s.o.Now().UTC()
	r.Notes = append(r.Notes, c.notes...)
	r.Provenance = release.Provenance{Software: s.o.Software, Randomness: "fresh randomness"}
	return r, model, inStudy(&r, p, c.study)
}

// draw adds a release to files, as JSON and as a page.
func draw(files map[string][]byte, r release.Release, formatJSON, formatHTML string) error {
	var json, html bytes.Buffer
	if err := r.WriteJSON(&json); err != nil {
		return err
	}
	if err := page.WriteHTML(&html, r); err != nil {
		return err
	}
	files[formatJSON], files[formatHTML] = json.Bytes(), html.Bytes()
	return nil
}

// inStudy has the release of a round say what the study costs.
func inStudy(r *release.Release, p *protocol.Protocol, s *plan.Study) error {
	if s == nil {
		return nil
	}
	all, err := p.Composed(protocol.Promise{Statements: r.Guarantees}, *s)
	r.Notes, r.Guarantees = append(r.Notes, p.InStudy(*s)), slices.Concat(r.Guarantees, all)
	return err
}

// receipts are those of the counted batches, for whoever verifies the release, with
// the digests of its files.
func (c counted) receipts(p plan.Plan, files map[string][]byte) ([]byte, error) {
	all := wire.Receipts{Format: wire.ReceiptsFormat, Plan: p.Name(), Files: map[string]string{}}
	for format, text := range files {
		all.Files[format] = wire.FileDigest(text)
	}
	for _, b := range c.batches {
		one := wire.BatchReceipts{Instance: b.Instance, Crowd: b.Crowd, SHA256: hex.EncodeToString(b.SHA256[:]), Whole: b.Smallest, Dropped: b.Dropped}
		if p.Route.Sum != nil {
			one.Dropped = 0 // the aggregators have refused them, and say so
		}
		for receipt := range slices.Chunk(b.Receipts, wire.ReceiptSize) {
			one.Receipts = append(one.Receipts, receipt)
		}
		all.Batches = append(all.Batches, one)
	}
	return all.Marshal()
}

// postClose answers POST /v1/plans/{plan}/close with what became of the plan.
func (s *Service) postClose(w http.ResponseWriter, r *http.Request) error {
	name, err := planName(r)
	if err != nil {
		return err
	}
	if err := s.Conclude(r.Context(), name, operator(r)); err != nil {
		return storeProblem(err)
	}
	p, err := s.o.Store.Plan(r.Context(), name)
	if err != nil {
		return storeProblem(err)
	}
	return serve.WriteJSON(w, s.describe(r.Context(), p))
}
