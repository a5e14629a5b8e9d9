package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// numbered are the tables and figures of the four papers.
func numbered() map[string][]string {
	roman := []string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV"}
	all := map[string][]string{"esa": {"Figure 1", "Figure 2"}, "ldc": {"Table 1", "Figure 1", "Figure 2"}}
	for _, n := range roman {
		all["esa"] = append(all["esa"], "Table "+n)
	}
	for n := range 8 {
		all["kde"] = append(all["kde"], fmt.Sprintf("Table %d", n+1), fmt.Sprintf("Figure %d", n+1))
	}
	for n := range 7 {
		all["ltn"] = append(all["ltn"], fmt.Sprintf("Figure %d", n+1))
	}
	for n := range 4 {
		all["ltn"] = append(all["ltn"], fmt.Sprintf("Table %d", n+1))
	}
	return all
}

// unlisted names tables and figures without a row of their own that says yes, or what is not there and why.
func unlisted(list string) (missing []string) {
	for name, items := range numbered() {
		for _, it := range items {
			row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| \[%s\]\(%s\.md\) \| %s: .+ \| (yes \|  \||(but for data|partly) \| .{40,} \|)$`, strings.ToUpper(name), name, it))
			if len(row.FindAllString(list, -1)) != 1 {
				missing = append(missing, name+", "+it)
			}
		}
	}
	return missing
}

// The list has each of the papers' 46 tables and figures once; a row that goes, and one that is there in part without a reason, are found.
func TestEveryTableAndFigureIsListed(t *testing.T) {
	list := read(t, "results/README.md")
	if missing := unlisted(list); len(missing) > 0 {
		t.Errorf("results/README.md has no row of %s, or two", strings.Join(missing, "; "))
	}
	all := 0
	for _, items := range numbered() {
		all += len(items)
	}
	if !strings.Contains(list, fmt.Sprintf("the papers' %d numbered tables and figures", all)) || !strings.Contains(read(t, "results.md"), "(results/README.md)") {
		t.Errorf("results/README.md does not count %d, or results.md does not lead there", all)
	}
	planted := strings.Replace(list, "| [KDE](kde.md) | Table 2: ", "| [KDE](kde.md) | Table 9: ", 1)
	planted = regexp.MustCompile(`(LTN.*Table 4: .* \| but for data \|) .+ \|`).ReplaceAllString(planted, "$1  |")
	if missing := unlisted(planted); len(missing) != 2 {
		t.Errorf("two planted faults, and found are %v", missing)
	}
}

// Every numbered table and figure of the papers has its place, with numbers or a sentence; and what the pages show is there.
func TestEveryTableAndFigureOfThePapersIsThere(t *testing.T) {
	shown := map[string]bool{}
	results := read(t, "results.md")
	told := results + read(t, "results-kde.md") + read(t, "results-esa.md")
	for name, items := range numbered() {
		page := filepath.Join("results", name+".md")
		text := read(t, page)
		if !strings.Contains(results, "results/"+name+".md") {
			t.Errorf("results.md does not lead to %s", page)
		}
		for _, it := range items {
			_, body, found := strings.Cut(text, "\n## "+it+": ")
			body, _, _ = strings.Cut(body, "\n## ")
			_, body, _ = strings.Cut(body, "\n")
			if body = strings.TrimSpace(body); !found || len(body) < 30 || strings.Contains(body, "Not measured yet") {
				t.Errorf("%s has no %s, or nothing below it: %q", page, it, body)
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([\w-]+\.(?:svg|pdf|png))\)`).FindAllStringSubmatch(text, -1) {
			shown[link[1]] = true
			if _, err := os.Stat(filepath.Join("results", link[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	for _, link := range regexp.MustCompile(`\]\(results/([\w-]+\.(?:svg|pdf|png))\)`).FindAllStringSubmatch(told, -1) {
		shown[link[1]] = true
	}
	for _, figure := range []string{"figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "figure8"} {
		for _, set := range []string{"agnews-lsa256", "dbpedia14", "sst2-glue"} { // the paper's texts
			if found, err := filepath.Glob("results/kde-" + figure + "-" + set + "*.svg"); err != nil || len(found) == 0 {
				t.Errorf("KDE's %s is not drawn on %s (%v)", figure, set, err)
			}
		}
	}
	files, err := filepath.Glob("results/*.[sp][vdn][gf]")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if !shown[filepath.Base(f)] {
			t.Errorf("no page shows %s: remove it", f)
		}
	}
}
