package aggregated

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

const rounds, precision = 5, 4

// course is a study whose rounds are correlated, on the two aggregators of a world.
type course struct {
	*world
	study       plan.SignedStudy
	coordinator ed25519.PrivateKey
	paused      time.Duration // before the next rounds
}

// newCourse has noise of next to nothing, so that rows are told exactly.
func newCourse(t *testing.T) *course {
	t.Helper()
	w := newWorld(t, func(p *plan.Plan) {
		s := p.Route.Sum
		s.Noise, s.Law, s.Sigma = plan.NoiseAggregators, plan.LawGaussian, 0x1p-8
		s.Circuit = plan.Circuit{Kind: plan.CircuitMultihot, Length: cells, Weight: 1}
		p.Times.Closes = p.Times.Opens.Add(time.Hour)
	})
	_, coordinator, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := w.plan
	route := *p.Route.Sum
	route.Correlated = &plan.Correlated{Rounds: rounds, Bits: precision, Events: 1}
	p.Route.Sum, p.Times = &route, plan.Times{}
	study := plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: rounds, Takes: plan.TakesAll, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(coordinator.Public().(ed25519.PublicKey)), Times: plan.Times{Opens: w.now, Closes: w.now.Add(1000 * time.Hour)},
	}
	if err := study.Validate(); err != nil {
		t.Fatal(err)
	}
	return &course{world: w, study: plan.SignStudy(study, w.publisher), coordinator: coordinator}
}

// begin has both aggregators serve a round.
func (c *course) begin(number int) {
	c.t.Helper()
	c.serve(number)
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		if err := c.nodes[role].service.Load(c.t.Context(), c.signed); err != nil {
			c.t.Fatal(err)
		}
	}
}

// serve makes a round that which the world speaks of.
func (c *course) serve(number int) {
	c.t.Helper()
	opens := c.study.Study.Times.Opens.Add(time.Duration(number)*time.Hour + c.paused)
	signed, err := c.study.Round(number, "", plan.Times{Opens: opens, Closes: opens.Add(time.Hour)}, c.coordinator)
	if err != nil {
		c.t.Fatal(err)
	}
	c.signed, c.plan = signed, signed.Plan
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = opens
}

// row is what a round tells of the counts of days, of which those that are nil are left out.
func row(number int, days ...[]int64) []int64 {
	factor := sum.Factor(rounds, precision)
	sums := make([]int64, cells)
	for i, counts := range days[:number] {
		for cell, n := range counts {
			sums[cell] += n * factor[number-1-i]
		}
	}
	return sums
}

// Each row tells of all days so far by the study's factor. A round that is withheld is in no row. What has left leaves
// again byte for byte after a restart.
func TestRowsTellOfAllDays(t *testing.T) {
	c := newCourse(t)
	days := [][]int64{{3, 1, 0, 0}, nil, {0, 0, 4, 0}, {1, 1, 1, 1}}
	said := [][]int{{0, 0, 0, 1}, {2, 2}, {2, 2, 2, 2}, {0, 1, 2, 3}} // the second is too small
	for i, cells := range said {
		c.begin(i + 1)
		c.all(cells...)
		c.close()
		if days[i] == nil {
			c.step()
			if status, _, _ := c.collected(); status == 200 {
				t.Fatal("a round of too few is told")
			}
			continue
		}
		first := c.finish()
		c.want(row(i+1, days...), 4)
		c.revive(dap.Leader)
		c.revive(dap.Helper)
		if again := c.finish(); !bytes.Equal(first, again) {
			t.Error("other bytes after a restart")
		}
	}
	// The twin: without the factor the last row would be one of one day.
	if sums, _ := c.opened(); slices.Equal(sums, row(1, days[3])) {
		t.Error("the last row tells of its own day alone")
	}
}

