package table

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestCSV(t *testing.T) {
	text := "\ufeffage,kind, weight\r\n1,cat,2.5\r\n-3,\"dog, small\",4e-1\r\n"
	got, err := decodeCSV(strings.NewReader(text), Choice{Label: "kind"})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.X.Data, got.X.Rows, got.X.Cols) != "[1 2.5 -3 0.4] 2 2" || fmt.Sprintf("%q", got.Labels) != `["cat" "dog, small"]` || fmt.Sprint(got.Columns) != "[age weight]" {
		t.Errorf("read %+v", got)
	}
	for _, c := range []struct{ text, label, want string }{
		{"", "", "no line of column names"},
		{"1,2\n3,4\n", "", "must name the columns"},
		{"a,b\n", "", "holds 0 rows"},
		{"a,b\n1,2\n", "c", `no column "c"`},
		{"a,a\n1,2\n", "", "one name"},
		{"a,b\n1,2\n1,x\n", "", `line 3, column "b"`},
		{"a,b\n1,NaN\n", "", `line 2, column "b"`},
		{"a,b\n1,1e39\n", "", `line 2, column "b"`},
		{"a,b\n1,\n", "", `line 2, column "b"`},
		{"a,b\n1,2,3\n", "", "line 2 has the wrong number of fields"},
		{"a,b\n1,\"secret\n", "", "line 2"},
		{"a,b\n1, \n", "b", "line 2 has no label"},
		{"a\nx\n", "a", "0 features"},
	} {
		_, err := decodeCSV(strings.NewReader(c.text), Choice{Label: c.label})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

func TestTables(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	x := file("x.npy", npy(dict("<f4", false, "2, 1"), []float32{5, 6}))
	y := file("y.npy", npy(dict("<i4", false, "2,"), []int32{10, 9}))
	short := file("short.npy", npy(dict("<i4", false, "1,"), []int32{1}))
	train, err := ReadRecords(x, Choice{Label: y})
	if err != nil {
		t.Fatal(err)
	}
	test, err := ReadRecords(file("test.csv", []byte("v,c\n7,10\n")), Choice{Label: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(train.Classes(), test.Classes(), test.X.Data) != "[9 10] [10] [7]" {
		t.Errorf("classes %v and %v of %v", train.Classes(), test.Classes(), test.X.Data)
	}
	if train.Labels = []string{"b", "10"}; fmt.Sprint(train.Classes()) != "[10 b]" {
		t.Errorf("classes %v", train.Classes())
	}
	for _, c := range []struct{ path, label, want string }{
		{x, short, "2 rows"},
		{filepath.Join(dir, "none.csv"), "", "does not exist"},
		{dir, "", "cannot be read"},
		{file("x.xlsx", nil), "", `type ".xlsx"`},
		{file("bad.parquet", nil), "", "bad.parquet: no Parquet is read here"},
	} {
		if _, err := ReadRecords(c.path, Choice{Label: c.label}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.path, err, c.want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,2\n", "b")
	f.Add("a,\"b\"\n1,x\n", "b")
	f.Fuzz(func(t *testing.T, text, label string) {
		costlimit.Heap(t, costlimit.Factor, len(text)+len(label), func() {
			if x, err := decodeCSV(strings.NewReader(text), Choice{Label: label}); err == nil && len(x.X.Data) != x.X.Rows*x.X.Cols {
				t.Fatalf("%d numbers in %d x %d", len(x.X.Data), x.X.Rows, x.X.Cols)
			}
		})
	})
}
