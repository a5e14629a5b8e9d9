package releases

import "testing"

// Tables have a Parquet file beside them, and nothing else has.
func TestParquetNames(t *testing.T) {
	if name, ok := Parquet("counts.csv"); name != "counts.parquet" || !ok {
		t.Error(name, ok)
	}
	if _, ok := Parquet("model.nn"); ok {
		t.Error("a model has columns")
	}
}
