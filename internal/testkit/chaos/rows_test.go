package chaos

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// countingHouse is a house of three processes each of a leader and a helper, with a database each, that count a study's rounds
// which are correlated.
type countingHouse struct {
	*house
	study  plan.SignedStudy
	counts [][]int64      // that were said, by round
	told   map[int][]byte // what the analyzer was given of a round
}

const (
	countingRounds  = 64
	countingBits    = 10
	countingSigma   = 12 // a count is told exactly, since its coefficient is 1,024, and no two draws are alike
	countingDevices = 6
)

func newCounting(t *testing.T) *countingHouse {
	t.Helper()
	h := furnish(t, aggregators, nil, shape{sum: true, hops: []int{0}, minimum: 2, devices: countingDevices, crowds: 1, apart: true})
	signed, err := h.ring.sumPlan("counting", h.shape, h.address, plan.Times{Opens: opens, Closes: opens.Add(time.Hour)})
	h.check(err)
	p := signed.Plan
	route := *p.Route.Sum
	route.Law, route.Decay, route.Sigma = plan.LawGaussian, 0, countingSigma
	route.Circuit = plan.Circuit{Kind: plan.CircuitMultihot, Length: sumCells, Weight: 1}
	route.Correlated = &plan.Correlated{Rounds: countingRounds, Bits: countingBits, Events: 1}
	p.Route.Sum, p.Times = &route, plan.Times{}
	study := plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: countingRounds, Takes: plan.TakesAll, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(h.ring.coordinator().Public().(ed25519.PublicKey)), Times: plan.Times{Opens: opens, Closes: opens.Add((countingRounds + 1) * 6 * time.Hour)},
	}
	h.check(study.Validate())
	return &countingHouse{house: h, study: plan.SignStudy(study, h.ring.publisher), told: map[int][]byte{}}
}

// asks has both aggregators take the next round, and each device answer it.
func (c *countingHouse) asks() {
	c.t.Helper()
	number := len(c.counts) + 1
	begin := opens.Add(time.Duration(number) * 6 * time.Hour)
	c.fleet.at(begin.Add(time.Minute))
	var err error
	c.signed, err = c.study.Round(number, "", plan.Times{Opens: begin, Closes: begin.Add(time.Hour)}, c.ring.coordinator())
	c.check(err)
	for i, role := range aggregators { // one process of each is told, another one each time
		c.persist(func() error {
			_, p, err := c.ask(seatName(role, (number+i)%seatsOfARole), http.MethodPut, wire.PlanPath(c.signed.Plan.Hash()), wire.PlanType(c.signed), "Bearer "+c.ring.operator, c.signed.Marshal())
			if p != nil {
				err = p
			}
			return err
		})
	}
	r, counts, t := seeded.New(uint64(number), 50), make([]int64, sumCells), c.task(0)
	for d := range countingDevices {
		vector := make([]uint64, sumCells)
		if cell := r.IntN(2 * sumCells); cell < sumCells { // or nothing has happened
			vector[cell] = 1
			counts[cell]++
		}
		report, err := t.Report(rng.New(), vector, c.signed.Plan.Times.Opens, nil)
		c.check(err)
		c.persist(func() error {
			_, p, err := c.ask(seatName("leader", d%seatsOfARole), http.MethodPost, dap.ReportsPath(t.ID), dap.UploadType, "Bearer "+c.ring.bearers[d], report.Append(nil))
			if p != nil {
				err = p
			}
			return err
		})
	}
	c.counts = append(c.counts, counts)
}

// given returns what a process of the leader gives the analyzer of the newest round; nil: nothing yet.
func (c *countingHouse) given(name string) ([]byte, error) {
	answer, p, err := c.ask(name, http.MethodPost, dap.CollectionPath(c.task(0).ID), dap.CollectionType, "", dap.CollectionReq{}.Marshal())
	if p != nil {
		err = p
	}
	return answer, err
}

// ends closes the newest round, and returns what must not have come of its row: it tells of all days so far, each process
// of the leader gives the same, and what was given once is given again.
func (c *countingHouse) ends() (violations []string) {
	c.t.Helper()
	number := len(c.counts)
	c.fleet.at(c.signed.Plan.Times.Closes.Add(time.Minute))
	for i := range seatsOfARole {
		var answer []byte
		c.persist(func() (err error) {
			if answer, err = c.given(seatName("leader", i)); err == nil && answer == nil {
				err = errors.New("chaos: its row is not drawn yet")
			}
			return err
		})
		if before := c.told[number]; before != nil && !bytes.Equal(before, answer) {
			violations = append(violations, fmt.Sprintf("the row of round %d has left twice, with two noises: %v", number, c.apartBy(before, answer)))
		}
		c.told[number] = answer
	}
	factor := sum.Factor(countingRounds, countingBits)
	for cell, got := range c.opened(c.told[number]) {
		want := int64(0)
		for day, counts := range c.counts {
			want += factor[number-1-day] * counts[cell]
		}
		if off := got - want; off < -256 || off > 256 { // fifteen deviations of both noises
			violations = append(violations, fmt.Sprintf("the row of round %d has %d of cell %d, and the days add up to %d", number, got, cell, want))
		}
	}
	return violations
}

