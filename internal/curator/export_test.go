package curator

// Counted is of what leaves this package with noise only.
var Counted = counted
