// Written by hand; nothing generates it. TestEveryWidthMultipliesAlike and TestNumbersBySideAreThoseOfTheirDefinitions
// hold it to gonum and to plain Go. Lines that look alike differ in a register, which a loop cannot name: macros say
// the rest once.

#include "textflag.h"

// Both kernels set a tile of dst to the product of a strip of a and a strip of b, k terms deep, all
// strides in bytes. A step of the loop loads one row of b's strip and multiplies it by one number of each row of a.

#define STEP12(at, low, high) \
	VBROADCASTSS at, Z26       \
	VFMADD231PS  Z24, Z26, low \
	VFMADD231PS  Z25, Z26, high

#define PUT12(low, high) \
	VMOVUPS low, K1, (DI)    \
	VMOVUPS high, K2, 64(DI) \
	ADDQ    R11, DI

#define CLEAR12(a, b, c, d, e, f) \
	VPXORQ a, a, a \
	VPXORQ b, b, b \
	VPXORQ c, c, c \
	VPXORQ d, d, d \
	VPXORQ e, e, e \
	VPXORQ f, f, f

// func micro12x32(dst *float32, dstRow uintptr, a *float32, row, column uintptr, b *float32, bRow uintptr, k, mask uintptr)
TEXT ·micro12x32(SB), NOSPLIT, $0-72
	MOVQ  dst+0(FP), DI
	MOVQ  dstRow+8(FP), R11
	MOVQ  a+16(FP), SI
	MOVQ  row+24(FP), R8
	MOVQ  column+32(FP), R9
	MOVQ  b+40(FP), DX
	MOVQ  bRow+48(FP), R10
	MOVQ  k+56(FP), CX
	MOVQ  mask+64(FP), AX
	KMOVW AX, K1
	SHRQ  $16, AX
	KMOVW AX, K2
	LEAQ  (R8)(R8*2), R13    // three rows
	LEAQ  (SI)(R8*4), R12    // the fifth row
	LEAQ  (SI)(R8*8), BX     // the ninth
	CLEAR12(Z0, Z1, Z2, Z3, Z4, Z5)
	CLEAR12(Z6, Z7, Z8, Z9, Z10, Z11)
	CLEAR12(Z12, Z13, Z14, Z15, Z16, Z17)
	CLEAR12(Z18, Z19, Z20, Z21, Z22, Z23)

deeper:
	VMOVUPS.Z (DX), K1, Z24
	VMOVUPS.Z 64(DX), K2, Z25
	STEP12((SI), Z0, Z1)
	STEP12((SI)(R8*1), Z2, Z3)
	STEP12((SI)(R8*2), Z4, Z5)
	STEP12((SI)(R13*1), Z6, Z7)
	STEP12((R12), Z8, Z9)
	STEP12((R12)(R8*1), Z10, Z11)
	STEP12((R12)(R8*2), Z12, Z13)
	STEP12((R12)(R13*1), Z14, Z15)
	STEP12((BX), Z16, Z17)
	STEP12((BX)(R8*1), Z18, Z19)
	STEP12((BX)(R8*2), Z20, Z21)
	STEP12((BX)(R13*1), Z22, Z23)
	ADDQ R9, SI
	ADDQ R9, R12
	ADDQ R9, BX
	ADDQ R10, DX
	DECQ CX
	JNZ  deeper

	PUT12(Z0, Z1)
	PUT12(Z2, Z3)
	PUT12(Z4, Z5)
	PUT12(Z6, Z7)
	PUT12(Z8, Z9)
	PUT12(Z10, Z11)
	PUT12(Z12, Z13)
	PUT12(Z14, Z15)
	PUT12(Z16, Z17)
	PUT12(Z18, Z19)
	PUT12(Z20, Z21)
	PUT12(Z22, Z23)
	VZEROUPPER
	RET

