package prio3

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// file is a vector as the draft's repository has them.
type file struct {
	Length    int        `json:"length"`
	Chunk     int        `json:"chunk_length"`
	Max       uint64     `json:"max_measurement"`
	Weight    int        `json:"max_weight"`
	Context   hexBytes   `json:"ctx"`
	Key       hexBytes   `json:"verify_key"`
	Shares    int        `json:"shares"`
	Sum       []int64    `json:"agg_result"`
	AggShares []hexBytes `json:"agg_shares"`
	Reports   []struct {
		Measurement json.RawMessage `json:"measurement"`
		Nonce       hexBytes        `json:"nonce"`
		Rand        hexBytes        `json:"rand"`
		Public      hexBytes        `json:"public_share"`
		Input       []hexBytes      `json:"input_shares"`
		Verifiers   [][]hexBytes    `json:"verifier_shares"`
		Messages    []hexBytes      `json:"verifier_messages"`
		Out         []hexBytes      `json:"out_shares"`
	} `json:"reports"`
	Operations []struct {
		Operation  string `json:"operation"`
		Aggregator byte   `json:"aggregator_id"`
		Report     int    `json:"report_index"`
		Success    bool   `json:"success"`
	} `json:"operations"`
}

func (f file) vdaf(t *testing.T, name string) *VDAF {
	var c Circuit
	switch {
	case strings.HasPrefix(name, "Prio3Histogram"):
		c = Histogram{f.Length}
	case strings.HasPrefix(name, "Prio3MultihotCountVec"):
		c = Multihot{f.Length, f.Weight}
	case strings.HasPrefix(name, "Prio3SumVec"):
		c = SumVec{f.Length, f.Max}
	default:
		t.Fatalf("no circuit for %s", name)
	}
	v, err := New(c, f.Chunk, f.Context)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// vector reads a measurement: a cell, truth values or numbers.
func vector(t *testing.T, raw json.RawMessage, c Circuit) []uint64 {
	var numbers []uint64
	if json.Unmarshal(raw, &numbers) == nil {
		return numbers
	}
	var truths []bool
	if json.Unmarshal(raw, &truths) == nil {
		numbers = nil
		for _, b := range truths {
			numbers = append(numbers, map[bool]uint64{true: 1}[b])
		}
		return numbers
	}
	var cell int
	if err := json.Unmarshal(raw, &cell); err != nil {
		t.Fatal(err)
	}
	numbers = make([]uint64, c.length())
	numbers[cell] = 1
	return numbers
}

// replay runs a file's operations one by one.
type replay struct {
	t      *testing.T
	file   file
	vdaf   *VDAF
	states map[[2]int]State
	parts  map[[2]int][]byte
	sums   [2]Vector
}

func (r *replay) equal(what string, got, want []byte) {
	r.t.Helper()
	if !bytes.Equal(got, want) {
		r.t.Errorf("%s:\n%x, want\n%x", what, got, want)
	}
}

func (r *replay) do(operation string, aggregator byte, at int) error {
	report, who := r.file.Reports[at], int(aggregator)
	switch operation {
	case "shard":
		public, leader, helper, err := r.vdaf.Split(bytes.NewReader(report.Rand), [NonceSize]byte(report.Nonce), vector(r.t, report.Measurement, r.vdaf.circuit))
		r.equal("public share", public, report.Public)
		r.equal("leader's share", leader, report.Input[Leader])
		r.equal("helper's share", helper, report.Input[Helper])
		return err
	case "verify_init":
		state, part, err := r.vdaf.Start([KeySize]byte(r.file.Key), aggregator, [NonceSize]byte(report.Nonce), report.Public, report.Input[who])
		r.states[[2]int{at, who}], r.parts[[2]int{at, who}] = state, part
		if len(report.Verifiers) > 0 {
			r.equal("verification", part, report.Verifiers[0][who])
		}
		return err
	case "verifier_shares_to_message":
		message, err := r.vdaf.Decide(r.parts[[2]int{at, Leader}], r.parts[[2]int{at, Helper}])
		if err == nil {
			r.equal("message", message, report.Messages[0])
		}
		return err
	case "verify_next":
		out, err := r.vdaf.Finish(r.states[[2]int{at, who}], report.Messages[0])
		if err != nil {
			return err
		}
		r.equal("output share", appendVec(nil, out.elements), report.Out[who])
		return r.sums[who].Add(out)
	case "aggregate":
		b, err := r.sums[who].MarshalBinary()
		r.equal("sum of shares", b, r.file.AggShares[who])
		return err
	case "unshard":
		sum, err := Open(r.sums[Leader], r.sums[Helper])
		if !slices.Equal(sum, r.file.Sum) {
			r.t.Errorf("sum %v, want %v", sum, r.file.Sum)
		}
		return err
	}
	r.t.Fatalf("no operation %q", operation)
	return nil
}

func TestVectorsOfTheDraft(t *testing.T) {
	names, err := filepath.Glob("testdata/vdaf-20/Prio3*.json")
	if err != nil || len(names) < 9 {
		t.Fatalf("%d files of vectors: %v", len(names), err)
	}
	refused := 0
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var f file
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &f); err != nil {
				t.Fatal(err)
			}
			if f.Shares != 2 {
				t.Fatalf("%d shares", f.Shares)
			}
			r := replay{t: t, file: f, vdaf: f.vdaf(t, filepath.Base(name)), states: map[[2]int]State{}, parts: map[[2]int][]byte{}}
			for _, o := range f.Operations {
				if err := r.do(o.Operation, o.Aggregator, o.Report); (err == nil) != o.Success {
					t.Errorf("%s of report %d by %d: %v, and it must succeed: %v", o.Operation, o.Report, o.Aggregator, err, o.Success)
				}
				if !o.Success {
					refused++
				}
			}
		})
	}
	if refused != 4 {
		t.Errorf("%d reports were to be refused, want 4", refused)
	}
}

func TestTheOutputFunctionOfTheDraft(t *testing.T) {
	var f struct {
		Binder, Dst, Seed hexBytes
		Derived           hexBytes `json:"derived_seed"`
		Expanded          hexBytes `json:"expanded_vec_field128"`
		Length            int      `json:"length"`
	}
	b, err := os.ReadFile("testdata/vdaf-20/XofTurboShake128.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	from := func() *turboShake128 {
		s := new(turboShake128)
		for _, part := range [][]byte{{byte(len(f.Dst)), 0}, f.Dst, {byte(len(f.Seed))}, f.Seed, f.Binder} {
			for i := range part { // byte by byte: the block's words are filled in every way
				s.Write(part[i : i+1])
			}
		}
		return s
	}
	seed := make([]byte, len(f.Derived))
	from().Read(seed)
	if !bytes.Equal(seed, f.Derived) {
		t.Errorf("seed %x, want %x", seed, f.Derived)
	}
	v := make(fp128.Vec, f.Length)
	from().draw(v)
	if got := appendVec(nil, v); !bytes.Equal(got, f.Expanded) {
		t.Errorf("elements %x, want %x", got, f.Expanded)
	}
}
