package aggregator

import (
	"errors"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/prio3"
)

// MostReports is how many reports a job may have.
const MostReports = 256

// Leader is the aggregator that devices send their reports to.
type Leader struct{ side }

// NewLeader returns the leader of a task with its private key.
func NewLeader(t *task.Task, key envelope.PrivateKey, pair Pair) *Leader {
	return &Leader{side{t, dap.Leader, key, pair.verifyKey(t.ID)}}
}

// Job is reports whose verification the leader has begun.
type Job struct {
	Request dap.AggregationReq // for the helper; without reports, there is nothing to ask
	Refused int                // that failed here
	states  []prio3.State
}

// Begin begins the verification of reports.
func (l *Leader) Begin(batch dap.BatchID, reports []dap.Report) *Job {
	type begun struct {
		state prio3.State
		part  []byte
	}
	all := make([]begun, len(reports))
	l.starts(len(reports), func(i int) report {
		return report{reports[i].Metadata, reports[i].Public, reports[i].Leader}
	}, func(i int, r report, share []byte) {
		all[i].state, all[i].part, _, _ = l.start(r, share)
	})
	j := &Job{Request: dap.AggregationReq{Batch: batch}}
	for i, r := range reports {
		if all[i].part == nil {
			j.Refused++
			continue
		}
		j.states = append(j.states, all[i].state)
		j.Request.Reports = append(j.Request.Reports, dap.VerifyInit{Metadata: r.Metadata, Public: r.Public, Helper: r.Helper, Part: all[i].part})
	}
	return j
}

// ErrAnswer is the error of a helper that takes what cannot be valid.
var ErrAnswer = errors.New("aggregator: the helper's answer is not one to the job")

// Finish adds the reports that the helper has found valid to a batch.
func (l *Leader) Finish(j *Job, answer []byte, to *Batch) error {
	all, err := dap.ParseAggregationResp(answer, j.Request)
	if err != nil {
		return errors.Join(ErrAnswer, err)
	}
	refused := j.Refused
	for i, v := range all {
		if v.Message == nil {
			refused++
			continue
		}
		// The helper has added this one: were it left out here, the batches would differ.
		share, err := l.VDAF.Finish(j.states[i], v.Message)
		if err != nil {
			return errors.Join(ErrAnswer, err)
		}
		if err := to.Add(v.ID, share); err != nil {
			return err
		}
	}
	to.Refused += uint64(refused)
	return nil
}
