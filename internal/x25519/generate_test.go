package x25519

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write lanes_amd64.s anew")

// lanes_amd64.s is what this file writes: eight ladders of Curve25519 in the lanes of 512-bit registers.
//
// A number modulo 2^255 - 19 has five limbs of 51 bits, one register each. VPMADD52LUQ and VPMADD52HUQ read the
// low 52 bits of their operands, so every limb must stay below 2^52 before each product:
//
//   - after carry, limbs are below 2^51 + 2^13: what is carried is below 2^9 (mul) and 19 times that comes back;
//   - mul adds at most five low and five doubled high halves, so a column stays below 10 x 2^52. Folding the upper
//     columns, times 19, gives less than 200 x 2^52, which is below 2^60;
//   - add gives less than 2^52 + 2^14 and carries at once; sub adds 2p first, whose limbs exceed what is taken off.
func TestGenerated(t *testing.T) {
	const file = "lanes_amd64.s"
	want := []byte(generated())
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("lanes_amd64.s is not what its generator writes: go generate ./internal/x25519")
	}
}

// The state holds these numbers, 320 bytes each, in this order: lanes_amd64.go has the same.
var fields = []string{"x1", "x2", "z2", "x3", "z3", "a", "b", "c", "d", "aa", "bb", "e", "da", "cb", "t"}

const (
	limb   = 64
	number = 5 * limb
)

var out strings.Builder

func line(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }

func op(format string, args ...any) { line("\t"+format, args...) }

func z(i int) string { return fmt.Sprintf("Z%d", i) }

// registers returns n of them, from the first on.
func registers(first, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = z(first + i)
	}
	return all
}

// Routines find their numbers by these registers: to, left, right.
const to, left, right = "R8", "R9", "R10"

func at(base string, k int) string { return fmt.Sprintf("%d(%s)", limb*k, base) }

const maskZ, twoP0, twoP, nineteen, a24 = "Z31", "Z30", "Z29", "Z28", "Z27"

// constants are broadcast to all lanes once, and stay.
var constants = []struct {
	register, name string
	value          uint64
}{
	{maskZ, "mask51", 1<<51 - 1},
	{twoP0, "twop0", 1<<52 - 38},
	{twoP, "twop", 1<<52 - 2},
	{nineteen, "nineteen", 19},
	{a24, "a24", 121665},
}

// carry brings five limbs below 2^51 + 2^13 and stores them. It overwrites five free registers.
func carry(limbs, free []string) {
	for k := range 5 {
		op("VPSRLQ $51, %s, %s", limbs[k], free[k])
	}
	for k := range 5 {
		op("VPANDQ %s, %s, %s", maskZ, limbs[k], limbs[k])
	}
	for k := range 4 {
		op("VPADDQ %s, %s, %s", free[k], limbs[k+1], limbs[k+1])
	}
	op("VPMADD52LUQ %s, %s, %s", free[4], nineteen, limbs[0])
	for k := range 5 {
		op("VMOVDQU64 %s, %s", limbs[k], at(to, k))
	}
	op("RET")
}

// fold adds doubled high halves (a high half counts 2^52, a column 2^51), and 19 times the upper columns to the lower.
func fold(low, high []string) {
	for k := range 9 {
		op("VPADDQ %s, %s, %s", high[k], high[k], high[k])
	}
	for k := range 8 {
		op("VPADDQ %s, %s, %s", high[k], low[k+1], low[k+1])
	}
	columns := append(low, high[8])
	for k := range 5 { // 19 = 16 + 2 + 1
		sixteen, two := high[k%4*2], high[k%4*2+1]
		op("VPSLLQ $4, %s, %s", columns[k+5], sixteen)
		op("VPADDQ %s, %s, %s", columns[k+5], columns[k], columns[k])
		op("VPSLLQ $1, %s, %s", columns[k+5], two)
		op("VPADDQ %s, %s, %s", sixteen, columns[k], columns[k])
		op("VPADDQ %s, %s, %s", two, columns[k], columns[k])
	}
	carry(columns[:5], columns[5:])
}

