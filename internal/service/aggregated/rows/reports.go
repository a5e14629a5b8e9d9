package rows

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Report is a report as it came to the leader.
type Report struct {
	Respondent [32]byte
	Name       [nameSize]byte
	Crowd      int
	Body       []byte
}

const nameSize = 16

// Take keeps a report: keep.ErrTaken where another one of its respondent or with its name is
// there, keep.ErrSealed where the plan takes no more. The same one again is no error.
func (p *Plan) Take(ctx context.Context, r Report) error {
	if p.reports == nil {
		return keep.ErrSealed
	}
	return p.of.write(ctx, "take", func() error {
		if p.bodies != nil {
			return p.takeBody(ctx, r)
		}
		_, err := p.reports.Insert(ctx, r.rows(r.Body)...)
		return err
	})
}

// rows returns those of a report with a body, or its place.
func (r Report) rows(body []byte) []keep.Row {
	name := string(r.Name[:])
	return []keep.Row{
		{Table: reportsTable, Key: string(r.Respondent[:]), Value: r.Name[:]},
		{Table: namesTable, Key: name, Tag: uint32(r.Crowd), Value: []byte(crowdKey(r.Crowd))},
		{Table: bodiesTable, Key: name, Value: body},
	}
}

// Reports returns how many reports of a crowd have come.
func (p *Plan) Reports(ctx context.Context, crowd int) (int, error) {
	if p.reports == nil {
		return 0, nil
	}
	return p.reports.Count(ctx, namesTable, uint32(crowd))
}

// state keeps where a shard's jobs end, and which of them is next. The number fences writers: the write that adds a job
// wants it to be next still.
type state struct{ end, next uint32 }

func (s state) marshal() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, s.end), s.next)
}

// stateOf reads the state of a shard; there: the reports of its crowd are cut into jobs.
func stateOf(value []byte, there bool, err error) (state, bool, error) {
	if err != nil || !there {
		return state{}, false, err
	}
	if len(value) != 8 {
		return state{}, false, fmt.Errorf("%w: which jobs a shard has cannot be read", keep.ErrDamaged)
	}
	return state{binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:])}, true, nil
}

func jobKey(crowd int, number uint32) string {
	return within(crowd, string(binary.BigEndian.AppendUint32(nil, number)))
}

// furtherShard stands between a crowd and the number of a shard other than the first.
const furtherShard = "shard"

// shardKey returns the key of a shard's state and sum. The first shard has its crowd's key: where nothing is shared it is
// the only one.
func shardKey(crowd, shard int) string {
	if shard == 0 {
		return crowdKey(crowd)
	}
	return within(crowd, furtherShard+string(binary.BigEndian.AppendUint32(nil, uint32(shard))))
}

// Cut sets how the reports of a closed plan are cut: reports of a job, and jobs of a shard, at most.
type Cut struct{ Crowds, Job, Shard int }

// Shards returns which shards of a crowd are not added whole. Reports are cut into them, once, in the order of their
// names; how is kept, and another cut changes nothing.
func (p *Plan) Shards(ctx context.Context, crowd int, c Cut) (left []int, err error) {
	if p.reports == nil {
		return nil, fmt.Errorf("%w: there are no reports", keep.ErrDamaged)
	}
	is, cut, err := stateOf(p.reports.Get(ctx, jobsTable, crowdKey(crowd)))
	if err == nil && !cut {
		if err = p.of.write(ctx, "jobs", func() error { return p.cut(ctx, c) }); err == nil {
			is, cut, err = stateOf(p.reports.Get(ctx, jobsTable, crowdKey(crowd)))
		}
		if err == nil && !cut {
			err = fmt.Errorf("%w: jobs that were written are missing", keep.ErrDamaged)
		}
	}
	if err != nil {
		return nil, err
	}
	if is.next < is.end {
		left = append(left, 0)
	}
	shard := 0
	err = p.reports.Each(ctx, jobsTable, within(crowd, furtherShard), func(key string, value []byte) error {
		if shard++; key != shardKey(crowd, shard) {
			return fmt.Errorf("%w: a shard is missing", keep.ErrDamaged)
		}
		is, _, err := stateOf(value, true, nil)
		if err == nil && is.next < is.end {
			left = append(left, shard)
		}
		return err
	})
	return left, err
}

