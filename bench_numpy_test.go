//go:build unix

package confetti_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// numpyCase is a path of docs/numpy_baseline.py, and ours that does the same.
type numpyCase struct {
	name string
	plan.Kernel
	repetitions int
}

var numpyCases = []numpyCase{
	{"ip-rotated", plan.Kernel{Name: "ip-rotated", Clip: 2}, 1},
	{"gaussian-paired-768-bits", plan.Kernel{Name: "gaussian-paired", Bandwidth: 1}, 384},
	{"gaussian-paired-1536-bits", plan.Kernel{Name: "gaussian-paired", Bandwidth: 1}, 768},
}

// python is the interpreter; PYTHON overrides the one that comes first.
var python = cmp.Or(os.Getenv("PYTHON"), "python3")

// What the script has, too.
const (
	numpyDimension = 768
	numpyClasses   = 14
	numpyUsers     = 40_000 // of each class
	numpyQueries   = 1000
)

// BenchmarkNumpy alternates ours with numpy doing the same, and reports the
// time of each, the ratio, ours to numpy's, and on Linux the largest memory of each
// process, values included.
func BenchmarkNumpy(b *testing.B) {
	paths := []struct {
		name  string
		runs  int // in a turn: long enough that asking the other process does not matter
		start func(*testing.B, *protocol.Protocol) func()
	}{{"device", 20_000, device}, {"query", 20, query}, {"law", 1, drawTotals}}
	for _, path := range paths {
		for _, c := range numpyCases {
			b.Run(path.name+"/"+c.name, func(b *testing.B) {
				script := startNumpy(b, "docs/numpy_baseline.py")
				run := path.start(b, c.protocol(b))
				script.beside(path.name+"/"+c.name, path.runs, path.runs, run)
			})
		}
	}
}

// beside alternates our runs of a case with those of the script, which may be fewer.
func (s numpyScript) beside(name string, runs, theirRuns int, run func()) {
	b := s.b
	var ours, theirs time.Duration
	var theirPeak int
	resetPeak()
	for b.Loop() {
		start := time.Now()
		for range runs {
			run()
		}
		ours += time.Since(start) / time.Duration(runs)
		answer := s.run(name, theirRuns)
		theirs += time.Duration(answer.Seconds * float64(time.Second))
		theirPeak = answer.Peak
	}
	if kB, ok := peak(); ok {
		b.ReportMetric(float64(kB)*1024/1e6, "peak-MB")
		b.ReportMetric(float64(theirPeak)/1e6, "numpy-peak-MB")
	}
	n := float64(b.N) * float64(time.Microsecond)
	b.ReportMetric(float64(ours)/n, "us")
	b.ReportMetric(float64(theirs)/n, "numpy-us")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(0, "ns/op") // both together: of no meaning
}

