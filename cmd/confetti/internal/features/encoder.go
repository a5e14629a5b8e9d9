package features

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	device "github.com/confetti-dp/confetti/dp/latent"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/learn/latent"
	"github.com/confetti-dp/confetti/plan"
)

// Learn is confetti learn.
type Learn struct {
	Encoder encoded `cmd:"" help:"Train an encoder of public records, by whose code devices tell theirs with noise."`
}

type encoded struct {
	public
	Method     string  `help:"vae: a variational autoencoder with Laplace noise (LTN); pca: principal directions." enum:"vae,pca" default:"vae"`
	Dim        int     `help:"Numbers of the code." default:"8"`
	Hidden     []int   `help:"vae: numbers in each layer of the encoder; the decoder has them in turn." default:"400,150,50"`
	Length     float64 `help:"vae: of the ball that codes are pulled back to, in the sum of magnitudes." default:"10"`
	Noise      float64 `help:"vae: epsilon that the noise of training would have; it promises nothing." default:"200"`
	Scale      string  `help:"vae: scale of that noise: fixed, or learned from there on." enum:"fixed,learned" default:"fixed"`
	Likelihood string  `help:"vae: bernoulli or logit of numbers from 0 to 1, normal of any; auto: bernoulli where all are from 0 to 1, else normal." enum:"auto,bernoulli,logit,normal" default:"auto"`
	Epochs     int     `help:"vae: times that each record is seen." default:"15"`
	Out        string  `help:"The file to write; of images, a picture of what codes keep is beside it." type:"path" default:"encoder.json"`
	JSON       bool    `help:"End with one JSON object."`
}

func (encoded) Help() string {
	return `Records are public: nothing is promised to whoever they are of, and the file says so. Images are taken with their
brightest pixel at one, as devices are to give them. A device needs the
file alone, which plans name by its hash.

Example:
  confetti learn encoder --dataset synthetic --images 500 --epochs 2 --out encoder.json`
}

func (c encoded) check() error {
	switch {
	case c.Dim < 2 || c.Dim > device.MaxDim:
		return terminal.Usagef("--dim is %d: give 2 to %d", c.Dim, device.MaxDim)
	case !(c.Length > 0 && c.Length <= 1e6) || !(c.Noise > 0 && c.Noise <= 1e6):
		return terminal.Usagef("--length is %v, --noise %v: give numbers above 0, at most 1e6", c.Length, c.Noise)
	case c.Epochs < 1 || c.Epochs > 10_000 || slices.ContainsFunc(c.Hidden, func(h int) bool { return h < 1 || h > 1<<14 }):
		return terminal.Usagef("--epochs is %d, --hidden %v: give 1 to 10000, and layers of 1 to %d", c.Epochs, c.Hidden, 1<<14)
	case c.Map != "":
		return terminal.Usagef("--map: an encoder takes records as devices have them: leave it out")
	}
	return c.public.check()
}

func (c encoded) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	e, picture, err := c.train(report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	text, err := e.Marshal()
	if err != nil {
		return err
	}
	drawn := strings.TrimSuffix(c.Out, filepath.Ext(c.Out)) + ".png"
	if err := terminal.Uninterrupted(func() error {
		if picture == nil {
			return durable.Replace(c.Out, text, 0o644)
		}
		return errors.Join(durable.Replace(drawn, picture, 0o644), durable.Replace(c.Out, text, 0o644))
	}); err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			File       string         `json:"file"`
			Name       string         `json:"name"`
			Inputs     int            `json:"inputs"`
			Dim        int            `json:"dim"`
			Prototypes int            `json:"prototypes"`
			Bytes      int            `json:"bytes"`
			Trained    device.Trained `json:"trained"`
		}{c.Out, plan.StateName(text), e.Inputs(), e.Dim(), len(e.Sizes), len(text), e.Trained})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d numbers to %d, of %d public records, to which nothing is promised (%d bytes, %s)\n", c.Out, e.Inputs(), e.Dim(), e.Trained.Records, len(text), plan.StateName(text))
	if err == nil && picture != nil {
		_, err = fmt.Fprintf(std.Out, "picture: %s\n", drawn)
	}
	return err
}

