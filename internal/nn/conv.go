package nn

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

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

// picture is the size of what comes out.
func (c Conv) picture() (height, width int) {
	return (c.Height+c.Pad+c.After-c.Kernel)/c.Stride + 1, (c.Width+c.Pad+c.After-c.Kernel)/c.Stride + 1
}

// patch is how many numbers a filter looks at in one place.
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

func (c Conv) forward(w, x, y []float32, n int) {
	height, width := c.picture()
	k, places := c.patch(), height*width
	patches := make([]float32, n*places*k)
	c.lay(x, patches, n)
	kernel.Gemm(y, patches, w[:k*c.Filters], n*places, k, c.Filters)
	for at := 0; at < len(y); at += c.Filters {
		kernel.Axpy(y[at:at+c.Filters], w[k*c.Filters:], 1)
	}
}

func (c Conv) backward(w, _, _, dy, dx []float32, n int) {
	height, width := c.picture()
	k, places := c.patch(), height*width
	turned, patches := make([]float32, k*c.Filters), make([]float32, n*places*k)
	kernel.Transpose(turned, w[:k*c.Filters], k, c.Filters)
	kernel.Gemm(patches, dy, turned, n*places, c.Filters, k)
	clear(dx)
	in := c.Height * c.Width * c.Channels
	each(n, func(from, to int) {
		for i := from; i < to; i++ {
			c.walk(func(at, pixel, run int) {
				kernel.Axpy(dx[i*in+pixel:i*in+pixel+run], patches[i*places*k+at:i*places*k+at+run], 1)
			})
		}
	})
}

// norms keeps each example's whole gradient: a filter answers in many places, so
// that its norm does not follow from the norms of input and derivative.
func (c Conv) norms(s *scratch, x, dy, sq []float32, n int) {
	in, out, params := c.Shape()
	k := c.patch()
	places := out / c.Filters
	kept := room(&s.kept, n*params)
	each(n, func(from, to int) {
		patches, turned := make([]float32, k*places), make([]float32, k*places)
		for i := from; i < to; i++ {
			c.lay(x[i*in:(i+1)*in], patches, 1)
			kernel.Transpose(turned, patches, places, k)
			own, e := kept[i*params:(i+1)*params], dy[i*out:(i+1)*out]
			kernel.Gemm(own[:k*c.Filters], turned, e, k, places, c.Filters)
			bias := own[k*c.Filters:]
			clear(bias)
			for at := 0; at < out; at += c.Filters {
				kernel.Axpy(bias, e[at:at+c.Filters], 1)
			}
			sq[i] += kernel.Dot(own, own)
		}
	})
}

// gradient adds up what norms has kept, and computes it where it was not asked.
func (c Conv) gradient(s *scratch, x, dy, scale, sum []float32, n int) {
	_, _, params := c.Shape()
	if scale == nil {
		c.norms(s, x, dy, make([]float32, n), n)
	}
	for i := range n {
		factor := float32(1)
		if scale != nil {
			factor = scale[i]
		}
		kernel.Axpy(sum, s.kept[i*params:(i+1)*params], factor)
	}
}

// lay writes what each filter looks at, a row for each place of each picture.
func (c Conv) lay(x, patches []float32, n int) {
	in, row := c.Height*c.Width*c.Channels, len(patches)/n
	if c.Pad > 0 || c.After > 0 {
		clear(patches)
	}
	each(n, func(from, to int) {
		for i := from; i < to; i++ {
			picture, rows := x[i*in:(i+1)*in], patches[i*row:(i+1)*row]
			c.walk(func(at, pixel, run int) { copy(rows[at:at+run], picture[pixel:pixel+run]) })
		}
	})
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

func (l MaxPool) forward(_, x, y []float32, n int) {
	in, out, _ := l.Shape()
	each(n, func(from, to int) {
		for i := from; i < to; i++ {
			picture, kept := x[i*in:(i+1)*in], y[i*out:(i+1)*out]
			l.walk(func(at, pixel int, first bool) {
				best, seen := kept[at:at+l.Channels], picture[pixel:pixel+l.Channels]
				if first {
					copy(best, seen)
					return
				}
				for c, v := range seen {
					if v > best[c] {
						best[c] = v
					}
				}
			})
		}
	})
}

// backward gives what came back to each pixel that is as large as the largest; to
// the first, where several are.
func (l MaxPool) backward(_, x, y, dy, dx []float32, n int) {
	in, out, _ := l.Shape()
	clear(dx[:n*in])
	each(n, func(from, to int) {
		given := make([]bool, l.Channels)
		for i := from; i < to; i++ {
			l.walk(func(at, pixel int, first bool) {
				if first {
					clear(given)
				}
				best, back := y[i*out+at:i*out+at+l.Channels], dy[i*out+at:i*out+at+l.Channels]
				seen, to := x[i*in+pixel:i*in+pixel+l.Channels], dx[i*in+pixel:i*in+pixel+l.Channels]
				for c, v := range seen {
					if v == best[c] && !given[c] {
						to[c] += back[c]
						given[c] = true
					}
				}
			})
		}
	})
}

// walk visits each pixel of each square, and says which is a square's first.
func (l MaxPool) walk(visit func(at, pixel int, first bool)) {
	at := 0
	for top := range l.across(l.Height) {
		for left := range l.across(l.Width) {
			corner := (top*l.Stride*l.Width + left*l.Stride) * l.Channels
			for row := range l.Kernel {
				for column := range l.Kernel {
					visit(at, corner+(row*l.Width+column)*l.Channels, row+column == 0)
				}
			}
			at += l.Channels
		}
	}
}

// each shares a batch out among the processors.
func each(n int, work func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers < 2 {
		work(0, n)
		return
	}
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() { work(i*n/workers, (i+1)*n/workers) })
	}
	all.Wait()
}

// bounded refuses a layer of more numbers than a model may have.
func bounded(kind string, sizes ...int) error {
	product := 1
	for _, n := range sizes {
		if product > MaxParams/n {
			return fmt.Errorf("nn: a %s layer has more than %d numbers", kind, MaxParams)
		}
		product *= n
	}
	return nil
}
