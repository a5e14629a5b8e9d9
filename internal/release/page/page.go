// Package page draws releases: as one self-contained HTML page, as SVG and PNG figures, and as a folder that holds
// all of a release or nothing. Used by internal/service/analyzerd, internal/service/console and
// cmd/confetti/internal, and by no device.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/belief"
	"github.com/confetti-dp/confetti/internal/release/glossary"
	"github.com/confetti-dp/confetti/internal/release/pagemarks"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/release"
)

//go:embed release.html
var releaseHTML string

//go:embed page.css
var pageCSS string

//go:embed cards.css
var cardsCSS string

// CardsCSS styles what Cards and Chart draw, and names the colours of every page.
var CardsCSS = belief.Colours + cardsCSS

// CSS styles what Body draws.
var CSS = CardsCSS + pageCSS

var releasePage = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":       func() template.CSS { return template.CSS(CSS) },
	"madeBy":      func(software string) template.HTML { return template.HTML(madeBy(software)) },
	"digestName":  func() string { return pagemarks.DigestName },
	"machineDate": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"humanDate":   func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"scale":       gauge,
	"heat":        heat,
	"width":       width,
	"unbroken":    func(s string) string { return strings.ReplaceAll(s, "± ", "±\u00a0") },
	"legend":      legend,
	"chart":       chart,
	"answer":      answer,
	"heading":     heading,
	"grid":        grid,
	"people":      people,
	"cards":       belief.Cards,
	"day":         func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"upper":       upper,
	"lower":       strings.ToLower,
	"share":       func(x float64) string { return fmt.Sprintf("%.2f%%", 100*x) },
	"lead":        lead,
	"columns":     columns,
	"wide":        func(f release.Figure) (template.HTML, error) { return inline(f, 680, 320) },
	"narrow":      func(f release.Figure) (template.HTML, error) { return inline(f, 360, 270) },
}).Parse(releaseHTML))

// WriteHTML writes the release as one page that needs nothing else: no script, no
// font, no image from elsewhere. It refuses a release that does not pass Validate.
func WriteHTML(w io.Writer, r release.Release) error {
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil {
		return err
	}
	return WriteOf(w, r, text.Bytes(), r.Provenance.Software)
}

// Cards draws promises, one card for each that differs.
func Cards(all []account.Statement) (template.HTML, error) {
	var b bytes.Buffer
	err := releasePage.ExecuteTemplate(&b, "cards", belief.Cards(all))
	return template.HTML(b.String()), err
}

// Sure says, for the middle of a sentence, how sure an observer can become of something that was given even odds:
// the one of these who can be the surest, "" where none is among the statements.
func Sure(all []account.Statement, observers ...string) string {
	for _, c := range slices.Backward(belief.Cards(all)) {
		if slices.ContainsFunc(observers, func(o string) bool { return slices.Contains(c.Observers, o) }) {
			return strings.ToLower(c.Sure[:1]) + c.Sure[1:]
		}
	}
	return ""
}

// Body draws a release as it stands on the page that WriteHTML writes, for a page of somebody else that has CSS. It has no
// style of its own, and nothing that a policy of content would refuse. It refuses a release that does not pass Validate.
func Body(r release.Release) (template.HTML, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err := releasePage.ExecuteTemplate(&b, "body", r)
	if err == nil {
		err = releasePage.ExecuteTemplate(&b, "words", used(b.String()))
	}
	if err != nil {
		return "", fmt.Errorf("drawing the release: %w", err)
	}
	return template.HTML(b.String()), nil
}

// Lines draws a release's figures of lines, and the grids whose values have ranges, for a page that has CardsCSS and looks
// single values up by itself; nothing of a release that has none.
func Lines(r release.Release) (template.HTML, error) {
	var b bytes.Buffer
	for _, f := range r.Figures() {
		if f.Kind != release.Lines && (f.Grid == nil || len(f.Grid.Within) == 0) {
			continue
		}
		if err := releasePage.ExecuteTemplate(&b, "line", f); err != nil {
			return "", fmt.Errorf("drawing the release: %w", err)
		}
	}
	return template.HTML(b.String()), nil
}

// Chart draws the rows of a release's first picture, for a page that has CardsCSS; nothing of one that is drawn otherwise.
func Chart(r release.Release) (template.HTML, error) {
	drawn := chart(r)
	if drawn == nil {
		return "", nil
	}
	var b bytes.Buffer
	err := releasePage.ExecuteTemplate(&b, "rows", drawn)
	return template.HTML(b.String()), err
}

// madeBy begins a page: with the name and version of the program that has drawn it.
func madeBy(software string) string {
	return pagemarks.PageBegins + strings.NewReplacer("-", "‐", "<", "", ">", "", "&", "").Replace(software) + pagemarks.PageBegan
}

// WriteOf does what WriteHTML does, for a release whose JSON is there: the page has the digest
// of that, and names the software that draws it. It depends on nothing else.
func WriteOf(w io.Writer, r release.Release, json []byte, software string) error {
	body, err := Body(r)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(json)
	var b bytes.Buffer // the template writes in small pieces, and half a page is worse than none
	if err := releasePage.Execute(&b, struct {
		Title, Software, Digest string
		Body                    template.HTML
	}{r.Title, software, hex.EncodeToString(digest[:]), body}); err != nil {
		return fmt.Errorf("writing the release as a page: %w", err)
	}
	_, err = io.WriteString(w, sanitize.Page(b.String()))
	return err
}