func load(registers []string, base string) {
	for k, r := range registers {
		op("VMOVDQU64 %s, %s", at(base, k), r)
	}
}

func zero(registers []string) {
	for _, r := range registers {
		op("VPXORQ %s, %s, %s", r, r, r)
	}
}

// product adds the product of two limbs to a column.
func product(x, y, low, high string) {
	op("VPMADD52LUQ %s, %s, %s", x, y, low)
	op("VPMADD52HUQ %s, %s, %s", x, y, high)
}

func mul() {
	x, low, high := registers(0, 5), registers(5, 9), registers(14, 9)
	load(x, left)
	zero(append(low[:9:9], high...))
	for j := range 5 {
		y := z(23 + j%2)
		op("VMOVDQU64 %s, %s", at(right, j), y)
		for i := range 5 {
			product(y, x[i], low[i+j], high[i+j])
		}
	}
	fold(low, high)
}

func square() {
	x, low, high := registers(0, 5), registers(5, 9), registers(14, 9)
	load(x, left)
	zero(append(low[:9:9], high...))
	for i := range 5 {
		for j := range i {
			product(x[j], x[i], low[i+j], high[i+j])
		}
	}
	for k := 1; k < 8; k++ {
		op("VPADDQ %s, %s, %s", low[k], low[k], low[k])
		op("VPADDQ %s, %s, %s", high[k], high[k], high[k])
	}
	for i := range 5 {
		product(x[i], x[i], low[2*i], high[2*i])
	}
	fold(low, high)
}

func add() {
	x := registers(0, 5)
	load(x, left)
	for k := range 5 {
		op("VPADDQ %s, %s, %s", at(right, k), x[k], x[k])
	}
	carry(x, registers(5, 5))
}

func subtract() {
	x := registers(0, 5)
	for k := range 5 {
		p := twoP
		if k == 0 {
			p = twoP0
		}
		op("VPADDQ %s, %s, %s", at(left, k), p, x[k])
	}
	for k := range 5 {
		op("VPSUBQ %s, %s, %s", at(right, k), x[k], x[k])
	}
	carry(x, registers(5, 5))
}

// addScaled adds 121665 times the right number to the left one.
func addScaled() {
	low, high, x := registers(0, 5), registers(5, 5), registers(10, 5)
	load(low, left)
	load(x, right)
	zero(high)
	for k := range 5 {
		product(x[k], a24, low[k], high[k])
	}
	for k := range 5 {
		op("VPADDQ %s, %s, %s", high[k], high[k], high[k])
	}
	for k := range 4 {
		op("VPADDQ %s, %s, %s", high[k], low[k+1], low[k+1])
	}
	op("VPMADD52LUQ %s, %s, %s", high[4], nineteen, low[0])
	carry(low, registers(15, 5))
}

// swap exchanges two numbers in the lanes of K1.
func swap() {
	for k := range 5 {
		op("VMOVDQU64 %s, Z0", at(left, k))
		op("VMOVDQU64 %s, Z1", at(right, k))
		op("VPBLENDMQ Z1, Z0, K1, Z2")
		op("VPBLENDMQ Z0, Z1, K1, Z3")
		op("VMOVDQU64 Z2, %s", at(left, k))
		op("VMOVDQU64 Z3, %s", at(right, k))
	}
	op("RET")
}

func routine(name, does string, write func()) {
	line("\n// %s\nTEXT %s<>(SB), NOSPLIT|NOFRAME, $0-0", does, name)
	write()
}

func locate(register, name string) {
	for i, f := range fields {
		if f == name {
			op("LEAQ %d(DI), %s", number*i, register)
			return
		}
	}
	panic("no number " + name)
}

// call runs a routine on numbers of the state; with one operand it stands on both sides.
func call(name, result string, operands ...string) {
	if result != "" {
		locate(to, result)
	}
	locate(left, operands[0])
	if len(operands) > 1 {
		locate(right, operands[1])
	}
	op("CALL %s<>(SB)", name)
}

