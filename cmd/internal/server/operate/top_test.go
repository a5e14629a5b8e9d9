package operate

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

func TestCounters(t *testing.T) {
	got := counters([]byte(`# HELP confetti_batches_total Crowds mixed.
# TYPE confetti_batches_total counter
confetti_batches_total 3
confetti_http_requests_total{route="GET /v1/plans/{plan}",status="200"} 2
confetti_http_requests_total{route="PUT /v1/plans/{plan}",status="201"} 1.5e+01
confetti_http_request_duration_seconds_count{route="GET /"} 4
go_gc_cycles_total 7
confetti_broken_total x
`))
	if diff := cmp.Diff(map[string]float64{"batches": 3, "http_requests": 17}, got); diff != "" {
		t.Error(diff)
	}
}

// What services tell is shown, and cannot command the terminal.
func TestTopShows(t *testing.T) {
	now := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	status := &serve.Status{
		Service: "shuffler", Since: now.Add(-time.Hour), Now: now, Alarms: []string{"the analyzer is out of reach"},
		Gauges: []serve.Gauge{{Name: "disk", Share: 0.5, Text: "half"}, {Name: "more", Share: 7}},
		Tables: []serve.Table{{Title: "\x1b[2Jtitle", Columns: []string{"crowd", "phase"}, Rows: [][]string{{"0", "collecting"}}}},
	}
	after := []sight{{URL: "https://hop", Status: status, Counters: map[string]float64{"batches": 6}}, {URL: "https://gone", Failed: "refused\n"}}
	var b bytes.Buffer
	show(&b, after)
	for _, want := range []string{"shuffler at https://hop, up for 1h0m0s", "!! the analyzer is out of reach", "batches  6\n", "disk [##########..........] half", "more [####################]", `\x1b[2Jtitle`, "crowd  phase", "https://gone\n  !! refused\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("a title commands the terminal:\n%q", &b)
	}
	if err := trouble(after); err == nil || !strings.Contains(err.Error(), "of 2 services 2") {
		t.Errorf("an alarm and a failure: %v", err)
	}
	status.Alarms = nil
	if err := trouble(after[:1]); err != nil {
		t.Error(err)
	}
}
