package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/table"
)

func TestASetOfTwoTables(t *testing.T) {
	read := func(text string) *table.Records {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := table.ReadRecords(path, table.Choice{Label: "c"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	train, test := read("v,c\n5,10\n6,9\n"), read("v,c\n7,10\n")
	s, err := NewSet("own", train, test)
	if err != nil || fmt.Sprint(s.Classes, s.Train.Y, s.Test.Y, s.Test.X.Data) != "[9 10] [1 0] [1] [7]" {
		t.Errorf("%+v, %v", s, err)
	}
	for want, bad := range map[string][2]*table.Records{
		"at least 2":    {test, train},
		"row 1":         {train, read("v,c\n7,new\n")},
		"1 features":    {train, read("v,w,c\n7,8,10\n")},
		"same features": {train, read("w,c\n7,10\n")},
	} {
		if _, err := NewSet("own", bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
