// Package synthetic draws images that nobody has taken: strokes as of a pen, and shaded blobs. Used by
// lab/cmd/confetti-lab/train and other packages of the lab, to fit what must have seen no person's data.
package synthetic

import (
	"math"
	"math/rand/v2"
)

// Side of an image, in pixels.
const Side = 28

// Images draws strokes and blobs in turn: images in rows of Side*Side grey levels in [0, 1].
func Images(r *rand.Rand, n int) [][]float32 {
	images := make([][]float32, n)
	for i := range images {
		images[i] = make([]float32, Side*Side)
		if i%2 == 0 {
			strokes(r, images[i])
		} else {
			blobs(r, images[i])
		}
	}
	return images
}

type point struct{ x, y float64 }

func within(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

func somewhere(r *rand.Rand, low, high float64) point {
	return point{within(r, low, high), within(r, low, high)}
}

// strokes are one to three quadratic curves of one width; with probability 0.6 one
// starts where the last has ended.
func strokes(r *rand.Rand, image []float32) {
	width := within(r, 1.5, 3.5)
	var last point
	for i := range 1 + r.IntN(3) {
		from := somewhere(r, 5, 23)
		if i > 0 && r.Float64() < 0.6 {
			from = last
		}
		middle, to := somewhere(r, 3, 25), somewhere(r, 5, 23)
		stroke(image, from, middle, to, width)
		last = to
	}
}

// stroke draws a curve whose edge falls off over one pixel.
func stroke(image []float32, from, middle, to point, width float64) {
	const steps = 40
	reach := width/2 + 0.5
	for i := range steps + 1 {
		t := float64(i) / steps
		a, b, c := (1-t)*(1-t), 2*t*(1-t), t*t
		x, y := a*from.x+b*middle.x+c*to.x, a*from.y+b*middle.y+c*to.y
		for py := max(0, int(y-reach)); py <= min(Side-1, int(y+reach)+1); py++ {
			for px := max(0, int(x-reach)); px <= min(Side-1, int(x+reach)+1); px++ {
				ink := float32(math.Min(1, reach-math.Hypot(float64(px)-x, float64(py)-y)))
				image[py*Side+px] = max(image[py*Side+px], ink)
			}
		}
	}
}

// blobs are one to four ellipses or rectangles, the later ones before the earlier ones,
// with a texture whose power falls with frequency.
func blobs(r *rand.Rand, image []float32) {
	for range 1 + r.IntN(4) {
		centre, a, b := somewhere(r, 7, 21), within(r, 2, 11), within(r, 2, 11)
		grey, angle := within(r, 0.2, 1), within(r, 0, math.Pi)
		ellipse := r.Float64() < 0.5
		sin, cos := math.Sincos(angle)
		for i := range image {
			dx, dy := float64(i%Side)-centre.x, float64(i/Side)-centre.y
			u, v := (cos*dx+sin*dy)/a, (cos*dy-sin*dx)/b
			if ellipse && u*u+v*v <= 1 || !ellipse && math.Abs(u) <= 1 && math.Abs(v) <= 1 {
				image[i] = float32(grey)
			}
		}
	}
	depth, noise := within(r, 0, 0.35), texture(r)
	for i, g := range image {
		image[i] = float32(math.Min(1, math.Max(0, float64(g)*(1+depth*noise[i]))))
	}
}

// texture returns a sum of smooth random surfaces, each twice as fine and half as high as the one
// before, scaled to a variance of about one.
func texture(r *rand.Rand) []float64 {
	out := make([]float64, Side*Side)
	height := 1.0
	for cells := 2; cells <= 16; cells *= 2 {
		corners := make([]float64, (cells+1)*(cells+1))
		for i := range corners {
			corners[i] = height * r.NormFloat64() * 1.3
		}
		for i := range out {
			x, y := float64(i%Side)/Side*float64(cells), float64(i/Side)/Side*float64(cells)
			cx, cy := int(x), int(y)
			fx, fy := x-float64(cx), y-float64(cy)
			at := cy*(cells+1) + cx
			out[i] += (1-fy)*((1-fx)*corners[at]+fx*corners[at+1]) + fy*((1-fx)*corners[at+cells+1]+fx*corners[at+cells+2])
		}
		height /= 2
	}
	return out
}

// Labelled draws images of so many classes in turn: each class is one image, turned, moved,
// scaled and slanted a little, with noise. Learners are tried out on them before anybody is asked.
func Labelled(r *rand.Rand, n, classes int) (images [][]float32, labels []int) {
	prototypes := Images(r, classes)
	for i := range n {
		images, labels = append(images, jitter(r, prototypes[i%classes])), append(labels, i%classes)
	}
	return images, labels
}

// jitter looks an image up through a random affine map round its middle.
func jitter(r *rand.Rand, image []float32) []float32 {
	const middle = (Side - 1) / 2.0
	sin, cos := math.Sincos(within(r, -0.5, 0.5))
	wide, high, slant := within(r, 0.6, 1.6), within(r, 0.6, 1.6), within(r, -0.5, 0.5)
	move := somewhere(r, -4, 4)
	at := func(x, y int) float64 {
		if x < 0 || y < 0 || x >= Side || y >= Side {
			return 0
		}
		return float64(image[y*Side+x])
	}
	out := make([]float32, len(image))
	for i := range out {
		x, y := float64(i%Side)-middle-move.x, float64(i/Side)-middle-move.y
		x += slant * y
		x, y = middle+(cos*x-sin*y)*wide, middle+(sin*x+cos*y)*high
		left, top := math.Floor(x), math.Floor(y)
		fx, fy, px, py := x-left, y-top, int(left), int(top)
		grey := (1-fy)*((1-fx)*at(px, py)+fx*at(px+1, py)) + fy*((1-fx)*at(px, py+1)+fx*at(px+1, py+1))
		out[i] = float32(math.Min(1, math.Max(0, grey+0.1*r.NormFloat64())))
	}
	return out
}
