package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// One message says all that is wrong with a file, and how often.
func TestAFileSaysAllItsFaultsAtOnce(t *testing.T) {
	var b strings.Builder
	b.WriteString("spend,drink\n")
	for i := range 5000 {
		switch {
		case i%5 != 4 && i < 3739: // 2,992 rows
			b.WriteString(",tea\n")
		case i == 4000:
			b.WriteString("1,2,3\n")
		case i == 4001:
			b.WriteString("7,secret\x01\n")
		default:
			b.WriteString("7,tea\n")
		}
	}
	_, err := decodeColumns(strings.NewReader(b.String()), Missing{}, named("spend", "drink"))
	if err == nil {
		t.Fatal("read")
	}
	for _, want := range []string{`column "spend" is empty in 2,992 lines, the first is line 2`, "line 4002 has the wrong number of fields", `line 4003, column "drink" holds control characters`, "--missing skip"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Error("a value is told")
	}
	_, err = decodeCSV(strings.NewReader("a,b,c\n1,x,\n2,y,\n,3,l\n"), Choice{Label: "c"})
	if err == nil || !strings.Contains(err.Error(), `column "b" is not a finite number in 2 lines, the first is line 2; 2 lines have no label, the first is line 2; line 4, column "a" is empty`) {
		t.Error(err)
	}
	var f Faults
	for i := range 40 {
		f.Add(i, fmt.Sprint(i), "is odd")
	}
	if err := f.Err(); !strings.Contains(err.Error(), "and 20 other kinds of fault") {
		t.Error(err)
	}
}

