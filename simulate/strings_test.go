package simulate_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/simulate"
)

// Sealing, mixing and opening deliver every bit of a string once. With -large the plan is the one of
// docs/strings.md, words of 8 letters among 50,000 people by 8,192 bits a device, asked of 60.
func TestSealsChangeNothingOfStrings(t *testing.T) {
	p := example.Strings()
	devices := 5
	if *large {
		devices, p.Crowd.Minimum = 60, 50_000
		p.Question.Strings = &plan.Strings{Alphabet: "abcdefghijklmnopqrstuvwxyz", Longest: 8, Seed: example.Seed, Answered: 8192}
	}
	p, err := design.Fill(p)
	if err != nil {
		t.Fatal(err)
	}
	p.Crowd.Minimum = devices // what is tested are the counts and not the promise
	proto, keys := runnable(t, p)
	values := make([]question.Value, devices)
	for i := range values {
		values[i] = []string{"ab", "b", "bab", "aa"}[i%4]
	}
	const seed = 5
	col, err := simulate.Full(proto, keys, values, seed, quiet)
	if err != nil {
		t.Fatal(err)
	}
	want := unsealed(t, proto, values, func(i int) *rand.Rand { return seeded.New(seed, uint64(i)) })
	if diff := cmp.Diff(cells(want[0]), cells(col.Crowds[0])); diff != "" {
		t.Errorf("counts differ (-unsealed +full):\n%s", diff)
	}
	if col.Crowds[0].Respondents != devices || col.Fragments != devices*p.Envelopes.PerDevice || col.Dropped != 0 {
		t.Errorf("%d respondents, %d fragments, %d dropped", col.Crowds[0].Respondents, col.Fragments, col.Dropped)
	}
	t.Logf("%d devices sealed %d envelopes each", devices, p.Envelopes.PerDevice)
}