// Killed at every write of a row, either aggregator goes on, and every later row is right.
func TestRowsAfterADeath(t *testing.T) {
	days := [][]int64{{3, 1, 0, 0}, {0, 0, 4, 0}, {1, 1, 1, 1}}
	said := [][]int{{0, 0, 0, 1}, {2, 2, 2, 2}, {0, 1, 2, 3}}
	reached := map[string]bool{}
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		for _, point := range []string{"rows/begin", "rows/begin/committed", "rows/share", "rows/share/committed", "share-drawn", "helper-shared", "sum-ready", "rows/forget", "rows/forget/committed"} {
			t.Run(fmt.Sprint(role, point), func(t *testing.T) {
				c := newCourse(t)
				for i := range said {
					c.begin(i + 1)
					c.all(said[i]...)
					c.close()
					if i == 1 {
						c.killed(role, point, 1)
						if err := c.step(); err != nil {
							reached[fmt.Sprint(role, point)] = true
						}
						c.revive(role)
					}
					c.finish()
					c.want(row(i+1, days...), 4)
				}
			})
		}
	}
	for _, must := range []string{"2rows/begin", "2rows/begin/committed", "2rows/share", "2rows/share/committed", "3rows/begin", "3rows/share/committed"} {
		if !reached[must] {
			t.Errorf("nobody was killed at %s", must)
		}
	}
}

// A helper that was put back to before a round left does not know its day: nothing of a later round leaves, by whatever
// factor.
func TestARestoredHelperTellsNoRow(t *testing.T) {
	c := newCourse(t)
	older := c.older(dap.Helper)
	c.begin(1)
	c.all(0, 0, 0, 1)
	c.close()
	c.finish()
	older()
	c.begin(2)
	c.all(2, 2, 2, 2)
	c.close()
	for range 5 {
		c.step()
	}
	if status, _, _ := c.collected(); status == 200 {
		t.Error("a row left of which the aggregators tell other days")
	}
}

// A leader that was put back to before it drew a row would draw it again: the neighbours know the digest of what has left,
// and nothing leaves twice.
func TestARowIsNotDrawnTwice(t *testing.T) {
	c := newCourse(t)
	c.begin(1)
	c.all(0, 0, 0, 1)
	c.close()
	c.finish()
	c.begin(2)
	c.all(2, 2, 2, 2)
	older := c.older(dap.Leader)
	c.close()
	c.finish()
	older()
	for range 5 {
		c.step()
	}
	if status, _, _ := c.collected(); status == 200 {
		t.Error("a row that was drawn twice left twice")
	}
	if reason := found(c.nodes[dap.Leader].service, c.plan.Hash()).crowds[0].failed(); !strings.Contains(reason, "older copy") {
		t.Errorf("the leader says %q", reason)
	}
}

// A round that was begun and failed is a missed row: it is in no later one, and nothing of it leaves when its damage is
// mended. It does not end the study.
func TestAFailedRoundIsAMissedRow(t *testing.T) {
	for name, damage := range map[string]struct {
		role dap.Role
		sum  func([]byte) []byte
	}{
		"the helper lost a report": {role: dap.Helper, sum: func(b []byte) []byte { b[7]--; return b }},
		"the helper's is cut":      {role: dap.Helper, sum: func(b []byte) []byte { return b[:5] }},
		"the leader's is cut":      {role: dap.Leader, sum: func(b []byte) []byte { return b[:5] }}, // before it has drawn its share
	} {
		t.Run(name, func(t *testing.T) { failedRound(t, damage.role, damage.sum, 0, "") })
	}
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		for _, point := range rows.RoundFailpoints {
			t.Run(fmt.Sprint(role, point), func(t *testing.T) {
				failedRound(t, dap.Helper, func(b []byte) []byte { b[7]--; return b }, role, point)
			})
		}
	}
}

