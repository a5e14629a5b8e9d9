package rows

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Plan is what is kept of one plan.
type Plan struct {
	of      *Store
	name    string
	sums    keep.Shelf
	reports keep.Shelf // of a leader; nil once they are forgotten, or not needed and damaged
	bodies  *bodies    // of reports; nil: they are in rows
	done    bool       // the reports are forgotten
}

// Create makes the shelves of a plan. Those that a crash has left, before Serve, are taken up.
func (s *Store) Create(ctx context.Context, plan string) (*Plan, error) {
	for _, prefix := range s.prefixes() {
		if _, err := s.store.Create(ctx, prefix+plan); err != nil && !errors.Is(err, keep.ErrExists) {
			return nil, err
		}
	}
	return s.Plan(ctx, plan)
}

func (s *Store) prefixes() []string {
	if s.leader {
		return []string{reportsPrefix, planPrefix}
	}
	return []string{planPrefix}
}

// Plan opens the shelves of a plan that is served. keep.ErrDamaged names what is changed or
// missing.
func (s *Store) Plan(ctx context.Context, plan string) (*Plan, error) {
	p := &Plan{of: s, name: plan, done: !s.leader}
	var rotten error
	for _, prefix := range s.prefixes() {
		shelf, err := s.store.Open(ctx, prefix+plan)
		if errors.Is(err, keep.ErrMissing) || errors.Is(err, keep.ErrDropped) && prefix == planPrefix {
			err = fmt.Errorf("%w: the shelf %s is missing", keep.ErrDamaged, prefix+plan)
		}
		switch {
		case prefix == reportsPrefix && errors.Is(err, keep.ErrDropped): // both shares are there
			p.done = true
		case prefix == reportsPrefix && errors.Is(err, keep.ErrDamaged):
			rotten = err
		case err != nil:
			return nil, err
		case prefix == reportsPrefix:
			p.reports = shelf
			if p.bodies, err = s.bodies(ctx, plan, shelf); err != nil {
				return nil, err
			}
		default:
			p.sums = shelf
		}
	}
	if rotten == nil {
		return p, nil
	}
	drawn := false // of a round whose row is drawn that is kept beside the row
	err := p.sums.Each(ctx, daysTable, "", func(string, []byte) error { drawn = true; return nil })
	if err == nil && !drawn {
		err = rotten
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Secret returns that under which respondents are known. It is forgotten with their reports.
func (p *Plan) Secret(ctx context.Context) ([]byte, error) {
	if p.reports == nil {
		return nil, nil
	}
	return p.reports.Secret(ctx, "respondents")
}

// Forgotten reports whether the leader's reports are; a helper has none.
func (p *Plan) Forgotten() bool { return p.done }

// Closed reports whether no more reports are taken.
func (p *Plan) Closed(ctx context.Context) (closed bool, err error) {
	if p.reports == nil {
		return p.of.leader, nil
	}
	err = p.reports.Update(ctx, func(tx keep.Tx) error { closed = tx.Sealed(); return nil })
	return closed, err
}

// Close takes no more reports. Again is no error, also when they are forgotten.
func (p *Plan) Close(ctx context.Context) error {
	if p.reports == nil {
		return nil
	}
	return p.of.write(ctx, "close", func() error {
		err := p.reports.Seal(ctx)
		if errors.Is(err, keep.ErrDropped) {
			err = nil
		}
		return err
	})
}

// Forget destroys what devices sent, and the secret under which they were known.
func (p *Plan) Forget(ctx context.Context) error {
	return p.of.write(ctx, "forget", func() error {
		if err := p.of.store.Drop(ctx, reportsPrefix+p.name); err != nil {
			return err
		}
		return p.of.dropBodies(ctx, p.name)
	})
}

// Crowd is how far an aggregator has come with a crowd.
type Crowd struct {
	Steps            []string // at which something was kept, as Keep wrote it
	Reports, Refused uint64
	// Day is what later rounds tell of this one too; nil: nothing. Keep writes it with what leaves.
	Day []byte
}

// steps that a crowd comes to, each a bit of its row.
var steps = []string{Own, Both, Withheld, GivenUp}

// The steps at which something of a crowd is kept before it leaves.
const (
	Own      = "own"      // this aggregator's sealed share, with its receipt
	Both     = "both"     // the leader: both receipts, and the helper's share
	Withheld = "withheld" // nothing leaves
	GivenUp  = "given up" // beside Withheld: GiveUp wrote it
)

// Why nothing leaves, as it is kept at Withheld.
const (
	Few    = "few"    // reports
	Late   = "late"   // the row of a round that is correlated with others: nobody waits for it any more
	Failed = "failed" // GiveUp wrote it
)

func (c Crowd) marshal() []byte {
	var bits byte
	for i, step := range steps {
		if slices.Contains(c.Steps, step) {
			bits |= 1 << i
		}
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{bits}, c.Reports), c.Refused)
}

func parseCrowd(b []byte) (c Crowd, err error) {
	if len(b) != 17 || b[0] >= 1<<len(steps) {
		return c, fmt.Errorf("%w: the row of a crowd cannot be read", keep.ErrDamaged)
	}
	for i, step := range steps {
		if b[0]&(1<<i) != 0 {
			c.Steps = append(c.Steps, step)
		}
	}
	c.Reports, c.Refused = binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])
	return c, nil
}

