package table

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

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

func parquetOf[T any](t testing.TB, rows ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type wide struct {
	Age    int32   `parquet:"age"`
	Kind   string  `parquet:"kind"`
	Weight float64 `parquet:"weight"`
	Old    bool    `parquet:"old"`
}

type long struct {
	Kind   int64     `parquet:"kind"`
	Vector []float32 `parquet:"vector,list"`
}

func TestParquet(t *testing.T) {
	var many []long
	for i := range 1000 { // more than one batch of rows
		many = append(many, long{int64(i % 3), []float32{float32(i), 1, 2}})
	}
	file := parquetOf(t, many...)
	got, err := decodeParquet(bytes.NewReader(file), int64(len(file)), Choice{Label: "kind"})
	if err != nil || got.X.Rows != 1000 || got.X.Cols != 3 || got.X.Data[3*999] != 999 || got.Labels[998] != "2" {
		t.Fatalf("lists: %v", err)
	}
	file = parquetOf(t, wide{1, "cat", 2.5, true}, wide{-3, "dog", 0.5, false})
	got, err = decodeParquet(bytes.NewReader(file), int64(len(file)), Choice{Label: "kind"})
	if err != nil || fmt.Sprint(got.X.Data) != "[1 2.5 1 -3 0.5 0]" || fmt.Sprint(got.Labels) != "[cat dog]" || fmt.Sprint(got.Columns) != "[age weight old]" {
		t.Fatalf("columns: %+v, %v", got, err)
	}
	number := 1.0
	for name, c := range map[string]struct {
		file        []byte
		label, want string
	}{
		"empty":         {nil, "", "not a parquet file"},
		"text":          {[]byte("age,kind\n1,2\n3,4\n5,6\n"), "", "not a parquet file"},
		"no label":      {file, "colour", `no column "colour"`},
		"text column":   {file, "", `column "kind" is not a plain number`},
		"NaN":           {parquetOf(t, wide{Weight: 1}, wide{Weight: math.NaN()}), "kind", `row 2, column "weight"`},
		"no rows":       {parquetOf[wide](t), "kind", "0 rows"},
		"uneven lists":  {parquetOf(t, long{0, []float32{1, 2}}, long{0, []float32{1}}), "kind", "row 2 has 1 numbers instead of 2"},
		"empty list":    {parquetOf(t, long{0, nil}), "kind", "row 1"},
		"list of label": {parquetOf(t, long{0, []float32{1}}), "vector.list.element", "holds lists"},
		"missing": {parquetOf(t, struct {
			A *float64 `parquet:"a"`
		}{&number}, struct {
			A *float64 `parquet:"a"`
		}{}), "", `row 2, column "a" is missing`},
		"date": {parquetOf(t, struct {
			A time.Time `parquet:"a,timestamp"`
		}{}), "", `column "a" is not a plain number`},
		"decimal": {parquetOf(t, struct {
			A int64 `parquet:"a,decimal(2:12)"`
		}{}), "", `column "a" is not a plain number`},
	} {
		_, err := decodeParquet(bytes.NewReader(c.file), int64(len(c.file)), Choice{Label: c.label})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// Whatever byte is damaged, a file is refused or read as a table. Unchecked, one
// of these asks the library for gigabytes.
func TestDamagedParquet(t *testing.T) {
	file := parquetOf(t, wide{1, "cat", 2.5, true}, wide{2, "dog", 2.5, true})
	refused := 0
	for i := range file {
		for _, mask := range []byte{1, 0x10, 0x80, 0xff} {
			damaged := bytes.Clone(file)
			damaged[i] ^= mask
			x, err := decodeParquet(bytes.NewReader(damaged), int64(len(damaged)), Choice{Label: "kind"})
			if err != nil {
				refused++
			} else if len(x.X.Data) != x.X.Rows*x.X.Cols || len(x.Labels) != x.X.Rows {
				t.Fatalf("byte %d: %d numbers and %d labels in %d x %d", i, len(x.X.Data), len(x.Labels), x.X.Rows, x.X.Cols)
			}
		}
		if _, err := decodeParquet(bytes.NewReader(file[:i]), int64(i), Choice{Label: "kind"}); err == nil {
			t.Fatalf("the first %d bytes were accepted", i)
		}
	}
	if refused < len(file) {
		t.Errorf("only %d damaged files of %d were refused", refused, 4*len(file))
	}
	long := append([]byte{0x19, 0xfc}, 0xff, 0xff, 0xff, 0xff, 0x07) // field 1, a list of 2^31-1 structs
	w := walker{left: long}
	if w.value(typeStruct, 0); !w.bad {
		t.Error("a list longer than the file was accepted")
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
		{file("bad.parquet", nil), "", "bad.parquet: not a parquet file"},
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

func FuzzParquet(f *testing.F) {
	f.Add(parquetOf(f, wide{1, "cat", 2.5, true}), "kind")
	f.Add(parquetOf(f, long{1, []float32{2, 3}}), "kind")
	f.Fuzz(func(t *testing.T, file []byte, label string) {
		costlimit.Heap(t, costlimit.Factor, len(file)+len(label)+16<<10, func() { // and the buffers of the library
			x, err := decodeParquet(bytes.NewReader(file), int64(len(file)), Choice{Label: label})
			if err == nil && (len(x.X.Data) != x.X.Rows*x.X.Cols || slices.ContainsFunc(x.X.Data, func(v float32) bool { return v-v != 0 })) {
				t.Fatal("accepted what it should not")
			}
		})
	})
}