// failedRound has the second of three rounds fail, for one of the two has other sums than it wrote, and who dies at a point on
// the way; "": nobody.
func failedRound(t *testing.T, damaged dap.Role, change func([]byte) []byte, who dap.Role, dies string) {
	days := [][]int64{{3, 1, 0, 0}, nil, {1, 1, 1, 1}}
	c := newCourse(t)
	c.begin(1)
	c.all(0, 0, 0, 1)
	c.close()
	c.finish()
	c.begin(2)
	c.all(2, 2, 2, 2)
	c.close()
	if damaged == dap.Leader {
		c.undrawn()
	} else {
		c.unshared()
	}
	mend := c.damage(damaged, change)
	tries := func() (err error) {
		for range enough {
			if status, _, _ := c.collected(); status == 200 {
				t.Fatal("a sum that cannot be had is told")
			}
			err = c.step()
		}
		return err
	}
	die := func() {
		t.Helper()
		c.killed(who, dies, 1)
		if tries() == nil {
			t.Fatal("nobody died")
		}
		c.revive(who)
		c.start(who)
	}
	missed := who == dap.Leader && strings.HasPrefix(dies, "rows/give-up") // a helper gives the row up where it begins the next
	if missed {
		die()
	}
	tries()
	if status, body, _ := c.collected(); !strings.Contains(string(body), string(wire.RowFailed)) {
		t.Errorf("answered %d: %s", status, body)
	}
	if damaged == dap.Helper { // the leader's reports are forgotten
		mend()
	}
	for range 3 {
		c.step()
		if status, _, _ := c.collected(); status == 200 {
			t.Error("a row that was given up is told")
		}
	}
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		c.revive(role)
		c.start(role)
	}
	c.begin(3)
	c.all(0, 1, 2, 3)
	c.close()
	if dies != "" && !missed {
		die()
	}
	c.finish()
	c.want(row(3, days...), 4)
	c.serve(2)
	c.step()
	if status, _, _ := c.collected(); status == 200 {
		t.Error("a row that was given up is told after a later one")
	}
}

// A row whose end cannot be written, for the disk is full or nobody answers, is given up as soon as it can be.
func TestARowIsGivenUpWhenTheDiskHasRoom(t *testing.T) {
	c := newCourse(t)
	c.begin(1)
	c.all(2, 2, 2, 2)
	c.close()
	c.unshared()
	c.damage(dap.Helper, func(b []byte) []byte { b[7]--; return b })
	refused := 0
	c.failpoint = func(role dap.Role, name string) error {
		if role != dap.Leader || name != "rows/give-up" {
			return nil
		}
		refused++
		return keep.ErrFull
	}
	for range enough + 2 {
		if c.step() == nil {
			t.Error("a leader whose disk is full says that all is well")
		}
	}
	if refused != 3 {
		t.Errorf("the end was refused %d times, want 3", refused)
	}
	c.failpoint = nil
	if err := c.step(); err != nil {
		t.Error(err)
	}
	if status, body, _ := c.collected(); !strings.Contains(string(body), string(wire.RowFailed)) {
		t.Errorf("answered %d: %s", status, body)
	}
	c.begin(2)
	c.all(0, 1, 2, 3)
	c.close()
	c.finish()
	c.want(row(2, nil, []int64{1, 1, 1, 1}), 4)
}

// Two rows in a row that were given up are an alarm, also after a restart, until a row leaves.
func TestTwoMissedRowsAreAnAlarm(t *testing.T) {
	c := newCourse(t)
	for number := 1; number <= 4; number++ {
		c.begin(number)
		c.all(0, 0, 0, 1)
		c.close()
		if number == 4 {
			c.finish()
		} else {
			c.unshared()
			c.damage(dap.Helper, func(b []byte) []byte { b[7]--; return b })
			for range enough {
				c.step()
			}
		}
		c.revive(dap.Leader)
		c.start(dap.Leader)
		want := ""
		if number == 2 || number == 3 {
			want = fmt.Sprintf("rounds %d and %d were given up", number-1, number)
		}
		if alarms := strings.Join(c.nodes[dap.Leader].service.Status(t.Context()).Alarms, "\n"); (alarms == "") != (want == "") || !strings.Contains(alarms, want) {
			t.Errorf("after round %d the alarms are %q", number, alarms)
		}
	}
}

// undrawn has the leader of a closed round add all that came, begin its row and die before it draws its share.
func (c *course) undrawn() {
	c.t.Helper()
	c.killed(dap.Leader, "rows/share", 1)
	if c.step() == nil {
		c.t.Fatal("the leader did not die")
	}
	c.revive(dap.Leader)
	c.start(dap.Leader)
}