var loops int

// squares squares n times.
func squares(result, operand string, n int) {
	call("square", result, operand)
	if n > 1 {
		loops++
		op("MOVQ $%d, CX", n-1)
		locate(left, result)
		line("square%d:", loops)
		op("CALL square<>(SB)")
		op("DECQ CX")
		op("JNZ square%d", loops)
	}
}

// writeLadder writes RFC 7748, section 5, in eight lanes, and the quotient at its end.
func writeLadder() {
	line("\n// func ladder(s *state, swaps *[256]byte)\nTEXT ·ladder(SB), NOSPLIT, $0-16")
	op("MOVQ s+0(FP), DI")
	op("MOVQ swaps+8(FP), SI")
	for _, c := range constants {
		op("VPBROADCASTQ %s<>(SB), %s", c.name, c.register)
	}
	op("MOVQ $255, BX")
	line("step:")
	op("KMOVB (SI), K1")
	op("INCQ SI")
	call("swap", "", "x2", "x3")
	call("swap", "", "z2", "z3")
	call("add", "a", "x2", "z2")
	call("subtract", "b", "x2", "z2")
	call("add", "c", "x3", "z3")
	call("subtract", "d", "x3", "z3")
	call("square", "aa", "a")
	call("square", "bb", "b")
	call("mul", "da", "d", "a")
	call("mul", "cb", "c", "b")
	call("subtract", "e", "aa", "bb")
	call("add", "x3", "da", "cb")
	call("subtract", "z3", "da", "cb")
	call("square", "x3", "x3")
	call("square", "z3", "z3")
	call("mul", "x2", "aa", "bb")
	call("addScaled", "t", "aa", "e")
	call("mul", "z3", "z3", "x1")
	call("mul", "z2", "e", "t")
	op("DECQ BX")
	op("JNZ step")

	// The last swap is that of bit 0, which clamping cleared. x2 becomes x2 z2^(p-2).
	squares("a", "z2", 1)
	squares("t", "a", 2)
	call("mul", "b", "t", "z2") // z2^9
	call("mul", "a", "b", "a")  // z2^11
	squares("t", "a", 1)
	call("mul", "b", "t", "b") // z2^(2^5-1)
	squares("t", "b", 5)
	call("mul", "b", "t", "b") // 2^10-1
	squares("t", "b", 10)
	call("mul", "c", "t", "b") // 2^20-1
	squares("t", "c", 20)
	call("mul", "t", "t", "c") // 2^40-1
	squares("t", "t", 10)
	call("mul", "b", "t", "b") // 2^50-1
	squares("t", "b", 50)
	call("mul", "c", "t", "b") // 2^100-1
	squares("t", "c", 100)
	call("mul", "t", "t", "c") // 2^200-1
	squares("t", "t", 50)
	call("mul", "t", "t", "b") // 2^250-1
	squares("t", "t", 5)
	call("mul", "t", "t", "a") // 2^255-21
	call("mul", "x2", "x2", "t")

	zero(registers(0, 32)) // VZEROUPPER clears no whole register, and not Z16 to Z31
	op("KXORB K1, K1, K1")
	op("VZEROUPPER")
	op("RET")
}

// generated returns the whole file.
func generated() string {
	out.Reset()
	loops = 0
	line("// Code generated by generate_test.go. DO NOT EDIT.\n\n#include \"textflag.h\"\n")
	for _, c := range constants {
		line("DATA %s<>(SB)/8, $%d\nGLOBL %s<>(SB), RODATA, $8", c.name, c.value, c.name)
	}
	routine("mul", "R8 = R9 x R10", mul)
	routine("square", "R8 = R9 x R9", square)
	routine("add", "R8 = R9 + R10", add)
	routine("subtract", "R8 = R9 - R10", subtract)
	routine("addScaled", "R8 = R9 + 121665 R10", addScaled)
	routine("swap", "R9 and R10 change places in the lanes of K1", swap)
	writeLadder()
	return out.String()
}
