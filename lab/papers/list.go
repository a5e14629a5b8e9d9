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
	all, unnumbered, states := 0, 0, map[string]int{}
	for _, p := range All() {
		for _, it := range p.items {
			if !inPaper.MatchString(it.name) {
				continue
			}
			stands := "yes"
			switch {
			case it.lacks != "":
				stands = "partly"
			case it.data != "":
				stands = "but for data"
			}
			all++
			states[stands]++
			if !strings.HasPrefix(it.name, "Table") && !strings.HasPrefix(it.name, "Figure") {
				unnumbered++
			}
			fmt.Fprintf(&rows, "| [%s](%s.md) | %s: %s | %s | %s |\n", strings.ToUpper(p.Name), p.Name, it.name, it.title, stands, strings.TrimSpace(it.lacks+" "+it.data))
		}
	}
	text := fmt.Sprintf(`# Every table and figure of four papers

%d rows: the papers' %d numbered tables and figures, and %d places without a number. %d stand, %d but for data that cannot be had, and %d in part.

*Yes* says that whatever the paper has in a row is there, ours beside it. Where its data cannot be had, data of its size stand in, and the page says so: pictures are made up (ESA). In KDE's Tables 2 to 4 several respondents hold one text: 25,385 texts stand for DBPedia-14's 560,000, 40,000 for AG news' 120,000, and 57,349 for SST-2's 67,348. *Yes* does not say that ours agree: the pages say what comes back. *But for data* says that all is there which the data at hand allow, and what the paper had besides: nobody without its data can do more. *Partly* says what was not measured, and what it would cost. `+"`cd lab && go run ./papers/draw`"+` writes this page.

| paper | row | stands | what is missing, and why |
| --- | --- | --- | --- |
`, all, all-unnumbered, unnumbered, states["yes"], states["but for data"], states["partly"])
	return atomicfile.Replace(filepath.Join(folder, "README.md"), append([]byte(text), rows.Bytes()...), 0o644)
}
