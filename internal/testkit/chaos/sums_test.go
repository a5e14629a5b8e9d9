package chaos

import (
	"flag"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/wire"
)

var sumSchedules = flag.Int("chaos.sums", 200, "seeded schedules of TestSums")

// sumFailpoints are those of the services of a sum.
var sumFailpoints = map[string][]string{
	"device":   client.Failpoints,
	"issuer":   failpoints["issuer"],
	"leader":   slices.Concat([]string{"reports-kept", "job-verified", "share-drawn", "helper-shared", "sum-ready"}, rows.Failpoints),
	"helper":   slices.Concat([]string{"helper-verified", "helper-added", "share-drawn"}, rows.HelperFailpoints, []string{"rows/add", "rows/add/committed", "rows/share", "rows/share/committed"}),
	"analyzer": failpoints["analyzer"],
}

// Whatever happens to two aggregators, an issuer, an analyzer and the public log: a report that was
// acknowledged is in the sum once, none is in it twice or in another's name, what has left once
// leaves again byte for byte, the release has the numbers of the sums, the log loses no entry, and
// nothing leaves below n_min or after a withdrawal. Disks rot, and are found out or do no harm.
func TestSums(t *testing.T) {
	if *oneSeed != 0 {
		tellDrawn(t, *oneSeed, drawSum(*oneSeed))
		return
	}
	n := *sumSchedules
	if testing.Short() { // under the race detector
		n = min(n, 12)
	}
	begin := time.Now()
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) { // a log waits for others before it writes
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= uint64(n) || t.Failed() {
					return
				}
				checkDrawn(t, *firstSeed+i, drawSum(*firstSeed+i))
			}
		})
	}
	wg.Wait()
	t.Logf("%d schedules in %.1f s", n, time.Since(begin).Seconds())
	t.Log(seen)
	if n < 200 || *firstSeed != 1 {
		return
	}
	want := []string{"disk of an aggregator full", "answer " + string(wire.StorageFull), "sum left", "release compared", "report acknowledged", "log entry of a plan", "log entry of a release"}
	for _, name := range []string{"issuer", "leader", "helper", "analyzer", "log"} {
		want = append(want, "withdrawn at "+name)
	}
	for _, crash := range everySumCrash() {
		want = append(want, "crash of "+crash)
	}
	for _, w := range want {
		if seen.count(w) == 0 {
			t.Errorf("no schedule has seen: %s", w)
		}
	}
	for _, role := range []string{"issuer", "leader", "helper", "analyzer", "log"} {
		for how := range rots {
			if seen.with("rot", how+" of "+role+"'s") == 0 {
				t.Errorf("no schedule has seen: %s of a file of %s", how, role)
			}
		}
	}
}

func everySumCrash() (all []string) {
	for _, role := range []string{"leader", "helper"} {
		for _, point := range sumFailpoints[role] {
			all = append(all, role+" at "+point)
		}
	}
	return all
}

// drawSum makes the schedule of a seed. One crash of it goes in turn through all failpoints of both
// aggregators.
func drawSum(seed uint64) schedule {
	r := seeded.New(seed, 31)
	s := schedule{shape: shape{
		sum: true, hops: []int{0}, tokens: r.IntN(2) == 0, logged: r.IntN(4) == 0, minimum: 2 + r.IntN(2), devices: 4 + r.IntN(maxDevices-5), crowds: 1 + r.IntN(2),
	}}
	crashes := everySumCrash()
	role, point, _ := strings.Cut(crashes[seed%uint64(len(crashes))], " at ")
	s.events = append(s.events, event{do: "crash at", who: role, at: point})
	names := (&world{shape: s.shape}).services()
	pick := func() string { return names[r.IntN(len(names))] }
	withdrawn := r.IntN(6) == 0
	rotten := sumRot(r, seed, &s.shape)
	names = (&world{shape: s.shape}).services()
	for i, d := range r.Perm(s.shape.devices) {
		if i == 2 {
			s.events = append(s.events, rotten[0]...)
		}
		s.events = append(s.events, event{do: "report", who: deviceName(d)})
		switch r.IntN(4) {
		case 0:
			s.events = append(s.events, event{do: "deliver", who: deviceName(r.IntN(s.shape.devices))})
		case 1, 2:
			s.events = append(s.events, sumTrouble(r, s.shape, pick, withdrawn)...)
		}
	}
	s.events = append(append(s.events, event{do: "close"}), rotten[1]...)
	for range 4 + r.IntN(10) {
		s.events = append(s.events, event{do: "step", who: pick()})
		if r.IntN(3) > 0 {
			s.events = append(s.events, sumTrouble(r, s.shape, pick, withdrawn)...)
		}
	}
	s.events = append(s.events, rotten[2]...)
	return s
}

