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

	"cmp"
	"errors"
	"github.com/confetti-dp/confetti/internal/rng"
	"strings"
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
	return r.said(t)
}

// said reads an answer; nil: the report was refused.
func (r reference) said(t *testing.T) map[string][]byte {
	t.Helper()
	line, err := r.from.ReadBytes('\n')
	if err != nil {
		t.Fatalf("others' code has ended: %v", err)
	}
	var said map[string]string
	if err = json.Unmarshal(line, &said); err != nil {
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
// of the vectors each time; what was changed on the way it refuses as we do. Of the same randomness both make the same report.
func TestTheReferenceCodePlaysEveryPart(t *testing.T) {
	plays(t, newReference(t), true)
}

// libprio-rs does so too; it draws its own randomness.
func TestLibprioPlaysEveryPart(t *testing.T) {
	plays(t, newLibprio(t), false)
}

// libprio is libprio-rs in another process, docs/peer-prio.
type libprio struct{ reference }

// howLibprio says how the program is made.
const howLibprio = "cargo build --release --manifest-path docs/peer-prio/Cargo.toml --target-dir out/peer-prio makes it, PEER_PRIO names it"

// newLibprio starts it. A program of an older version of libprio-rs ends when it is asked for a part, as it speaks another draft.
func newLibprio(t *testing.T) libprio {
	t.Helper()
	program := cmp.Or(os.Getenv("PEER_PRIO"), "../../out/peer-prio/release/peer-prio")
	c := exec.Command(program)
	to, err1 := c.StdinPipe()
	from, err2 := c.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Skipf("libprio-rs is not here: %v: %s", err, howLibprio)
	}
	t.Cleanup(func() {
		to.Close()
		c.Wait()
	})
	all := libprio{reference{to, bufio.NewReader(from)}}
	fmt.Fprintln(to, "device -")
	if line, err := all.from.ReadBytes('\n'); err != nil {
		t.Skipf("libprio-rs is here in an older version, which plays no part: %s", howLibprio)
	} else if !bytes.Contains(line, []byte("refused")) {
		t.Fatalf("a device that is asked without its words answers %s", line)
	}
	return all
}

// ask is its answer in bytes by name.
func (l libprio) ask(t *testing.T, question map[string]any) map[string][]byte {
	t.Helper()
	words := []any{}
	for _, name := range []string{"part", "circuit", "length", "bound", "chunk", "context", "key", "nonce", "vector", "aggregator", "public", "share", "other"} {
		v := question[name]
		if name == "bound" {
			v = cmp.Or(question["weight"], question["max"])
		}
		switch x := v.(type) {
		case nil:
			v = map[bool]any{false: "-", true: 0}[name == "bound" || name == "aggregator"]
		case []byte:
			v = hex.EncodeToString(x)
		case []uint64:
			v = strings.Trim(strings.ReplaceAll(fmt.Sprint(x), " ", ","), "[]")
		}
		words = append(words, v)
	}
	fmt.Fprintln(l.to, words...)
	return l.said(t)
}

// plays has others' code play each part beside ours.
func plays(t *testing.T, theirs interface {
	ask(t *testing.T, question map[string]any) map[string][]byte
}, random bool) {
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
					t.Fatalf("%s: others' code is the %s: sum %v, want %v: %v", name, part, got, c.vector, err)
				}
			}
		}

		var s report
		seeds := make([]byte, 4*seedSize)
		rng.Reader(r).Read(s.nonce[:])
		rng.Reader(r).Read(seeds)
		split := theirs.ask(t, asked("device", map[string]any{"nonce": s.nonce[:], "random": seeds, "vector": c.vector}))
		s.public, s.leader, s.helper = split["public"], split["leader"], split["helper"]
		leader, helper, err := verify(v, key, s)
		if err != nil {
			t.Fatalf("%s: of a device of others' code: %v", name, err)
		}
		sums("device", leader, helper)
		public, ours, other, err := v.Split(bytes.NewReader(seeds), s.nonce, c.vector)
		if err != nil || random && (!bytes.Equal(public, s.public) || !bytes.Equal(ours, s.leader) || !bytes.Equal(other, s.helper)) {
			t.Errorf("%s: of the same randomness two devices make two reports: %v", name, err)
		}
		s.public, s.leader, s.helper = public, ours, other // the aggregators take a report of ours

		for me, share := range [][]byte{s.leader, s.helper} {
			part := []string{"leader", "helper"}[me]
			state, mine, err := v.Start(key, byte(1-me), s.nonce, s.public, [][]byte{s.helper, s.leader}[me])
			if err != nil {
				t.Fatal(err)
			}
			q := map[string]any{"aggregator": me, "nonce": s.nonce[:], "public": s.public, "share": share, "other": mine}
			said := theirs.ask(t, asked("aggregator", q))
			if said == nil {
				t.Fatalf("%s: the %s of others' code refuses a report", name, part)
			}
			parts := [2][]byte{said["part"], mine}
			if me == Helper {
				parts[0], parts[1] = parts[1], parts[0]
			}
			message, err := v.Decide(parts[0], parts[1])
			if err != nil || !bytes.Equal(message, said["message"]) {
				t.Fatalf("%s: the %s of others' code decides otherwise: %v", name, part, err)
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
				t.Errorf("%s: the %s of others' code took a part that was changed", name, part)
			}
		}
	}
}