#define STEP4(at, low, high) \
	VBROADCASTSS at, Y10      \
	VFMADD231PS  Y8, Y10, low \
	VFMADD231PS  Y9, Y10, high

#define PUT4(low, high) \
	VMASKMOVPS low, Y11, (DI)    \
	VMASKMOVPS high, Y12, 32(DI) \
	ADDQ       R11, DI

// func micro4x16(dst *float32, dstRow uintptr, a *float32, row, column uintptr, b *float32, bRow uintptr, k uintptr, mask *float32)
TEXT ·micro4x16(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ dstRow+8(FP), R11
	MOVQ a+16(FP), SI
	MOVQ row+24(FP), R8
	MOVQ column+32(FP), R9
	MOVQ b+40(FP), DX
	MOVQ bRow+48(FP), R10
	MOVQ k+56(FP), CX
	MOVQ mask+64(FP), AX
	VMOVUPS (AX), Y11
	VMOVUPS 32(AX), Y12
	LEAQ (R8)(R8*2), R13
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

deeper:
	VMASKMOVPS (DX), Y11, Y8
	VMASKMOVPS 32(DX), Y12, Y9
	STEP4((SI), Y0, Y1)
	STEP4((SI)(R8*1), Y2, Y3)
	STEP4((SI)(R8*2), Y4, Y5)
	STEP4((SI)(R13*1), Y6, Y7)
	ADDQ R9, SI
	ADDQ R10, DX
	DECQ CX
	JNZ  deeper

	PUT4(Y0, Y1)
	PUT4(Y2, Y3)
	PUT4(Y4, Y5)
	PUT4(Y6, Y7)
	VZEROUPPER
	RET

// NEXT8 ends a loop over eights; the pointers have been moved on.
#define NEXT8 \
	SUBQ $8, CX \
	JNZ  more   \
	VZEROUPPER  \
	RET

// func axpy8(y, x *float32, n uintptr, scale float32)
// n is a multiple of eight.
TEXT ·axpy8(SB), NOSPLIT, $0-28
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS scale+24(FP), Y0

more:
	VMOVUPS (DI), Y1
	VFMADD231PS (SI), Y0, Y1
	VMOVUPS Y1, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	NEXT8

// func most8(y, x *float32, n uintptr)
// n is a multiple of eight.
TEXT ·most8(SB), NOSPLIT, $0-24
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX

more:
	VMOVUPS (DI), Y1
	VMAXPS  (SI), Y1, Y1
	VMOVUPS Y1, (DI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	NEXT8

// func pass8(dx, dy, x, y *float32, n uintptr)
// n is a multiple of eight.
TEXT ·pass8(SB), NOSPLIT, $0-40
	MOVQ dx+0(FP), DI
	MOVQ dy+8(FP), SI
	MOVQ x+16(FP), DX
	MOVQ y+24(FP), BX
	MOVQ n+32(FP), CX

more:
	VMOVUPS (DX), Y1
	VCMPPS  $0, (BX), Y1, Y1 // ones where x equals y
	VMOVUPS (SI), Y2
	VANDPS  Y2, Y1, Y3
	VADDPS  (DI), Y3, Y3
	VMOVUPS Y3, (DI)
	VANDNPS Y2, Y1, Y2
	VMOVUPS Y2, (SI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	ADDQ    $32, DX
	ADDQ    $32, BX
	NEXT8

// func gate8(dx, dy, x *float32, n uintptr)
// n is a multiple of eight.
TEXT ·gate8(SB), NOSPLIT, $0-32
	MOVQ   dx+0(FP), DI
	MOVQ   dy+8(FP), SI
	MOVQ   x+16(FP), DX
	MOVQ   n+24(FP), CX
	VXORPS Y0, Y0, Y0

more:
	VCMPPS  $1, (DX), Y0, Y1 // ones where zero is less than x
	VANDPS  (SI), Y1, Y1
	VMOVUPS Y1, (DI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	ADDQ    $32, DX
	NEXT8
