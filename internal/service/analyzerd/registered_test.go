package analyzerd

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/plan"
)

// A plan of another version in the database is not damaged: the error says what to do,
// and that alone.
func TestAnOlderPlanInTheDatabaseIsNotCalledDamaged(t *testing.T) {
	text, err := os.ReadFile("../../../plan/testdata/vectors/v2/canonical.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(bytes.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	signed := plan.Sign(p, ed25519.NewKeyFromSeed(make([]byte, 32))).Marshal()
	if _, err := registered(p.Name(), signed); err != nil {
		t.Fatal(err)
	}
	older := bytes.Replace(signed, []byte(`"version":2`), []byte(`"version":1`), 1)
	_, err = registered(p.Name(), older)
	if err == nil || errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), "version is 1") || !strings.Contains(err.Error(), "write and sign the plan anew") {
		t.Error(err)
	}
	changed := bytes.Replace(signed, []byte(`"epsilon":4`), []byte(`"epsilon":3`), 1)
	for what, text := range map[string][]byte{"cut short": signed[:len(signed)/2], "changed": changed} {
		if _, err := registered(p.Name(), text); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
