package client

import (
	"fmt"
	"testing"
	"time"
)

// manyRecords are those of so many plans that were answered and sent, of one instance each.
func manyRecords(t testing.TB, plans int) (lines [][]byte) {
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	for i := range plans {
		plan := fmt.Sprintf("%064x", i)
		for _, r := range []record{
			{Kind: kindSpent, At: at, Plan: plan, Spent: &spending{Charge: Charge{Epsilon: 1, Delta: 1e-6, Local: unlimited}, Expires: at,
				Parts: []spokenPart{{}}, Forgotten: true, Statements: []stated{{Observer: "the reader of the release", Epsilon: 1, Delta: 1e-6}}}},
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
		if e := l.entry(fmt.Sprintf("%064x", i)); e != &l.Entries[i] || e.Parts[0].State != Sent {
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

// BenchmarkLedger reads the ledger of a device that has answered so many plans.
func BenchmarkLedger(b *testing.B) {
	for _, plans := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("plans=%d", plans), func(b *testing.B) {
			lines := manyRecords(b, plans)
			for b.Loop() {
				if _, err := replay(nil, lines); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
