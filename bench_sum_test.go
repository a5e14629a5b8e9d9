//go:build unix

package confetti_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/simulate"
)

// BenchmarkLearnerRoutes is what services spend on a respondent of the one-round learner of
// MNIST at epsilon 1: 8,192 bits in secret rows of 65,536, mixed by two hops, opened and
// counted; or verified by two aggregators and added up. Network, disk and what comes once a
// crowd are in neither. Both are processor time of all cores, in milliseconds a respondent.
func BenchmarkLearnerRoutes(b *testing.B) {
	const respondents = 1
	mix, sum := mixed(b, learner(b, ""), respondents), summed(b, learner(b, plan.NoiseDevices), respondents)
	var spent [2]float64
	for b.Loop() {
		for i, serve := range []func() error{mix, sum} {
			start := processor(b)
			if err := serve(); err != nil {
				b.Fatal(err)
			}
			spent[i] += (processor(b) - start).Seconds() * 1000
		}
	}
	n := float64(b.N * respondents)
	b.ReportMetric(spent[0]/n, "mixed-ms")
	b.ReportMetric(spent[1]/n, "summed-ms")
	b.ReportMetric(spent[0]/spent[1], "ratio")
	b.ReportMetric(0, "ns/op") // both together: of no meaning
}

// processor is the time that the process has taken of all cores.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// learner is the learner's plan, designed for as many as MNIST has, without keys.
func learner(b *testing.B, noise string) plan.Plan {
	q := plan.Question{Kind: "vector", Vector: &plan.Vector{
		Features: 351, Classes: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, Seed: measure.PublicSeed(1),
		Rounds: []plan.VectorRound{{Sums: plan.SumsMoments, Answered: 8192}},
	}}
	p := measure.Draft(q, plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement"}, 60_000)
	p.Route = measure.RouteOf(noise, 1, measure.Hops)
	p, _, err := measure.Designed(p)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// small is the plan made runnable for a few, with keys, and what they hold.
func small(b *testing.B, p plan.Plan, respondents int) (*protocol.Protocol, simulate.Keys, []vector.Record) {
	p.Crowd.Minimum, p.Budget.DishonestShare = respondents, 0
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		b.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		b.Fatal(err)
	}
	records := make([]vector.Record, respondents)
	for i := range records {
		records[i] = vector.Record{Features: normals(seeded.New(uint64(i)), 1, 351).Data, Class: i % 10}
	}
	return proto, keys, records
}

func mixed(b *testing.B, p plan.Plan, respondents int) func() error {
	proto, keys, records := small(b, p, respondents)
	b.Logf("mixed: %d envelopes a respondent", p.Envelopes.PerDevice)
	c, err := client.New(proto, seeded.New(1))
	if err != nil {
		b.Fatal(err)
	}
	var sent []client.Sealed
	for _, r := range records {
		sealed, err := c.Report(r)
		if err != nil {
			b.Fatal(err)
		}
		sent = append(sent, sealed...)
	}
	return func() error {
		entry, err := shuffler.NewCollector(proto.Plan, 0)
		if err != nil {
			return err
		}
		for i, s := range sent {
			if err := entry.Add(fmt.Sprint(i), s.Body); err != nil {
				return err
			}
		}
		crowds, _ := entry.Close()
		var batch envelope.Batch
		for i, key := range keys.Hops[0] {
			hop, err := shuffler.NewHop(proto.Plan, 0, i, key)
			if err != nil {
				return err
			}
			if i == 0 {
				batch, _, err = hop.Enter(crowds[0])
			} else {
				batch, _, err = hop.Mix(batch)
			}
			if err != nil {
				return err
			}
		}
		reader, err := analyzer.New(proto, keys.Analyzer)
		if err != nil {
			return err
		}
		return reader.Add(batch)
	}
}

func summed(b *testing.B, p plan.Plan, respondents int) func() error {
	proto, keys, records := small(b, p, respondents)
	tasks, err := task.All(proto.Plan)
	if err != nil {
		b.Fatal(err)
	}
	t, r := tasks[0], seeded.New(1)
	b.Logf("summed: %d numbers a respondent, in chunks of %d", p.Route.Sum.Circuit.Length, p.Route.Sum.Chunk)
	var reports []dap.Report
	for _, record := range records {
		symbol, err := proto.Encode(record)
		if err != nil {
			b.Fatal(err)
		}
		_, numbers, err := proto.Measure(r, symbol, nil)
		if err != nil {
			b.Fatal(err)
		}
		report, err := t.Report(r, numbers, time.Time{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		reports = append(reports, report)
	}
	pair := aggregator.NewPair([aggregator.PairBytes]byte{1})
	leader, helper := aggregator.NewLeader(t, keys.Leader, pair), aggregator.NewHelper(t, keys.Helper, pair, nil)
	return func() error {
		var sums [2]aggregator.Batch
		job := leader.Begin(dap.BatchID{}, reports)
		var said []dap.VerifyResp
		for _, v := range helper.Verify(job.Request) {
			said = append(said, v.VerifyResp)
			if v.Message == nil {
				return errors.New("a report was refused")
			}
			if err := sums[1].Add(v.ID, v.Share); err != nil {
				return err
			}
		}
		return leader.Finish(job, dap.MarshalAggregationResp(said), &sums[0])
	}
}
