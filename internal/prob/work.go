package prob

import "sync/atomic"

var work atomic.Int64

// Count notes that so many terms of a law, a sum or a grid are looked at.
func Count(terms int) { work.Add(int64(terms)) }

// Counted returns how many terms were looked at since the program began: what a price takes is
// bounded by this in tests, which is the same number on every machine.
func Counted() int64 { return work.Load() }
