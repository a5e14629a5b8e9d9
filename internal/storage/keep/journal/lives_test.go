package journal

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

var (
	lives     = flag.Int("lives", 300, "how many random lives end by a loss of power")
	firstLife = flag.Uint64("first-life", 0, "the number of the first of them")
)

// liveAtRandom makes calls as they come on up to three shelves, with closes, kills and starts
// among them, until the power is off or enough is done.
func (w *world) liveAtRandom(r *rand.Rand) {
	if !w.start() {
		return
	}
	value := func() []byte {
		n := r.IntN(200)
		if r.IntN(8) == 0 {
			n = r.IntN(9000) // more than a block
		}
		return []byte(strings.Repeat(fmt.Sprint(r.IntN(10)), n))
	}
	w.create("a")
	for range 10 + r.IntN(30) {
		if len(w.possible) > 1 {
			return // the power is off
		}
		name, key := string("abc"[r.IntN(3)]), func() string { return fmt.Sprint("k", r.IntN(12)) }
		switch n := r.IntN(40); {
		case n < 6:
			w.create(name)
		case n < 20:
			rows := []keep.Row{{Table: 1, Key: key(), Tag: uint32(r.IntN(3)), Value: value()}}
			if r.IntN(3) == 0 {
				rows = append(rows, keep.Row{Table: 2, Key: key(), Value: value()})
			}
			w.insert(name, rows...)
		case n < 26:
			w.update(name, map[string]string{key(): string(value())}, "k1")
		case n < 30:
			w.update(keep.Main, map[string]string{key(): string(value())})
		case n < 32:
			w.seal(name)
		case n < 34 && w.key == nil: // one key is looked for
			w.drop(name)
		case n < 36:
			w.store.Close()
			if !w.start() {
				return
			}
		case n < 37:
			w.store.kill()
			if !w.start() {
				return
			}
		}
	}
}

// powerAtRandom lives so many lives, each until the power fails at an operation of the disk,
// and once more during the start behind that. It returns what was lost.
func powerAtRandom(first uint64, n, most int, spoil func(*memory), made func() *memory) (lost []error, acked int) {
	for seed := first; seed < first+uint64(n); seed++ {
		r := rand.New(rand.NewPCG(seed, 7))
		o := tiny
		o.Prompt = r.IntN(2) == 0
		off := func(disk *memory, at int) {
			disk.fault = func(_, _ string, n int) error {
				if n > at {
					return errPower
				}
				return nil
			}
		}
		disk := made()
		if spoil != nil {
			spoil(disk)
		}
		off(disk, r.IntN(250))
		w := newWorld(disk, o)
		w.liveAtRandom(r)
		acked += w.acked
		modes := []string{"none", "all", "any", "any"}
		again := disk.cut(r, modes[r.IntN(4)])
		if w.store != nil {
			w.store.kill()
		}
		off(again, r.IntN(15))
		if s, err := open(again, o); err == nil {
			s.Close()
		}
		if _, err := w.found(again.cut(r, modes[r.IntN(4)])); err != nil {
			if lost = append(lost, fmt.Errorf("life %d: %w", seed, err)); len(lost) >= most {
				break
			}
		}
	}
	return lost, acked
}

// However a store was used until the power failed, what it acknowledged is there. For many:
// go test ./internal/storage/keep/journal -run PowerLostInAnyLife -v -args -lives 100000
func TestPowerLostInAnyLife(t *testing.T) {
	fresh := func() *memory { return made(t) }
	lost, acked := powerAtRandom(*firstLife, *lives, 5, nil, fresh)
	for _, err := range lost {
		t.Error(err)
	}
	t.Logf("%d lives, %d calls acknowledged, %d lives lost one", *lives, acked, len(lost))
	if lost, _ := powerAtRandom(0, 100, 1, func(m *memory) { m.noSync = true }, fresh); len(lost) == 0 {
		t.Error("a disk that syncs nothing was not found out")
	}
	if lost, _ := powerAtRandom(0, 100, 1, func(m *memory) { m.noNames = true }, fresh); len(lost) == 0 {
		t.Error("a disk that syncs no names was not found out")
	}
}
