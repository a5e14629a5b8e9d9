package aggregator_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/x25519"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// Many reports are verified as each of them alone, in their order, whichever share does not open: on one core and on
// two, with products in lanes and without.
func TestManyReportsAreVerifiedAsOne(t *testing.T) {
	p := example.Design(t, example.Summed(example.Density("rr"), plan.NoiseDevices))
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	one, err := task.New(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	pair := aggregator.NewPair([aggregator.PairBytes]byte{1})
	leader, helper := aggregator.NewLeader(one, keys.Leader, pair), aggregator.NewHelper(one, keys.Helper, pair, nil)
	r := seeded.New(1)
	var reports []dap.Report
	for i := range 90 {
		all, err := one.Report(r, make([]uint64, one.VDAF.Length()), time.Unix(p.Times.Opens.Unix(), 0), nil)
		if err != nil {
			t.Fatal(err)
		}
		switch i % 8 {
		case 1:
			all.Leader.Config = 1 // of a key that is not here
		case 2:
			all.Helper.Config = 1
		case 3:
			all.Leader.Payload[9] ^= 1
		case 4:
			all.Helper.Enc = all.Helper.Enc[1:]
		}
		reports = append(reports, all)
	}
	var batch dap.BatchID
	for _, cores := range []int{1, 2} {
		for _, way := range []string{"", "standard"} {
			t.Setenv(x25519.Switch, way)
			before := runtime.GOMAXPROCS(cores)
			job := leader.Begin(batch, reports)
			found := helper.Verify(job.Request)
			runtime.GOMAXPROCS(before)
			valid := 0
			for _, v := range job.Request.Reports {
				alone := reports[at(reports, v.ID)]
				begun := leader.Begin(batch, []dap.Report{alone})
				if len(begun.Request.Reports) != 1 || !bytes.Equal(begun.Request.Reports[0].Part, v.Part) {
					t.Fatalf("a report is verified otherwise than alone")
				}
			}
			for i, v := range found {
				alone := helper.Verify(dap.AggregationReq{Batch: batch, Reports: job.Request.Reports[i : i+1]})[0]
				if v.ID != job.Request.Reports[i].ID || v.Error != alone.Error || !bytes.Equal(v.Message, alone.Message) {
					t.Errorf("the helper says of report %d %v, and of it alone %v", i, v.VerifyResp, alone.VerifyResp)
				}
				if v.Message != nil {
					valid++
				} else if v.Error != dap.HPKEDecrypt {
					t.Errorf("report %d: %v", i, v.Error)
				}
			}
			if job.Refused != 23 || valid != 45 {
				t.Errorf("%d are refused and %d valid, want 23 and 45", job.Refused, valid)
			}
		}
	}
}

func at(all []dap.Report, id dap.ReportID) int {
	for i, r := range all {
		if r.ID == id {
			return i
		}
	}
	return -1
}
