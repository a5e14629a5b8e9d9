package page

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/glossary"
	"github.com/confetti-dp/confetti/release"
)

// sample is the golden release of package release.
func sample(t testing.TB) release.Release {
	t.Helper()
	f, err := os.Open("../../../release/testdata/worded.gob")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r release.Release
	if err := gob.NewDecoder(f).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// opened is what is stored of a release in a folder.
func opened(t testing.TB, dir string) release.Release {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := release.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func paged(t testing.TB, r release.Release) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageSaysEverything(t *testing.T) {
	r := sample(t)
	html := paged(t, r)
	wants := []string{r.Title, r.Plan, "Synthetic data.", "84.62%", "95% interval 83.78% to 85.43%", "no meaningful protection", "epsilon 1, delta 1e-6 (replacement)",
		"Confusion matrix", "1,822", "quarterback", "rank 1 to 3", "151 kB", "87.1 ms", "replacement", "9,000", "confetti plan check", "seed 7"}
	wants = slices.Concat(wants, r.Assumptions, r.Withheld, r.Notes, r.Remarks)
	for _, g := range r.Guarantees {
		wants = append(wants, g.Observer, g.Guarantee.Method, g.Guarantee.Source, g.Note)
	}
	for _, s := range r.Sections {
		for _, f := range s.Figures {
			wants = append(wants, f.Title, f.Alt, f.X.Title, f.Y.Title)
		}
	}
	for _, want := range wants {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	r.Full = true
	if html := paged(t, r); !strings.Contains(html, "every message was made, sealed or proved, mixed or added up, and opened") || strings.Contains(html, "No device was asked") {
		t.Error("a simulation of devices is called one without any")
	}
	r.Synthetic, r.Source, r.Full, r.Remarks = false, release.Collection, false, nil
	if html := paged(t, r); strings.Contains(html, "Synthetic data.") || strings.Contains(html, "banner\"") {
		t.Error("data of people are called something else")
	}
	r.Source = release.Trial
	if !strings.Contains(paged(t, r), "One operator holds the keys of all parties") {
		t.Error("a trial is not called one")
	}
}

// The page must open without a network, years from now.
func TestPageIsSelfContained(t *testing.T) {
	html := paged(t, sample(t))
	if found := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|url\(|src=|href=| on[a-z]+=|ZgotmplZ`).FindString(html); found != "" {
		t.Errorf("the page holds %q", found)
	}
	for _, c := range []string{"#1F2328", "#D9DDE2", "#0072B2", "Liberation Sans;"} {
		if strings.Contains(html, c) {
			t.Errorf("a drawing keeps %s and will not follow the reader's theme", c)
		}
	}
}

// Labels come from vocabularies and plans, which others write.
func TestPageEscapes(t *testing.T) {
	const attack = `<script>alert("x")</script>`
	r := sample(t)
	r.Title, r.Guarantees[0].Who, r.Provenance.Command = attack, attack, attack
	r.Sections[1].Lists[0].Items[0].Key = attack
	r.Sections[0].Tables[0].Rows[0][0].Text = attack
	f := &r.Sections[0].Figures[0]
	f.Title, f.Alt, f.Y.Title, f.Categories[1], f.Series[0].Title = attack, attack, attack, attack, attack
	if strings.Contains(paged(t, r), "<script") {
		t.Error("a label became markup")
	}
	r.Title = "\x1b[2J"
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "title holds a control character") {
		t.Errorf("a terminal could be commanded by a title: %v", err)
	}
}

// An answer says what is sure: nothing is first whose range meets another's, and all that may be are named.
func TestTheAnswerSaysWhatIsSure(t *testing.T) {
	for _, c := range []struct {
		low, best, high []float64
		first, more     string
	}{
		{[]float64{442, 261, 192, 109, 87}, []float64{462, 281, 212, 130, 108}, []float64{482, 301, 232, 149, 127}, "“a” comes first: 442 to 482.", "“b” is second, “c” is third."},
		{[]float64{90, 85}, []float64{100, 95}, []float64{110, 105}, "Too close to tell what comes first: “a” or “b”.", ""},
		{[]float64{400, 90, 85}, []float64{410, 100, 95}, []float64{420, 110, 105}, "“a” comes first: 400 to 420.", "Then “b” or “c”: too close to tell."},
		{[]float64{-9, -9, -9, -9, -9}, []float64{1, 1, 1, 1, 1}, []float64{9, 9, 9, 9, 9}, "Too close to tell what comes first: any of 5.", ""},
		{[]float64{450, 250, -60}, []float64{500, 300, 200}, []float64{550, 350, 460}, "Too close to tell what comes first: “a” or “c”.", ""}, // not the second, but one further behind whose range is wider
		{[]float64{-3}, []float64{2}, []float64{7}, "“a” comes first: 0 to 7.", ""},
	} {
		names := []string{"a", "b", "c", "d", "e"}[:len(c.best)]
		first, more := ranks(names, release.Series{Low: c.low, Y: c.best, High: c.high})
		if first != c.first || more != c.more {
			t.Errorf("%v: %q %q, want %q %q", c.best, first, more, c.first, c.more)
		}
	}
}

// Of several crowds the answer says what is sure of each, under its own title, and of no more than three; what is
// drawn of many values are the largest, as they stand.
func TestEachCrowdHasItsAnswer(t *testing.T) {
	section := func(title string, best ...float64) release.Section {
		f := release.Figure{Name: title, Kind: release.Bars, Series: []release.Series{{Y: best}}}
		for i, y := range best {
			f.Categories = append(f.Categories, string(rune('a'+i)))
			f.Series[0].Low, f.Series[0].High = append(f.Series[0].Low, y-5), append(f.Series[0].High, y+5)
		}
		return release.Section{Title: title, Figures: []release.Figure{f}}
	}
	r := release.Release{Sections: []release.Section{{Title: "sizes"}, section("north", 50, 10), section("south", 10, 12), section("east", 3, 90), section("west", 1)}}
	if got := Answer(r); got != "North: “a” comes first: 45 to 55. South: Too close to tell what comes first: “b” or “a”. East: “b” comes first: 85 to 95. And 1 more below." {
		t.Errorf("the answer reads %q", got)
	}
	many := section("north", 9, 1, 8, 2, 7, 3, 6, 4, 50, 60, 70, 80)
	drawn := chart(release.Release{Sections: []release.Section{many}})
	few := section("few", 26, 3)
	few.Figures[0].Series[0].High[0] = 24 // people there are, and noise is beyond it
	if one := chart(release.Release{Sections: []release.Section{few}}).Rows[0]; one.Value != "24" || one.Range != "21 to 24" || one.Mark != one.Sure+one.Perhaps {
		t.Errorf("a guess beyond what can be is drawn as %+v", one)
	}
	var names string
	for _, one := range drawn.Rows {
		names += one.Name
	}
	if names != "acefghijkl" || !strings.HasPrefix(drawn.Note, "The 10 largest") {
		t.Errorf("%s are drawn: %s", names, drawn.Note)
	}
}

// The page of one holder's table begins with a capital, says of all of its ranges that they hold together, and answers with
// the means of columns that have no picture, as ranges; of others a mean by itself answers with its number.
func TestAHoldersPageAnswersForEachColumn(t *testing.T) {
	mean := release.Metric{Name: "average", Title: "Mean of age", Value: 28.71, Low: 28.69, High: 28.75, Level: 0.95, Among: 3}
	drink := release.Section{Title: "drink", Figures: []release.Figure{{Name: "top", Kind: release.Bars, Categories: []string{"tea", "mate"}, Series: []release.Series{{Y: []float64{50, 10}, Low: []float64{45, 5}, High: []float64{55, 15}}}}}, Lists: []release.List{{Level: 0.95, Among: 3}}}
	r := release.Release{Source: release.OwnTable, Words: release.Words{Title: "age, drink of guests"}, Headline: []release.Metric{mean}, Sections: []release.Section{drink}}
	if got := Answer(r); got != "“tea” comes first: 45 to 55. “mate” is second. Mean of age: 28.690 to 28.750." {
		t.Errorf("the answer reads %q", got)
	}
	if note := chart(r).Note; !strings.HasPrefix(note, "All 3 ranges of this page hold together with 95\u00a0% probability.") || heading(r) != "Age, drink of guests" {
		t.Errorf("%s: %s", heading(r), note)
	}
	r.Sections = nil
	if got := Answer(r); got != "Mean of age: 28.690 to 28.750." {
		t.Errorf("the answer of a mean reads %q", got)
	}
	r.Source, r.Title = release.Collection, "iOS?"
	if got := Answer(r); got != "Mean of age: 28.710." || heading(r) != "iOS?" {
		t.Errorf("%s: %q", heading(r), got)
	}
}

// A mailed page says what its words mean, each once and of those that it uses alone: neither of commands nor of pictures.
func TestAPageExplainsItsWords(t *testing.T) {
	html := paged(t, sample(t))
	_, fold, found := strings.Cut(html, `<section class="folds words">`)
	if !found {
		t.Fatal("the page explains no word")
	}
	for _, name := range []string{"epsilon", "delta", "analyzer"} {
		if strings.Count(fold, "<dt>"+name+"</dt>") != 1 {
			t.Errorf("%s is not explained once", name)
		}
	}
	for _, w := range glossary.Words() {
		sentence, _, _ := strings.Cut(w.Means, " Example: ")
		if explained, used := strings.Contains(fold, "<dt>"+w.Name+"</dt>"), glossary.Use(w.Name).MatchString(html); explained && (!used || !strings.Contains(fold, template.HTMLEscapeString(sentence))) {
			t.Errorf("%s is explained wrongly, or stands nowhere", w.Name)
		}
	}
	if got := used("<p>A crowd &amp; <b>ledger of budgets</b></p><code>epsilon</code><svg><title>delta</title></svg>"); fmt.Sprint(got) != "[{budget "+means(t, "budget")+"} {crowd "+means(t, "crowd")+"} {ledger "+means(t, "ledger")+"} {ledger of budgets "+means(t, "ledger of budgets")+"}]" {
		t.Errorf("%v", got)
	}
}

// means returns the sentence of a word.
func means(t *testing.T, name string) string {
	t.Helper()
	for _, w := range glossary.Words() {
		if sentence, example, found := strings.Cut(w.Means, " Example: "); w.Name == name && found && example != "" {
			return sentence
		}
	}
	t.Fatalf("%s has no meaning", name)
	return ""
}

// What has no picture opens with its first table where that is shaded, and has it once.
func TestAShadedTableIsThePicture(t *testing.T) {
	x := 0.25
	shaded := release.Table{Title: "pairs", Heat: true, Columns: []release.Column{{Title: ""}, {Title: "b"}}, Rows: [][]release.Cell{{{Text: "a"}, {Value: &x}}}}
	plain := shaded
	plain.Heat = false
	pictured := release.Section{Figures: []release.Figure{{Name: "f"}}, Tables: []release.Table{shaded}}
	for i, c := range []struct {
		sections []release.Section
		opens    bool
	}{{[]release.Section{{Tables: []release.Table{shaded}}}, true}, {[]release.Section{{Tables: []release.Table{plain}}}, false}, {[]release.Section{pictured}, false}, {nil, false}} {
		if got := grid(release.Release{Sections: c.sections}); (got != nil) != c.opens {
			t.Errorf("%d: %v", i, got)
		}
	}
	var b strings.Builder
	if err := releasePage.ExecuteTemplate(&b, "body", release.Release{Sections: []release.Section{{Title: "how strongly", Tables: []release.Table{shaded}}}, Headline: []release.Metric{{Title: "People", Value: 7}}}); err != nil {
		t.Fatal(err)
	}
	if opened, _, _ := strings.Cut(b.String(), "Who is protected from whom"); strings.Count(b.String(), `<table class="heat">`) != 1 || !strings.Contains(opened, `<table class="heat">`) || strings.Contains(opened, `class="headline"`) || !strings.Contains(b.String(), "In numbers") {
		t.Errorf("%s", b.String())
	}
}

// A learner opens with what chance, privacy and none give; without is not drawn where nobody knows it.
func TestALearnerOpensWithThreeBars(t *testing.T) {
	r := sample(t)
	r.Headline = append(r.Headline, release.Metric{Name: "accuracy_exact", Title: "Best accuracy", Unit: release.Share, Value: 0.92})
	html := paged(t, r)
	for _, want := range []string{`<span class="name">With privacy</span>`, `<span class="name">Without</span>`, "83.8 to 85.4\u00a0% right with privacy.", "without privacy 92.0\u00a0%"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for source, want := range map[release.Source]string{release.Simulation: "was not measured", release.Collection: "is not known: nobody has the records"} {
		r := sample(t)
		r.Synthetic, r.Source, r.Full, r.Remarks = false, source, false, nil
		if html := paged(t, r); strings.Contains(html, `<span class="name">Without</span>`) || !strings.Contains(html, want) {
			t.Errorf("the page of a %s says what a learner would get that nobody has run", source)
		}
	}
}

// Equal guarantees are one card, before anything that folds.
func TestEqualGuaranteesAreDrawnOnce(t *testing.T) {
	r := sample(t)
	r.Guarantees = append(r.Guarantees, r.Guarantees[0])
	if a, b := strings.Count(paged(t, sample(t)), "<article"), strings.Count(paged(t, r), "<article"); a != b || a == 0 {
		t.Errorf("%d cards, and %d with one promise said twice", a, b)
	}
	html := paged(t, r)
	if at, folds := strings.Index(html, `class="cards"`), strings.Index(html, `class="folds"`); at < 0 || folds < at || strings.Index(html, "<h1>") > at {
		t.Error("the page does not say its answer, then who is protected, then the rest")
	}
}

// Each word is found where its pattern matches and nowhere else: written small or large, alone, many of it, and beside what
// makes it a word, or what ends as that does.
func TestEveryWordIsFoundWhereItIsUsed(t *testing.T) {
	for _, w := range glossary.Words() {
		use, found := glossary.Use(w.Name), 0
		for _, before := range []string{"", "a ", "the ", "one ", "public ", "single-use ", "DESIGN's ", "device's ", "bathe ", "unpublic ", "quite a long word before it that is no article of it: bathe ", "x"} {
			for _, name := range []string{w.Name, w.Name + "s", strings.TrimSuffix(w.Name, "y") + "ies", strings.ToUpper(w.Name), strings.ReplaceAll(w.Name, " ", "\n")} {
				said := before + name
				text := "<p>Here is " + said + ", " + said + " of question, and " + said + " hop.</p>"
				is, want := slices.ContainsFunc(used(text), func(u glossary.Word) bool { return u.Name == w.Name }), use.MatchString(text)
				if is != want {
					t.Errorf("%s is found in %q: %t, want %t", w.Name, text, is, want)
				}
				if want {
					found++
				}
			}
		}
		if found == 0 {
			t.Errorf("no text here uses %s", w.Name)
		}
	}
}
