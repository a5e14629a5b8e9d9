package protocol

// Vector is the feature vector in a density's symbol, for golden vectors.
func Vector(s Symbol) []float32 { return s.(featured).vector }