// protocol is that of DBPedia's size.
func (c numpyCase) protocol(b *testing.B) *protocol.Protocol {
	b.Helper()
	p, _ := collection(b, numpyDimension, numpyDimension, numpyUsers, randomizedResponse)
	with, q := p.Plan, *p.Plan.Question.Density
	c.Kernel.Seed = q.Kernel.Seed
	q.Kernel, q.Repetitions, with.Crowd.Names = c.Kernel, c.repetitions, make([]string, numpyClasses)
	for i := range numpyClasses {
		with.Crowd.Names[i] = fmt.Sprint("class ", i+1)
	}
	with.Question.Density = &q
	with.Envelopes.PerDevice = numpyDimension * max(1, 2*c.repetitions/numpyDimension)
	p, err := protocol.New(with)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// device makes the bits of one value: features, rounding, randomized response.
// That they are then messages, BenchmarkDevice has.
func device(b *testing.B, p *protocol.Protocol) func() {
	q := p.Plan.Question.Density
	features, err := kernelmap.New(kernelmap.Spec{
		Kernel: kernelmap.Kernel(q.Kernel.Name), Dimension: q.Dimension, Repetitions: q.Repetitions,
		Bandwidth: q.Kernel.Bandwidth, Clip: q.Kernel.Clip, Normalize: q.Normalize,
	})
	if err != nil {
		b.Fatal(err)
	}
	r, rr := rng.New(), bitsum.RR{Flip: q.Bitsum.FlipProbability}
	x := normals(r, 1, q.Dimension).Data
	mapped, symbols := make([]float32, features.Channels()), make([]uint8, features.Channels())
	return func() {
		if err := features.Map(x, mapped); err != nil {
			b.Fatal(err)
		}
		rr.RoundAndRandomize(r, mapped, symbols)
	}
}

// query predicts the classes of 1,000 records, with scores, margins and their errors.
func query(b *testing.B, p *protocol.Protocol) func() {
	r := seeded.New(9)
	tallies := make([]tally.Crowd, numpyClasses)
	for class := range tallies {
		t := p.NewTally().(*tally.Counts)
		for channel := range t.Channels {
			ones := r.Uint64N(numpyUsers)
			copy(t.Channel(channel), []uint64{numpyUsers - ones, ones})
		}
		tallies[class] = tally.Crowd{Tally: t, Respondents: numpyUsers}
	}
	model, err := p.Learn(tallies)
	if err != nil {
		b.Fatal(err)
	}
	classifier, err := results.NewClassifier(model.(*density.Model))
	if err != nil {
		b.Fatal(err)
	}
	y := normals(r, numpyQueries, numpyDimension)
	return func() {
		if _, err := classifier.Classify(y); err != nil {
			b.Fatal(err)
		}
	}
}

// drawTotals draws the totals of all respondents, whose values are there before.
func drawTotals(b *testing.B, p *protocol.Protocol) func() {
	const n = numpyClasses * numpyUsers
	x := make([]float32, n*numpyDimension)
	var fill sync.WaitGroup
	for class := range uint64(numpyClasses) {
		part := x[class*numpyUsers*numpyDimension:][:numpyUsers*numpyDimension]
		fill.Go(func() {
			r := seeded.New(10, class)
			for i := range part {
				part[i] = r.Float32() - 0.5
			}
		})
	}
	fill.Wait()
	values := make([]question.Value, n)
	for i := range values {
		values[i] = density.Labelled{Features: x[i*numpyDimension : (i+1)*numpyDimension], Class: i % numpyClasses}
	}
	return func() {
		if _, err := simulate.Law(p, distribution.Values(values), 11, func(string, int, int) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// numpyScript is one of ours in numpy, running: docs/numpy_baseline.py says what it is
// told and answers.
type numpyScript struct {
	b       *testing.B
	in      io.Writer
	answers *json.Decoder
	process *os.Process
}

// startNumpy skips where there is no numpy. It is given as many threads as we have, and is stopped
// whenever it has nothing to do: threads of a BLAS go on spinning for a while after a product.
func startNumpy(b *testing.B, script string) numpyScript {
	b.Helper()
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		b.Skipf("%s has no numpy: docs/numpy_baseline.py says how to get it", python)
	}
	return startPeer(b, python, script, strconv.Itoa(runtime.GOMAXPROCS(0)))
}

// startPeer starts what docs/numpy_baseline.py says is told cases and answers.
func startPeer(b *testing.B, program string, args ...string) numpyScript {
	b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	s := numpyScript{b, in, json.NewDecoder(out), cmd.Process}
	s.signal(syscall.SIGSTOP)
	b.Cleanup(func() {
		in.Close() // after which it ends
		s.signal(syscall.SIGCONT)
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func (s numpyScript) signal(sig os.Signal) {
	s.b.Helper()
	if err := s.process.Signal(sig); err != nil {
		s.b.Fatal(err)
	}
}

type numpyAnswer struct {
	Seconds float64 `json:"seconds"` // a run, in the mean
	Peak    int     `json:"peak_bytes"`
	Epsilon float64 `json:"epsilon"` // of an accountant
}

// run has a case run so many times, while nothing of ours runs.
func (s numpyScript) run(name string, runs int) (answer numpyAnswer) {
	s.signal(syscall.SIGCONT)
	defer s.signal(syscall.SIGSTOP)
	if _, err := fmt.Fprintln(s.in, name, runs); err != nil {
		s.b.Fatal(err)
	}
	if err := s.answers.Decode(&answer); err != nil {
		s.b.Fatal(err)
	}
	return answer
}

// resetPeak makes peak count from now on, what earlier cases left having been given back.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // not on other systems, where peak is not ok either
}

// peak is the largest resident memory of this process.
func peak() (kB int, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	_, after, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return 0, false
	}
	_, err = fmt.Sscan(after, &kB)
	return kB, err == nil
}