// sumRot is what rots in the schedule of an even seed, early, late and last: each way of each role
// in turn.
func sumRot(r *rand.Rand, seed uint64, s *shape) (when [3][]event) {
	kinds, roles := slices.Sorted(maps.Keys(rots)), []string{"issuer", "leader", "helper", "analyzer", "log"}
	turn := int(seed) / 2 % (len(kinds) * len(roles))
	who, how := roles[turn%len(roles)], kinds[turn/len(roles)]
	if seed%2 == 1 {
		return when
	}
	s.tokens, s.logged = s.tokens || who == "issuer", s.logged || who == "log"
	if how == "rolled back" { // to what it was at an earlier stop
		when[0] = []event{{do: "rot", who: who, at: "gone", n: r.IntN(1_000_000)}}
		for range 3 {
			for _, name := range []string{"leader", "helper", "analyzer"} {
				when[2] = append(when[2], event{do: "step", who: name})
			}
		}
		when[2] = append(when[2], event{do: "rot", who: who, at: how, n: r.IntN(1_000_000)})
		return when
	}
	when[1] = []event{{do: "rot", who: who, at: how, n: r.IntN(1_000_000)}}
	return when
}

// sumTrouble is one thing that goes wrong, with what follows from it.
func sumTrouble(r *rand.Rand, s shape, pick func() string, withdrawn bool) []event {
	who, d := pick(), deviceName(r.IntN(s.devices))
	torn := 0
	if r.IntN(2) == 0 {
		torn = 1 + r.IntN(200)
	}
	switch r.IntN(13) {
	case 0:
		return []event{{do: "crash", who: who, n: torn}, {do: "restart", who: who}}
	case 1:
		return []event{{do: "crash", who: who, n: torn}}
	case 2, 3, 4:
		if points := sumFailpoints[who]; len(points) > 0 {
			return []event{{do: "crash at", who: who, at: points[r.IntN(len(points))], n: r.IntN(3)}}
		}
		return []event{{do: "crash", who: who}}
	case 5:
		return []event{{do: "crash at", who: d, at: client.Failpoints[r.IntN(len(client.Failpoints))]}}
	case 6, 7:
		return []event{{do: "link", who: who, at: faults[r.IntN(len(faults))], n: 1 + r.IntN(3)}}
	case 8:
		return []event{{do: "arrive"}, {do: "replay", n: r.IntN(10)}}
	case 9:
		return []event{{do: "second", who: d}}
	case 10:
		kinds := []string{"flip", "cut", "empty", "gone", "rolled back"}
		return []event{{do: "rot", who: who, at: kinds[r.IntN(len(kinds))], n: r.IntN(1_000_000)}}
	case 11:
		switch {
		case withdrawn:
			return []event{{do: "withdraw", who: who}}
		case slices.Contains(aggregators, who): // until somebody starts it again, or all is over
			return []event{{do: "full", who: who, n: torn % 6}}
		}
		return []event{{do: "step", who: who}}
	default:
		minutes := r.IntN(240) - 120
		if who == "analyzer" {
			minutes = r.IntN(140) - 120 // one that runs fast closes before the sums are there
		}
		return []event{{do: "clock", who: who, n: minutes}}
	}
}

// sumTwins are services with a bug each.
var sumTwins = map[string]func(*world){
	"a leader acknowledges and forgets": func(w *world) {
		w.twin = func(x *parcel) *http.Response {
			if x.to == "leader" && strings.HasSuffix(x.path, "/reports") && x.from == deviceName(1) {
				return (&httptest.ResponseRecorder{Code: http.StatusOK}).Result()
			}
			return nil
		}
	},
	"a leader passes over what does not fit its disk": func(w *world) { w.lies = true },
	"a leader takes whoever comes": func(w *world) {
		w.twin = func(x *parcel) *http.Response {
			if x.to == "leader" && x.from == "outside" && !w.shape.tokens {
				x.header.Set("Authorization", "Bearer "+w.ring.bearers[maxDevices-1])
			}
			return nil
		}
	},
	"a log signs what it does not keep": func(w *world) {
		w.twin = func(x *parcel) *http.Response {
			if x.to != "log" || !strings.Contains(x.path, "/log/releases/") {
				return nil
			}
			rec := httptest.NewRecorder()
			rec.Header().Set("Content-Type", wire.EvidenceType)
			rec.Write(w.sums.evidence)
			return rec.Result()
		}
	},
}

func TestSumsWithABugAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs many schedules")
	}
	for name, plant := range sumTwins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed < 100; seed++ {
				s := drawSum(seed)
				if !s.fails(plant) {
					continue
				}
				t.Logf("seed %d", seed)
				if s.fails(nil) {
					t.Error("it fails without the bug")
				}
				return
			}
			t.Error("no schedule has caught it")
		})
	}
}