// Crowds reads how far an aggregator has come with those crowds of which something was kept. It
// reads no sum and no share.
func (p *Plan) Crowds(ctx context.Context) (map[int]Crowd, error) {
	all := map[int]Crowd{}
	err := p.sums.Each(ctx, toldTable, "", func(key string, value []byte) error {
		if len(key) != 4 {
			return fmt.Errorf("%w: the row of a crowd has another key", keep.ErrDamaged)
		}
		c, err := parseCrowd(value)
		all[int(binary.BigEndian.Uint32([]byte(key)))] = c
		return err
	})
	return all, err
}

func told(tx keep.Tx, crowd int) (c Crowd, err error) {
	value, there, err := tx.Get(toldTable, crowdKey(crowd))
	if err != nil || !there {
		return c, err
	}
	return parseCrowd(value)
}

// Sum reads what was added up of a shard of a leader's crowd, as Add wrote it; nil: nothing yet.
func (p *Plan) Sum(ctx context.Context, crowd, shard int) ([]byte, error) {
	if p.reports == nil {
		return nil, nil
	}
	return one(p.reports.Get(ctx, sumsTable, shardKey(crowd, shard)))
}

// Sums calls fn for what was added up of each shard of a crowd, or for the one sum that a helper has of it. A leader's
// are forgotten with its reports.
func (p *Plan) Sums(ctx context.Context, crowd int, fn func(sum []byte) error) error {
	shelf := p.sums
	if p.of.leader {
		shelf = p.reports
	}
	if shelf == nil {
		return nil
	}
	return shelf.Each(ctx, sumsTable, crowdKey(crowd), func(_ string, sum []byte) error { return fn(sum) })
}

// one returns the value of a row that is there, and nil else.
func one(value []byte, there bool, err error) ([]byte, error) {
	if err != nil || !there {
		return nil, err
	}
	return value, nil
}

// Day returns what later rounds tell of a crowd too, as it was kept with what leaves; nil: nothing yet.
func (p *Plan) Day(ctx context.Context, crowd int) ([]byte, error) {
	return one(p.sums.Get(ctx, daysTable, crowdKey(crowd)))
}

// Share returns what leaves of a crowd at a step, as Keep wrote it; nil: nothing yet.
func (p *Plan) Share(ctx context.Context, crowd int, step string) ([]byte, error) {
	return one(p.sums.Get(ctx, sharesTable, within(crowd, step)))
}

