package prio3

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/rng"
)

// reference is the CFRG's own code of the draft, in another process.
type reference struct {
	to   io.Writer
	from *bufio.Reader
}

// newReference starts it: VDAF_REFERENCE names the draft's folder poc, and VDAF_PYTHON a Python
// from 3.12 on.
func newReference(t *testing.T) reference {
	t.Helper()
	folder, python := os.Getenv("VDAF_REFERENCE"), os.Getenv("VDAF_PYTHON")
	if folder == "" || python == "" {
		t.Skip("the reference code is not here: set VDAF_REFERENCE to the folder poc of github.com/cfrg/draft-irtf-cfrg-vdaf at draft-irtf-cfrg-vdaf-20, and VDAF_PYTHON to a Python from 3.12 on")
	}
	c := exec.Command(python, "testdata/reference.py")
	c.Env, c.Stderr = append(os.Environ(), "PYTHONPATH="+folder), os.Stderr
	to, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		to.Close()
		c.Wait()
	})
	return reference{to, bufio.NewReader(from)}
}

// ask is its answer in bytes by name. Bytes in a question are written in hex.
func (r reference) ask(t *testing.T, question map[string]any) map[string][]byte {
	t.Helper()
	for name, v := range question {
		if b, ok := v.([]byte); ok {
			question[name] = hex.EncodeToString(b)
		}
	}
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(r.to, "%s\n", text)
	line, err := r.from.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the reference code has ended: %v", err)
	}
	var said map[string]string
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatal(err)
	}
	if said["refused"] != "" {
		return nil
	}
	answer := map[string][]byte{}
	for name, v := range said {
		if answer[name], err = hex.DecodeString(v); err != nil {
			t.Fatal(err)
		}
	}
	return answer
}

// The reference code plays the device, the leader and the helper in turn, and the sum is that
// of the vectors each time; what was changed on the way it refuses as we do.
func TestTheReferenceCodePlaysEveryPart(t *testing.T) {
	theirs := newReference(t)
	key, context := [KeySize]byte{7}, []byte("a test")
	for name, c := range map[string]struct {
		of     map[string]any
		c      Circuit
		chunk  int
		vector []uint64
	}{
		"histogram": {map[string]any{"circuit": "histogram", "length": 11}, Histogram{11}, 3, []uint64{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
		"multihot":  {map[string]any{"circuit": "multihot", "length": 9, "weight": 4}, Multihot{9, 4}, 4, []uint64{1, 0, 0, 1, 0, 0, 1, 0, 0}},
		"sums":      {map[string]any{"circuit": "sumvec", "length": 40, "max": 63}, SumVec{40, 63}, 17, slices.Concat([]uint64{63, 0, 32}, make([]uint64, 37))},
	} {
		r, v := generator(), made(t, c.c, c.chunk)
		asked := func(part string, more map[string]any) map[string]any {
			q := map[string]any{"part": part, "chunk": c.chunk, "context": context, "key": key[:]}
			for _, from := range []map[string]any{c.of, more} {
				for name, x := range from {
					q[name] = x
				}
			}
			return q
		}
		sums := func(part string, leader, helper Vector) {
			got, err := Open(leader, helper)
			for i, x := range got {
				if err != nil || x != int64(c.vector[i]) {
					t.Fatalf("%s: the reference code is the %s: sum %v, want %v: %v", name, part, got, c.vector, err)
				}
			}
		}

		var s report
		random := make([]byte, 4*seedSize)
		rng.Reader(r).Read(s.nonce[:])
		rng.Reader(r).Read(random)
		split := theirs.ask(t, asked("device", map[string]any{"nonce": s.nonce[:], "random": random, "vector": c.vector}))
		s.public, s.leader, s.helper = split["public"], split["leader"], split["helper"]
		leader, helper, err := verify(v, key, s)
		if err != nil {
			t.Fatalf("%s: of a device of the reference code: %v", name, err)
		}
		sums("device", leader, helper)
		public, ours, other, err := v.Split(bytes.NewReader(random), s.nonce, c.vector)
		if err != nil || !bytes.Equal(public, s.public) || !bytes.Equal(ours, s.leader) || !bytes.Equal(other, s.helper) {
			t.Errorf("%s: of the same randomness two devices make two reports: %v", name, err)
		}

		for me, share := range [][]byte{s.leader, s.helper} {
			part := []string{"leader", "helper"}[me]
			state, mine, err := v.Start(key, byte(1-me), s.nonce, s.public, [][]byte{s.helper, s.leader}[me])
			if err != nil {
				t.Fatal(err)
			}
			q := map[string]any{"aggregator": me, "nonce": s.nonce[:], "public": s.public, "share": share, "other": mine}
			said := theirs.ask(t, asked("aggregator", q))
			if said == nil {
				t.Fatalf("%s: the %s of the reference code refuses a report", name, part)
			}
			parts := [2][]byte{said["part"], mine}
			if me == Helper {
				parts[0], parts[1] = parts[1], parts[0]
			}
			message, err := v.Decide(parts[0], parts[1])
			if err != nil || !bytes.Equal(message, said["message"]) {
				t.Fatalf("%s: the %s of the reference code decides otherwise: %v", name, part, err)
			}
			out, err := v.Finish(state, message)
			if err != nil {
				t.Fatal(err)
			}
			var their Vector
			if err := their.UnmarshalBinary(said["out"]); err != nil {
				t.Fatal(err)
			}
			if me == Leader {
				sums(part, their, out)
			} else {
				sums(part, out, their)
			}

			broken := bytes.Clone(mine)
			broken[3] ^= 1
			q["other"], q["share"], q["nonce"], q["public"] = broken, share, s.nonce[:], s.public
			if said := theirs.ask(t, asked("aggregator", q)); said != nil {
				t.Errorf("%s: the %s of the reference code took a part that was changed", name, part)
			}
		}
	}
}
