package analyzerd

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/wire"
)

// However many read slowly, no more than the room is held, and a text once.
func TestReadersOfTextsShareThem(t *testing.T) {
	c := &texts{room: 100}
	loads := 0
	load := func(size int) func() ([]byte, [32]byte, error) {
		return func() ([]byte, [32]byte, error) { loads++; return make([]byte, size), [32]byte{byte(size)}, nil }
	}
	read := func(name string, size int) (done func()) {
		t.Helper()
		got, done, err := c.read(name, load(size))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.body) != size || got.digest != [32]byte{byte(size)} {
			t.Errorf("%s is %d bytes", name, len(got.body))
		}
		if c.used > c.room && len(c.held) > 1 {
			t.Errorf("%d bytes are held", c.used)
		}
		return done
	}
	refused := func(name string, size int) {
		t.Helper()
		_, _, err := c.read(name, load(size))
		if p, ok := errors.AsType[*wire.Problem](err); !ok || p.Code != wire.Overloaded || !p.Retry() {
			t.Errorf("%s: %v", name, err)
		}
	}
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() { read("a", 60)() })
	}
	readers.Wait()
	if loads != 1 {
		t.Errorf("loaded %d times", loads)
	}
	a := read("a", 60)
	b := read("b", 40)
	refused("c", 1)
	b()
	read("c", 40)() // b goes, which nobody reads
	refused("b", 60)
	a()
	b = read("b", 60) // a goes
	if loads != 6 || len(c.held) != 1 {
		t.Errorf("loaded %d times, %d are held", loads, len(c.held))
	}
	refused("large", 200)
	b()
	read("large", 200)() // alone
	if len(c.held) != 1 || c.used != 200 {
		t.Errorf("%d texts of %d bytes are held", len(c.held), c.used)
	}
	if _, _, err := c.read("no", func() ([]byte, [32]byte, error) { return nil, [32]byte{}, fmt.Errorf("no") }); err == nil {
		t.Error("what could not be loaded was read")
	}
}
