package keeptest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Twins fail on purpose, and often: nobody reads what they leave.
	flag.Set("rapid.nofailfile", "true")
	flag.Set("rapid.shrinktime", "0s")
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		flag.Set("rapid.checks", map[bool]string{false: "2000", true: "10000"}[testing.Short()]) // of which rapid takes a fifth
	}
	os.Exit(m.Run())
}

// The reference keeps its own promises.
func TestReference(t *testing.T) { Run(t, reference("")) }

// twins are the bugs that the reference can have, and the parts that must find each.
var twins = map[string][]string{
	"Seal stops single rows alone": {"Sequences", "Refusals"},
	"again behind Seal":            {"Refusals"},
	"again is forgotten":           {"Sequences", "Refusals", "Bounds", "Closed", "OneWins"},
	"again whatever the tag":       {"Refusals"},
	"again whatever the value":     {"Sequences", "Refusals", "OneWins"},
	"Update's rows come again":     {"Refusals"},
	"taken rows leave others":      {"Sequences", "Refusals"},
	"some rows again are enough":   {"Sequences", "Refusals"},
	"Update is not alone":          {"Alone"},
	"Seal waits for no Update":     {"SealWaits"},
	"Update runs twice":            {"Counted", "Killed"},
	"Update reads what was":        {"Sequences"},
	"a failed Update writes":       {"Sequences"},
	"put rows stay Insert's":       {"Sequences", "Refusals", "Order"},
	"deleted keys are taken":       {"Sequences", "Refusals"},
	"deleted rows are counted":     {"Refusals"},
	"Update's rows are counted":    {"Sequences"},
	"Update's rows in order":       {"Sequences", "Order"},
	"order by key":                 {"Order", "SealStops"},
	"order of an open shelf":       {"Sequences", "Order"},
	"a prefix ends at FF":          {"Keys"},
	"keys end at NUL":              {"Sequences", "Keys"},
	"no bounds":                    {"Bounds"},
	"values are shared":            {"Values"},
	"errors of a reader are lost":  {"Order"},
	"dropped names come again":     {"Sequences", "Names"},
	"dropped rows are read":        {"Sequences", "Drops"},
	"Open makes":                   {"Sequences", "Names"},
	"List has the dropped":         {"Sequences", "Names"},
	"ended contexts go on":         {"Contexts"},
	"closed answers":               {"Closed"},
	"a restart forgets":            {"Sequences", "Closed"},
	"a restart draws secrets":      {"Secrets"},
	"one secret for all purposes":  {"Secrets"},
	"a kill forgets":               {"Killed"},
	"a kill tears":                 {"Killed"},
	"nothing is set aside":         {"Aside"},
	"all is set aside":             {"Aside"},
	"what is aside is taken":       {"Aside"},
	"what is aside is not counted": {"Aside"},
	"aside opens a sealed shelf":   {"Aside"},
	"aside draws a secret":         {"Aside"},
	"marks are set aside":          {"NotAside"},
	"rows beside marks go":         {"NotAside"},
}

// A twin with one bug is caught by each part that says that it would be.
func TestTwins(t *testing.T) {
	for twin, by := range twins {
		for _, p := range parts {
			for _, name := range by {
				if p.name != name {
					continue
				}
				if said := caught(t, func(tb testing.TB) { p.hold(tb, reference(twin)) }); said == "" {
					t.Errorf("%s passes over the twin %q", p.name, twin)
				}
			}
		}
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	ctx      context.Context
	mu       sync.Mutex
	said     string
	cleanups []func()
}

func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(do func())        { r.cleanups = append(r.cleanups, do) }
func (r *recorder) Helper()                  {}
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) Log(...any)               {}
func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said += fmt.Sprintf(format, args...)
}
func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fail()             { r.Errorf("failed") }
func (r *recorder) FailNow()          { r.Fatalf("failed") }
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said != ""
}

// caught returns what a test says that fails, and "" of one that passes.
func caught(t *testing.T, test func(testing.TB)) string {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	r := &recorder{TB: t, ctx: ctx}
	var done sync.WaitGroup
	done.Go(func() { test(r) })
	done.Wait()
	for i := range r.cleanups {
		r.cleanups[len(r.cleanups)-1-i]()
	}
	return r.said
}
