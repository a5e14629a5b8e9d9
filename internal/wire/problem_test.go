package wire

import (
	"net/http"
	"strings"
	"testing"
)

func TestKindsAreWhole(t *testing.T) {
	seen := map[Code]bool{}
	for i, k := range Kinds {
		if seen[k.Code] || k.Title == "" || k.Remedy == "" || http.StatusText(k.Status) == "" {
			t.Errorf("%+v", k)
		}
		seen[k.Code] = true
		if i > 0 && Kinds[i-1].Status > k.Status {
			t.Errorf("%s is not in the order of statuses", k.Code)
		}
		if strings.ToLower(string(k.Code)) != string(k.Code) {
			t.Errorf("%s", k.Code)
		}
	}
}
