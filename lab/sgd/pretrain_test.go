package sgd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// An epoch that was kept is gone on from, one that was not is learned, and a file of another network is named.
func TestEpochsAreKept(t *testing.T) {
	dir := t.TempDir()
	network := func(seed uint64, out int) *nn.Model {
		m, err := nn.New(seeded.New(seed), nn.Dense{In: 3, Out: out})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	learned, m := network(1, 2), network(2, 2)
	file := epochFile(dir, "5eed5eed5eed5eed", 0)
	for _, name := range []string{"", file} {
		if done, err := goOn(name, m); done || err != nil {
			t.Errorf("in %q: %v %v", name, done, err)
		}
	}
	keep := func(of *nn.Model) {
		text, err := of.MarshalBinary()
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	keep(learned)
	if done, err := goOn(file, m); !done || err != nil || !slices.Equal(m.Params, learned.Params) {
		t.Errorf("%v %v: %v", done, err, m.Params)
	}
	for what, name := range map[string]string{"an epoch that nobody kept": epochFile(dir, "5eed5eed5eed5eed", 1), "an epoch of other data": epochFile(dir, "0ddba11", 0)} {
		if done, err := goOn(name, m); done || err != nil {
			t.Errorf("%s: %v %v", what, done, err)
		}
	}
	keep(network(1, 5))
	if _, err := goOn(file, m); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("another network: %v", err)
	}
}