// damage changes what an aggregator has added up, and returns what mends it.
func (c *course) damage(role dap.Role, change func([]byte) []byte) (mend func()) {
	c.t.Helper()
	whole, err := c.sum(role)
	if err != nil {
		c.t.Fatal(err)
	}
	write := func(body []byte) {
		shelf := c.shelf(role, map[dap.Role]string{dap.Leader: "reports-", dap.Helper: "plan-"}[role])
		if err := shelf.Update(context.Background(), func(tx keep.Tx) error { tx.Put(sums, first, body); return nil }); err != nil {
			c.t.Fatal(err)
		}
	}
	write(change(bytes.Clone(whole)))
	return func() { write(whole) }
}

// drawn has the leader of a closed round draw its row, its helper tell its own, and the answer get lost.
func (c *course) drawn() {
	c.t.Helper()
	lost := 0
	c.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
		res := send()
		if r.URL.Path != dap.SharesPath(c.task().ID) {
			return res, nil
		}
		lost++
		return nil, errors.New("connection reset")
	}
	if c.step() == nil || lost != 1 {
		c.t.Fatalf("%d answers are lost, and all is well", lost)
	}
	c.meddle = nil
	if told, err := c.kept(dap.Helper).Share(c.t.Context(), 0, rows.Own); told == nil || err != nil {
		c.t.Fatalf("the helper has not told the row: %v", err)
	}
}

// A leader whose reports or their sum are damaged when its row is drawn goes on by what it has kept beside the row, also
// after a restart. Its helper may have told the row, so that it could not give it up: its later rows would be of other
// days than the helper's, and none would leave.
func TestALeaderThatIsDamagedWhenItsRowIsDrawn(t *testing.T) {
	days := [][]int64{{3, 1, 0, 0}, {0, 0, 4, 0}, {1, 1, 1, 1}}
	for name, damage := range map[string]func(c *course){
		"its sum is cut":               func(c *course) { c.damage(dap.Leader, func(b []byte) []byte { return b[:5] }) },
		"its sum cannot be read":       func(c *course) { c.spoil(dap.Leader, "reports-", sums) },
		"its reports are found rotten": func(c *course) { c.spoil(dap.Leader, "reports-", sums); c.kill(dap.Leader); c.start(dap.Leader) },
		"its reports are lost": func(c *course) {
			c.kill(dap.Leader)
			for _, ending := range []string{".rows", ".key", ".check"} {
				if err := os.Remove(c.file(dap.Leader, "reports-", ending)); err != nil {
					t.Fatal(err)
				}
			}
			c.start(dap.Leader)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourse(t)
			c.begin(1)
			c.all(0, 0, 0, 1)
			c.close()
			c.finish()
			c.begin(2)
			c.all(2, 2, 2, 2)
			c.close()
			c.drawn()
			damage(c)
			c.finish()
			c.want(row(2, days...), 4)
			c.begin(3)
			c.all(0, 1, 2, 3)
			c.close()
			c.finish()
			c.want(row(3, days...), 4)
		})
	}
}

// A row that is drawn and damaged itself can never be had, and its helper may have told it. The leader does not wait for
// it for ever: it gives later rows up by name, and two of them are an alarm that says to end the study. When the
// row is as it was, it leaves.
func TestARowThatIsDamagedEndsItsStudy(t *testing.T) {
	c := newCourse(t)
	c.begin(1)
	c.all(0, 0, 0, 1)
	c.close()
	c.drawn()
	mend := c.spoil(dap.Leader, "plan-", shares)
	for range enough {
		if c.step() == nil {
			t.Fatal("a leader whose row is damaged says that all is well")
		}
	}
	c.says(dap.Leader, unattainable)
	for number := 2; number <= 3; number++ {
		c.begin(number)
		c.all(0, 1, 2, 3)
		c.close()
		for range enough {
			c.step()
		}
		if status, body, _ := c.collected(); !strings.Contains(string(body), string(wire.RowFailed)) {
			t.Errorf("round %d is answered %d: %s", number, status, body)
		}
	}
	if alarms := strings.Join(c.nodes[dap.Leader].service.Status(t.Context()).Alarms, "\n"); !strings.Contains(alarms, "rounds 2 and 3 were given up") {
		t.Errorf("the alarms are %q", alarms)
	}
	c.serve(1)
	mend()
	found(c.nodes[dap.Leader].service, c.plan.Hash()).retry()
	c.finish()
	c.want(row(1, []int64{3, 1, 0, 0}), 4)
}