func missing(t *testing.T, text string) Missing {
	t.Helper()
	m, err := ParseMissing(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEmptyCellsAreWhatTheCallerSays(t *testing.T) {
	const text = "spend,drink\n1,tea\n,mate\n3,\n4,tea\n"
	for policy, want := range map[string]string{
		"skip":      `[["1" "4"] ["tea" "tea"]] [2 5] ["Of 4 rows 2 with an empty cell were left out: what is told is about the other 2."]`,
		"value=0":   `[["1" "0" "3" "4"] ["tea" "mate" "0" "tea"]] [2 3 4 5] ["2 empty cells among 4 rows were taken for \"0\"."]`,
		"value= no": `[["1" "no" "3" "4"] ["tea" "mate" "no" "tea"]] [2 3 4 5] ["2 empty cells among 4 rows were taken for \"no\"."]`,
	} {
		c, err := decodeColumns(strings.NewReader(text), missing(t, policy), named("spend", "drink"))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%q %v %q", c.Values, c.Lines, c.Notes); got != want {
			t.Errorf("%s: %s", policy, got)
		}
		if _, err := c.Numbers(0); policy == "value= no" && (err == nil || !strings.Contains(err.Error(), "what was given for it is no finite number")) {
			t.Error(err)
		}
	}
	for _, bad := range []string{"drop", "value=", "value=\x01", "value"} {
		if _, err := ParseMissing(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := decodeColumns(strings.NewReader("a,b\n,1\n,2\n"), missing(t, "skip"), named("a")); err == nil || !strings.Contains(err.Error(), "every one of 2 rows") {
		t.Error(err)
	}

	table, err := decodeCSV(strings.NewReader("a,b,c\n1,2,x\n,4,y\n5,6,\n7,8,x\n"), Choice{Label: "c", Missing: missing(t, "skip")})
	if err != nil || fmt.Sprint(table.X.Data, table.Labels) != "[1 2 7 8] [x x]" || !strings.Contains(fmt.Sprint(table.Notes), "Of 4 rows 2") {
		t.Errorf("%+v, %v", table, err)
	}
	table, err = decodeCSV(strings.NewReader("a,b,c\n1,2,x\n,4,y\n"), Choice{Label: "c", Missing: missing(t, "value=-1")})
	if err != nil || fmt.Sprint(table.X.Data, table.Labels) != "[1 2 -1 4] [x y]" {
		t.Errorf("%+v, %v", table, err)
	}
}

// In a table of one column an empty line is somebody's answer: of sets, nothing.
func TestEmptyLinesOfOneColumnAreRows(t *testing.T) {
	for _, text := range []string{"apps\na;b\n\nb\n\n", "\ufeff\r\napps\r\na;b\r\n\r\n\"b\"\r\n\"\"\r\n"} {
		c, err := decodeColumns(strings.NewReader(text), Missing{}, []Column{{Name: "apps", MayBeEmpty: true}})
		if err != nil || fmt.Sprintf("%q", c.Values) != `[["a;b" "" "b" ""]]` {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
		if _, err = decodeColumns(strings.NewReader(text), Missing{}, named("apps")); err == nil || !strings.Contains(err.Error(), "is empty in 2 lines") {
			t.Error(err)
		}
	}
	c, err := decodeColumns(strings.NewReader("a\n\"x\n\ny\"\n"), Missing{}, []Column{{Name: "a", MayBeEmpty: true}})
	if err == nil {
		t.Errorf("%q: a value of several lines", c.Values)
	}
}

func TestColumnsAreSetApartByWhatTheFirstLineHasMostOf(t *testing.T) {
	for text, note := range map[string]string{
		"a,b\n1,2\n":                  "",
		"a;b\n1;2\n":                  "text with semicolons between columns",
		"a\tb\n1\t2\n":                "text with tabs between columns",
		"\"a\",\"b;c;d\"\n1,2\n":      "",
		"\"a\";b;\"c,d,e,f\"\n1;2;\n": "text with semicolons between columns",
	} {
		for _, zip := range []bool{false, true} {
			file := []byte(text)
			if zip {
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				w.Write(file)
				w.Close()
				file = b.Bytes()
				note = strings.TrimSpace("gzipped " + strings.Replace(note, "text", "text", 1))
				if note == "gzipped" {
					note = "gzipped text"
				}
			}
			in, err := NewCSV(bytes.NewReader(file))
			if err != nil || in.Note != note || in.Names[0] != "a" {
				t.Errorf("%q: %+v, %v", text, in, err)
				continue
			}
			if cells, line, err := in.Read(); err != nil || cells[0] != "1" || cells[1] != "2" || line != 2 {
				t.Errorf("%q: %q, %v", text, cells, err)
			}
			if zip {
				damaged := bytes.Clone(file)
				damaged[len(damaged)-1] ^= 1
				if _, err := decodeColumns(bytes.NewReader(damaged), Missing{}, named("a")); err == nil || !strings.Contains(err.Error(), "damaged") {
					t.Error(err)
				}
			}
		}
	}
	if _, err := NewCSV(strings.NewReader("\xff\xfea\x00,\x00")); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Error(err)
	}
}

func TestFeaturesAreTheColumnsThatAreNamed(t *testing.T) {
	const text = "id,class,drink,likes_a,likes_b\n1,x,tea,0.5,1\n2,y,mate,0.25,2\n3,x,tea,0.75,3\n"
	for _, c := range []struct {
		features, drop []string
		want           string
	}{
		{[]string{"likes_*"}, nil, "[likes_a likes_b]"},
		{[]string{"likes_b", "id"}, nil, "[id likes_b]"},
		{nil, []string{"id", "drink"}, "[likes_a likes_b]"},
		{[]string{"likes_?"}, []string{"*_b"}, "[likes_a]"},
	} {
		table, err := decodeCSV(strings.NewReader(text), Choice{Label: "class", Features: c.features, Drop: c.drop})
		if err != nil || fmt.Sprint(table.Columns) != c.want || len(table.X.Data) != 3*len(table.Columns) {
			t.Errorf("%v less %v: %+v, %v", c.features, c.drop, table, err)
		}
	}
	for _, c := range []struct {
		choice Choice
		want   string
	}{
		{Choice{Label: "class"}, `column "drink" is not a finite number in 3 lines, the first is line 2: name the features with --features, or leave the column out with --drop`},
		{Choice{Label: "class", Features: []string{"liked_*"}}, `no column is named "liked_*", as --features asks`},
		{Choice{Label: "class", Drop: []string{"ident", "drink"}}, `no column is named "ident", as --drop asks`},
		{Choice{Label: "class", Features: []string{"class"}}, `no column is named "class"`},
	} {
		if _, err := decodeCSV(strings.NewReader(text), c.choice); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	if !match("a/*", "a/b/c") || match("[", "x") || !match("[", "[") {
		t.Error("patterns")
	}
}

// A running number, and a column beside which the others hardly count, are named.
func TestDoubtfulFeaturesAreNamed(t *testing.T) {
	table, err := decodeCSV(strings.NewReader("id,a,b,spend\n1,1,-1,250\n2,-1,1,300\n3,1,1,200\n"), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	doubts := table.Doubts()
	if len(doubts) != 2 || !strings.Contains(doubts[0], `Column "id" grows`) || !strings.Contains(doubts[1], `Column "spend" is so large that it makes up 99.9 %`) {
		t.Errorf("%q", doubts)
	}
	table.X.Data = slices.Repeat([]float32{1, -1, 1, -1}, 3)
	if doubts := table.Doubts(); len(doubts) > 0 {
		t.Errorf("%q", doubts)
	}
}
