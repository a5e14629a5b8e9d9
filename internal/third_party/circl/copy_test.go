package circl_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "copy the files of the version in go.mod anew")

// The files here are those of the module that go.mod names, byte for byte but for the paths of their imports, and
// so is its licence. Whoever builds a program does not fetch the module, which is 49 MB for these 3,000 lines.
func TestTheCopyIsTheModules(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", "github.com/cloudflare/circl").Output()
	if err != nil {
		t.Fatalf("the module cannot be had: %v", err)
	}
	_, dir, _ := strings.Cut(string(out), `"Dir": "`)
	dir, _, _ = strings.Cut(dir, `"`)
	compared := 0
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		theirs, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		theirs = bytes.ReplaceAll(theirs, []byte(`"github.com/cloudflare/circl/`), []byte(`"github.com/confetti-dp/confetti/internal/third_party/circl/`))
		if *update {
			return os.WriteFile(name, theirs, 0o644)
		}
		ours, err := os.ReadFile(name)
		if err == nil && !bytes.Equal(ours, theirs) {
			t.Errorf("%s is not the module's: go test ./internal/third_party/circl -args -update", name)
		}
		compared++
		return err
	})
	if err != nil || compared < 20 && !*update {
		t.Errorf("%d files, %v", compared, err)
	}
}
