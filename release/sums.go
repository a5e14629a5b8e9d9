package release

// SumsFile is the name of the table of the coordinates of a sum, beside a release.
const SumsFile = "sums.csv"
