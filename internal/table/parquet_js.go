package table

import "fmt"

// readParquet refuses: a browser reads tables of text, and is spared the weight of the rest.
func readParquet(path string, _ Choice) (*Records, error) {
	return nil, fmt.Errorf("%s: Parquet is not read in a browser: save it as CSV", path)
}
