package papers

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// inPaper are items of a paper: what it numbers, and what it says of an appendix, a theorem or a section.
var inPaper = regexp.MustCompile(`^(Table|Figure|Appendix|Theorem|Section) [\w.]+$`)

// WriteList makes README.md of the pages' folder: every table and figure of the papers, and what of it is not there.
func WriteList(folder string) error {
	var rows bytes.Buffer
	all, whole, without := 0, 0, 0
	for _, p := range All() {
		for _, it := range p.items {
			if !inPaper.MatchString(it.name) {
				continue
			}
			stands := "partly"
			if all++; it.lacks == "" {
				whole, stands = whole+1, "yes"
			}
			if !strings.HasPrefix(it.name, "Table") && !strings.HasPrefix(it.name, "Figure") {
				without++
			}
			fmt.Fprintf(&rows, "| [%s](%s.md) | %s: %s | %s | %s |\n", strings.ToUpper(p.Name), p.Name, it.name, it.title, stands, it.lacks)
		}
	}
	text := fmt.Sprintf(`# Every table and figure of four papers

%d rows: the papers' %d numbered tables and figures, and %d places without a number. %d stand, %d in part.

*Yes* says that whatever the paper has in a row is there, ours beside it. Where its data cannot be had, data of its size stand in, and the page says so: pictures are made up (ESA). In KDE's Tables 2 to 4 several respondents hold one text: 25,385 texts stand for DBPedia-14's 560,000, 40,000 for AG news' 120,000, and 57,349 for SST-2's 67,348. *Yes* does not say that ours agree: the pages say what comes back. *Partly* says what is missing and why, or what it would cost. `+"`cd lab && go run ./papers/draw`"+` writes this page.

| paper | row | stands | what is missing, and why |
| --- | --- | --- | --- |
`, all, all-without, without, whole, all-whole)
	return atomicfile.Replace(filepath.Join(folder, "README.md"), append([]byte(text), rows.Bytes()...), 0o644)
}
