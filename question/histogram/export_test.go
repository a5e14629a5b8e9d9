package histogram

// What tests compare of the ways to ask.
type Collecting = ofCollect

var (
	CompareCollect     = compareCollect
	CompareRandomizers = compareRandomizers
	Preferred          = preferred
)
