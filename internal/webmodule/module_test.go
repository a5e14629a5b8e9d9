package module

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// Modules pass vet where they run. It compiles what they stand on as they are compiled, so that this is done once.
func TestModulesPassVet(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the modules")
	}
	vet := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"vet", "-trimpath", "-buildvcs=false"}, sparing, slices.Sorted(maps.Values(Inside)))...)
	vet.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
