package chaos

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
)

var workerSeeds = flag.Int("chaos.workers", 1, "seeds of each mishap of TestWorkers")

// mishaps are what befalls a fleet, each drawn from a seed.
var mishaps = []struct {
	name string
	draw func(seed uint64) mishap
}{
	// Workers, the hop and the analyzer end by signal 9 at any step.
	{"processes are killed", func(seed uint64) mishap {
		r := seeded.New(seed, 10)
		dooms := map[string][]doom{}
		for _, name := range mixerNames {
			dooms[name] = lives(r, 3, "kill", "", 14)
		}
		for _, name := range counterNames {
			dooms[name] = append(lives(r, 2, "kill", "", 4), doom{"kill", 1, "shard-counted"})
		}
		hop := []string{"epoch-sealed", "parts-written", "parts-marked", "step-done", "epoch-mixed", "outbox-written", "mixed", "parts-purged", "part-sent", "next-acknowledged", "forwarded"}
		dooms["hop0.0"] = []doom{{"kill", 1, hop[seed%uint64(len(hop))]}, {"kill", 1 + r.IntN(3), hop[r.IntN(len(hop))]}}
		counts := []string{"manifest-kept", "part-dealt", "batch-dealt", "shard-counted", "batch-opened", "rows/count", "rows/count/committed", "shards-added"}
		dooms["analyzer"] = []doom{{"kill", 1, counts[seed%uint64(len(counts))]}, {"kill", 1 + r.IntN(2), counts[r.IntN(len(counts))]}}
		return mishap{dooms: dooms}
	}},
	// PostgreSQL cuts all connections while a crowd is mixed and a shard is counted, is stopped, and
	// is killed, and starts again.
	{"the database goes away", func(seed uint64) mishap {
		r := seeded.New(seed, 11)
		times := 0
		return mishap{
			dooms: map[string][]doom{
				"hop0.0": {{"call", 1, "epoch-marked"}, {"call", 1 + r.IntN(2), "parts-written"}, {"call", 1 + r.IntN(3), "step-done"}, {"call", 1, "outbox-written"}, {"call", 1, "next-acknowledged"}},
				"mixer0": lives(r, 2, "call", "put", 6), "mixer1": lives(r, 2, "call", "get", 6),
				"counter0": lives(r, 2, "call", "get", 3), "counter1": lives(r, 2, "call", "get", 3), "analyzer": {{"call", 1 + r.IntN(3), "part-dealt"}, {"call", 1, "shard-counted"}, {"call", 1, "batch-opened"}},
			},
			calls: func(f *fleet, who string) {
				switch times++; times % 3 {
				case 1:
					f.check(f.postgres.Terminate())
				case 2:
					f.check(f.postgres.Restart(false, func() {}))
				default:
					f.check(f.postgres.Restart(true, func() {}))
				}
			},
		}
	}},
	// The store loses a fragment, a bucket and a shard, which are made again.
	{"blobs are lost that can be made again", func(seed uint64) mishap {
		r := seeded.New(seed, 13)
		return mishap{
			dooms: map[string][]doom{
				"mixer0": {{"call", 9 + r.IntN(9), ""}, {"call", 9 + r.IntN(9), ""}}, "mixer1": {{"call", 15 + r.IntN(20), ""}, {"call", 9 + r.IntN(9), ""}},
				"analyzer": {{"call", 1, "batch-dealt"}},
			},
			calls: func(f *fleet, who string) {
				var all []string
				if who == "analyzer" {
					all = slices.DeleteFunc(f.blobs("shards", ""), func(path string) bool {
						return filepath.Base(filepath.Dir(path)) == "dealt" || filepath.Base(path) == "manifest"
					})
				} else {
					all = append(f.blobs("parts", "/fragment/"), f.blobs("parts", "/bucket/")...)
				}
				if len(all) > 0 { // somebody else may have been quicker
					if err := os.Remove(all[r.IntN(len(all))]); !errors.Is(err, fs.ErrNotExist) {
						f.check(err)
					}
				}
			},
		}
	}},
	// The store loses a part: its crowd is withheld, which the hop says, and is never mixed anew,
	// and the other crowd goes on.
	{"a part is lost", func(seed uint64) mishap {
		r := seeded.New(seed, 14)
		return mishap{
			dooms: map[string][]doom{"hop0.0": {{"call", 1, "parts-marked"}, {"kill", 1, "parts-marked"}}},
			calls: func(f *fleet, who string) {
				all := f.blobs("parts", "_0_0/0/")
				all = slices.DeleteFunc(all, func(path string) bool { return filepath.Base(filepath.Dir(path)) != "part" })
				f.check(os.Remove(all[r.IntN(len(all))]))
			},
			lost: map[int]bool{0: true},
		}
	}},
	// Workers stop in the middle of a step for longer than their lease, and wake up when all is
	// over.
	{"slow workers wake after the end", func(seed uint64) mishap {
		r := seeded.New(seed, 15)
		return mishap{
			dooms: map[string][]doom{
				// All of a kind: one that goes on may leave the others nothing.
				"mixer0": lives(r, 1, "stop", "put", 2), "mixer1": {{"stop", 1, "put"}}, "mixer2": {{"stop", 1, "put"}}, "counter0": {{"stop", 1, "get"}}, "counter1": {{"stop", 1, "get"}},
				"hop0.0": {{"call", 1, "step-done"}}, "analyzer": {{"call", 1, "shard-counted"}},
			},
			calls: heldUntil(map[string][]string{"hop0.0": mixerNames, "analyzer": counterNames}),
			after: func(f *fleet, _ []byte) {
				if f.wake() == 0 {
					f.t.Error("nobody was stopped")
				}
			},
		}
	}},
}

