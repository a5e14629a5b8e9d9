package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// opsOf returns how many operations of the disk a life takes.
func opsOf(t testing.TB, o Options) int {
	w := newWorld(made(t), o)
	w.live()
	if w.err != nil || w.disk.ops < 100 {
		t.Fatalf("%d operations: %v", w.disk.ops, w.err)
	}
	return w.disk.ops
}

// powerCuts has the power fail at each operation of a life, and once more at any operation
// of the start behind it, and returns what was lost.
func powerCuts(t testing.TB, o Options, most int, spoil func(*memory)) (lost []error, acked int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for at := range opsOf(t, o) {
		if len(lost) >= most {
			break
		}
		if o.Prompt && at%3 > 0 {
			continue // most of it is the same
		}
		for _, mode := range []string{"none", "all", "any"} {
			disk := made(t)
			if spoil != nil {
				spoil(disk)
			}
			disk.fault = func(_, _ string, n int) error {
				if n > at {
					return errPower
				}
				return nil
			}
			w := newWorld(disk, o)
			w.live()
			acked += w.acked
			again := disk.cut(r, mode)
			last := r.IntN(12)
			again.fault = func(_, _ string, n int) error {
				if n > last {
					return errPower
				}
				return nil
			}
			if s, err := open(again, o); err == nil {
				s.Close()
			}
			again = again.cut(r, mode)
			if _, err := w.found(again); err != nil {
				lost = append(lost, fmt.Errorf("power lost at operation %d, %s: %w", at, mode, err))
			}
		}
	}
	return lost, acked
}

// What was acknowledged is there after a loss of power at any operation, and what was under way
// is there whole or not at all.
func TestPowerLost(t *testing.T) {
	for _, prompt := range []bool{false, true} {
		o := tiny
		o.Prompt = prompt
		lost, acked := powerCuts(t, o, 5, nil)
		for _, err := range lost {
			t.Error(err)
		}
		t.Logf("%d acknowledged", acked)
	}
}

// Disks that skip what the engine rests on lose what was acknowledged, and the test sees it.
func TestPowerLostOnDisksThatLie(t *testing.T) {
	for name, spoil := range map[string]func(*memory){
		"files are not synced":       func(m *memory) { m.noSync = true },
		"names are not synced":       func(m *memory) { m.noNames = true },
		"keys are not written over":  func(m *memory) { m.deaf = keyFile },
		"rows are not written again": func(m *memory) { m.deaf = rowsFile },
	} {
		t.Run(name, func(t *testing.T) {
			if lost, _ := powerCuts(t, tiny, 1, spoil); len(lost) == 0 {
				t.Error("nothing was lost")
			}
		})
	}
}

// failing has each operation of a life fail once, and returns what was lost: at once, at the
// next start, and by a loss of power behind that.
func failing(t testing.TB, o Options, most int, fault error, spoil func(*memory)) (lost []error) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	for at := range opsOf(t, o) {
		if len(lost) >= most {
			break
		}
		if o.Prompt && at%3 > 0 {
			continue // most of it is the same
		}
		disk := made(t)
		if spoil != nil {
			spoil(disk)
		}
		var what string
		disk.fault = func(op, name string, n int) error {
			if n == at+1 {
				what = op + " " + name
				return fault
			}
			return nil
		}
		w := newWorld(disk, o)
		w.live()
		if w.store != nil {
			w.store.Close()
		}
		c, err := w.found(disk)
		if err == nil { // what a start showed is on the disk
			w.possible = []content{c}
			_, err = w.found(disk.cut(r, "none"))
		}
		if err != nil {
			lost = append(lost, fmt.Errorf("operation %d, %s, failed: %w", at, what, err))
		}
	}
	return lost
}

// A disk that fails once, its syncs among the rest, loses nothing that was acknowledged, nor
// what a later start shows.
func TestADiskThatFails(t *testing.T) {
	for _, prompt := range []bool{false, true} {
		o := tiny
		o.Prompt = prompt
		for _, err := range failing(t, o, 5, syscall.EIO, nil) {
			t.Error(err)
		}
	}
	if lost := failing(t, tiny, 1, syscall.EIO, func(m *memory) { m.idle = true }); len(lost) == 0 {
		t.Error("a start that does not write the end again was not found out")
	}
}

// A disk that is full at any operation loses nothing.
func TestAFullDiskAtEachOperation(t *testing.T) {
	for _, err := range failing(t, tiny, 5, syscall.ENOSPC, nil) {
		t.Error(err)
	}
}

// A full disk refuses what does not fit, keeps what was there, and goes on when it has room.
func TestAFullDisk(t *testing.T) {
	w := newWorld(made(t), Options{})
	if !w.start() {
		t.Fatal(w.err)
	}
	w.create("a")
	w.disk.room = w.disk.used() + 20<<10
	s := w.shelf("a")
	full := 0
	for i := range 40 {
		rows := []keep.Row{{Table: 1, Key: fmt.Sprint(i), Value: make([]byte, 1000)}}
		before := w.acked
		w.insert("a", rows...)
		if w.acked == before {
			full++
		}
	}
	if full < 15 || full > 25 {
		t.Errorf("%d of 40 did not fit", full)
	}
	if _, err := s.Insert(t.Context(), keep.Row{Table: 1, Key: "x", Value: make([]byte, 1000)}); !errors.Is(err, keep.ErrFull) {
		t.Errorf("a full disk: %v", err)
	}
	w.disk.room = 0
	w.insert("a", keep.Row{Table: 1, Key: "more", Value: []byte("v")})
	w.seal("a")
	if len(w.possible) != 1 {
		t.Fatal("a full disk left doubt")
	}
	w.store.Close()
	if _, err := w.found(w.disk); err != nil {
		t.Error(err)
	}
}

// After a sync that failed nothing is written until the next start.
func TestASyncThatFailedIsNotTriedAgain(t *testing.T) {
	disk := made(t)
	w := newWorld(disk, Options{})
	if !w.start() {
		t.Fatal(w.err)
	}
	w.create("a")
	w.insert("a", keep.Row{Table: 1, Key: "one"})
	once := true
	disk.fault = func(op, name string, _ int) error {
		if once && op == "sync" && name == "a"+rowsFile {
			once = false
			return syscall.EIO
		}
		return nil
	}
	s := w.shelf("a")
	for _, key := range []string{"two", "three"} {
		if _, err := s.Insert(t.Context(), keep.Row{Table: 1, Key: key}); !errors.Is(err, keep.ErrUnavailable) || !strings.Contains(err.Error(), "opened again") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if once {
		t.Error("nothing was synced")
	}
	if again, err := s.Insert(t.Context(), keep.Row{Table: 1, Key: "one"}); err != nil || !again {
		t.Errorf("what is on disk: %t, %v", again, err)
	}
}
