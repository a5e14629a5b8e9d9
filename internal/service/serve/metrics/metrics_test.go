package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
)

func written(t testing.TB, s *metrics.Set) string {
	t.Helper()
	var text strings.Builder
	if err := s.Write(context.Background(), &text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// testdata/scrape.txt is what client_golang 1.25 wrote under OpenTelemetry 1.47 of the same events:
// names, help, types, labels, steps and digits. It sorted routes before they were escaped.
func TestAScrapeIsWhatItWas(t *testing.T) {
	want, err := os.ReadFile("testdata/scrape.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := metrics.New("confetti_")
	requests := s.Counter("http_requests", "Requests answered, by route and status.", "route", "status")
	took := s.Histogram("http_request_duration", "Time to answer, by route.", []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "route")
	for _, r := range []struct {
		route, status string
		took          time.Duration
	}{
		{"PUT /v1/echo", "200", time.Millisecond}, {"PUT /v1/echo", "200", 1100 * time.Microsecond}, {"PUT /v1/echo", "429", 2500 * time.Microsecond},
		{"GET /v1/b", "200", 59 * time.Second}, {"GET /v1/b", "503", 61 * time.Second}, {"GET \"a\\b\"\nc", "404", 0},
	} {
		requests.Add(1, r.route, r.status)
		took.Record(r.took, r.route)
	}
	fragments := s.Counter("analyzer_fragments", "Fragments of counted batches, by whether they were counted.", "outcome")
	fragments.Add(123456789, "counted")
	fragments.Add(0, "dropped")
	s.Counter("tokens_issued", "Tokens\\ signed,\nof \"plans\".").Add(7)
	s.Counter("contributions", "Nothing counted these.")
	s.Gauges(func(context.Context) ([]float64, error) { return []float64{3600.25}, nil }, metrics.Gauge{Name: "things_oldest_seconds", Help: "Age."})
	ours, _, _ := strings.Cut(written(t, s), "# HELP go_")
	lines := func(text string) []string { return slices.Sorted(strings.Lines(text)) }
	if diff := cmp.Diff(lines(string(want)), lines(ours)); diff != "" {
		t.Error(diff)
	}
}

// What dashboards of programs ask keeps its name and its type.
func TestTheProcessIsShown(t *testing.T) {
	text := written(t, metrics.New(""))
	for name, kind := range map[string]string{
		"go_goroutines": "gauge", "go_info": "gauge", "go_memstats_alloc_bytes": "gauge", "go_memstats_alloc_bytes_total": "counter", "go_memstats_heap_inuse_bytes": "gauge",
		"go_memstats_sys_bytes": "gauge", "go_sched_gomaxprocs_threads": "gauge", "go_gc_gomemlimit_bytes": "gauge", "process_start_time_seconds": "gauge",
		"process_cpu_seconds_total": "counter", "process_max_fds": "gauge", "process_open_fds": "gauge", "process_resident_memory_bytes": "gauge", "process_virtual_memory_bytes": "gauge",
	} {
		if _, err := os.Stat("/proc/self/stat"); err != nil && strings.HasPrefix(name, "process_") {
			continue
		}
		if !regexp.MustCompile(`(?m)^# TYPE ` + name + ` ` + kind + "\n" + name + `(\{[^}]*\})? [0-9.e+]+$`).MatchString(text) {
			t.Errorf("%s is no %s in\n%s", name, kind, text)
		}
	}
	for _, positive := range []string{"go_goroutines", "go_memstats_alloc_bytes", "process_start_time_seconds"} {
		if strings.Contains(text, "\n"+positive+" 0\n") {
			t.Errorf("%s is 0", positive)
		}
	}
}

// A program's name may hold spaces and brackets: what stands behind it is found all the same.
func TestANameOfAProgramMovesNothing(t *testing.T) {
	proc := t.TempDir()
	stat := "7 (a) S (b c) R 1 7 7 0 -1 4194560 5 0 0 0 150 50 0 0 20 0 9 0 100 4096000 10 18446744073709551615 1 1 0"
	if err := os.WriteFile(proc+"/stat", []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	text := metrics.System(proc)
	for _, want := range []string{"process_cpu_seconds_total 2\n", fmt.Sprintf("process_resident_memory_bytes %d\n", 10*os.Getpagesize()), "process_virtual_memory_bytes 4.096e+06\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	for _, cut := range []string{"", "7 (a", "7 (a) S 1 2"} {
		if err := os.WriteFile(proc+"/stat", []byte(cut), 0o600); err != nil {
			t.Fatal(err)
		}
		if text := metrics.System(proc); text != "" {
			t.Errorf("of %q: %s", cut, text)
		}
	}
}

// 999 combinations of labels stand for themselves; the rest are one more, and none is lost.
func TestSeriesAreBounded(t *testing.T) {
	s := metrics.New("")
	c := s.Counter("c", "", "n")
	for i := range 3000 {
		c.Add(1, fmt.Sprint(i))
	}
	c.Add(1, "5") // known before
	text := written(t, s)
	if n := strings.Count(text, "\nc_total{"); n != 1000 {
		t.Errorf("%d series", n)
	}
	for _, want := range []string{`c_total{n="5"} 2`, `c_total{n="998"} 1`, `c_total{overflow="true"} 2001`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not there", want)
		}
	}
}

// slow counts while it is written to, as a service does while somebody reads slowly. A lock that
// is held would end in a deadlock.
type slow struct {
	c *metrics.Counter
	h *metrics.Histogram
	s *metrics.Set
}

func (w slow) Write(b []byte) (int, error) {
	w.c.Add(1, "while written")
	w.h.Record(time.Second, "while written")
	w.s.Counter("later", "")
	return len(b), nil
}

func TestWhoReadsSlowlyKeepsNobodyFromCounting(t *testing.T) {
	s := metrics.New("")
	w := slow{s.Counter("c", "", "when"), s.Histogram("h", "", []float64{1}, "when"), s}
	w.c.Add(1, "before")
	w.h.Record(time.Second, "before")
	if err := s.Write(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	if text := written(t, s); !strings.Contains(text, `c_total{when="while written"} 1`) {
		t.Errorf("not counted:\n%s", text)
	}
}

// Many count and look at once; nothing is lost. The race detector reads along in CI.
func TestManyCountAtOnce(t *testing.T) {
	s := metrics.New("")
	c, h := s.Counter("c", "", "of"), s.Histogram("h", "", []float64{1, 2}, "of")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				c.Add(2, fmt.Sprint(i%5))
				h.Record(time.Duration(i%3)*time.Second, "x")
				if i%100 == 0 {
					written(t, s)
				}
			}
		})
	}
	all.Wait()
	text := written(t, s)
	for _, want := range []string{`c_total{of="3"} 1600`, `h_seconds_count{of="x"} 4000`, `h_seconds_bucket{of="x",le="1"} 2672`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestNumbersOutOfTheOrdinary(t *testing.T) {
	s := metrics.New("")
	c := s.Counter("c", "")
	c.Add(3)
	c.Add(-2)
	s.Gauges(func(context.Context) ([]float64, error) {
		return []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64}, nil
	},
		metrics.Gauge{Name: "up"}, metrics.Gauge{Name: "down"}, metrics.Gauge{Name: "none"}, metrics.Gauge{Name: "most"})
	s.Gauges(func(context.Context) ([]float64, error) { return nil, errors.New("nobody knows") }, metrics.Gauge{Name: "unknown"})
	text := written(t, s)
	for _, want := range []string{"c_total 3", "up +Inf", "down -Inf", "none NaN", "most 1.7976931348623157e+308"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "unknown") {
		t.Error("a number that nobody knows is shown")
	}
}

// Faults of a program are found where they stand.
func TestFaultsOfTheProgramPanic(t *testing.T) {
	for what, fn := range map[string]func(*metrics.Set){
		"a name twice":           func(s *metrics.Set) { s.Counter("a", ""); s.Counter("a", "") },
		"a gauge's name twice":   func(s *metrics.Set) { s.Counter("a", ""); s.Gauges(nil, metrics.Gauge{Name: "a_total"}) },
		"no name":                func(s *metrics.Set) { s.Counter("a b", "") },
		"no label":               func(s *metrics.Set) { s.Counter("a", "", "b-c") },
		"a value more":           func(s *metrics.Set) { s.Counter("a", "", "b").Add(1, "c", "d") },
		"a value less":           func(s *metrics.Set) { s.Histogram("a", "", nil, "b").Record(0) },
		"values of none to look": func(s *metrics.Set) { s.Histogram("a", "", nil).Counts("b") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: taken", what)
				}
			}()
			fn(metrics.New(""))
		}()
	}
}
