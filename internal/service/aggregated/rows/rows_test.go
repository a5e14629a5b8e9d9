package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/journal"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func never(string) error { return nil }

// opened returns the shelves in a folder, which it makes where there are none.
func opened(t testing.TB, folder, owner string, failpoint func(string) error) *Store {
	t.Helper()
	if err := journal.Create(folder); err != nil && !errors.Is(err, keep.ErrExists) {
		t.Fatal(err)
	}
	store, err := journal.Open(folder, journal.Options{Prompt: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s, err := Open(context.Background(), store, nil, owner, owner == "leader", failpoint)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func served(t testing.TB, s *Store, name string) *Plan {
	t.Helper()
	p, err := s.Create(t.Context(), name)
	if err == nil {
		err = s.Serve(t.Context(), Served{Name: name, Signed: []byte("signed")})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func report(respondent, name byte, crowd int) Report {
	return Report{Respondent: [32]byte{respondent}, Name: [nameSize]byte{name}, Crowd: crowd, Body: []byte{respondent, name}}
}

// What comes together is decided on one by one, and one that is refused takes nothing from the others.
func TestReportsThatComeTogether(t *testing.T) {
	s := opened(t, t.TempDir(), "leader", never)
	plans := map[string]*Plan{"open": served(t, s, "open"), "closed": served(t, s, "closed")}
	if err := plans["closed"].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and the same once more
		for _, c := range []struct {
			plan string
			Report
			want error
		}{
			{"open", report(1, 1, 0), nil}, {"closed", report(2, 2, 0), keep.ErrSealed}, {"open", report(1, 3, 0), keep.ErrTaken},
			{"open", report(4, 1, 0), keep.ErrTaken}, {"open", report(1, 1, 0), nil}, {"open", report(1, 1, 1), keep.ErrTaken}, {"open", report(6, 6, 0), nil},
		} {
			if err := plans[c.plan].Take(t.Context(), c.Report); !errors.Is(err, c.want) {
				t.Errorf("%s %v: %v, want %v", c.plan, c.Report, err, c.want)
			}
		}
		if n, err := plans["open"].Reports(t.Context(), 0); n != 2 || err != nil {
			t.Errorf("%d reports are there, %v", n, err)
		}
	}
}

// A plan that has not closed has no jobs, and none is added: a report that comes later would be in
// none of them.
func TestJobsAreOfAClosedPlan(t *testing.T) {
	p := served(t, opened(t, t.TempDir(), "leader", never), "plan")
	if err := p.Take(t.Context(), report(1, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Shards(t.Context(), 0, Cut{1, 4, 1}); !errors.Is(err, errOpen) {
		t.Errorf("an open plan has jobs: %v", err)
	}
	if err := p.Add(t.Context(), 0, 0, 0, nil); !errors.Is(err, errOpen) {
		t.Errorf("an open plan's sum is written: %v", err)
	}
}

// Every report is in one job of one shard of its crowd, in the order of names, whoever takes shards in whatever order; a
// job is the same until it is added, after restarts and under another cut too, and is added once.
func TestEveryReportIsInOneJob(t *testing.T) {
	const crowds = 3
	for _, perShard := range []int{1, 3, 100} {
		folder, r := t.TempDir(), seeded.New(1)
		s := opened(t, folder, "leader", never)
		p := served(t, s, "plan")
		want := make([][]string, crowds)
		for i := range 100 {
			one := Report{Respondent: [32]byte{byte(i)}, Crowd: r.IntN(2) * 2} // none in the middle one
			for j := range one.Name {
				one.Name[j] = byte(r.IntN(256))
			}
			one.Body = one.Name[:]
			want[one.Crowd] = append(want[one.Crowd], string(one.Name[:]))
			if err := p.Take(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for crowd := range crowds {
			sort.Strings(want[crowd])
			got := map[int][]string{}
			jobs := (len(want[crowd]) + 6) / 7
			for try := 0; ; try++ {
				left, err := p.Shards(t.Context(), crowd, Cut{crowds, 7 + try, perShard + try})
				if err != nil {
					t.Fatal(err)
				}
				if shards := (jobs + perShard - 1) / perShard; try == 0 && len(left) != shards {
					t.Fatalf("%d jobs are in %d shards of %d", jobs, len(left), perShard)
				}
				if len(left) == 0 {
					break
				}
				shard := left[r.IntN(len(left))]
				number, bodies, err := p.Job(t.Context(), crowd, shard, 0)
				if err != nil || len(bodies) == 0 {
					t.Fatal(len(bodies), err)
				}
				if try%2 == 0 { // a restart, before it is added
					s.store.Close()
					s = opened(t, folder, "leader", never)
					if p, err = s.Plan(t.Context(), "plan"); err != nil {
						t.Fatal(err)
					}
					if again, same, err := p.Job(t.Context(), crowd, shard, 0); again != number || err != nil || !slices.EqualFunc(same, bodies, bytes.Equal) {
						t.Errorf("job %d is another one: %v", number, err)
					}
				}
				for _, b := range bodies {
					got[shard] = append(got[shard], string(b))
				}
				if err := p.Add(t.Context(), crowd, shard, number, fmt.Append(nil, len(got[shard]))); err != nil {
					t.Fatal(err)
				}
				if err := p.Add(t.Context(), crowd, shard, number, []byte("twice")); !errors.Is(err, errMeanwhile) {
					t.Errorf("a job is added twice: %v", err)
				}
			}
			var all []string
			for shard := range len(got) {
				all = append(all, got[shard]...)
				if sum, err := p.Sum(t.Context(), crowd, shard); err != nil || string(sum) != fmt.Sprint(len(got[shard])) {
					t.Errorf("the sum is %s: %v", sum, err)
				}
			}
			if !slices.Equal(all, want[crowd]) {
				t.Errorf("crowd %d has %d reports, want %d", crowd, len(all), len(want[crowd]))
			}
			sums := 0
			if err := p.Sums(t.Context(), crowd, func([]byte) error { sums++; return nil }); err != nil || sums != len(got) {
				t.Errorf("%d shards have %d sums: %v", len(got), sums, err)
			}
		}
	}
}

// A shard that an earlier version has begun, the only one of its crowd, goes on.
func TestJobsOfAnEarlierVersionGoOn(t *testing.T) {
	p := served(t, opened(t, t.TempDir(), "leader", never), "plan")
	for i := range byte(4) {
		if err := p.Take(t.Context(), report(i, i, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	crowd := []byte{0, 0, 0, 0}
	if err := p.reports.Update(t.Context(), func(tx keep.Tx) error {
		tx.Put(4, string(crowd), []byte{0, 0, 0, 2, 0, 0, 0, 1}) // two jobs, of which the first is added
		tx.Put(4, string(append(crowd, 0, 0, 0, 1)), append(make([]byte, nameSize), append([]byte{3}, make([]byte, nameSize-1)...)...))
		tx.Put(7, string(crowd), []byte("of the first"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if left, err := p.Shards(t.Context(), 0, Cut{1, 1, 1}); !slices.Equal(left, []int{0}) || err != nil {
		t.Errorf("shards %v are left: %v", left, err)
	}
	if sum, err := p.Sum(t.Context(), 0, 0); string(sum) != "of the first" || err != nil {
		t.Errorf("its sum is %q: %v", sum, err)
	}
	if number, bodies, err := p.Job(t.Context(), 0, 0, 0); number != 1 || len(bodies) != 2 || err != nil {
		t.Errorf("job %d has %d reports: %v", number, len(bodies), err)
	}
	if err := p.Add(t.Context(), 0, 0, 1, []byte("of both")); err != nil {
		t.Fatal(err)
	}
	if left, err := p.Shards(t.Context(), 0, Cut{1, 1, 1}); len(left) != 0 || err != nil {
		t.Errorf("shards %v are left: %v", left, err)
	}
}

// A name is spent once, by whichever question comes first; the same question again spends it as before. In a question
// the first place has it.
func TestANameIsSpentOnce(t *testing.T) {
	p := served(t, opened(t, t.TempDir(), "helper", never), "plan")
	if err := p.sums.Update(t.Context(), func(tx keep.Tx) error { tx.Put(spentTable, "old", nil); return nil }); err != nil { // by an earlier version
		t.Fatal(err)
	}
	for range 2 {
		for _, c := range []struct {
			asked string
			names []string
			want  []bool
		}{
			{"first", []string{"a", "b", "a"}, []bool{true, true, false}},
			{"second", []string{"b", "c", "old", "d", "c"}, []bool{false, true, false, true, false}},
			{"third", []string{"a", "b", "c", "d", "old"}, make([]bool, 5)},
			{"first", []string{"a", "b", "a"}, []bool{true, true, false}},
			{"none", nil, nil},
		} {
			if fresh, err := p.Spend(t.Context(), []byte(c.asked), c.names); !slices.Equal(fresh, c.want) || err != nil {
				t.Errorf("%s spends of %q %v, want %v: %v", c.asked, c.names, fresh, c.want, err)
			}
		}
	}
}

// A plan may be closed again at any time.
func TestAPlanIsClosedAgain(t *testing.T) {
	s := opened(t, t.TempDir(), "leader", never)
	p := served(t, s, "plan")
	for _, forget := range []bool{false, true} {
		if forget {
			if err := p.Forget(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := p.Take(t.Context(), report(1, 1, 0)); !errors.Is(err, keep.ErrSealed) && !errors.Is(err, keep.ErrDropped) {
				t.Errorf("a closed plan takes a report: %v", err)
			}
		}
	}
	again, err := s.Plan(t.Context(), "plan")
	if err != nil {
		t.Fatal(err)
	}
	if closed, err := again.Closed(t.Context()); !closed || !again.Forgotten() || err != nil {
		t.Errorf("it is open: %v", err)
	}
}

// Two that draw at once keep one share, and both are shown that.
func TestAShareIsDrawnOnce(t *testing.T) {
	p := served(t, opened(t, t.TempDir(), "helper", never), "plan")
	var all [8]string
	var draws sync.WaitGroup
	for i := range all {
		draws.Go(func() {
			kept, err := p.Keep(t.Context(), 0, Own, func([]byte, *Crowd) ([]byte, error) { return fmt.Append(nil, i), nil })
			if err != nil {
				t.Error(err)
			}
			all[i] = string(kept)
		})
	}
	draws.Wait()
	for _, kept := range all {
		if kept != all[0] || kept == "" {
			t.Errorf("%q are kept", all)
		}
	}
}

// A plan that was erased is gone, whatever step of it a crash leaves, and is not made again.
func TestAnErasedPlanIsGone(t *testing.T) {
	for _, point := range []string{"", "rows/erase/committed"} {
		folder := t.TempDir()
		s := opened(t, folder, "leader", never)
		served(t, s, "plan")
		if point == "" { // between the row and the shelves
			if err := s.main.Update(t.Context(), func(tx keep.Tx) error {
				tx.Delete(plansTable, "plan")
				tx.Put(goneTable, "plan", nil)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		} else if err := s.Erase(t.Context(), "plan", []byte("statement")); err != nil {
			t.Fatal(err)
		}
		s.store.Close()
		s = opened(t, folder, "leader", never)
		if left, err := filepath.Glob(filepath.Join(folder, "*-plan.*")); err != nil || len(left) > 0 {
			t.Errorf("%q are left: %v", left, err)
		}
		if _, err := s.Create(t.Context(), "plan"); !errors.Is(err, keep.ErrDropped) {
			t.Errorf("it is made again: %v", err)
		}
		if gone, err := s.Gone(t.Context(), "plan"); !gone || err != nil {
			t.Errorf("it is not gone: %v", err)
		}
	}
}

// The shelves of a leader are no helper's, whose sums would be another's.
func TestShelvesHaveOneOwner(t *testing.T) {
	s := opened(t, t.TempDir(), "leader", never)
	if _, err := Open(t.Context(), s.store, nil, "helper", false, never); err == nil || !strings.Contains(err.Error(), "that of a leader") {
		t.Errorf("a helper opens them: %v", err)
	}
}

// A write that found the disk full is why nothing can be taken, until one is.
func TestAFullDiskIsNotReady(t *testing.T) {
	s := opened(t, t.TempDir(), "leader", never)
	s.write(t.Context(), "take", func() error { return keep.ErrFull })
	if err := s.Ready(t.Context()); !errors.Is(err, keep.ErrFull) {
		t.Errorf("ready on a full disk: %v", err)
	}
	if err := s.Revoke(t.Context(), "name", []byte("statement")); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("it takes writes again: %v", err)
	}
}

// No bytes of a row have the store panic, and those that are none of ours are damage.
func FuzzCrowd(f *testing.F) {
	f.Add(Crowd{Steps: []string{Own}, Reports: 7, Refused: 1}.marshal())
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Crowd
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { c, err = parseCrowd(text) })
		if err == nil && !bytes.Equal(c.marshal(), text) || err != nil && !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("%x: %+v, %v", text, c, err)
		}
	})
}

// What is given up never leaves, and what has left is not given up.
func TestWhatIsGivenUpNeverLeaves(t *testing.T) {
	draw := func([]byte, *Crowd) ([]byte, error) { return []byte("share"), nil }
	for owner, leaves := range map[string]string{"leader": Both, "helper": Own} {
		p := served(t, opened(t, t.TempDir(), owner, never), "plan")
		if owner == "leader" {
			if _, err := p.Keep(t.Context(), 0, Own, draw); err != nil { // which stays here
				t.Fatal(err)
			}
		}
		if owner == "leader" {
			if drawn, err := p.GiveUp(t.Context(), 0, Own); !drawn || err != nil {
				t.Errorf("the leader gives up what it has drawn: %v", err)
			}
		}
		for range 2 {
			if left, err := p.GiveUp(t.Context(), 0, leaves); left || err != nil {
				t.Fatal(left, err)
			}
		}
		if _, err := p.Keep(t.Context(), 0, leaves, draw); !errors.Is(err, ErrGivenUp) {
			t.Errorf("%s: %v", owner, err)
		}
		if kept, err := p.Share(t.Context(), 0, leaves); kept != nil || err != nil {
			t.Errorf("%s: %q, %v", owner, kept, err)
		}
		if _, err := p.Keep(t.Context(), 1, leaves, draw); err != nil {
			t.Fatal(err)
		}
		if left, err := p.GiveUp(t.Context(), 1, leaves); !left || err != nil {
			t.Errorf("%s gives up what has left: %v", owner, err)
		}
	}
}
