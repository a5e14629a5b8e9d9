// Package hadamard multiplies by matrices of signs of Sylvester's construction. Used by internal/dp/vector and
// internal/dp/encode/kernelmap to rotate.
package hadamard

// Transform replaces v, whose length n is a power of two, by the n x n matrix of signs
// of Sylvester's construction times v; it is its own inverse but for a factor of n.
// Eight points are combined at a time, in registers.
func Transform(v []float32) {
	n := len(v)
	stride := 1
	if n >= 8 {
		for at := 0; at+8 <= n; at += 8 {
			p := (*[8]float32)(v[at:])
			p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7] = butterfly(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7])
		}
		stride = 8
	}
	for ; 8*stride <= n; stride *= 8 {
		for at := 0; at < n; at += 8 * stride {
			a, b, c, d := v[at:at+stride], v[at+stride:][:stride], v[at+2*stride:][:stride], v[at+3*stride:][:stride]
			e, f, g, h := v[at+4*stride:][:stride], v[at+5*stride:][:stride], v[at+6*stride:][:stride], v[at+7*stride:][:stride]
			for i := range a {
				a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i] = butterfly(a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i])
			}
		}
	}
	for ; 2*stride <= n; stride *= 2 { // at most twice
		for at := 0; at < n; at += 2 * stride {
			a, b := v[at:at+stride], v[at+stride:][:stride]
			for i := range a {
				a[i], b[i] = a[i]+b[i], a[i]-b[i]
			}
		}
	}
}

// butterfly returns the transform of eight points.
func butterfly(a, b, c, d, e, f, g, h float32) (float32, float32, float32, float32, float32, float32, float32, float32) {
	a, b, c, d, e, f, g, h = a+b, a-b, c+d, c-d, e+f, e-f, g+h, g-h
	a, c, b, d, e, g, f, h = a+c, a-c, b+d, b-d, e+g, e-g, f+h, f-h
	return a + e, b + f, c + g, d + h, a - e, b - f, c - g, d - h
}
