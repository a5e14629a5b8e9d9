package train

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/png"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/train/encoder"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
)

// Encoder is confetti-lab encoder.
type Encoder struct {
	public
	Method     string    `help:"vae: a variational autoencoder with Laplace noise (LTN); pca: principal directions." enum:"vae,pca" default:"vae"`
	Dim        int       `help:"Numbers of the code." default:"8"`
	Hidden     []int     `help:"vae: numbers in each layer of the encoder; the decoder has them in turn." default:"400,150,50"`
	Length     float64   `help:"vae: of the ball that codes are pulled back to, in the sum of magnitudes." default:"10"`
	Noise      float64   `help:"vae: epsilon that the noise of training would have; it promises nothing." default:"200"`
	Scale      string    `help:"vae: scale of that noise: fixed, or learned from there on." enum:"fixed,learned" default:"fixed"`
	Likelihood string    `help:"vae: bernoulli or logit of numbers from 0 to 1, normal of any; auto: bernoulli where all public ones are from 0 to 1, else normal." enum:"auto,bernoulli,logit,normal" default:"auto"`
	Epochs     int       `help:"vae: times that each record is seen." default:"15"`
	Stages     string    `help:"vae: one, of public records; two: the first records, public ones, train all, and of the others the encoder alone is trained once more with noise, which promises them --epsilon; paper-two-stage: all records train both, as LTN prints it, and nothing is proved." enum:"one,two,paper-two-stage" default:"one"`
	Public     int       `help:"With --stages two: how many records, from the first on, are public; 0: half of them." placeholder:"N"`
	Range      []float64 `help:"With --stages two: the least and the largest number that a private record may have, to which others are brought. Without, 0 and 1 of bernoulli and logit; of normal those of each column among public records." placeholder:"LOW,HIGH"`
	Epsilon    float64   `help:"Promise of a second stage to a private record that counts for nothing in its place (zeroing-out). How many there are is public." default:"5"`
	Delta      float64   `help:"Its delta." default:"1e-5"`
	Again      float64   `help:"Times that a record is seen in a second stage, in expectation." default:"5"`
	Group      int       `help:"Records that take part in a step of a second stage, in expectation; each is drawn by a coin of its own." default:"1024"`
	Decoder    string    `help:"vae: also write a decoder, by which analysts read noisy codes as columns (confetti learn latent --join). With --stages two private records train the decoder once more, and not the encoder." type:"path" placeholder:"FILE"`
	Out        string    `help:"The file to write; of images, a picture of what codes keep is beside it." type:"path" default:"encoder.json"`
	JSON       bool      `help:"End with one JSON object."`
}

func (Encoder) Help() string {
	return `Records are public: nothing is promised to whoever they are of, and the file says so. Images are taken with their
brightest pixel at one, as devices are to give them. A device needs the
file alone, which plans name by its hash. A second stage (--stages two) is for records that are private: their
numbers are brought to a public range, whatever they are, and the file says what each record keeps.
A decoder's file says it of the decoder, with the noise by which anybody computes it again.

Examples:
  confetti-lab encoder --dataset synthetic --images 500 --epochs 2 --out encoder.json
  confetti-lab encoder --dataset synthetic --images 500 --epochs 2 --hidden 20 --stages two --epsilon 5 --again 2 --group 50`
}

func (c Encoder) check() error {
	switch {
	case c.Dim < 2 || c.Dim > device.MaxDim:
		return terminal.Usagef("--dim is %d: give 2 to %d", c.Dim, device.MaxDim)
	case !(c.Length > 0 && c.Length <= 1e6) || !(c.Noise > 0 && c.Noise <= 1e6):
		return terminal.Usagef("--length is %v, --noise %v: give numbers above 0, at most 1e6", c.Length, c.Noise)
	case c.Epochs < 1 || c.Epochs > 10_000 || slices.ContainsFunc(c.Hidden, func(h int) bool { return h < 1 || h > 1<<14 }):
		return terminal.Usagef("--epochs is %d, --hidden %v: give 1 to 10000, and layers of 1 to %d", c.Epochs, c.Hidden, 1<<14)
	case c.Stages != "one" && c.Method != "vae":
		return terminal.Usagef("--stages %s: principal directions have one", c.Stages)
	case !(c.Epsilon > 0 && c.Epsilon <= 100) || !(c.Delta > 0 && c.Delta < 1) || !(c.Again > 0 && c.Again <= 1000) || c.Group < 1:
		return terminal.Usagef("--epsilon is %v, --delta %v, --again %v, --group %d: give an epsilon above 0, at most 100, a delta between 0 and 1, up to 1000 epochs, and a group", c.Epsilon, c.Delta, c.Again, c.Group)
	case c.Stages != "two" && (c.Public != 0 || c.Range != nil):
		return terminal.Usagef("--public and --range are of private records: give --stages two, or leave them out")
	case c.Decoder != "" && (c.Method != "vae" || c.Stages == "paper-two-stage"):
		return terminal.Usagef("--decoder: principal directions have none, and of the two stages as LTN prints them nothing is proved: give --method vae, and --stages one or two")
	case c.Public < 0:
		return terminal.Usagef("--public is %d: give how many records are public", c.Public)
	case c.Range != nil && !(len(c.Range) == 2 && c.Range[0] < c.Range[1] && math.Max(-c.Range[0], c.Range[1]) <= 1e30):
		return terminal.Usagef("--range %v: give two numbers, of at most 1e30, the smaller one first", c.Range)
	case c.Map != "":
		return terminal.Usagef("--map: an encoder takes records as devices have them: leave it out")
	}
	return c.public.check()
}

