package x25519

import (
	"testing"
	"unsafe"
)

// What a batch worked on is gone from memory when it ends.
func TestMemoryIsCleared(t *testing.T) {
	needLanes(t)
	var out, points [width][32]byte
	points[3][0] = 9
	swaps := swapsOf(&points)
	s := new(state)
	s.multiply(&out, &swaps, &points)
	if out[3] == [32]byte{} {
		t.Fatal("no product")
	}
	if *s != (state{}) {
		t.Error("numbers that depend on the secret are left in memory")
	}
}

// The generator counts on the order and the size of the fields.
func TestStateIsWhatTheGeneratorKnows(t *testing.T) {
	var s state
	if unsafe.Sizeof(s) != 15*320 || unsafe.Offsetof(s.z3) != 4*320 || unsafe.Offsetof(s.t) != 14*320 || unsafe.Offsetof(s.e) != 11*320 {
		t.Error("generate_test.go has another layout of the state")
	}
}
