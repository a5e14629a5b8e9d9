//go:build linux

package confetti_test

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// peer is a case of another's package, and ours that does the same.
type peer struct {
	name            string
	runs, theirRuns int // in a turn
	start           func(*testing.B) func() float64
}

// BenchmarkPeers alternates ours with packages of others, each in a process of its own that sleeps while ours runs, by
// the processor's time. docs/peers.py and docs/peer-prio are the others; where one is not installed its cases are left out.
func BenchmarkPeers(b *testing.B) {
	for module, cases := range map[string][]peer{
		"pure_ldp.frequency_oracles.unary_encoding": {{"pure-ldp/device", 20_000, 5, func(b *testing.B) func() float64 {
			run := histogramDevice(b)
			return func() float64 { run(); return 0 }
		}}},
		"opendp": {{"opendp/bits", 20_000, 2000, func(*testing.B) func() float64 {
			r, device, sent := rng.New(), randomize.Symmetric(768, 2, account.Removal).Sender(), 0
			return func() float64 { device.Randomize(r, []uint32{7}, func(uint32) { sent++ }); return 0 }
		}}},
		"dp_accounting": {
			{"dp-accounting/gaussian", 2000, 5, func(b *testing.B) func() float64 {
				return epsilonOf(b, central.Gaussian{Sigma: 100, Sensitivity: 1})
			}},
			{"dp-accounting/bits", 5, 1, func(b *testing.B) func() float64 {
				return epsilonOf(b, shuffle.RandomizedResponse{Users: 1, Flip: 0.4})
			}},
		},
	} {
		for _, c := range cases {
			b.Run(c.name, func(b *testing.B) {
				if err := exec.Command(python, "-c", "import "+module).Run(); err != nil {
					b.Skipf("%s cannot import %s: docs/peers.py says how to get it", python, module)
				}
				startPeer(b, python, "docs/peers.py").byProcessor(c.name, c)
			})
		}
	}
	program := cmp.Or(os.Getenv("PEER_PRIO"), "out/peer-prio/release/peer-prio")
	for _, c := range []struct {
		name    string
		circuit prio3.Circuit
		cells   int
		chunk   int
		runs    int
	}{{"bits=768", prio3.SumVec{Length: 768, Max: 1}, 768, 52, 200}, {"cells=1024", prio3.Histogram{Length: 1024}, 1024, 34, 200}, {"cells=32768", prio3.Histogram{Length: 32768}, 32768, 259, 10}} {
		for _, step := range []string{"split", "start"} {
			b.Run("libprio/"+step+"/"+c.name, func(b *testing.B) {
				if _, err := os.Stat(program); err != nil {
					b.Skipf("%v: cargo build --release --manifest-path docs/peer-prio/Cargo.toml --target-dir out/peer-prio makes it, PEER_PRIO names it", err)
				}
				startPeer(b, program).byProcessor(fmt.Sprintf("%s/%s/%d", step, c.name, c.chunk), peer{"", c.runs, c.runs, func(b *testing.B) func() float64 {
					v, err := prio3.New(c.circuit, c.chunk, []byte("benchmark"))
					if err != nil {
						b.Fatal(err)
					}
					vector := make([]uint64, c.cells)
					if strings.HasPrefix(c.name, "cells") {
						vector[1] = 1
					}
					public, leader, _, err := v.Split(rand.Reader, [prio3.NonceSize]byte{1}, vector)
					if err != nil {
						b.Fatal(err)
					}
					return func() float64 {
						if step == "split" {
							_, _, _, err = v.Split(rand.Reader, [prio3.NonceSize]byte{1}, vector)
						} else {
							_, _, err = v.Start([prio3.KeySize]byte{2}, prio3.Leader, [prio3.NonceSize]byte{1}, public, leader)
						}
						if err != nil {
							b.Fatal(err)
						}
						return 0
					}
				}})
			})
		}
	}
}

// epsilonOf returns the accountant's answer for 768 rounds.
func epsilonOf(b *testing.B, e account.Event) func() float64 {
	delta := 1e-6
	return func() float64 {
		delta = math.Nextafter(delta, 1) // answers are remembered
		g, err := account.Epsilon(account.Repeat{Event: e, Rounds: 768}, delta)
		if err != nil {
			b.Fatal(err)
		}
		return g.Epsilon
	}
}

// byProcessor alternates ours with the peer's case, and reports the processor's time of each and their ratio. What both
// answer must agree within a thousandth.
func (s numpyScript) byProcessor(theirs string, c peer) {
	b := s.b
	run := c.start(b)
	var spent [2]time.Duration
	s.run(theirs, 1) // it imports and allocates
	for b.Loop() {
		var ours float64
		before := costlimit.Used(b)
		for range c.runs {
			ours = run()
		}
		spent[0] += (costlimit.Used(b) - before) / time.Duration(c.runs)
		start := s.used()
		answer := s.run(theirs, c.theirRuns)
		spent[1] += (s.used() - start) / time.Duration(c.theirRuns)
		if ours != 0 && math.Abs(answer.Epsilon/ours-1) > 1e-3 {
			b.Errorf("ours says %v, the peer %v", ours, answer.Epsilon)
		}
	}
	n := float64(b.N) * float64(time.Microsecond)
	b.ReportMetric(float64(spent[0])/n, "us")
	b.ReportMetric(float64(spent[1])/n, "peer-us")
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "ratio")
	b.ReportMetric(0, "ns/op") // both together: of no meaning
}

// used returns the processor's time of the peer, all threads.
func (s numpyScript) used() (sum time.Duration) {
	s.b.Helper()
	threads := fmt.Sprintf("/proc/%d/task", s.process.Pid)
	all, err := os.ReadDir(threads)
	if err != nil {
		s.b.Fatal(err)
	}
	for _, t := range all {
		text, err := os.ReadFile(threads + "/" + t.Name() + "/schedstat")
		var ns time.Duration
		if err == nil {
			_, err = fmt.Sscan(string(text), &ns)
		}
		if err != nil {
			s.b.Fatal(err)
		}
		sum += ns
	}
	return sum
}