// drawn matches what of a page is no text of its own: pictures, commands and marks.
var drawn = regexp.MustCompile(`(?s)<svg.*?</svg>|<pre.*?</pre>|<code.*?</code>|<[^>]*>`)

// used returns the words of the documentation that a page uses, each with its sentence: who got the page by mail has
// nothing else to look them up in.
func used(body string) (all []glossary.Word) {
	text := html.UnescapeString(drawn.ReplaceAllString(body, " "))
	lower := strings.ToLower(text)
	for _, w := range glossary.Words() {
		if uses(text, lower, w.Name) {
			w.Means, _, _ = strings.Cut(w.Means, " Example: ")
			all = append(all, w)
		}
	}
	return all
}

// uses reports whether a text, which is given in small letters too, uses a word. Most words are not there, and where one
// may be, the pattern looks at the words around it alone.
func uses(text, lower, name string) bool {
	const beside = 40 // bytes: what narrows a word's pattern stands right before or behind it
	first, _, _ := strings.Cut(strings.ToLower(name), " ")
	first = strings.TrimSuffix(first, "y") // a study may be there as studies
	if len(lower) != len(text) {           // some letter is longer as a small one: places are others
		return strings.Contains(lower, first) && glossary.Use(name).MatchString(text)
	}
	var use *regexp.Regexp
	for at := strings.Index(lower, first); at >= 0; {
		begin := strings.LastIndexAny(text[:max(0, at-beside)], " \n") + 1
		end := min(len(text), at+len(name)+beside)
		if rest := strings.IndexAny(text[end:], " \n"); rest >= 0 {
			end += rest
		} else {
			end = len(text)
		}
		if use == nil {
			use = glossary.Use(name)
		}
		if use.MatchString(text[begin:end]) {
			return true
		}
		next := strings.Index(lower[at+len(first):], first)
		if next < 0 {
			break
		}
		at += len(first) + next
	}
	return false
}

// lead returns the name of the figure that stands above all else, "" if rows or nothing do.
func lead(r release.Release) string {
	if f := leading(r); f != nil && chart(r) == nil {
		return f.Name
	}
	return ""
}

// gauge draws a share with its interval between 0 and 100%.
func gauge(m release.Metric) template.HTML {
	if m.Unit != release.Share || m.Level == 0 {
		return ""
	}
	percent := func(x float64) float64 { return 100 * min(1, max(0, x)) }
	low, high := percent(m.Low), percent(m.High)
	return template.HTML(fmt.Sprintf(`<svg class="gauge" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">`+
		`<rect class="track" width="100" y="5" height="2"/><rect class="range" x="%.2f" width="%.2f" y="1" height="10"/>`+
		`<rect class="mark" x="%.2f" width="0.7" height="12"/></svg>`, low, high-low, percent(m.Value)-0.35))
}

// shades is how many the cells of a table have.
const shades = 20

// heat returns the class of a cell's shade: its share of the row.
func heat(row []release.Cell, c release.Cell) string {
	sum := 0.0
	for _, other := range row {
		if other.Value != nil {
			sum += *other.Value
		}
	}
	share := 0.0
	if sum > 0 && !math.IsInf(sum, 1) {
		share = min(1, max(0, *c.Value/sum))
	}
	return fmt.Sprintf("h%.0f", shades*share)
}

// width returns that of an item's bar, beside the longest of its list.
func width(l release.List, it release.Item) string {
	longest := 0.0
	for _, other := range l.Items {
		longest = max(longest, other.Score)
	}
	if longest == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f%%", 100*max(0, it.Score/longest))
}

type swatch struct {
	Title  string
	Swatch template.HTML
}

// legend names the series of a figure that has several, or the shades of a grid.
func legend(f release.Figure) (all []swatch) {
	if f.Grid == nil && len(f.Series) < 2 && !known(f) && !gappy(f) {
		return nil
	}
	for _, e := range entries(f) {
		p := picture{shapes: e.swatch(box{0, 0, 26, 12})}
		all = append(all, swatch{e.label, template.HTML(`<svg viewBox="0 0 26 12" aria-hidden="true">` + p.inner(themed) + `</svg>`)})
	}
	return all
}

// themed names the colours of the page, so that a drawing follows the reader's theme.
func themed(c color.NRGBA) string {
	c.A = 0xff
	switch i := slices.Index(palette, c); {
	case i >= 0:
		return fmt.Sprintf("var(--s%d)", i)
	case c == ink:
		return "var(--ink)"
	case c == rule:
		return "var(--line)"
	}
	return rgb(c)
}

// inline draws the figure for the page, w by h points, without labels or legend.
func inline(f release.Figure, w, h float64) (template.HTML, error) {
	p := picture{width: w, height: h}
	if _, err := p.draw(f, box{0, 0, w - 8, h}); err != nil {
		return "", err
	}
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %g" aria-hidden="true">`, w, h) + p.inner(themed) + `</svg>`), nil
}
