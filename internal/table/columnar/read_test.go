package columnar

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

	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestMain(m *testing.M) {
	table.Parquet = func(path, label string) (*table.Typed, error) {
		if file, is := files[path]; is {
			return typed(bytes.NewReader(file), int64(len(file)), label)
		}
		return Open(path, label)
	}
	os.Exit(m.Run())
}

// files are read as if they lay on a disk.
var files = map[string][]byte{}

// decoded reads a file from memory.
func decoded(t testing.TB, file []byte, choice table.Choice) (*table.Records, error) {
	name := t.Name() + ".parquet"
	files[name] = file
	defer delete(files, name)
	return table.ReadRecords(name, choice)
}

// missing is a choice of what an empty cell means.
func missing(t *testing.T, text string) table.Missing {
	t.Helper()
	m, err := table.ParseMissing(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
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
	got, err := decoded(t, file, table.Choice{Label: "kind"})
	if err != nil || got.X.Rows != 1000 || got.X.Cols != 3 || got.X.Data[3*999] != 999 || got.Labels[998] != "2" {
		t.Fatalf("lists: %v", err)
	}
	file = parquetOf(t, wide{1, "cat", 2.5, true}, wide{-3, "dog", 0.5, false})
	got, err = decoded(t, file, table.Choice{Label: "kind"})
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
		_, err := decoded(t, c.file, table.Choice{Label: c.label})
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
			x, err := decoded(t, damaged, table.Choice{Label: "kind"})
			if err != nil {
				refused++
			} else if len(x.X.Data) != x.X.Rows*x.X.Cols || len(x.Labels) != x.X.Rows {
				t.Fatalf("byte %d: %d numbers and %d labels in %d x %d", i, len(x.X.Data), len(x.Labels), x.X.Rows, x.X.Cols)
			}
		}
		if _, err := decoded(t, file[:i], table.Choice{Label: "kind"}); err == nil {
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

func FuzzParquet(f *testing.F) {
	f.Add(parquetOf(f, wide{1, "cat", 2.5, true}), "kind")
	f.Add(parquetOf(f, long{1, []float32{2, 3}}), "kind")
	f.Fuzz(func(t *testing.T, file []byte, label string) {
		costlimit.Heap(t, costlimit.Factor, len(file)+len(label)+16<<10, func() { // and the buffers of the library
			x, err := decoded(t, file, table.Choice{Label: label})
			if err == nil && (len(x.X.Data) != x.X.Rows*x.X.Cols || slices.ContainsFunc(x.X.Data, func(v float32) bool { return v-v != 0 })) {
				t.Fatal("accepted what it should not")
			}
		})
	})
}

// Who brings numbers to a range is given any that a file has, and whoever does not is given none.
func TestNumbersThatAreNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	type row struct{ A, B float64 }
	file := parquetOf(t, row{math.NaN(), math.Inf(-1)}, row{1e300, -3e38})
	got, err := decoded(t, file, table.Choice{Any: true})
	if err != nil || fmt.Sprint(got.X.Data) != fmt.Sprint([]float32{nan, -inf, inf, -3e38}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := decoded(t, file, table.Choice{}); err == nil || !strings.Contains(err.Error(), "finite") {
		t.Error(err)
	}
}

// An empty cell is refused, leaves its row out, or is a number that is named.
func TestMissingCells(t *testing.T) {
	one, x := 1.0, "x"
	type row struct {
		A *float64 `parquet:"a"`
		B int32    `parquet:"b"`
		C *string  `parquet:"c,optional"`
	}
	file := parquetOf(t, row{&one, 2, &x}, row{nil, 4, &x}, row{&one, 6, nil})
	got, err := decoded(t, file, table.Choice{Label: "c", Missing: missing(t, "skip")})
	if err != nil || fmt.Sprint(got.X.Data, got.X.Rows, got.Labels) != "[1 2] 1 [x]" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = decoded(t, file, table.Choice{Drop: []string{"c"}, Missing: missing(t, "value=9")})
	if err != nil || fmt.Sprint(got.X.Data, got.X.Rows) != "[1 2 9 4 1 6] 3" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = decoded(t, file, table.Choice{Drop: []string{"c"}, Missing: missing(t, "value=x")}); err == nil {
		t.Error("a text was taken for a number")
	}
}

// A file on a disk is read as one in memory, and one that is not there says so.
func TestAFileOnADisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, parquetOf(t, wide{1, "cat", 2.5, true}), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := table.ReadRecords(path, table.Choice{Label: "kind"}); err != nil || fmt.Sprint(got.X.Data, got.Labels) != "[1 2.5 1] [cat]" {
		t.Errorf("%+v, %v", got, err)
	}
	for name, want := range map[string]string{path + ".parquet": "does not exist", filepath.Dir(path) + "/": "cannot be read"} {
		if _, err := table.ReadRecords(name, table.Choice{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
