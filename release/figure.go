package release

// MaxSeries is how many series a figure may have: the colours below, which people
// with the common forms of colour blindness can tell apart.
const MaxSeries = 8
