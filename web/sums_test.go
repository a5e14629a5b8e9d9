package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
)

// What TypeScript splits and seals, two aggregators of Go open and verify, and the sum is that of
// the vectors: of each circuit, under both suites, with a token for the helper and without.
func TestSumsOfTypeScriptAddUp(t *testing.T) {
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	node := webtest.Node(t, dir)
	program := bundled(t, "wire/test/sum.ts")
	type ask struct {
		Plan   string    `json:"plan"`
		Crowd  int       `json:"crowd"`
		Vector []uint64  `json:"vector"`
		Now    time.Time `json:"now"`
		Token  string    `json:"token,omitempty"`
	}
	type made struct{ Task, Upload string }
	now := time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		circuit plan.Circuit
		chunk   int
		suite   envelope.Suite
		token   bool
		vectors [][]uint64
	}{
		"histogram":         {plan.Circuit{Kind: plan.CircuitHistogram, Length: 5}, 3, envelope.X25519, false, [][]uint64{{0, 1, 0, 0, 0}, {0, 0, 0, 0, 1}, {0, 1, 0, 0, 0}}},
		"multihot, a token": {plan.Circuit{Kind: plan.CircuitMultihot, Length: 7, Weight: 3}, 2, envelope.X25519, true, [][]uint64{{1, 1, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0}}},
		"numbers":           {plan.Circuit{Kind: plan.CircuitSumVec, Length: 3, Max: 10}, 4, envelope.XWing, false, [][]uint64{{10, 0, 7}, {1, 2, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			var keys [3]envelope.PrivateKey // the leader's, the helper's and the analyzer's
			for i := range keys {
				if keys[i], err = envelope.GenerateKey(c.suite); err != nil {
					t.Fatal(err)
				}
			}
			p := example.Summed(example.Histograms()["categories"], plan.NoiseAggregators)
			s := p.Route.Sum
			s.Wire, s.Proof, s.Circuit, s.Chunk = plan.WireDAP18, plan.ProofPrio3, c.circuit, c.chunk
			s.Leader.URL, s.Helper.URL = "https://leader.example", "https://helper.example"
			s.Leader.Key, s.Helper.Key, p.Analyzer.Key = keys[0].Public().String(), keys[1].Public().String(), keys[2].Public().String()
			var token []byte
			if c.token {
				s.Helper.Tokens, token = "rsa2048:AA", bytes.Repeat([]byte{7}, plan.TokenBytes)
			}
			tk, err := task.New(p, 0)
			if err != nil {
				t.Fatal(err)
			}
			var asks []ask
			for _, v := range c.vectors {
				asks = append(asks, ask{string(p.Canonical()), 0, v, now, hex.EncodeToString(token)})
			}
			in, err := json.Marshal(asks)
			if err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), node, program)
			var wrong bytes.Buffer
			run.Stdin, run.Stderr = bytes.NewReader(in), &wrong
			out, err := run.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &wrong)
			}
			var all []made
			if err := json.Unmarshal(out, &all); err != nil || len(all) != len(asks) {
				t.Fatal(err, len(all))
			}
			var sums [2]prio3.Vector
			want := make([]int64, c.circuit.Length)
			for i, m := range all {
				for j, x := range c.vectors[i] {
					want[j] += int64(x)
				}
				upload, err := hex.DecodeString(m.Upload)
				if err != nil || m.Task != hex.EncodeToString(tk.ID[:]) || len(upload) != tk.ReportSize() {
					t.Fatalf("%v: task %s of %x, %d bytes of %d", err, m.Task, tk.ID, len(upload), tk.ReportSize())
				}
				add(t, tk, keys, upload, token, now, &sums)
				// A changed byte is seen by whoever opens.
				upload[len(upload)-1] ^= 1
				if reports, err := dap.ParseUpload(upload, 1); err == nil {
					if opened(tk, keys[1], dap.Helper, reports[0], reports[0].Helper) != nil {
						t.Error("a changed share opens")
					}
				}
			}
			if got, err := prio3.Open(sums[0], sums[1]); err != nil || !slices.Equal(got, want) {
				t.Errorf("the sum is %v, %v, not %v", got, err, want)
			}
		})
	}
}

// opened returns what is in an aggregator's ciphertext; nil: it does not open.
func opened(tk *task.Task, key envelope.PrivateKey, role dap.Role, r dap.Report, sealed dap.Ciphertext) []byte {
	return tk.OpenShares(key, role, 1, func(int) (dap.Metadata, []byte, dap.Ciphertext) { return r.Metadata, r.Public, sealed })[0]
}

// add opens an upload as both aggregators do, verifies it, and adds its shares.
func add(t *testing.T, tk *task.Task, keys [3]envelope.PrivateKey, upload, token []byte, now time.Time, sums *[2]prio3.Vector) {
	t.Helper()
	reports, err := dap.ParseUpload(upload, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := reports[0]
	if r.Time != task.Unit(now) || len(r.Extensions) > 0 {
		t.Errorf("%+v", r.Metadata)
	}
	verify := sha256.Sum256([]byte("the pair's key"))
	var states [2]prio3.State
	var messages [2][]byte
	for i, sealed := range []dap.Ciphertext{r.Leader, r.Helper} {
		share, err := dap.ParseInputShare(opened(tk, keys[i], dap.Leader+dap.Role(i), r, sealed))
		if err != nil {
			t.Fatalf("aggregator %d: %v", i, err)
		}
		if shown := i == 1 && token != nil; (len(share.Extensions) > 0) != shown || shown && (share.Extensions[0].Type != task.TokenExtension || !bytes.Equal(share.Extensions[0].Data, token)) {
			t.Errorf("aggregator %d is shown %+v", i, share.Extensions)
		}
		if states[i], messages[i], err = tk.VDAF.Start(verify, byte(i), r.ID, r.Public, share.Share); err != nil {
			t.Fatalf("aggregator %d: %v", i, err)
		}
	}
	message, err := tk.VDAF.Decide(messages[0], messages[1])
	if err != nil {
		t.Fatal(err)
	}
	for i := range states {
		v, err := tk.VDAF.Finish(states[i], message)
		if err == nil {
			err = sums[i].Add(v)
		}
		if err != nil {
			t.Fatalf("aggregator %d: %v", i, err)
		}
	}
}
