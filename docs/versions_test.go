package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/plan"
)

// The page of versions says the versions that are written now, and its golden files and tests are there.
func TestThePageOfVersionsIsOfNow(t *testing.T) {
	page := read(t, "versions.md")
	rows := map[string][]string{}
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, "|"); len(cells) == 7 {
			rows[strings.TrimSpace(cells[1])] = cells
		}
	}
	journal := read(t, "../client/internal/journal/journal.go")
	for what, now := range map[string]string{"plans": fmt.Sprint(plan.Version), "ledgers of devices": "confetti-ledger/v4", "the interface of services": "/v1"} {
		cells := rows[what]
		if cells == nil || strings.TrimSpace(cells[2]) != now {
			t.Errorf("%s: the page says %q, and it is %s", what, cells, now)
		}
	}
	if !strings.Contains(journal, `"confetti-ledger/v4`) {
		t.Error("ledgers are of another version")
	}
	files, tests := 0, regexp.MustCompile("`go test (\\./[a-z/]+)(?: -run (\\w+))?`")
	for what, cells := range rows {
		for _, name := range regexp.MustCompile("`([a-z/0-9.-]*testdata[a-z/0-9.-]*)`").FindAllStringSubmatch(cells[max(0, len(cells)-3)], -1) {
			files++
			if _, err := os.Stat(filepath.Join("..", name[1])); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, one := range tests.FindAllStringSubmatch(strings.Join(cells, "|"), -1) {
			sources, err := filepath.Glob(filepath.Join("..", one[1], "*_test.go"))
			all := ""
			for _, name := range sources {
				all += read(t, name)
			}
			if err != nil || !regexp.MustCompile(`func Test\w*`+one[2]).MatchString(all) {
				t.Errorf("%s: there is no test %s, %v", what, one[0], err)
			}
		}
	}
	if files < 5 {
		t.Errorf("%d golden files are named", files)
	}
}
