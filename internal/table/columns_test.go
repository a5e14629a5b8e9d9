package table

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// named are columns that may not be empty.
func named(names ...string) []Column {
	var all []Column
	for _, name := range names {
		all = append(all, Column{Name: name})
	}
	return all
}

func TestColumns(t *testing.T) {
	text := "\ufeff\"city, of birth\",age,note\r\n\"New York, \"\"NY\"\"\",31,x\r\n Łódź ,-4e1,\r\n"
	c, err := decodeColumns(strings.NewReader(text), Missing{}, named("age", "city, of birth", "age"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q %v", c.Values, c.Lines); got != `[["31" "-4e1"] ["New York, \"NY\"" "Łódź"] ["31" "-4e1"]] [2 3]` {
		t.Error(got)
	}
	if x, err := c.Numbers(2); err != nil || !slices.Equal(x, []float64{31, -40}) {
		t.Errorf("%v, %v", x, err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "no line of column names"},
		{"a,b\n", "nothing to read"},
		{"1,2\n3,4\n", "must name the columns"},
		{"b,c\n1,2\n", `no column "a": the first line names 2 others`},
		{"a,a\n1,2\n", "one name"},
		{"a,b\n1,2\n ,3\n", `line 3, column "a" is empty`},
		{"a,b\n\"x\ny\",2\n", `line 2, column "a" holds control characters`},
		{"a\n\xff\xfe\n", `line 2, column "a" is not UTF-8`},
		{"a\n" + strings.Repeat("secret", 1000), `line 2, column "a" is longer than 1024 bytes`},
		{"a,b\nsecret\n", "line 2 has the wrong number of fields"},
		{"a\n\"secret\n", "line "},
	} {
		_, err := decodeColumns(strings.NewReader(c.text), Missing{}, named("a"))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
	for _, bad := range []string{"secret", "NaN", "+Inf", "1e400", "0x1p-2000000000", "1,5"} {
		c, err := decodeColumns(strings.NewReader("a\n7\n\""+bad+"\"\n"), Missing{}, named("a"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Numbers(0); (err == nil) != (bad[0] == '0') || err != nil && err.Error() != `line 3, column "a" is not a finite number` {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A column whose cells may be long has them whole, and what is no text in a long cell is refused still, with what to do.
func TestLongCells(t *testing.T) {
	long := strings.Repeat("é", maxText) // two bytes each
	c, err := decodeColumns(strings.NewReader("a,b\n"+long+",2\n"), Missing{}, []Column{{Name: "a", MayBeLong: true}})
	if err != nil || c.Values[0][0] != long {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"a,b\n2,1\n" + long + "\xff,2\n": `line 3, column "a" is not UTF-8 text: mend these cells`,
		"a,b\n1," + long + "\n":          `line 2, column "b" is longer than 1024 bytes: mend these cells`,
	} {
		if _, err := decodeColumns(strings.NewReader(text), Missing{}, []Column{{Name: "a", MayBeLong: true}, {Name: "b"}}); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "é") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReadColumnsRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadColumns(dir, Missing{}, Column{Name: "a"}); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Error(err)
	}
	if _, err := ReadColumns(filepath.Join(dir, "no.csv"), Missing{}, Column{Name: "a"}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
	path := filepath.Join(dir, "picture.csv")
	if err := os.WriteFile(path, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01,\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadColumns(path, Missing{}, Column{Name: "a"}); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestDomain(t *testing.T) {
	got, err := decodeDomain(strings.NewReader("\ufeffcoffee\r\n\r\n  black tea \r\nwater"))
	if err != nil || fmt.Sprintf("%q", got) != `["coffee" "black tea" "water"]` {
		t.Errorf("%q, %v", got, err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "holds no value"},
		{"\n\n", "holds no value"},
		{"a\nsecret\nb\n\n secret\n", "lines 2 and 5 hold one value"},
		{"a\n\x00\n", "line 2 holds control characters"},
		{"a\n\xc3\x28\n", "line 2 is not UTF-8"},
		{"a\n" + strings.Repeat("secret", 1000), "line 2 is longer than 1024 bytes"},
		{"a\n" + strings.Repeat("secret", 100_000), "line 2 is longer than 1024 bytes"},
	} {
		_, err := decodeDomain(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// Whatever the bytes, what is read has a value in every row.
func FuzzColumns(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n"))
	f.Add([]byte("\ufeff\"a\",b\r\n\"x \"\"y\"\"\",2\r\n"))
	f.Add([]byte("a\n\xff\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			c, err := decodeColumns(strings.NewReader(string(data)), Missing{}, named("a"))
			if err != nil {
				return
			}
			if len(c.Values) != 1 || len(c.Values[0]) != len(c.Lines) || slices.Contains(c.Values[0], "") {
				t.Errorf("%q became %+v", data, c)
			}
			c.Numbers(0)
		})
	})
}
