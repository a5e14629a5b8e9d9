package web_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// reportAsk is what a program in TypeScript is asked: to answer a plan for each value.
type reportAsk struct {
	Plan   string            `json:"plan"`
	State  string            `json:"state"`
	Values []json.RawMessage `json:"values"`
	Now    time.Time         `json:"now"`
}

// reportMade is what it says of one.
type reportMade struct {
	Crowd         int        `json:"crowd"`
	Bodies        [][]string `json:"bodies"`
	Contributions []string   `json:"contributions"`
	Vector        []uint64   `json:"vector"`
	Upload        string     `json:"upload"`
}

// goldenCase is a plan of some kind with values, from the golden reports.
type goldenCase struct {
	Name    string
	Plan    json.RawMessage
	State   []byte
	Devices []struct{ Value json.RawMessage }
}

// bundled is a program of the tests, made ready for Node.
func bundled(t *testing.T, source string) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program.mjs")
	bundle := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "esbuild"), source, "--bundle", "--platform=node", "--format=esm", "--outfile="+program)
	bundle.Dir = dir
	if out, err := bundle.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// What devices in TypeScript say to plans of every kind, drawn by the platform's generator and
// sealed, the parties of Go open layer by layer, and the analyzer's tally counts every message of
// it; of plans that are summed both aggregators verify it, and the sums are those of the vectors.
func TestReportsOfTypeScriptAreCounted(t *testing.T) {
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	node := webtest.Node(t, dir)
	text, err := os.ReadFile("../protocol/testdata/vectors/v1/reports.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []goldenCase }
	if err := json.Unmarshal(text, &golden); err != nil || len(golden.Cases) < 30 {
		t.Fatal(err, len(golden.Cases))
	}
	var keys []envelope.PrivateKey // of two hops or aggregators, and of the analyzer
	for range 3 {
		key, err := envelope.GenerateKey(envelope.X25519)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	now := time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC)
	var asks []reportAsk
	var plans []*protocol.Protocol
	kinds := map[string]int{}
	for _, c := range golden.Cases {
		proto := keyed(t, c, keys)
		kinds[proto.Plan.Question.Kind]++
		ask := reportAsk{Plan: string(proto.Plan.Canonical()), State: hex.EncodeToString(c.State), Now: now}
		for _, d := range c.Devices[:min(len(c.Devices), max(1, 16/max(1, proto.Plan.Envelopes.PerDevice)), 3)] {
			ask.Values = append(ask.Values, d.Value)
		}
		ask.Values = append(ask.Values, c.Devices[len(c.Devices)-1].Value) // which may not fit
		asks, plans = append(asks, ask), append(plans, proto)
	}
	if len(kinds) != 9 {
		t.Fatalf("plans of %v", kinds)
	}
	in, err := json.Marshal(asks)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, bundled(t, "wire/test/report.ts"))
	var wrong bytes.Buffer
	run.Stdin, run.Stderr = bytes.NewReader(in), &wrong
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &wrong)
	}
	var all [][]reportMade
	if err := json.Unmarshal(out, &all); err != nil || len(all) != len(asks) {
		t.Fatal(err, len(all))
	}
	for i, made := range all {
		t.Run(golden.Cases[i].Name, func(t *testing.T) {
			if len(made) != len(asks[i].Values) {
				t.Fatalf("%d answers to %d values", len(made), len(asks[i].Values))
			}
			if plans[i].Plan.Route.Sum != nil {
				countSums(t, plans[i].Plan, [3]envelope.PrivateKey(keys), made, now)
				return
			}
			for _, m := range made {
				countReport(t, plans[i], keys, m)
			}
		})
	}
}

