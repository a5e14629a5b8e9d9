package audit

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
	auditreport "github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/protocol"
)

// A report is of its plan, of its promise and of what the release says, and is drawn again by
// anybody; one that was changed in any of these is refused.
func TestReportOfAnAudit(t *testing.T) {
	p := example.Histograms()["krr"]
	p.Crowd.Minimum = 5
	p = example.Design(t, p)
	report := Of(p, nil, calm)
	if err := report.Same(Of(p, nil, calm)); err != nil {
		t.Error(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	read, err := auditreport.ParseReport(report.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Check(p, promise.Statements); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(r *Report){
		"another plan":         func(r *Report) { r.Seed++ },
		"says nothing":         func(r *Report) { r.Findings = nil },
		"for the claim before": func(r *Report) { r.Findings[0].Claimed *= 2 },
		"promises nothing":     func(r *Report) { r.Findings[0].Observer = "nobody" },
	} {
		changed, err := auditreport.ParseReport(report.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		change(&changed)
		example.Mentions(t, changed.Check(p, promise.Statements), want)
	}
	for want, change := range map[string]func(r *Report){
		"surely 0.0":            func(r *Report) { r.Findings[0].Sure = 0.015625 },
		"leaves out":            func(r *Report) { r.Left = append(r.Left, "everybody else") },
		"describes the attack":  func(r *Report) { r.Findings[0].Verdict = "harmless" },
		"drawing them again":    func(r *Report) { r.Findings[0].Lower++ },
		"they give":             func(r *Report) { r.Findings = r.Findings[1:] },
		"collections, and draw": func(r *Report) { r.Findings[0].Runs++ },
		"draws of probability":  func(r *Report) { r.Constants[1].P /= 2 },
		"a constant otherwise":  func(r *Report) { r.Constants[1].Draws++ },
		"than it comes out":     func(r *Report) { r.Constants[len(r.Constants)-1].Verdict = "mostly kept" },
		"constants, and draw":   func(r *Report) { r.Constants = nil },
		"no longer made":        func(r *Report) { r.Format = "confetti-audit 2" },
	} {
		changed, err := auditreport.ParseReport(report.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		change(&changed)
		example.Mentions(t, changed.Same(report), want)
	}
	if last := report.Constants[len(report.Constants)-1]; !last.Fresh {
		t.Errorf("%+v is drawn by the seed alone", last)
	}
	bad := read
	bad.Findings[0].Sure = 2 * bad.Findings[0].Claimed
	if bad.False() == nil {
		t.Error("a claim that is proved false is not called so")
	}
	bad = read
	bad.Findings, bad.Constants = nil, []Constant{kept("the helper", "noise of the plan's law", 20_000, 1e-7)}
	example.Mentions(t, bad.False(), "the helper", "not kept")
	older := read
	older.Format, older.Constants = "confetti-audit 2", nil
	if again, err := auditreport.ParseReport(older.Marshal()); err != nil || again.Format != older.Format {
		t.Errorf("a report of an older attack is not read: %v", err)
	}
	if _, err := auditreport.ParseReport(append(report.Marshal(), ' ')); err == nil {
		t.Error("another form was read")
	}
}

// Whoever is promised anything is attacked.
func TestEveryObserverIsAttacked(t *testing.T) {
	for name, observer := range map[string]string{"crowds": account.CrowdSizesSeen, "spread": account.OneInstanceColludes} {
		p := example.Histograms()[name]
		p.Crowd.Minimum = 20
		all, left, err := route(t, example.Design(t, p)).brief(1, calm)
		for _, f := range all {
			t.Logf("%s: %s: %.3g of %.3g", name, f.Observer, f.Lower, f.Claimed.Epsilon)
			holds(t, f)
		}
		if err != nil || !slices.ContainsFunc(all, func(f Finding) bool { return f.Observer == observer && f.Lower > 0 }) || len(left) > 0 {
			t.Errorf("%s: %d findings, left out %q: %v", name, len(all), left, err)
		}
	}
}
