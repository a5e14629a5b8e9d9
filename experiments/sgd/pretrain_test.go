package sgd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/replay"
)

// An epoch that was kept is gone on from, one that was not is learned, and a file of another network is named.
func TestEpochsAreKept(t *testing.T) {
	dir := t.TempDir()
	network := func(seed uint64, out int) *nn.Model {
		m, err := nn.New(replay.New(seed), nn.Dense{In: 3, Out: out})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	learned, m := network(1, 2), network(2, 2)
	for _, folder := range []string{"", dir} {
		if done, err := goOn(folder, 0, m); done || err != nil {
			t.Errorf("in %q: %v %v", folder, done, err)
		}
	}
	keep := func(of *nn.Model) {
		text, err := of.MarshalBinary()
		if err == nil {
			err = os.WriteFile(epochFile(dir, 0), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	keep(learned)
	if done, err := goOn(dir, 0, m); !done || err != nil || !slices.Equal(m.Params, learned.Params) {
		t.Errorf("%v %v: %v", done, err, m.Params)
	}
	if done, err := goOn(dir, 1, m); done || err != nil {
		t.Errorf("an epoch that nobody kept: %v %v", done, err)
	}
	keep(network(1, 5))
	if _, err := goOn(dir, 0, m); err == nil || !strings.Contains(err.Error(), epochFile(dir, 0)) {
		t.Errorf("another network: %v", err)
	}
}