// train makes the encoder, and the picture of what its codes keep, where records are images and
// there is a decoder.
func (c encoded) train(report fit.Progress) (*device.Encoder, []byte, error) {
	g, err := c.given(nil, report)
	if err != nil {
		return nil, nil, err
	}
	if g.texts != nil {
		return nil, nil, terminal.Usagef("texts have no numbers of their own: give a table or images")
	}
	if g.size != nil {
		g.rows = latent.Greys(g.rows)
	}
	x, r := g.rows, replay.New(c.Seed)
	trained := device.Trained{Method: c.Method, Of: fmt.Sprintf("%d %s", x.Rows, g.what), Records: x.Rows, Claim: device.ClaimPublic}
	if c.Method == "pca" {
		net, length, err := latent.PCA(x, min(c.Dim, x.Cols))
		if err != nil {
			return nil, nil, err
		}
		e, err := latent.Encoder(r, net, length, x, trained, report)
		return e, nil, err
	}
	v := latent.VAE{Dim: c.Dim, Hidden: c.Hidden, Length: c.Length, Epsilon: c.Noise, Learned: c.Scale == "learned", Likelihood: c.likelihood(x), Epochs: c.Epochs, Batch: min(128, x.Rows), Rate: 1e-3}
	seen, unfold := x, func(*nn.Model) {}
	if v.Likelihood == latent.Normal {
		seen, unfold = latent.Standard(x)
	}
	m, err := v.Fit(r, seen, report)
	if err != nil {
		return nil, nil, err
	}
	unfold(m.Encoder)
	e, err := latent.Encoder(r, m.Encoder, c.Length, x, trained, report)
	if err != nil || g.size == nil {
		return e, nil, err
	}
	picture, err := kept(e, m, v.Likelihood, g.row, min(10, x.Rows), g.size.Width, g.size.Height, c.Seed)
	return e, picture, err
}

func (c encoded) likelihood(x blas32.General) string {
	if c.Likelihood != "auto" {
		return c.Likelihood
	}
	if slices.ContainsFunc(x.Data, func(v float32) bool { return !(v >= 0 && v <= 1) }) {
		return latent.Normal
	}
	return latent.Bernoulli
}

// local epsilons of the vector at which a picture shows what is left.
var seenAt = []float64{10, 5, 2}

// kept is a picture: a column for each of some images, and below it what the code stands for, and
// what codes with the noise of devices do.
func kept(e *device.Encoder, m *latent.Trained, likelihood string, of func(i int) []float32, n, width, height int, seed uint64) ([]byte, error) {
	out := image.NewGray(image.Rect(0, 0, n*(width+1), (2+len(seenAt))*(height+1)))
	draw := func(column, row int, grey []float32) {
		for p, v := range grey {
			out.SetGray(column*(width+1)+p%width, row*(height+1)+p/width, color.Gray{Y: uint8(255 * min(1, max(0, v)))})
		}
	}
	const forPicture = 1
	r := replay.New(seed, forPicture)
	for i := range n {
		record := of(i)
		code := latent.Codes(e, blas32.General{Rows: 1, Cols: len(record), Stride: len(record), Data: record})
		draw(i, 0, record)
		draw(i, 1, m.Reconstruct(likelihood, code.Data))
		for row, epsilon := range seenAt {
			how := device.Laplace{Dim: e.Dim(), Length: e.Length, Points: 1 << 12, Epsilon: epsilon}
			noisy, err := how.Read(how.Randomize(r, code.Data))
			if err != nil {
				return nil, err
			}
			draw(i, 2+row, m.Reconstruct(likelihood, noisy))
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, out)
	return b.Bytes(), err
}
