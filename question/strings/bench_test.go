package strings_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// words are so many made-up ones of up to eight letters, held as by Zipf's law.
func words(people int) (held distribution.Values) {
	syllables := []string{"an", "ber", "co", "du", "en", "fi", "gra", "he", "il", "jo", "ka", "le", "mo", "ni", "or", "pa", "que", "ri", "so", "te"}
	r := seeded.New(5)
	made, ends, total := make([]string, 20_000), make([]float64, 20_000), 0.0
	for i := range made {
		for range 2 + r.IntN(2) {
			made[i] += syllables[r.IntN(len(syllables))]
		}
		made[i] = made[i][:min(8, len(made[i]))]
		total += math.Pow(float64(i)+2.7, -1)
		ends[i] = total
	}
	for range people {
		i, _ := slices.BinarySearch(ends, total*r.Float64())
		held = append(held, made[i])
	}
	return held
}

func benchmarked(b *testing.B, people int) *protocol.Protocol {
	p, err := design.Fill(ask(letters, 8, people, 8192))
	if err != nil {
		b.Fatal(err)
	}
	return example.Runnable(b, p)
}

// A report before it is sealed: of 131,072 numbers.
func BenchmarkReport(b *testing.B) {
	proto := benchmarked(b, 50_000)
	r := rng.New()
	for b.Loop() {
		symbol, err := proto.Encode("confetti")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := proto.Randomize(r, symbol, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// Strings of so many people, read out of 131,072 numbers. To draw what 50,000 say takes ten times as long as to read it.
func BenchmarkRead(b *testing.B) {
	for _, people := range []int{2_000, 50_000} {
		b.Run(fmt.Sprintf("people=%d", people), func(b *testing.B) {
			proto := benchmarked(b, people)
			crowds, err := distribution.Draw(proto, words(people), example.Streams(1), func(int) {})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := proto.Learn([]tally.Crowd{crowds[0]}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