// Three workers mix a hop's crowds and two count the analyzer's, on PostgreSQL, every one a
// process. Whatever befalls them: who has sent something is counted once,
// a crowd has one order, and the release is that of one process, byte for byte. Fleets with one
// bug of those that a system of this kind has are caught.
func TestWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("the processes would be this one, which the race detector slows down")
	}
	t.Parallel()
	f := newFleet(t, nil)
	for seed := *firstSeed; seed < *firstSeed+uint64(*workerSeeds); seed++ {
		for _, one := range mishaps {
			if !f.try(t, fmt.Sprintf("%s, seed %d", one.name, seed), func(t *testing.T) { f.survives(t, one.draw(seed)) }) {
				return
			}
		}
	}
	for _, twin := range workerTwins {
		if !f.try(t, twin.name, func(t *testing.T) { f.isCaught(t, twin) }) {
			return
		}
	}
}

// try runs a test on the fleet. One that fails is the last: its processes tell what they know.
func (f *fleet) try(t *testing.T, name string, test func(t *testing.T)) bool {
	return t.Run(name, func(t *testing.T) {
		f.t = t
		defer func() { f.t = f.whole }()
		defer func() {
			if t.Failed() {
				f.tell()
			}
		}()
		test(t)
	})
}

// survives wants nothing to come of a mishap, and the mishap to come.
func (f *fleet) survives(t *testing.T, m mishap) {
	for _, v := range f.run(m) {
		t.Error(v)
	}
	n := f.met()
	t.Logf("%d things befell processes", n)
	if n == 0 {
		t.Error("nothing befell anybody")
	}
}

// heldUntil answers a hop or an analyzer that calls when something has befallen one of its workers: until then it
// does nothing more, however quick it is and however slow they are.
func heldUntil(workers map[string][]string) func(f *fleet, who string) {
	return func(f *fleet, who string) {
		f.until(mishap{}, func() bool {
			return slices.ContainsFunc(workers[who], func(name string) bool { return f.notes(name, "met") > 0 })
		})
	}
}

// heldAnalyzer has the analyzer leave a batch's shards to its workers behind the first one, until something has
// befallen one of them.
func heldAnalyzer(dooms map[string][]doom) mishap {
	dooms["analyzer"] = []doom{{"call", 1, "shard-counted"}, {"call", 1, "shard-counted"}}
	return mishap{dooms: dooms, calls: heldUntil(map[string][]string{"analyzer": counterNames})}
}

// workerTwin is a fleet with a bug, and what befalls it that shows it.
type workerTwin struct {
	name  string
	plant map[string]string // by process
	draw  func() mishap
	want  string // is said: an expression
}

var workerTwins = []workerTwin{
	{"a worker draws an order of its own", map[string]string{"mixer0": "own order", "mixer1": "own order", "mixer2": "own order"}, func() mishap {
		dooms := map[string][]doom{"hop0.0": {{"call", 1, "step-done"}}}
		for _, name := range mixerNames {
			dooms[name] = []doom{{"pass", 1, "scattered"}}
		}
		return mishap{dooms: dooms, calls: heldUntil(map[string][]string{"hop0.0": mixerNames})}
	}, "another order left"},
	{"a hop mixes anew what it finds half mixed", map[string]string{"hop0.0": "anew"}, func() mishap {
		return mishap{dooms: map[string][]doom{"hop0.0": {{"kill", 1, "parts-marked"}}}}
	}, "was laid out to be mixed 2 times"},
	{"the tally is written before its mark", map[string]string{"counter0": "tally first", "counter1": "idle"}, func() mishap {
		return heldAnalyzer(map[string][]doom{"counter0": {{"kill", 1, "between"}}}) // counter0 has a second shard of a batch, since counter1 takes none
	}, "is counted [2-9] times"},
	{"the mark is written before its tally", map[string]string{"counter0": "mark first", "counter1": "mark first"}, func() mishap {
		dies := []doom{{"kill", 1, "between"}}
		return heldAnalyzer(map[string][]doom{"counter0": dies, "counter1": dies})
	}, "is counted 0 times"},
}

// isCaught wants a fleet with a bug to be told from one without.
func (f *fleet) isCaught(t *testing.T, twin workerTwin) {
	for name, bug := range twin.plant {
		f.become(bug, name)
	}
	said := f.run(twin.draw())
	t.Logf("%q", said)
	if !slices.ContainsFunc(said, func(v string) bool { return regexp.MustCompile(twin.want).MatchString(v) }) {
		t.Error("not caught")
	}
	for name := range twin.plant {
		f.become("", name)
	}
}

// tell shows what processes have logged.
func (f *fleet) tell() {
	names := slices.Clone(f.names)
	slices.Reverse(names) // nobody is to miss somebody else
	for _, name := range names {
		f.kill(name)
		f.t.Logf("%s:\n%s", name, f.children[name].errs)
	}
}