// A round that is withdrawn when its row has left is destroyed, and later rows cannot tell of it. They leave no more, by
// name, wherever the withdrawal came first: rows that tell of a day and later ones that do not move by more than is charged.
// One that was withdrawn before its row could be drawn is in no row, and the study goes on.
func TestARoundThatIsWithdrawnEndsTheRows(t *testing.T) {
	for name, at := range map[string][]dap.Role{"everywhere": {dap.Leader, dap.Helper}, "the leader": {dap.Leader}, "the helper": {dap.Helper}} {
		t.Run(name, func(t *testing.T) {
			c := newCourse(t)
			for number := 1; number <= 2; number++ {
				c.begin(number)
				c.all(0, 0, 0, 1)
				c.close()
				c.finish()
			}
			c.serve(1)
			c.withdrawn(at...)
			for number := 3; number <= 4; number++ {
				c.begin(number)
				c.all(2, 2, 2, 2)
				c.close()
				for range 2 * enough {
					c.step()
				}
				if err := c.step(); err != nil {
					t.Errorf("round %d is tried again: %v", number, err)
				}
				if status, body, _ := c.collected(); !strings.Contains(string(body), string(wire.RowFailed)) {
					t.Errorf("round %d is answered %d: %s", number, status, body)
				}
			}
		})
	}
	c := newCourse(t)
	c.begin(1)
	c.all(0, 0, 0, 1)
	c.withdrawn(dap.Leader, dap.Helper)
	c.begin(2)
	c.all(2, 2, 2, 2)
	c.close()
	c.finish()
	c.want(row(2, nil, []int64{0, 0, 4, 0}), 4)
}

// withdrawn brings aggregators the withdrawal of the round that the world speaks of.
func (c *course) withdrawn(at ...dap.Role) {
	c.t.Helper()
	statement, err := plan.Withdraw(plan.Withdrawal{Plan: c.plan.Hash(), At: c.time(), Reason: "the wrong question"}, c.publisher)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, role := range at {
		if _, err := c.nodes[role].service.Withdraw(c.t.Context(), statement); err != nil {
			c.t.Fatal(err)
		}
	}
}

// A helper that is damaged while reports are added refuses them by name: the row is missed, both have an alarm, and the
// study goes on.
func TestAHelperThatIsDamagedWhileItAdds(t *testing.T) {
	for name, damage := range map[string]func(c *course){
		"its sum is cut":         func(c *course) { c.damage(dap.Helper, func(b []byte) []byte { return b[:5] }) },
		"its sum cannot be read": func(c *course) { c.spoil(dap.Helper, "plan-", sums) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourse(t)
			c.begin(1)
			c.all(0, 0, 0, 1, 2, 2) // two jobs
			c.close()
			jobs := 0
			c.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
				if jobs++; r.URL.Path == dap.AggregationPath(c.task().ID) && jobs > 1 {
					return nil, errors.New("no route to host")
				}
				return send(), nil
			}
			if c.step() == nil || jobs != 2 {
				t.Fatalf("%d jobs, and all is well", jobs)
			}
			c.meddle = nil
			damage(c)
			for range enough {
				if err := c.step(); err == nil || !strings.Contains(err.Error(), string(wire.BatchRefused)) {
					t.Fatalf("a helper that is damaged answers %v", err)
				}
			}
			c.says(dap.Helper, unattainable)
			if status, body, _ := c.collected(); !strings.Contains(string(body), string(wire.RowFailed)) {
				t.Errorf("answered %d: %s", status, body)
			}
			c.begin(2)
			c.all(0, 1, 2, 3)
			c.close()
			c.finish()
			c.want(row(2, nil, []int64{1, 1, 1, 1}), 4)
		})
	}
}

