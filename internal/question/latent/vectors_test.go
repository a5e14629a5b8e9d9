package latent

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
)

// A device's whole work before sealing, of an image by LTN's encoder, with each of the mechanisms.
func BenchmarkVectors(b *testing.B) {
	r := rng.New()
	net, err := nn.New(r, nn.Dense{In: 784, Out: 400}, nn.ReLU{Size: 400}, nn.Dense{In: 400, Out: 150}, nn.ReLU{Size: 150}, nn.Dense{In: 150, Out: 50}, nn.ReLU{Size: 50}, nn.Dense{In: 50, Out: 8})
	if err != nil {
		b.Fatal(err)
	}
	e := &latent.Encoder{Net: net, Length: 10, Prototypes: blas32.General{Rows: 2, Cols: 8, Stride: 8, Data: make([]float32, 16)}, Sizes: []int{1, 1}, Trained: latent.Trained{Claim: latent.ClaimPublic}}
	state, err := e.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	image := make([]float32, 784)
	for i := range image {
		image[i] = r.Float32()
	}
	for _, z := range []plan.Latents{{Mechanism: latent.NameLaplace, Dim: 8, Length: 10}, {Mechanism: latent.NameCap, Dim: 8}} {
		b.Run(z.Mechanism, func(b *testing.B) {
			p, err := Design(asked(plan.Latent{Features: 784, Classes: strings.Split("abcdefghij", ""), Report: plan.LatentVector, Vector: &z}, 8))
			if err != nil {
				b.Fatal(err)
			}
			q, err := New(p)
			if err != nil {
				b.Fatal(err)
			}
			with, err := q.WithState(state)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				symbol, err := with.Encode(Record{Features: image, Class: 3})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := with.Randomize(r, symbol, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
