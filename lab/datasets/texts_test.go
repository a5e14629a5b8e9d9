package datasets

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func zipFile(t *testing.T, dir, name, text string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTexts(t *testing.T) {
	dir := t.TempDir()
	zipFile(t, dir, "sst2/texts.tsv.gz", "public\t1\tfine day\ntrain\t0\tbad\tthing\ntest\t1\tgood\n")
	os.WriteFile(filepath.Join(dir, "sst2", "classes.txt"), []byte("0\n1\n"), 0o644)
	got, err := LoadTexts(dir, "sst2")
	if err != nil {
		t.Fatal(err)
	}
	if got.Public.Texts[0] != "fine day" || got.Public.Y[0] != 1 || got.Train.Texts[0] != "bad\tthing" || got.Test.Y[0] != 1 || len(got.Classes) != 2 {
		t.Errorf("%+v", got)
	}
	news := strings.Repeat("\"2\",\"A title\",\"and more\",\"from\"\n", newsPublic) + "\"4\",\"Another\",\"text\",\"x\"\n"
	zipFile(t, dir, "agnews_csv/train.csv.gz", news)
	zipFile(t, dir, "agnews_csv/test.csv.gz", "\"1\",\"T\",\"d\"\n")
	os.MkdirAll(filepath.Join(dir, "agnews_lsa256"), 0o755)
	os.WriteFile(filepath.Join(dir, "agnews_lsa256", "classes.txt"), []byte("World\nSports\nBusiness\nSci/Tech\n"), 0o644)
	if got, err = LoadTexts(dir, "agnews_lsa256"); err != nil {
		t.Fatal(err)
	}
	if len(got.Public.Texts) != newsPublic || len(got.Train.Texts) != 1 || got.Train.Y[0] != 3 || got.Train.Texts[0] != "Another text" || got.Test.Y[0] != 0 {
		t.Errorf("%d public, %+v, %+v", len(got.Public.Texts), got.Train, got.Test)
	}
	for text, want := range map[string]string{
		"public\t1\tx\nelsewhere\t1\tx\n": "line 2 is not a part",
		"public\t2\tx\n":                  "line 1: its class is none of 0 to 1",
		"public\t1\tx\n":                  "public, training and test texts are needed: there are 1, 0 and 0",
	} {
		zipFile(t, dir, "sst2/texts.tsv.gz", text)
		if _, err := LoadTexts(dir, "sst2"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := LoadTexts(dir, "mnist"); err == nil || !strings.Contains(err.Error(), "choose one of agnews") {
		t.Error(err)
	}
	if _, err := LoadTexts(filepath.Join(dir, "nowhere"), "sst2"); err == nil || !strings.Contains(err.Error(), "sst2") {
		t.Error(err)
	}
}

const loanHead = "loan_amnt,term,annual_inc,dti,delinq_2yrs,inq_last_6mths,open_acc,pub_rec,revol_bal,revol_util,total_acc,pub_rec_bankruptcies,int_rate,loan_status,emp_length,home_ownership,verification_status,purpose,issue_d,earliest_cr_line\n"

func TestLoans(t *testing.T) {
	dir := t.TempDir()
	const file = "lending_club/loans_2007_2011.csv.gz"
	zipFile(t, dir, file, loanHead+"20000,36,38556,14.04,0,3,8,0,21777,0.537,14,,0.1122,Fully Paid,10+ years,RENT,Not Verified,credit_card,2007-12-01,2003-01-01\n"+
		"100,60,0,1,0,0,1,0,0,0,1,0,0.2,Does not meet the credit policy. Status:Charged Off,< 1 year,OWN,Verified,car,2011-01-01,2001-01-01\n")
	l, err := LoadLoans(dir)
	if err != nil {
		t.Fatal(err)
	}
	if l.X.Rows != 2 || l.X.Cols != 24 || len(l.Names) != 24 {
		t.Fatalf("%d loans of %d columns", l.X.Rows, l.X.Cols)
	}
	first := 0
	if l.Rate[1] == 0.1122 {
		first = 1
	}
	x := row(l.X, first)
	if l.Lost[first] || !l.Lost[1-first] || x[1] != 36 || x[11] != 0 || x[14] != 10 || x[15] != 1 || x[16] != 0 || x[20] != 1 || x[12] < 4.9 || x[12] > 5 {
		t.Errorf("%v, %v", x, l.Lost)
	}
	for text, want := range map[string]string{
		"":            "no line of column names",
		"loan_amnt\n": "no column term",
		loanHead:      "no loans",
		loanHead + strings.Repeat(",", 19) + "\n": "line 2: no rate of interest",
	} {
		zipFile(t, dir, file, text)
		if _, err := LoadLoans(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