// Job returns the reports of a shard that are to be added next, or so many jobs after the next, in the order of their names,
// and the job's number. Asked again before Add, they are the same. None are left where there are none.
func (p *Plan) Job(ctx context.Context, crowd, shard, after int) (number uint32, bodies [][]byte, err error) {
	if p.reports == nil {
		return 0, nil, fmt.Errorf("%w: there are no reports", keep.ErrDamaged)
	}
	is, cut, err := stateOf(p.reports.Get(ctx, jobsTable, shardKey(crowd, shard)))
	if err == nil && !cut {
		err = fmt.Errorf("%w: a shard is missing", keep.ErrDamaged)
	}
	if err != nil || int(is.end-is.next) <= after {
		return 0, nil, err
	}
	number = is.next + uint32(after)
	names, there, err := p.reports.Get(ctx, jobsTable, jobKey(crowd, number))
	if err != nil {
		return 0, nil, err
	}
	if !there || len(names)%nameSize != 0 || len(names) == 0 {
		return 0, nil, p.missing(ctx, crowd, shard, is)
	}
	for ; len(names) > 0; names = names[nameSize:] {
		body, there, err := p.reports.Get(ctx, bodiesTable, string(names[:nameSize]))
		if err != nil {
			return 0, nil, err
		}
		if !there {
			return 0, nil, p.missing(ctx, crowd, shard, is)
		}
		bodies = append(bodies, body)
	}
	if p.bodies != nil {
		if bodies, err = p.bodies.all(ctx, bodies); err != nil {
			return 0, nil, err
		}
	}
	return number, bodies, nil
}

// missing returns the error of a job, or a report of one, that is not there.
func (p *Plan) missing(ctx context.Context, crowd, shard int, was state) error {
	is, _, err := stateOf(p.reports.Get(ctx, jobsTable, shardKey(crowd, shard)))
	if err != nil {
		return err
	}
	if is != was {
		return errMeanwhile
	}
	return fmt.Errorf("%w: reports of a job are missing", keep.ErrDamaged)
}

// mostJobs is how many jobs one Update writes: a megabyte of names at most.
const mostJobs = 256

// cut writes which reports are added together, of all crowds of a closed plan. What was written
// in part before is written again, the same; the shards come last.
func (p *Plan) cut(ctx context.Context, c Cut) error {
	if closed, err := p.Closed(ctx); err != nil || !closed {
		if err == nil {
			err = errOpen
		}
		return err
	}
	names := make([][]byte, c.Crowds)
	err := p.reports.Each(ctx, namesTable, "", func(name string, value []byte) error {
		if len(name) != nameSize || len(value) != 4 || int64(binary.BigEndian.Uint32(value)) >= int64(c.Crowds) {
			return fmt.Errorf("%w: the name of a report cannot be read", keep.ErrDamaged)
		}
		crowd := binary.BigEndian.Uint32(value)
		names[crowd] = append(names[crowd], name...)
		return nil
	})
	if err != nil {
		return err
	}
	type row struct {
		key   string
		value []byte
	}
	var jobs, shards []row
	for crowd, left := range names {
		number := uint32(0)
		for shard := 0; shard == 0 || len(left) > 0; shard++ {
			is := state{next: number}
			for range c.Shard {
				if n := min(len(left), c.Job*nameSize); n > 0 {
					jobs = append(jobs, row{jobKey(crowd, number), left[:n]})
					left = left[n:]
					number++
				}
			}
			is.end = number
			shards = append(shards, row{shardKey(crowd, shard), is.marshal()})
		}
	}
	for {
		done := len(jobs) <= mostJobs
		now := jobs[:min(len(jobs), mostJobs)]
		err := p.reports.Update(ctx, func(tx keep.Tx) error {
			if !tx.Sealed() {
				return errOpen
			}
			if _, cut, err := stateOf(tx.Get(jobsTable, crowdKey(0))); err != nil || cut { // by another process
				done = done || cut
				return err
			}
			for _, j := range now {
				tx.Put(jobsTable, j.key, j.value)
			}
			if done {
				for _, r := range shards {
					tx.Put(jobsTable, r.key, r.value)
				}
			}
			return nil
		})
		if err != nil || done {
			return err
		}
		jobs = jobs[len(now):]
	}
}

// Add writes what a shard's sum is with the reports of a job, which are not needed any more. Their rows are not found
// from then on; their bytes are on the disk until Forget. It changes nothing where another process has added the job.
func (p *Plan) Add(ctx context.Context, crowd, shard int, number uint32, sum []byte) error {
	return p.of.write(ctx, "add", func() error {
		return p.reports.Update(ctx, func(tx keep.Tx) error {
			if !tx.Sealed() {
				return errOpen
			}
			is, cut, err := stateOf(tx.Get(jobsTable, shardKey(crowd, shard)))
			if err != nil {
				return err
			}
			if !cut || is.next != number || is.next >= is.end {
				return errMeanwhile
			}
			names, there, err := tx.Get(jobsTable, jobKey(crowd, number))
			if err != nil {
				return err
			}
			if !there {
				return fmt.Errorf("%w: a job is missing", keep.ErrDamaged)
			}
			for ; len(names) >= nameSize; names = names[nameSize:] {
				tx.Delete(bodiesTable, string(names[:nameSize]))
			}
			tx.Delete(jobsTable, jobKey(crowd, number))
			is.next++
			tx.Put(jobsTable, shardKey(crowd, shard), is.marshal())
			tx.Put(sumsTable, shardKey(crowd, shard), sum)
			return nil
		})
	})
}
