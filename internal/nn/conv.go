package nn

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/kernel"
)

// Conv is a convolution of Height x Width pictures, whose pixels have Channels
// numbers each, by Filters square kernels: pixels that come out have a number for
// each filter. Pad pixels of zero stand before the first and After behind the last,
// in both directions. Weights are (Kernel x Kernel x Channels) x Filters, then a
// bias for each filter.
type Conv struct {
	Height   int `json:"height"`
	Width    int `json:"width"`
	Channels int `json:"channels"`
	Filters  int `json:"filters"`
	Kernel   int `json:"kernel"`
	Stride   int `json:"stride"`
	Pad      int `json:"pad,omitempty"`
	After    int `json:"after,omitempty"`
}

func (c Conv) Shape() (in, out, params int) {
	h, w := c.picture()
	return c.Channels * c.Height * c.Width, c.Filters * h * w, c.Filters * (c.patch() + 1)
}

// picture returns the size of what comes out.
func (c Conv) picture() (height, width int) {
	return (c.Height+c.Pad+c.After-c.Kernel)/c.Stride + 1, (c.Width+c.Pad+c.After-c.Kernel)/c.Stride + 1
}

// places returns how many numbers a filter gives.
func (c Conv) places() int {
	height, width := c.picture()
	return height * width
}

// patch returns how many numbers a filter looks at in one place.
func (c Conv) patch() int { return c.Channels * c.Kernel * c.Kernel }

func (c Conv) check() error {
	if err := positive("convolution", c.Height, c.Width, c.Channels, c.Filters, c.Kernel, c.Stride); err != nil {
		return err
	}
	if c.Pad < 0 || c.After < 0 || c.Pad >= c.Kernel || c.After >= c.Kernel {
		return fmt.Errorf("nn: a convolution with kernels of %d is padded by %d and %d: padding is 0 to less than the kernel", c.Kernel, c.Pad, c.After)
	}
	if c.Kernel > min(c.Height, c.Width)+c.Pad+c.After {
		return fmt.Errorf("nn: kernels of %d are larger than pictures of %dx%d with their padding", c.Kernel, c.Height, c.Width)
	}
	return bounded("convolution", c.Height, c.Width, c.Channels, c.Filters, c.Kernel, c.Kernel)
}

func (c Conv) start(r *rand.Rand, w []float32) {
	clear(w)
	gaussian(r, w[:c.Filters*c.patch()], c.patch())
}

// forward keeps what each filter looks at, a row for each place of each picture.
func (c Conv) forward(s *scratch, w, x, y []float32, n int) {
	k, places := c.patch(), c.places()
	patches := room(&s.kept, n*places*k)
	c.lay(x, patches, n)
	kernel.Gemm(y, patches, w[:k*c.Filters], n*places, k, c.Filters)
	for at := 0; at < len(y); at += c.Filters {
		kernel.Axpy(y[at:at+c.Filters], w[k*c.Filters:], 1)
	}
}

func (c Conv) backward(s *scratch, w, _, _, dy, dx []float32, n int) {
	k, places := c.patch(), c.places()
	turned, patches := room(&s.right, k*c.Filters), room(&s.left, n*places*k)
	kernel.Transpose(turned, w[:k*c.Filters], k, c.Filters)
	kernel.Gemm(patches, dy, turned, n*places, c.Filters, k)
	clear(dx)
	in := c.Height * c.Width * c.Channels
	for i := range n {
		picture, rows := dx[i*in:(i+1)*in], patches[i*places*k:(i+1)*places*k]
		c.walk(func(at, pixel, run int) { kernel.Axpy(picture[pixel:pixel+run], rows[at:at+run], 1) })
	}
}

// norms needs each example's whole gradient: a filter answers in many places, so that its
// norm does not follow from the norms of input and derivative. They are kept for gradient.
func (c Conv) norms(s *scratch, _, dy, sq []float32, n int) {
	_, out, params := c.Shape()
	k, places, each := c.patch(), c.places(), room(&s.each, n*params)
	clear(each)
	for i := range n {
		own := each[i*params : (i+1)*params]
		s.products(s.kept[i*places*k:(i+1)*places*k], dy[i*out:(i+1)*out], own, places, k, c.Filters)
		sq[i] += kernel.Dot(own, own)
	}
}

// gradient with scales comes after norms.
func (c Conv) gradient(s *scratch, _, dy, scale, sum []float32, n int) {
	if scale == nil {
		s.products(s.kept, dy, sum, n*c.places(), c.patch(), c.Filters)
	}
	for i, by := range scale {
		if by == 0 {
			continue
		}
		kernel.Axpy(sum, s.each[i*len(sum):(i+1)*len(sum)], by)
	}
}

