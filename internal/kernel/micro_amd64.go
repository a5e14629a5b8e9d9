package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func micro12x32(dst *float32, dstRow uintptr, a *float32, row, column uintptr, b *float32, bRow, k, mask uintptr)

//go:noescape
func micro4x16(dst *float32, dstRow uintptr, a *float32, row, column uintptr, b *float32, bRow, k uintptr, mask *float32)

//go:noescape
func axpy8(y, x *float32, n uintptr, scale float32)

//go:noescape
func most8(y, x *float32, n uintptr)

//go:noescape
func pass8(dx, dy, x, y *float32, n uintptr)

//go:noescape
func gate8(dx, dy, x *float32, n uintptr)

const number = unsafe.Sizeof(float32(0))

// wide are the tiles that this processor multiplies, the best first.
var wide = func() (all []tile) {
	if cpu.X86.HasAVX512F {
		all = append(all, tile{rows: 12, columns: 32, set: avx512})
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, tile{rows: 4, columns: 16, set: avx2})
	}
	return all
}()

func avx512(dst []float32, a strip, b []float32, n, k, columns int) {
	micro12x32(&dst[0], uintptr(n)*number, &a.numbers[0], uintptr(a.row)*number, uintptr(a.column)*number, &b[0], uintptr(n)*number, uintptr(k), 1<<columns-1)
}

// masks has sixteen words of ones before sixteen of zeros: a window into it lets so many
// columns through.
var masks = func() (m [32]float32) {
	for i := range 16 {
		*(*uint32)(unsafe.Pointer(&m[i])) = ^uint32(0)
	}
	return m
}()

func avx2(dst []float32, a strip, b []float32, n, k, columns int) {
	micro4x16(&dst[0], uintptr(n)*number, &a.numbers[0], uintptr(a.row)*number, uintptr(a.column)*number, &b[0], uintptr(n)*number, uintptr(k), &masks[16-columns])
}

// eights returns how many of n numbers go through registers of eight.
func eights(n int) int {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return 0
	}
	return n &^ 7
}

// What follows does the first numbers of what kernel.go says, and counts them.

func axpy(y, x []float32, scale float32) (done int) {
	if done = eights(len(x)); done > 0 {
		axpy8(&y[0], &x[0], uintptr(done), scale)
	}
	return done
}

func most(y, x []float32) (done int) {
	if done = eights(len(x)); done > 0 {
		most8(&y[0], &x[0], uintptr(done))
	}
	return done
}

func pass(dx, dy, x, y []float32) (done int) {
	if done = eights(len(x)); done > 0 {
		pass8(&dx[0], &dy[0], &x[0], &y[0], uintptr(done))
	}
	return done
}

func gate(dx, dy, x []float32) (done int) {
	if done = eights(len(x)); done > 0 {
		gate8(&dx[0], &dy[0], &x[0], uintptr(done))
	}
	return done
}
