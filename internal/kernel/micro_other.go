//go:build !amd64

package kernel

// wide is empty: this processor multiplies by gonum alone, and does the rest number by number.
var wide []tile

func axpy(_, _ []float32, _ float32) (done int) { return 0 }
func most(_, _ []float32) (done int)            { return 0 }
func pass(_, _, _, _ []float32) (done int)      { return 0 }
func gate(_, _, _ []float32) (done int)         { return 0 }