// Keep writes what leaves of a crowd at a step, unless it is there: it is drawn once. It returns
// what is there. draw gets the helper's sum as it is then, and how far the crowd has come, where it
// may write how many reports there are.
func (p *Plan) Keep(ctx context.Context, crowd int, step string, draw func(sum []byte, c *Crowd) ([]byte, error)) (kept []byte, err error) {
	err = p.of.write(ctx, "share", func() error {
		return p.sums.Update(ctx, func(tx keep.Tx) error {
			if kept, err = one(tx.Get(sharesTable, within(crowd, step))); err != nil || kept != nil {
				return err
			}
			sum, err := one(tx.Get(sumsTable, crowdKey(crowd)))
			if err != nil {
				return err
			}
			c, err := told(tx, crowd)
			if err != nil {
				return err
			}
			if step != Withheld && slices.Contains(c.Steps, Withheld) {
				return ErrGivenUp
			}
			if kept, err = draw(sum, &c); err != nil {
				return err
			}
			c.Steps = append(c.Steps, step)
			tx.Put(toldTable, crowdKey(crowd), c.marshal())
			tx.Put(sharesTable, within(crowd, step), kept)
			if c.Day != nil {
				tx.Put(daysTable, crowdKey(crowd), c.Day)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// leaves returns the step from which on something of a crowd has left this aggregator.
func (s *Store) leaves() string {
	if s.leader {
		return Both
	}
	return Own
}

// GiveUp writes that nothing of a crowd leaves any more, unless the crowd has come to a step: reached. A share that a
// leader has drawn for itself stays here.
func (p *Plan) GiveUp(ctx context.Context, crowd int, step string) (reached bool, err error) {
	return p.of.giveUp(ctx, p.sums, crowd, step)
}

func (s *Store) giveUp(ctx context.Context, shelf keep.Shelf, crowd int, step string) (reached bool, err error) {
	err = s.write(ctx, "give-up", func() error {
		return shelf.Update(ctx, func(tx keep.Tx) error {
			c, err := told(tx, crowd)
			if err != nil {
				return err
			}
			reached = slices.Contains(c.Steps, step)
			if reached || slices.Contains(c.Steps, Withheld) {
				return nil
			}
			c.Steps = append(c.Steps, Withheld, GivenUp)
			tx.Put(toldTable, crowdKey(crowd), c.marshal())
			tx.Put(sharesTable, within(crowd, Withheld), []byte(Failed))
			return nil
		})
	})
	return reached, err
}

// Added is what was added up of a crowd: the bytes of the sum, which no row knows, and what may be
// told of it.
type Added struct {
	Sum              []byte
	Reports, Refused uint64
}

// Answer returns what the helper answered to the same before; nil: it was not asked.
func (p *Plan) Answer(ctx context.Context, asked []byte) ([]byte, error) {
	return one(p.sums.Get(ctx, answersTable, string(asked)))
}

// Spend spends names for a question, and returns which of them no other question has spent, nor an earlier place
// of the same list. Asked again it returns the same, so that a process killed before AddAnswered comes to the same answer.
func (p *Plan) Spend(ctx context.Context, asked []byte, names []string) (fresh []bool, err error) {
	fresh = make([]bool, len(names))
	first := map[string]int{}
	var spent []keep.Row
	for i, name := range names {
		if _, twice := first[name]; !twice {
			first[name], fresh[i] = i, true
			spent = append(spent, keep.Row{Table: spentTable, Key: name, Value: asked})
		}
	}
	if len(spent) == 0 {
		return fresh, nil
	}
	err = p.of.write(ctx, "spend", func() error {
		_, err := p.sums.Insert(ctx, spent...)
		if !errors.Is(err, keep.ErrTaken) {
			return err
		}
		for _, row := range spent { // by one who comes twice
			_, err := p.sums.Insert(ctx, row)
			if errors.Is(err, keep.ErrTaken) {
				fresh[first[row.Key]] = false
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	return fresh, err
}

// AddAnswered adds to a crowd's sum and keeps the answer, in one step. add gets the sum as it is, and whether anything
// of the crowd has left. What was answered before stays, and is returned.
func (p *Plan) AddAnswered(ctx context.Context, crowd int, asked []byte,
	add func(sum []byte, left bool) (next Added, answer []byte, err error)) (answer []byte, err error) {
	err = p.of.write(ctx, "add", func() error {
		return p.sums.Update(ctx, func(tx keep.Tx) error {
			if answer, err = one(tx.Get(answersTable, string(asked))); err != nil || answer != nil {
				return err
			}
			c, err := told(tx, crowd)
			if err != nil {
				return err
			}
			sum, err := one(tx.Get(sumsTable, crowdKey(crowd)))
			if err != nil {
				return err
			}
			var next Added
			if next, answer, err = add(sum, len(c.Steps) > 0); err != nil {
				return err
			}
			c.Reports, c.Refused = next.Reports, next.Refused
			tx.Put(toldTable, crowdKey(crowd), c.marshal())
			tx.Put(sumsTable, crowdKey(crowd), next.Sum)
			tx.Put(answersTable, string(asked), answer)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}
