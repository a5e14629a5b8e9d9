package columnar

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/formula"
)

// back is the CSV that a Parquet file says.
func back(t interface{ Fatal(...any) }, file []byte) string {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	var head []string
	for _, path := range f.Schema().Columns() {
		head = append(head, path[0])
	}
	w.Write(head)
	for _, group := range f.RowGroups() {
		rows, buf := group.Rows(), make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				cells := make([]string, len(row))
				for i, v := range row {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Double:
						cells[i] = strconv.FormatFloat(v.Double(), 'g', -1, 64)
					case v.Kind() == parquet.Int64:
						cells[i] = strconv.FormatInt(v.Int64(), 10)
					default:
						cells[i] = formula.Quote(string(v.ByteArray()))
					}
				}
				w.Write(cells)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		rows.Close()
	}
	w.Flush()
	return text.String()
}

func written(t interface{ Fatal(...any) }, name, text string) []byte {
	var b bytes.Buffer
	if err := Write(&b, name, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every table that a release has comes back cell for cell, in the order of its columns.
func TestTablesComeBack(t *testing.T) {
	long := "record,told,class\n"
	for i := range 3 * batch {
		long += fmt.Sprintf("%d,%d,a\n", i, i%7)
	}
	for name, text := range map[string]string{
		"counts.csv":    "attribute,crowd,value,estimate,std_err,low,high,low_all,high_all,consistent,truth\ndrink,,\"tea, \"\"black\"\"\",12.5,3.0000000000000004,6,19,2,23,12,13\nage,north,17,-1e-300,1,,,-5,5,0,\n",
		"densities.csv": "point,true_class,class,estimate,std_err,low,high,low_all,high_all\nsea,,hills,0.25,,,,,\n",
		"sums.csv":      "coordinate,estimate,std_err\n1,0.5,0.125\n2,-0.5,0.125\n",
		"labels.csv":    "record,reported\n0,yes\n9223372036854775807,\n",
		"latent.csv":    "group,cluster,class,respondents,std_err,share\n,3,,1.5,0.5,\n",
		"judged.csv":    "model,respondents,std_err\nright,10,1\n",
		"empty.csv":     "group,vector,class\n",
		"long.csv":      long,
	} {
		file := written(t, name, text)
		if got := back(t, file); got != text {
			t.Errorf("%s: came back as\n%s, not\n%s", name, got, text)
		}
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256([]byte(text))
		if of, ok := f.Lookup(DigestKey); !ok || of != hex.EncodeToString(digest[:]) {
			t.Errorf("%s: the metadata names %q", name, of)
		}
		if of, _ := f.Lookup(sourceKey); of != name {
			t.Errorf("%s: made of %q", name, of)
		}
		if again := written(t, name, text); !bytes.Equal(again, file) {
			t.Errorf("%s: written twice, with other bytes", name)
		}
	}
}

// Any text and any number comes back.
func TestAnyCountsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		w.Write([]string{"value", "estimate", "record"})
		for range rapid.IntRange(0, 20).Draw(t, "rows") {
			number := ""
			if rapid.Bool().Draw(t, "known") {
				number = strconv.FormatFloat(rapid.Float64().Filter(func(x float64) bool { return x-x == 0 }).Draw(t, "number"), 'g', -1, 64)
			}
			value := formula.Quote(strings.ReplaceAll(rapid.String().Draw(t, "value"), "\r", ""))
			w.Write([]string{value, number, strconv.FormatInt(rapid.Int64().Draw(t, "record"), 10)})
		}
		w.Flush()
		if got := back(t, written(t, "counts.csv", text.String())); got != text.String() {
			t.Fatalf("came back as\n%s, not\n%s", got, &text)
		}
	})
}

func TestWhatIsNoTableIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "no line of column names",
		"value,secret\n":                    "none of a release's",
		"value,value\n":                     "two columns",
		"value,estimate\ntea,secret\n":      "line 2, column estimate: not a number",
		"value,estimate\ntea,NaN\n":         "not a number",
		"value,estimate\ntea,Inf\n":         "not a number",
		"value,estimate\ntea,1e999\n":       "not a number",
		"record,class\n1.5,a\n":             "not a whole number",
		"record,class\n1,a\n,b\n":           "line 3, column record",
		"value,estimate\ntea,1,2\n":         "not a row",
		"value,estimate\n\"secret,1\nx,y\n": "not a row",
	} {
		err := Write(io.Discard, "counts.csv", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "tea") {
			t.Errorf("%v tells a cell", err)
		}
	}
}
