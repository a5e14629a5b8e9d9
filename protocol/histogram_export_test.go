package protocol

// Held are the cells in a histogram's symbol by attribute, for golden vectors.
func Held(s Symbol) [][]uint32 { return s.(cellsHeld).held }