// What was kept of a round is kept until its study closes, however long ago the round did: later rows tell of it. The twin
// forgets it when its own retention is over, as of other plans.
func TestEarlierDaysOutlastTheirRetention(t *testing.T) {
	run := func(forgets bool) error {
		c := newCourse(t)
		c.begin(1)
		c.all(0, 0, 0, 1)
		c.close()
		c.finish()
		c.paused = 31 * 24 * time.Hour
		c.mu.Lock()
		c.now = c.now.Add(c.paused)
		c.mu.Unlock()
		for _, role := range []dap.Role{dap.Leader, dap.Helper} {
			s := c.nodes[role].service
			if forgets {
				s.plans.Closes = func(signed plan.Signed) time.Time { return signed.Plan.Times.Closes }
			}
			if err := s.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c.begin(2)
		c.all(2, 2, 2, 2)
		c.close()
		for range 3 {
			c.step()
		}
		if status, body, _ := c.collected(); status != http.StatusOK {
			return fmt.Errorf("answered %d: %s", status, body)
		}
		c.want(row(2, []int64{3, 1, 0, 0}, []int64{0, 0, 4, 0}), 4)
		return nil
	}
	if err := run(false); err != nil {
		t.Error(err)
	}
	if run(true) == nil {
		t.Error("days that are forgotten after a month are not missed")
	}
}

// A leader that has not heard whether its helper has told a round begins no later one.
func TestALeaderWaitsForARound(t *testing.T) {
	c := newCourse(t)
	c.begin(1)
	c.all(0, 0, 0, 1)
	c.close()
	c.unshared()
	store := c.nodes[dap.Leader].service.rows
	if _, err := store.Begin(t.Context(), rows.Round{Study: c.plan.Round.Study, Number: 2}, 0); err == nil || !strings.Contains(err.Error(), "being handed on: round 1") {
		t.Error(err)
	}
	c.finish()
	days, err := store.Begin(t.Context(), rows.Round{Study: c.plan.Round.Study, Number: 2}, 0)
	if err != nil || len(days) != 1 {
		t.Errorf("%d days, %v", len(days), err)
	}
}

// An aggregator begins rounds in their order: one that comes late is in no row, and what was begun before has the same
// rounds before it again.
func TestRoundsBeginInTheirOrder(t *testing.T) {
	c := newCourse(t)
	for number := 1; number <= 2; number++ {
		c.begin(number)
		c.all(0, 0, 0, 1)
		c.close()
		c.finish()
	}
	store := c.nodes[dap.Helper].service.rows
	study := c.plan.Round.Study
	for range 2 {
		days, err := store.Begin(t.Context(), rows.Round{Study: study, Number: 4}, 0)
		if err != nil || len(days) != 2 || days[0].Number != 1 || days[1].Number != 2 {
			t.Fatalf("%d days, %v", len(days), err)
		}
	}
	c.begin(3)
	c.all(0, 0, 0, 1)
	c.close()
	c.step()
	if status, _, _ := c.collected(); status == 200 {
		t.Error("a round is told behind a later one")
	}
	if _, err := store.Begin(t.Context(), rows.Round{Study: study, Number: 5}, 0); err == nil || !strings.Contains(err.Error(), "round 4") {
		t.Errorf("a round that was begun and has not left is passed over: %v", err)
	}
}

// Ledgers count what a round tells for a week after it closes, and nothing is told later.
func TestARowThatIsTooLateIsWithheld(t *testing.T) {
	c := newCourse(t)
	c.begin(1)
	c.all(0, 0, 0, 1)
	c.mu.Lock()
	c.now = c.plan.Times.Closes.Add(plan.LastRow + time.Second)
	c.mu.Unlock()
	if err := c.step(); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := c.collected(); status == 200 || !strings.Contains(string(body), string(wire.RowLate)) {
		t.Errorf("answered %d: %s", status, body)
	}
}

// A plan whose rounds are correlated is served as a round alone.
func TestRoundsThatHangTogetherAreOfAStudy(t *testing.T) {
	c := newCourse(t)
	p := c.study.Study.Plan
	p.Times = plan.Times{Opens: c.now, Closes: c.now.Add(time.Hour)}
	if err := c.nodes[dap.Leader].service.Load(t.Context(), plan.Sign(p, c.publisher)); err == nil || !strings.Contains(err.Error(), "none of a study") {
		t.Error(err)
	}
}

// roundSchedule is a run of rounds in which messages are lost, come twice or late, both aggregators are killed now and then,
// and what one of them has added of a round is damaged. Each row that leaves is of the same days at both.
func roundSchedule(t *testing.T, seed uint64) (missed int) {
	c := newCourse(t)
	r := seeded.New(seed, 77)
	var late []func() *http.Response
	points := slices.Concat(failpoints, rows.Failpoints, rows.RoundFailpoints)
	var days [][]int64
	for number := 1; number <= rounds; number++ {
		c.begin(number)
		counts, cells := make([]int64, cells), make([]int, minimum+r.IntN(3))
		for i := range cells {
			cells[i] = r.IntN(len(counts))
			counts[cells[i]]++
		}
		c.all(cells...)
		c.close()
		days = append(days, counts)
		c.meddle = unreliable(r, &late)
		var mend func()
		again := func() {
			for _, role := range []dap.Role{dap.Leader, dap.Helper} {
				if c.nodes[role] == nil {
					c.start(role)
				}
			}
		}
		die := func() { // at each step of a row in turn
			turn := int(seed)*rounds + number
			role, point := dap.Leader+dap.Role(turn%2), rows.RoundFailpoints[turn/2%len(rows.RoundFailpoints)]
			if number > 1 && days[number-2] == nil {
				role, point = dap.Helper, rows.RoundFailpoints[2+turn%2]
			}
			c.killed(role, point, 1)
			for range enough {
				c.step()
			}
			c.revive(role)
			again()
		}
		var seen []byte
		for range 12 {
			role := dap.Leader + dap.Role(r.IntN(2))
			sum, err := c.sum(role)
			drawn, _ := c.kept(dap.Leader).Share(t.Context(), 0, rows.Own)
			if mend == nil && sum != nil && err == nil && (role == dap.Leader || drawn != nil) && r.IntN(2) == 0 {
				mend = c.damage(role, func(b []byte) []byte {
					if role == dap.Leader || r.IntN(3) == 0 {
						return b[:5]
					}
					b[7]--
					return b
				})
			}
			if c.mishap(r, points); r.IntN(3) == 0 {
				die()
			}
			c.step()
			again()
			if len(late) > 0 && r.IntN(3) == 0 {
				late[0]()
				late = late[1:]
			}
			if status, body, _ := c.collected(); status == http.StatusOK {
				if seen != nil && !bytes.Equal(seen, body) {
					t.Fatal("the analyzer is given two sums")
				}
				seen = body
			}
		}
		c.meddle = nil
		c.revive(dap.Leader)
		c.revive(dap.Helper)
		again()
		die()
		for range 2 * enough {
			c.step()
		}
		if leader := found(c.nodes[dap.Leader].service, c.plan.Hash()); leader.crowds[0].failed() != "" { // its helper may have told the row
			mend()
			leader.retry()
			c.finish()
		}
		switch status, body, _ := c.collected(); {
		case status == http.StatusOK:
			c.want(row(number, days...), uint64(len(cells)))
		case strings.Contains(string(body), string(wire.RowFailed)) && mend != nil && seen == nil:
			days[number-1] = nil
			missed++
		default:
			t.Fatalf("round %d is answered %d: %s; the leader says %v; damaged: %v", number, status, body, c.step(), mend != nil)
		}
	}
	return missed
}

func TestSchedulesOfRounds(t *testing.T) {
	n := uint64(16)
	if testing.Short() {
		n = 6
	}
	missed := 0
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { missed += roundSchedule(t, seed) })
	}
	if missed == 0 {
		t.Error("no row is missed")
	}
}
