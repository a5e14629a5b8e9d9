package latent

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// made is a decoder from two numbers to three columns, with the promise of its noise.
func made(t testing.TB) *Decoder {
	d := &Decoder{
		Net:     &nn.Model{Layers: []nn.Layer{nn.Dense{In: 2, Out: 3}}, Params: []float32{1, 0, 2, 0, 1, -1, 0.5, 0, 0}},
		Encoder: "sha256:0", Columns: []string{"a", "b", "c"}, Likelihood: Bernoulli,
		Trained: latent.Trained{Method: "vae", Of: "16 rows", Records: 16, Claim: latent.ClaimPrivate, Adjacency: latent.ZeroingOut, Delta: 1e-5, Private: 8},
		Noise:   Noise{Sampling: 0.1, Multiplier: 2, Clip: 1, Steps: 50},
	}
	g, err := kept()
	if err != nil {
		t.Fatal(err)
	}
	d.Trained.Epsilon, d.Noise.Method, d.Noise.Source = g.Epsilon, g.Method, g.Source
	return d
}

// kept returns what the noise of made keeps.
var kept = sync.OnceValues(func() (account.Guarantee, error) {
	return account.Epsilon(Noise{Sampling: 0.1, Multiplier: 2, Steps: 50}.Event(), 1e-5)
})

// A file is read as it was written. Whoever has it computes its promise again, and one that promises more than its noise
// keeps is refused.
func TestADecoderKeepsWhatItPromises(t *testing.T) {
	d := made(t)
	text, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := parseDecoder(text)
	if err != nil || again.Trained != d.Trained || again.Noise != d.Noise || !slices.Equal(again.Net.Params, d.Net.Params) || !strings.Contains(again.Promise(), "(zeroing-out) of each of 8 private records") {
		t.Fatalf("%+v, %v", again, err)
	}
	for name, change := range map[string]func(*Decoder){
		"a smaller epsilon":         func(d *Decoder) { d.Trained.Epsilon *= 0.99 },
		"less noise":                func(d *Decoder) { d.Noise.Multiplier = 1.9 },
		"more steps":                func(d *Decoder) { d.Noise.Steps = 60 },
		"records that come oftener": func(d *Decoder) { d.Noise.Sampling = 0.11 },
		"a smaller delta":           func(d *Decoder) { d.Trained.Delta = 1e-7 },
		"no adjacency":              func(d *Decoder) { d.Trained.Adjacency = "" },
		"another theorem":           func(d *Decoder) { d.Noise.Method = "\x1b[2Jsomebody's" },
		"somebody else's proof":     func(d *Decoder) { d.Noise.Source = "us" },
		"no noise":                  func(d *Decoder) { d.Noise = Noise{} },
		"nothing clipped":           func(d *Decoder) { d.Noise.Clip = 0 },
		"no sampling":               func(d *Decoder) { d.Noise.Sampling = 0 },
		"no steps":                  func(d *Decoder) { d.Noise.Steps = 0 },
		"noise without a promise":   func(d *Decoder) { d.Trained = latent.Trained{Claim: latent.ClaimPublic} },
		"another claim":             func(d *Decoder) { d.Trained.Claim = "private" },
		"a column without a name":   func(d *Decoder) { d.Columns[1] = "" },
		"a column too few":          func(d *Decoder) { d.Columns = d.Columns[:2] },
		"no likelihood":             func(d *Decoder) { d.Likelihood = "" },
		"noise in the network": func(d *Decoder) {
			d.Net.Layers = append(d.Net.Layers, nn.Laplace{Size: 3, Length: 1, Scale: 1, Prior: 1, Weight: 1})
		},
	} {
		d := made(t)
		change(d)
		if text, err := d.Marshal(); err == nil {
			if _, err := parseDecoder(text); err == nil {
				t.Errorf("%s: read", name)
			}
		}
	}
	d.Trained, d.Noise = latent.Trained{Method: "vae", Records: 16, Claim: latent.ClaimPublic}, Noise{}
	if text, err = d.Marshal(); err != nil || bytes.Contains(text, []byte("noise")) {
		t.Errorf("%s, %v", text, err)
	}
	if again, err = parseDecoder(text); err != nil || again.Promise() != "public, of 16 records" {
		t.Errorf("%+v, %v", again, err)
	}
}

// Records are those of the network, computed by hand, and read by their likelihood.
func TestRecordsOfADecoder(t *testing.T) {
	d := made(t)
	codes := blas32.General{Rows: 2, Cols: 2, Stride: 3, Data: []float32{1, 2, 9, -1, 0, 9}}
	scores := []float64{1.5, 2, 0, -0.5, 0, -2}
	for likelihood, of := range map[string]func(z float64) float64{
		Normal:    func(z float64) float64 { return z },
		Bernoulli: func(z float64) float64 { return 1 / (1 + math.Exp(-z)) },
		Logits:    func(z float64) float64 { return min(1, max(0, (1/(1+math.Exp(-z))-0.05)/0.9)) },
	} {
		d.Likelihood = likelihood
		got := d.Records(codes)
		for i, z := range scores {
			if got.Rows != 2 || got.Stride != 3 || math.Abs(float64(got.Data[i])-of(z)) > 1e-6 {
				t.Errorf("%s: %v, want %v of number %d", likelihood, got, of(z), i)
			}
		}
	}
}

func FuzzParseDecoder(f *testing.F) {
	open := made(f)
	open.Noise, open.Trained = Noise{}, latent.Trained{Method: "vae", Of: "16 rows", Records: 16, Claim: latent.ClaimPublic}
	for _, d := range []*Decoder{made(f), open} {
		text, err := d.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		if _, err := parseDecoder(text); err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"confetti_latent_decoder":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var form decoderForm
		if json.Unmarshal(text, &form) != nil || form.Noise != nil && form.Noise.Steps > 1000 {
			return // whose promise takes longer to compute than a fuzzer has
		}
		var d *Decoder
		var err error
		if parse := func() { d, err = parseDecoder(text) }; form.Noise != nil {
			parse() // what the accountant needs does not grow with the file
		} else {
			costlimit.Heap(t, costlimit.Factor, len(text), parse)
		}
		if err != nil {
			return
		}
		if again, err := d.Marshal(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s is written again as %s, %v", text, again, err)
		}
	})
}