// opened returns the numbers of a row.
func (c *countingHouse) opened(answer []byte) []int64 {
	c.t.Helper()
	collected, err := dap.ParseCollected(answer)
	c.check(err)
	if collected.Reports != countingDevices {
		c.t.Errorf("%d reports of %d", collected.Reports, countingDevices)
	}
	sums, err := c.task(0).Open(c.ring.analyzer, collected)
	c.check(err)
	return sums
}

// apartBy returns how many numbers of two rows are unlike.
func (c *countingHouse) apartBy(a, b []byte) string {
	unlike, sums := 0, c.opened(a)
	for i, n := range c.opened(b) {
		if sums[i] != n {
			unlike++
		}
	}
	return fmt.Sprintf("%d of %d numbers differ", unlike, len(sums))
}

// backup copies the database of a role, and the keys of its shelves, which no backup should have.
func (c *countingHouse) backup(role string) (older string) {
	c.t.Helper()
	older = c.copied(c.server(role))
	c.whole.Cleanup(func() { os.RemoveAll(older + "-keys") })
	c.check(errors.Join(os.RemoveAll(older+"-keys"), exec.Command("cp", "-a", filepath.Join(c.dir, role+"-keys"), older+"-keys").Run()))
	return older
}

// restore puts a backup in the place of what a role has, and that elsewhere.
func (c *countingHouse) restore(role, from, to string) {
	c.t.Helper()
	for i := range seatsOfARole {
		c.kill(seatName(role, i))
	}
	keys := filepath.Join(c.dir, role+"-keys")
	c.whole.Cleanup(func() { os.RemoveAll(to + "-keys") })
	c.check(errors.Join(exec.Command("mv", keys, to+"-keys").Run(), exec.Command("mv", from+"-keys", keys).Run()))
	c.exchange(c.server(role), from, to, role)
}

// rowPoints are where processes are killed about a row.
var rowPoints = map[string][]string{
	"leader": {"rows/begin", "rows/begin/committed", "rows/share", "rows/share/committed", "share-drawn", "helper-shared", "sum-ready"},
	"helper": {"rows/begin", "rows/begin/committed", "rows/share", "rows/share/committed", "share-drawn"},
}

// A study that counts every day, on three processes each of a leader and of a helper. Killed at each step of the write that
// keeps a row, they go on, and every row is right, of all days, and leaves once. On an older copy of its database neither
// starts, since the other has the digest of what it drew: no row is drawn twice. The twin puts both back together, which
// nobody can know: then a row leaves twice, with two noises, and that is seen.
func TestRowsAreDrawnOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("the processes would be this one, which the race detector slows down")
	}
	t.Parallel()
	c := newCounting(t)
	for _, role := range aggregators {
		for i, point := range rowPoints[role] {
			if !c.try(t, role+" is killed at "+point, func(t *testing.T) {
				c.asks()
				dooms := map[string][]doom{}
				for seat := range seatsOfARole { // whichever of them is at work
					dooms[seatName(role, seat)] = []doom{{"kill", 1, point}}
				}
				stop := c.answering(mishap{})
				c.befall(mishap{dooms: dooms})
				for _, v := range c.ends() {
					t.Error(v)
				}
				stop()
				if n := c.met(); n == 0 {
					t.Errorf("nobody was killed at point %d", i)
				}
			}) {
				return
			}
		}
	}
	for _, role := range aggregators {
		if !c.try(t, "the database of the "+role+" is put back", func(t *testing.T) {
			c.asks()
			older := c.backup(role)
			for _, v := range c.ends() {
				t.Error(v)
			}
			c.restore(role, older, older+"-newest")
			for _, v := range c.starts(role) {
				t.Error(v)
			}
			for i := range seatsOfARole {
				if answer, err := c.given(seatName("leader", i)); err == nil && !bytes.Equal(answer, c.told[len(c.counts)]) {
					t.Errorf("leader %d gives another row, %d bytes", i, len(answer))
				}
			}
			c.restore(role, older+"-newest", older)
			for _, v := range c.ends() { // again
				t.Error(v)
			}
		}) {
			return
		}
	}
	c.try(t, "the twin: both are put back together", func(t *testing.T) {
		c.asks()
		older := map[string]string{}
		for _, role := range aggregators {
			older[role] = c.backup(role)
		}
		for _, v := range c.ends() {
			t.Error(v)
		}
		for _, role := range aggregators {
			for i := range seatsOfARole {
				c.kill(seatName(role, i))
			}
		}
		for _, role := range aggregators {
			c.restore(role, older[role], older[role]+"-newest")
		}
		said := c.ends()
		if t.Logf("%q", said); len(said) == 0 {
			t.Error("a row that is drawn twice is not seen")
		}
	})
}
