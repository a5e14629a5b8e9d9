package nn

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestAModelComesBackFromItsBytes(t *testing.T) {
	m := made(t, small()...)
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := back.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	again, err := back.MarshalBinary()
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("the bytes change: %v", err)
	}
	x := random(rand.New(rand.NewPCG(1, 9)), m.Inputs())
	for i, v := range NewPass(&back).Forward(x, 1) {
		if want := NewPass(m).Forward(x, 1)[i]; v != want {
			t.Errorf("answer %d is %v, want %v", i, v, want)
		}
	}
}

// The bytes were put together by hand from the form that file.go states.
func TestTheFormIsAsStated(t *testing.T) {
	text := `[{"dense":{"in":1,"out":2}},{"relu":{"size":2}}]`
	want, _ := hex.DecodeString(hex.EncodeToString([]byte("confetti-nn 1\n")) + fmt.Sprintf("%02x000000", len(text)) + hex.EncodeToString([]byte(text)) +
		"0000803f" + "000000c0" + "0000003f" + "00000000") // 1, -2 and the bias 0.5, 0
	m := Model{Layers: []Layer{Dense{In: 1, Out: 2}, ReLU{2}}, Params: []float32{1, -2, 0.5, 0}}
	if got, err := m.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v\n%x\n%x", err, got, want)
	}
	var back Model
	if err := back.UnmarshalBinary(want); err != nil {
		t.Fatal(err)
	}
	if y := NewPass(&back).Forward([]float32{3}, 1); y[0] != 3.5 || y[1] != 0 {
		t.Errorf("answers %v, want 3.5 and 0", y)
	}
}

func model(text string, params ...float32) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(text)))
	b = append(b, text...)
	for _, v := range params {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

var hostile = map[string]struct {
	bytes []byte
	want  string
}{
	"nothing":             {nil, "does not begin"},
	"another version":     {[]byte("confetti-nn 2\n"), "does not begin"},
	"cut short":           {[]byte(magic + "\x01"), "ends within"},
	"description missing": {[]byte(magic + "\xff\x00\x00\x00[]"), "255 bytes"},
	"huge description":    {[]byte(magic + "\xff\xff\xff\xff[]"), "4294967295 bytes"},
	"no layer":            {model(`[]`), "needs a layer"},
	"no kind":             {model(`[{}]`), "one kind, not 0"},
	"two kinds":           {model(`[{"relu":{"size":1},"dense":{"in":1,"out":1}}]`), "one kind, not 2"},
	"unknown kind":        {model(`[{"lstm":{}}]`), "lstm"},
	"text behind":         {model(`[{"relu":{"size":1}}] 1`), "follows"},
	"size of zero":        {model(`[{"dense":{"in":0,"out":1}}]`), "a size of 0"},
	"negative size":       {model(`[{"relu":{"size":-1}}]`), "a size of -1"},
	"huge matrix":         {model(`[{"dense":{"in":1048576,"out":1048576}}]`), "at most"},
	"huge pictures":       {model(`[{"max_pool":{"height":1048576,"width":1048576,"channels":1048576,"kernel":1,"stride":1}}]`), "more than"},
	"kernel beyond":       {model(`[{"conv":{"height":2,"width":2,"channels":1,"filters":1,"kernel":3,"stride":1}}]`), "larger than pictures"},
	"padding beyond":      {model(`[{"conv":{"height":2,"width":2,"channels":1,"filters":1,"kernel":1,"stride":1,"pad":1}}]`), "padded by 1"},
	"layers apart":        {model(`[{"relu":{"size":2}},{"relu":{"size":3}}]`), "takes 3 numbers"},
	"numbers missing":     {model(`[{"dense":{"in":1,"out":1}}]`, 1), "4 bytes of them are there, not 8"},
	"numbers too many":    {model(`[{"relu":{"size":1}}]`, 1), "4 bytes of them are there, not 0"},
	"not a number":        {model(`[{"dense":{"in":1,"out":1}}]`, 1, float32(math.NaN())), "number 2"},
	"infinite":            {model(`[{"dense":{"in":1,"out":1}}]`, float32(math.Inf(1)), 0), "number 1"},
}

func TestHostileModelsAreRefusedWithTheReason(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			var m Model
			if err := m.UnmarshalBinary(c.bytes); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if m.Layers != nil || m.Params != nil {
				t.Error("half a model was written")
			}
		})
	}
}

func FuzzModel(f *testing.F) {
	for _, c := range hostile {
		f.Add(c.bytes)
	}
	m := made(f, Dense{In: 2, Out: 3}, ReLU{3})
	b, err := m.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Model
		var err error
		costlimit.Heap(t, costlimit.Factor, len(b), func() { err = m.UnmarshalBinary(b) })
		if err != nil {
			return
		}
		if _, err := m.MarshalBinary(); err != nil {
			t.Errorf("read, and not written: %v", err)
		}
	})
}