func (c Encoder) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	e, back, picture, err := c.train(report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	text, err := e.Marshal()
	if err != nil {
		return err
	}
	var decoder []byte
	if back != nil {
		back.Encoder = plan.StateName(text)
		if err := back.Check(); err != nil {
			return err
		}
		if decoder, err = back.Marshal(); err != nil {
			return err
		}
	}
	drawn := strings.TrimSuffix(c.Out, filepath.Ext(c.Out)) + ".png"
	if err := terminal.Uninterrupted(func() error {
		err := atomicfile.Replace(c.Out, text, 0o644)
		if picture != nil {
			err = errors.Join(err, atomicfile.Replace(drawn, picture, 0o644))
		}
		if decoder != nil {
			err = errors.Join(err, atomicfile.Replace(c.Decoder, decoder, 0o644))
		}
		return err
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
			Decoder    *madeDecoder   `json:"decoder,omitempty"`
		}{c.Out, plan.StateName(text), e.Inputs(), e.Dim(), len(e.Sizes), len(text), e.Trained, made(c.Decoder, back)})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d numbers to %d, of %s (%d bytes, %s)\n", c.Out, e.Inputs(), e.Dim(), promised(e.Trained), len(text), plan.StateName(text))
	if err == nil && back != nil {
		_, err = fmt.Fprintf(std.Out, "%s: %d numbers to %d columns, of %s\n", c.Decoder, e.Dim(), len(back.Columns), promised(back.Trained))
	}
	if err == nil && picture != nil {
		_, err = fmt.Fprintf(std.Out, "picture: %s\n", drawn)
	}
	return err
}

// madeDecoder says of which records a decoder was trained, and with which noise.
type madeDecoder struct {
	File    string         `json:"file"`
	Trained device.Trained `json:"trained"`
	Noise   learn.Noise    `json:"noise,omitzero"`
}

func made(file string, d *learn.Decoder) *madeDecoder {
	if d == nil {
		return nil
	}
	return &madeDecoder{file, d.Trained, d.Noise}
}

// promised writes of which records something was trained, and what these were promised.
func promised(t device.Trained) string {
	switch t.Claim {
	case device.ClaimPrivate:
		return fmt.Sprintf("%d public records and %d private ones, each of which keeps epsilon %.4g, delta %g where it counts for nothing in its place (%s); that they are %d is public", t.Records-t.Private, t.Private, t.Epsilon, t.Delta, t.Adjacency, t.Private)
	case device.ClaimNone:
		return fmt.Sprintf("%d records in two stages as LTN prints them: none proved", t.Records)
	}
	return fmt.Sprintf("%d public records, to which nothing is promised", t.Records)
}

