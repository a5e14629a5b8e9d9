package shelves

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// A row is read as it was written, and anything else is damage that is not quoted.
func TestRowsOfJSON(t *testing.T) {
	type row struct {
		N int `json:"n,omitempty"`
	}
	var back row
	if err := Unmarshal(3, Marshal(row{7}), &back); err != nil || back.N != 7 {
		t.Errorf("%+v, %v", back, err)
	}
	for _, text := range []string{"", "{", `{"n":"secret"}`, `{"secret":1}`, `{"n":1}{}`} {
		if err := Unmarshal(3, []byte(text), &row{}); !errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), "table 3") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What was first under a key stands.
func TestFirst(t *testing.T) {
	store, err := Folder(filepath.Join(t.TempDir(), "shelves"), serve.Common{Begin: serve.Begin{New: true}}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	main, err := store.Open(t.Context(), keep.Main)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"one", "two"} {
		err := main.Update(t.Context(), func(tx keep.Tx) error {
			stands, err := First(tx, 1, "key", []byte(value))
			if string(stands) != "one" {
				t.Errorf("%q stands, %v", stands, err)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := main.Update(t.Context(), func(tx keep.Tx) error {
		_, err := First(tx, 1, "", nil)
		return err
	}); err == nil {
		t.Error("a key of no bytes")
	}
}
