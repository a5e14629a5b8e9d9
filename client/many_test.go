package client

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// manyRecords are those of so many plans that were answered and sent, of one instance each: of
// fifty metrics, in turn, with sixteen messages.
func manyRecords(t testing.TB, plans int) (lines [][]byte) {
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	method := "numerical composition of privacy loss distributions, and the best of three theorems"
	stated := []stated{
		{"everyone together", 4, 0, "replacement", "local", 1, 1, "exact", method, ""}, {"who sees one message", 0.1, 1e-9, "replacement", "one fragment", 40_000, 1, "upper bound", method, ""},
		{"the reader of the release", 1, 1e-9, "replacement", "shuffled", 40_000, 1, "upper bound", method, "of everything but the crowd"},
	}
	for i := range plans {
		at = at.Add(time.Duration(1728) * time.Second)
		plan := fmt.Sprintf("%064x", i)
		for _, r := range []record{
			{Kind: kindSpent, At: at, Plan: plan, Spent: &spending{Title: fmt.Sprintf("Metric %d of day %d", i%50, i/50), Publisher: "ed25519:7f2c",
				Charge: Charge{Epsilon: 1e-3 + 1e-5*float64(i%50), Delta: 1e-9, Local: 4, Shift: 1e-3, Tail: 1e-10}, Expires: at.Add(time.Hour), CrowdName: "all", Statements: stated,
				Parts: []spokenPart{{Size: 8, Body: 5, Bodies: bytes.Repeat([]byte{byte(i), 2, 3, 4, 5}, 16)}}}},
			{Kind: kindSealed, At: at, Plan: plan}, {Kind: kindSent, At: at, Plan: plan},
		} {
			line, err := r.line()
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// An entry is found by its plan, whichever it is, and none is found of another plan.
func TestEntriesAreFoundByPlan(t *testing.T) {
	const plans = 200
	l, err := replay(nil, manyRecords(t, plans))
	if err != nil || len(l.Entries) != plans {
		t.Fatal(err)
	}
	for i := range l.Entries {
		if e := l.entry(fmt.Sprintf("%064x", i)); e != &l.Entries[i] || e.Parts[0].Status != Sent {
			t.Fatalf("%d: %v", i, e)
		}
	}
	l.Entries = l.Entries[:plans/2]
	if l.entry(fmt.Sprintf("%064x", plans-1)) != nil || l.entry("") != nil || l.entry(fmt.Sprintf("%064x", 3)) != &l.Entries[3] {
		t.Error("an entry is found that is not there, or is not found")
	}
	if _, err := replay(nil, append(manyRecords(t, 3), manyRecords(t, 1)[0])); err == nil {
		t.Error("a plan was answered twice")
	}
}

// BenchmarkLedger reads the ledger of a device that has answered so many plans: as it is
// compacted, and as the version before kept it.
func BenchmarkLedger(b *testing.B) {
	for _, plans := range []int{100, 10_000, 365 * 50} {
		lines := manyRecords(b, plans)
		l, err := replay(nil, lines)
		if err != nil {
			b.Fatal(err)
		}
		compacted := l.compacted()
		for _, bench := range []struct {
			name string
			do   func() (*Ledger, error)
		}{
			{"compacted", func() (*Ledger, error) { return replay(compacted, nil) }},
			{"records", func() (*Ledger, error) { return replay(nil, lines) }},
		} {
			b.Run(fmt.Sprintf("plans=%d/%s", plans, bench.name), func(b *testing.B) {
				before := costlimit.Used(b)
				for b.Loop() {
					if _, err := bench.do(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((costlimit.Used(b)-before).Microseconds())/1e3/float64(b.N), "processor-ms/op")
				b.ReportMetric(float64(len(compacted)), "bytes")
			})
		}
	}
}