// train makes the encoder, the decoder where one is asked for, and the picture of what codes keep, where records are
// images and there is a way back.
func (c Encoder) train(report featuremap.Progress) (*device.Encoder, *learn.Decoder, []byte, error) {
	g, err := c.given(nil, c.Stages == "two", report)
	if err != nil {
		return nil, nil, nil, err
	}
	switch {
	case g.texts != nil:
		return nil, nil, nil, terminal.Usagef("texts have no numbers of their own: give a table or images")
	case c.Decoder != "" && len(g.columns) == 0:
		return nil, nil, nil, terminal.Usagef("--decoder: these records have no columns with names: give a table that has them")
	}
	if g.size != nil {
		g.rows = encoder.Greys(g.rows)
	}
	x, private, err := c.parted(g.rows) // whatever is chosen by records is chosen by x
	if err != nil {
		return nil, nil, nil, err
	}
	r := seeded.New(c.Seed)
	trained := device.Trained{Method: c.Method, Of: fmt.Sprintf("%d %s", g.rows.Rows, g.what), Records: g.rows.Rows, Claim: device.ClaimPublic}
	if c.Method == "pca" {
		net, length, err := encoder.PCA(x, min(c.Dim, x.Cols))
		if err != nil {
			return nil, nil, nil, err
		}
		e, err := encoder.New(r, net, length, x, trained, report)
		return e, nil, nil, err
	}
	v := encoder.VAE{Dim: c.Dim, Hidden: c.Hidden, Length: c.Length, Epsilon: c.Noise, Learned: c.Scale == "learned", Likelihood: c.likelihood(x), Epochs: c.Epochs, Batch: min(128, x.Rows), Rate: 1e-3}
	if c.Stages == "two" {
		private = c.within(v.Likelihood, x).Clamp(private)
	}
	public, scale := x, encoder.Scale{}
	if v.Likelihood == encoder.Normal {
		scale = encoder.Standard(x)
		public, private = scale.Scaled(x), scale.Scaled(private)
	}
	m, err := v.Fit(r, public, report)
	if err != nil {
		return nil, nil, nil, err
	}
	promised := trained
	if c.Stages != "one" {
		second := encoder.Second{Batch: min(c.Group, private.Rows), Epochs: c.Again, Rate: 5e-4, Epsilon: c.Epsilon, Delta: c.Delta, Decoder: c.Decoder != ""}
		secret := rng.New()
		if m, err = second.Train(v, secret, secret, m, private, c.Stages == "two", &promised, report); err != nil {
			return nil, nil, nil, err
		}
	}
	if v.Likelihood == encoder.Normal {
		scale.Unfold(m)
	}
	var back *learn.Decoder
	if c.Decoder != "" { // whose encoder is of public records alone
		back = &learn.Decoder{Net: m.Decoder, Columns: g.columns, Likelihood: v.Likelihood, Trained: promised, Noise: m.Noise}
		trained.Of, trained.Records = fmt.Sprintf("%d public %s", x.Rows, g.what), x.Rows
	} else {
		trained = promised
	}
	e, err := encoder.New(r, m.Encoder, c.Length, x, trained, report)
	if err != nil || g.size == nil {
		return e, back, nil, err
	}
	picture, err := encoder.Picture(seeded.New(c.Seed, forPicture), e, m, v.Likelihood, blas32.General{Rows: min(10, x.Rows), Cols: x.Cols, Stride: x.Stride, Data: x.Data}, g.size.Width, g.size.Height)
	if err != nil {
		return nil, nil, nil, err
	}
	var b bytes.Buffer
	err = png.Encode(&b, picture)
	return e, back, b.Bytes(), err
}

// parted returns the records that are public and those that a second stage takes: of one stage, and of two as LTN prints
// them, all are both.
func (c Encoder) parted(all blas32.General) (public, private blas32.General, err error) {
	const fewest = 8 // of which there are two prototypes
	if c.Stages != "two" {
		if all.Rows < fewest {
			err = fmt.Errorf("%d records: an encoder takes at least %d", all.Rows, fewest)
		}
		return all, all, err
	}
	n := cmp.Or(c.Public, all.Rows/2)
	if n < fewest || all.Rows-n < fewest {
		return public, private, fmt.Errorf("%d records, of which %d are public: two stages take at least %d of either kind", all.Rows, n, fewest)
	}
	public, private = encoder.Parted(all, n)
	if i := slices.IndexFunc(public.Data, func(v float32) bool { return v-v != 0 }); i >= 0 {
		err = fmt.Errorf("public record %d has a number that is not finite", i/public.Stride+1)
	}
	return public, private, err
}

// within returns the range that private records are brought to.
func (c Encoder) within(likelihood string, public blas32.General) encoder.Range {
	switch {
	case c.Range != nil:
		return encoder.Between(float32(c.Range[0]), float32(c.Range[1]), public.Cols)
	case likelihood == encoder.Normal:
		return encoder.RangeOf(public)
	}
	return encoder.Between(0, 1, public.Cols)
}

// forPicture is the stream of the noise that is shown.
const forPicture = 1

func (c Encoder) likelihood(x blas32.General) string {
	if c.Likelihood != "auto" {
		return c.Likelihood
	}
	if slices.ContainsFunc(x.Data, func(v float32) bool { return !(v >= 0 && v <= 1) }) {
		return encoder.Normal
	}
	return encoder.Bernoulli
}