// keyed is the plan of a case, with keys that somebody has.
func keyed(t *testing.T, c goldenCase, keys []envelope.PrivateKey) *protocol.Protocol {
	t.Helper()
	p, err := plan.Parse(c.Plan)
	if err != nil {
		t.Fatal(c.Name, err)
	}
	p.Analyzer.Key = keys[2].Public().String()
	for _, way := range p.Route.Instances() {
		for h := range way.Hops {
			way.Hops[h].Key = keys[h].Public().String()
		}
	}
	if s := p.Route.Sum; s != nil {
		s.Leader.Key, s.Helper.Key = keys[0].Public().String(), keys[1].Public().String()
		s.Leader.URL, s.Helper.URL = "https://leader.example", "https://helper.example"
	}
	var proto *protocol.Protocol
	if c.State != nil {
		proto, err = protocol.WithState(p, c.State)
	} else {
		proto, err = protocol.New(p)
	}
	if err != nil {
		t.Fatal(c.Name, err)
	}
	return proto
}

// countReport opens what a device sent as the hops and the analyzer do.
func countReport(t *testing.T, proto *protocol.Protocol, keys []envelope.PrivateKey, m reportMade) {
	t.Helper()
	p, counted := proto.Plan, proto.NewTally()
	if len(m.Contributions) != p.Contributions() || len(m.Bodies) != p.Contributions() {
		t.Fatalf("%d contributions of %d", len(m.Contributions), p.Contributions())
	}
	for part, sent := range m.Contributions {
		raw, err := hex.DecodeString(sent)
		if err != nil {
			t.Fatal(err)
		}
		form, crowd, err := envelope.ParseForm(raw)
		if err != nil || form != example.Form(p, int(form.Instance)) || int(crowd) != m.Crowd {
			t.Fatalf("%v: %+v, crowd %d", err, form, crowd)
		}
		envelopes, err := form.Open(keys[0], crowd, raw)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, e := range envelopes {
			for h, key := range keys[1:] {
				o, err := envelope.NewOpener(key, proto.Hash, form.Instance, uint8(h+1), len(e))
				if err != nil {
					t.Fatal(err)
				}
				if e, err = o.Open(crowd, e); err != nil {
					t.Fatalf("layer %d: %v", h+1, err)
				}
			}
			if err := fragment.Count(counted, e); err != nil {
				t.Errorf("the tally does not take a message: %v", err)
			}
			if body, err := fragment.Unpack(e); err == nil && body != nil {
				found = append(found, hex.EncodeToString(body))
			}
		}
		padded := func(body string) string { // as it lies in its payload
			return body + string(bytes.Repeat([]byte("00"), p.Envelopes.PayloadBytes-1-len(body)/2))
		}
		var said []string
		for _, body := range m.Bodies[part] {
			said = append(said, padded(body))
		}
		slices.Sort(said)
		slices.Sort(found)
		if len(said) <= p.Envelopes.PerDevice && !slices.Equal(said, found) || len(said) > p.Envelopes.PerDevice && len(found) != p.Envelopes.PerDevice {
			t.Errorf("the device said %v, and in its envelopes are %v", said, found)
		}
	}
}

// countSums verifies uploads as both aggregators do, and adds them up.
func countSums(t *testing.T, p plan.Plan, keys [3]envelope.PrivateKey, made []reportMade, now time.Time) {
	t.Helper()
	for crowd := range p.Crowds() {
		tk, err := task.New(p, crowd)
		if err != nil {
			t.Fatal(err)
		}
		var sums [2]prio3.Vector
		want, came := make([]int64, p.Route.Sum.Circuit.Length), false
		for _, m := range made {
			if m.Crowd != crowd {
				continue
			}
			came = true
			for j, x := range m.Vector {
				want[j] += int64(x)
			}
			upload, err := hex.DecodeString(m.Upload)
			if err != nil {
				t.Fatal(err)
			}
			add(t, tk, keys, upload, nil, now, &sums)
		}
		if !came {
			continue
		}
		if got, err := prio3.Open(sums[0], sums[1]); err != nil || !slices.Equal(got, want) {
			t.Errorf("the sum is %v, %v, not %v", got, err, want)
		}
	}
}
