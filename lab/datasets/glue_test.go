package datasets

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Phrases are read with their classes, those at the head of the file as public ones, and a line without a class
// is named.
func TestGLUE(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sst2_glue"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sst2_glue", name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const head = "sentence\tlabel\n"
	write("train.tsv.gz", head+strings.Repeat("dull\t0\n", gluePublic)+"a treat\t1\nno\t0\n")
	write("dev.tsv.gz", head+"fine\t1\n")
	texts, err := LoadTexts(dir, "sst2_glue")
	if err != nil {
		t.Fatal(err)
	}
	if len(texts.Public.Texts) != gluePublic || len(texts.Train.Texts) != 2 || texts.Train.Texts[0] != "a treat" || texts.Train.Y[0] != 1 || texts.Test.Y[0] != 1 || len(texts.Checksum) != 64 {
		t.Errorf("%d public, %v, %v", len(texts.Public.Texts), texts.Train, texts.Test)
	}
	for _, bad := range []string{"fine 1\n", "fine\t2\n", "fine\tyes\n"} {
		write("dev.tsv.gz", head+bad)
		if _, err := LoadTexts(dir, "sst2_glue"); err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "dev.tsv.gz") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
