// Package columnar reads Parquet, and writes the tables of releases so, with a type for each column and the digest of
// the published CSV. Used by cmd/internal/server/parquet, internal/service/console and lab/cmd/confetti-lab.
package columnar

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/confetti-dp/confetti/internal/formula"
)

// The columns that tables of releases and trends have, by what is in them. A column has one type in every
// release, whatever a respondent's value looks like.
var (
	texts   = []string{"attribute", "crowd", "value", "point", "true_class", "class", "group", "model", "told", "vector", "reported", "metric", "opens", "closes", "missing", "arm", "is"}
	wholes  = []string{"record", "coordinate", "cluster", "season", "round"}
	numbers = []string{"estimate", "std_err", "low", "high", "low_all", "high_all", "consistent", "truth", "respondents", "share"} // null where they are not known
)

// sourceKey and DigestKey are in the file's metadata: the name of the CSV that it was made of, and
// the SHA-256 of that in hexadecimal, which a release's receipts have.
const (
	sourceKey = "confetti.source"
	DigestKey = "confetti.sha256"
)

// batch is how many rows are written at once, and group how many are held until they are.
const (
	batch = 1 << 10
	group = 1 << 14
)

// Write writes the table that a release has as CSV under a name, while it reads it: the same columns in the same
// order and the same rows, compressed. Texts are UTF-8, record, coordinate, cluster, season and round whole
// numbers of 64 bits, and all others floats of 64 bits, null where the CSV is empty. Units
// are those of the CSV. Texts are those of which the CSV has cells (formula.Unquote). A column of a name that no release has, or a cell that does not fit its
// column, is an error, which does not hold the cell.
func Write(w io.Writer, name string, table io.Reader) error {
	digest := sha256.New()
	in := csv.NewReader(io.TeeReader(table, digest))
	head, err := in.Read()
	if err != nil {
		return fmt.Errorf("columnar: %s has no line of column names", name)
	}
	columns := make([]column, len(head))
	for i, h := range head {
		if columns[i], err = columnOf(h, i); err != nil {
			return fmt.Errorf("columnar: %s: %w", name, err)
		}
		if slices.Contains(head[:i], h) {
			return fmt.Errorf("columnar: %s has two columns %s", name, h)
		}
	}
	out := parquet.NewWriter(w, schemaOf(columns), parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(group), parquet.KeyValueMetadata(sourceKey, name))
	rows := make([]parquet.Row, 0, batch)
	flush := func() error {
		_, err := out.WriteRows(rows)
		rows = rows[:0]
		return err
	}
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line := 0
			if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
				line = wrong.Line
			}
			return fmt.Errorf("columnar: %s, line %d: not a row of a table", name, line)
		}
		line, _ := in.FieldPos(0)
		row := make(parquet.Row, len(cells))
		for i, cell := range cells {
			if row[i], err = columns[i].value(cell); err != nil {
				return fmt.Errorf("columnar: %s, line %d, column %s: %w", name, line, head[i], err)
			}
		}
		if rows = append(rows, row); len(rows) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	out.SetKeyValueMetadata(DigestKey, hex.EncodeToString(digest.Sum(nil)))
	return out.Close()
}

// Same reports that a Parquet file has other columns or values than the table, as CSV, that it
// is to say the same as. Its bytes may be others: libraries write differently.
func Same(name string, table, file []byte) (err error) {
	other := fmt.Errorf("columnar: it has other columns or values than %s", name)
	defer func() {
		if recover() != nil { // the library, of a file that was spoiled
			err = other
		}
	}()
	var b bytes.Buffer
	if err := Write(&b, name, bytes.NewReader(table)); err != nil {
		return err
	}
	want, err := open(b.Bytes())
	if err != nil {
		return err
	}
	defer want.Close()
	got, err := open(file)
	if err != nil {
		return other
	}
	defer got.Close()
	if want.NumRows() != got.NumRows() || want.Schema().String() != got.Schema().String() {
		return other
	}
	a, c := make([]parquet.Row, batch), make([]parquet.Row, batch)
	for left := want.NumRows(); left > 0; {
		n, err := want.ReadRows(a[:min(left, batch)])
		if n == 0 {
			return cmp.Or(err, io.ErrUnexpectedEOF)
		}
		if err := rows(got, c[:n]); err != nil {
			return other
		}
		for i := range n {
			if !a[i].Equal(c[i]) {
				return other
			}
		}
		left -= int64(n)
	}
	return nil
}

// open reads a file's beginning and end.
func open(file []byte) (*parquet.GenericReader[any], error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	return parquet.NewGenericReader[any](f), nil
}

// rows reads as many as there is room for.
func rows(from *parquet.GenericReader[any], into []parquet.Row) error {
	for len(into) > 0 {
		n, err := from.ReadRows(into)
		if n == 0 {
			return cmp.Or(err, io.ErrUnexpectedEOF)
		}
		into = into[n:]
	}
	return nil
}

// column is one of the table.
type column struct {
	name  string
	index int
	kind  reflect.Kind // String, Int64 or Float64
}

func columnOf(name string, index int) (column, error) {
	for kind, names := range map[reflect.Kind][]string{reflect.String: texts, reflect.Int64: wholes, reflect.Float64: numbers} {
		if slices.Contains(names, name) {
			return column{name, index, kind}, nil
		}
	}
	return column{}, fmt.Errorf("column %q is none of a release's tables", name)
}

// schemaOf keeps the order of the columns, which a group of the library would sort.
func schemaOf(columns []column) *parquet.Schema {
	types := map[reflect.Kind]reflect.Type{reflect.String: reflect.TypeFor[string](), reflect.Int64: reflect.TypeFor[int64](), reflect.Float64: reflect.TypeFor[float64]()}
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		tag := c.name
		if c.kind == reflect.Float64 {
			tag += ",optional"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: types[c.kind], Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	return parquet.NewSchema("release", parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}

// value returns a cell.
func (c column) value(cell string) (parquet.Value, error) {
	switch c.kind {
	case reflect.String:
		return parquet.ByteArrayValue([]byte(formula.Unquote(cell))).Level(0, 0, c.index), nil
	case reflect.Int64:
		n, err := strconv.ParseInt(cell, 10, 64)
		if err != nil {
			return parquet.Value{}, errors.New("not a whole number")
		}
		return parquet.Int64Value(n).Level(0, 0, c.index), nil
	}
	if cell == "" {
		return parquet.NullValue().Level(0, 0, c.index), nil
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return parquet.Value{}, errors.New("not a number")
	}
	return parquet.DoubleValue(x).Level(0, 1, c.index), nil
}