// lay writes what each filter looks at. Nothing else writes to patches: padding stays zero.
func (c Conv) lay(x, patches []float32, n int) {
	in, row := c.Height*c.Width*c.Channels, len(patches)/n
	for i := range n {
		picture, rows := x[i*in:(i+1)*in], patches[i*row:(i+1)*row]
		c.walk(func(at, pixel, run int) { copy(rows[at:at+run], picture[pixel:pixel+run]) })
	}
}

// walk visits the runs of numbers that stand side by side both in a picture, from
// pixel on, and among what filters look at, from at on. Padding is left out.
func (c Conv) walk(visit func(at, pixel, run int)) {
	height, width := c.picture()
	at, line := 0, c.Kernel*c.Channels
	for top := range height {
		for left := range width {
			first := left*c.Stride - c.Pad
			cut := max(0, -first)
			run := min(first+c.Kernel, c.Width) - first - cut
			for row := range c.Kernel {
				if y := top*c.Stride + row - c.Pad; y >= 0 && y < c.Height && run > 0 {
					visit(at+cut*c.Channels, (y*c.Width+first+cut)*c.Channels, run*c.Channels)
				}
				at += line
			}
		}
	}
}

// MaxPool keeps the largest of each Kernel x Kernel square, channel by channel.
type MaxPool struct {
	Height   int `json:"height"`
	Width    int `json:"width"`
	Channels int `json:"channels"`
	Kernel   int `json:"kernel"`
	Stride   int `json:"stride"`
}

func (l MaxPool) Shape() (in, out, params int) {
	return l.Channels * l.Height * l.Width, l.Channels * l.across(l.Height) * l.across(l.Width), 0
}

func (l MaxPool) across(side int) int { return (side-l.Kernel)/l.Stride + 1 }

func (l MaxPool) check() error {
	if err := positive("pooling", l.Height, l.Width, l.Channels, l.Kernel, l.Stride); err != nil {
		return err
	}
	if l.Kernel > min(l.Height, l.Width) {
		return fmt.Errorf("nn: squares of %d are larger than pictures of %dx%d", l.Kernel, l.Height, l.Width)
	}
	return bounded("pooling", l.Height, l.Width, l.Channels)
}

func (l MaxPool) start(*rand.Rand, []float32) {}

func (l MaxPool) forward(_ *scratch, _, x, y []float32, n int) {
	in, out, _ := l.Shape()
	for i := range n {
		picture, kept := x[i*in:(i+1)*in], y[i*out:(i+1)*out]
		l.walk(func(at, pixel, run int, first bool) {
			if first {
				copy(kept[at:at+run], picture[pixel:pixel+run])
			} else {
				kernel.Most(kept[at:at+run], picture[pixel:pixel+run])
			}
		})
	}
}

// backward gives what came back to a pixel that is as large as the largest: to the first,
// where several are.
func (l MaxPool) backward(s *scratch, _, x, y, dy, dx []float32, n int) {
	in, out, _ := l.Shape()
	clear(dx[:n*in])
	left := room(&s.left, n*out)
	copy(left, dy)
	for i := range n {
		picture, back := x[i*in:(i+1)*in], dx[i*in:(i+1)*in]
		best, due := y[i*out:(i+1)*out], left[i*out:(i+1)*out]
		l.walk(func(at, pixel, run int, _ bool) {
			kernel.Pass(back[pixel:pixel+run], due[at:at+run], picture[pixel:pixel+run], best[at:at+run])
		})
	}
}

// walk visits runs of numbers that stand side by side both in what comes out, from at on, and
// among what it is the largest of, from pixel on. Of each run the first visit is said to be.
func (l MaxPool) walk(visit func(at, pixel, run int, first bool)) {
	runs, run := l.across(l.Width), l.Channels
	if l.Stride == 1 { // squares lie side by side: a line of them is one run
		runs, run = 1, runs*run
	}
	at := 0
	for top := range l.across(l.Height) {
		for left := range runs {
			corner := (top*l.Stride*l.Width + left*l.Stride) * l.Channels
			for row := range l.Kernel {
				for column := range l.Kernel {
					visit(at, corner+(row*l.Width+column)*l.Channels, run, row+column == 0)
				}
			}
			at += run
		}
	}
}

// bounded refuses a layer of more numbers than a model may have.
func bounded(kind string, sizes ...int) error {
	product := 1
	for _, n := range sizes {
		if product > maxParams/n {
			return fmt.Errorf("nn: a %s layer has more than %d numbers", kind, maxParams)
		}
		product *= n
	}
	return nil
}
