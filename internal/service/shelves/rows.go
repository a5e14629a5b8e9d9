package shelves

import (
	"encoding/json"
	"fmt"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// Marshal returns a row of JSON as it is written.
func Marshal(row any) []byte {
	text, err := json.Marshal(row)
	if err != nil {
		panic("shelves: " + err.Error()) // rows are of bytes, numbers, words and times, which always encode
	}
	return text
}

// Unmarshal reads what Marshal wrote into what row points to, and nothing else. keep.ErrDamaged names the table.
func Unmarshal(t keep.Table, text []byte, row any) error {
	if strictjson.JSON(text, row) != nil { // which may quote it
		return fmt.Errorf("%w: a row of table %d is none that this version writes", keep.ErrDamaged, t)
	}
	return nil
}

// First keeps a value under a key, unless one is there, and returns the one that stands.
func First(tx keep.Tx, t keep.Table, key string, value []byte) (stands []byte, err error) {
	stands, there, err := tx.Get(t, key)
	if err == nil && !there {
		tx.Put(t, key, value)
		return value, nil
	}
	return stands, err
}
