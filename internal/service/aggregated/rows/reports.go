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
	name, crowd := string(r.Name[:]), crowdKey(r.Crowd)
	return p.of.write(ctx, "take", func() error {
		_, err := p.reports.Insert(ctx,
			keep.Row{Table: reportsTable, Key: string(r.Respondent[:]), Value: r.Name[:]},
			keep.Row{Table: namesTable, Key: name, Label: uint32(r.Crowd), Value: []byte(crowd)},
			keep.Row{Table: bodiesTable, Key: name, Value: r.Body})
		return err
	})
}

// Reports returns how many reports of a crowd have come.
func (p *Plan) Reports(ctx context.Context, crowd int) (int, error) {
	if p.reports == nil {
		return 0, nil
	}
	return p.reports.Count(ctx, namesTable, uint32(crowd))
}

// state is how many jobs a crowd has, and which of them is next.
type state struct{ jobs, next uint32 }

func (s state) marshal() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, s.jobs), s.next)
}

// stateOf reads the state of a crowd; there: its reports are cut into jobs.
func stateOf(value []byte, there bool, err error) (state, bool, error) {
	if err != nil || !there {
		return state{}, false, err
	}
	if len(value) != 8 {
		return state{}, false, fmt.Errorf("%w: how many jobs there are cannot be read", keep.ErrDamaged)
	}
	return state{binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:])}, true, nil
}

func jobKey(crowd int, number uint32) string {
	return within(crowd, string(binary.BigEndian.AppendUint32(nil, number)))
}

// Job returns the reports of a crowd of a closed plan that are to be added next, in the order of
// their names, and their number. Asked again before Add, they are the same. None are left where
// there are none. most is how many a job may have of those that are cut now.
func (p *Plan) Job(ctx context.Context, crowd, crowds, most int) (number uint32, bodies [][]byte, err error) {
	if p.reports == nil {
		return 0, nil, fmt.Errorf("%w: there are no reports", keep.ErrDamaged)
	}
	is, cut, err := stateOf(p.reports.Get(ctx, jobsTable, crowdKey(crowd)))
	if err == nil && !cut {
		if err = p.of.write(ctx, "jobs", func() error { return p.cut(ctx, crowds, most) }); err == nil {
			is, cut, err = stateOf(p.reports.Get(ctx, jobsTable, crowdKey(crowd)))
		}
		if err == nil && !cut {
			err = fmt.Errorf("%w: jobs that were written are missing", keep.ErrDamaged)
		}
	}
	if err != nil || is.next == is.jobs {
		return 0, nil, err
	}
	names, there, err := p.reports.Get(ctx, jobsTable, jobKey(crowd, is.next))
	if err != nil {
		return 0, nil, err
	}
	if !there || len(names)%nameSize != 0 || len(names) == 0 {
		return 0, nil, p.missing(ctx, crowd, is)
	}
	for ; len(names) > 0; names = names[nameSize:] {
		body, there, err := p.reports.Get(ctx, bodiesTable, string(names[:nameSize]))
		if err != nil {
			return 0, nil, err
		}
		if !there {
			return 0, nil, p.missing(ctx, crowd, is)
		}
		bodies = append(bodies, body)
	}
	return is.next, bodies, nil
}

// missing returns the error of a job, or a report of one, that is not there.
func (p *Plan) missing(ctx context.Context, crowd int, was state) error {
	is, _, err := stateOf(p.reports.Get(ctx, jobsTable, crowdKey(crowd)))
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
// in part before is written again, the same; how many there are comes last.
func (p *Plan) cut(ctx context.Context, crowds, most int) error {
	if closed, err := p.Closed(ctx); err != nil || !closed {
		if err == nil {
			err = errOpen
		}
		return err
	}
	names := make([][]byte, crowds)
	err := p.reports.Each(ctx, namesTable, "", func(name string, value []byte) error {
		if len(name) != nameSize || len(value) != 4 || int64(binary.BigEndian.Uint32(value)) >= int64(crowds) {
			return fmt.Errorf("%w: the name of a report cannot be read", keep.ErrDamaged)
		}
		crowd := binary.BigEndian.Uint32(value)
		names[crowd] = append(names[crowd], name...)
		return nil
	})
	if err != nil {
		return err
	}
	type job struct {
		key   string
		names []byte
	}
	var jobs []job
	made := make([]state, crowds)
	for crowd, left := range names {
		for len(left) > 0 {
			n := min(len(left), most*nameSize)
			jobs = append(jobs, job{jobKey(crowd, made[crowd].jobs), left[:n]})
			left = left[n:]
			made[crowd].jobs++
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
				tx.Put(jobsTable, j.key, j.names)
			}
			if done {
				for crowd, is := range made {
					tx.Put(jobsTable, crowdKey(crowd), is.marshal())
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

// Add writes what a crowd's sum is with the reports of a job, which are not needed any more. Their
// rows are not found from then on; their bytes are on the disk until Forget.
func (p *Plan) Add(ctx context.Context, crowd int, number uint32, sum []byte) error {
	return p.of.write(ctx, "add", func() error {
		return p.reports.Update(ctx, func(tx keep.Tx) error {
			if !tx.Sealed() {
				return errOpen
			}
			is, cut, err := stateOf(tx.Get(jobsTable, crowdKey(crowd)))
			if err != nil {
				return err
			}
			if !cut || is.next != number || is.next >= is.jobs {
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
			tx.Put(jobsTable, crowdKey(crowd), is.marshal())
			tx.Put(sumsTable, crowdKey(crowd), sum)
			return nil
		})
	})
}
