package web_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

// The packages' own tests, under Node.
func TestPackages(t *testing.T) {
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	webtest.Node(t, dir)
	for _, name := range []string{"wire", "client"} {
		t.Run(name, func(t *testing.T) {
			npm := exec.CommandContext(t.Context(), "npm", "test", "--workspace", name)
			npm.Dir = dir
			out, err := npm.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), "\n# fail 0") && !strings.Contains(string(out), "\nℹ fail 0") {
				t.Errorf("the runner of tests did not say how many failed:\n%s", out)
			}
		})
	}
}
