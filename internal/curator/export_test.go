package curator

// Counted is of what leaves this package with noise only.
var Counted = counted

// Merged puts small clusters together, as both ways to name clusters do.
var Merged = merged
