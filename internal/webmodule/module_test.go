package module

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Whoever builds a module by a printed line gets the one that is served, of packages that are compiled already.
func TestPrintedLinesBuildWhatIsServed(t *testing.T) {
	for file, times := range map[string]int{"../../docs/browsers.md": 1, "../../deploy/Dockerfile": 2} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), " "+strings.Join(sparing, " ")+" -ldflags="); n != times || strings.Count(string(text), "GOOS=js") != n {
			t.Errorf("%s: %d lines build a module with %q", file, n, sparing)
		}
	}
}

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
