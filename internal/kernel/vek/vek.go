// Package vek makes package kernel multiply by vek, in whatever program imports it.
package vek

import (
	"github.com/viterin/vek/vek32"

	"github.com/confetti-dp/confetti/internal/kernel"
)

func init() {
	kernel.Use(kernel.Products{
		Gemm: func(dst, a, b []float32, _, k, _ int) { vek32.MatMul_Into(dst, a, b, k) },
		Dot:  vek32.Dot,
	})
}
