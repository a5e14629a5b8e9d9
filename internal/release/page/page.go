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
	"html/template"
	"image/color"
	"io"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/belief"
	"github.com/confetti-dp/confetti/internal/release/pagemarks"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/release"
)

//go:embed release.html
var releaseHTML string

//go:embed page.css
var pageCSS string

// CardsCSS styles what Cards draws; it takes the page's own ground, card, ink, soft, line and faint.
//
//go:embed cards.css
var CardsCSS string

var releasePage = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":       func() template.CSS { return template.CSS(pageCSS + CardsCSS) },
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
	"people":      people,
	"cards":       belief.Cards,
	"day":         func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"upper":       func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
	"blocks":      func(n int) []bool { return []bool{n > 0, n > 1, n > 2} },
	"lower":       strings.ToLower,
	"share":       func(x float64) string { return fmt.Sprintf("%.2f%%", 100*x) },
	"lead":        lead,
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

// madeBy begins a page: with the name and version of the program that has drawn it.
func madeBy(software string) string {
	return pagemarks.PageBegins + strings.NewReplacer("-", "‐", "<", "", ">", "", "&", "").Replace(software) + pagemarks.PageBegan
}

// WriteOf does what WriteHTML does, for a release whose JSON is there: the page has the digest
// of that, and names the software that draws it. It depends on nothing else.
func WriteOf(w io.Writer, r release.Release, json []byte, software string) error {
	if err := r.Validate(); err != nil {
		return err
	}
	digest := sha256.Sum256(json)
	var b bytes.Buffer // the template writes in small pieces, and half a page is worse than none
	if err := releasePage.Execute(&b, struct {
		release.Release
		Software, Digest string
	}{r, software, hex.EncodeToString(digest[:])}); err != nil {
		return fmt.Errorf("writing the release as a page: %w", err)
	}
	_, err := io.WriteString(w, sanitize.Page(b.String()))
	return err
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

// heat returns the share of a cell in its row, which the style sheet turns into a shade.
func heat(row []release.Cell, c release.Cell) template.CSS {
	sum := 0.0
	for _, other := range row {
		if other.Value != nil {
			sum += *other.Value
		}
	}
	if sum == 0 || math.IsInf(sum, 1) {
		sum = math.MaxFloat64
	}
	return template.CSS(fmt.Sprintf("--share:%.3f", *c.Value/sum))
}

// width returns the bar of an item, beside the longest of its list.
func width(l release.List, it release.Item) template.CSS {
	longest := 0.0
	for _, other := range l.Items {
		longest = max(longest, other.Score)
	}
	if longest == 0 {
		return "width:0"
	}
	return template.CSS(fmt.Sprintf("width:%.1f%%", 100*max(0, it.Score/longest)))
}

type entry struct {
	Label  string
	Swatch template.HTML
}

// legend names the series of a figure that has several, or the shades of a grid.
func legend(f release.Figure) []entry {
	var es []entry
	if f.Grid != nil {
		for _, s := range steps(*f.Grid) {
			mark := fmt.Sprintf(`<svg viewBox="0 0 26 12" aria-hidden="true"><rect width="26" height="12" fill="#%02x%02x%02x"/></svg>`, s.color.R, s.color.G, s.color.B)
			es = append(es, entry{s.label, template.HTML(mark)})
		}
		return es
	}
	if len(f.Series) < 2 && !known(f) {
		return nil
	}
	for i, s := range f.Series {
		paint := fmt.Sprintf("var(--s%d)", i%len(palette))
		mark := fmt.Sprintf(`<rect x="7" width="12" height="12" rx="2" style="fill:%s"/>`, paint)
		if f.Kind == release.Lines {
			dash := []string{"none"}
			if pattern := dashes[i/len(palette)]; pattern != nil {
				dash = nil
				for _, d := range pattern {
					dash = append(dash, fmt.Sprintf("%g", d.Points()))
				}
			}
			mark = fmt.Sprintf(`<line x1="1" y1="6" x2="25" y2="6" style="stroke:%s;stroke-width:3;stroke-dasharray:%s"/>`, paint, strings.Join(dash, " "))
		}
		es = append(es, entry{s.Label, template.HTML(`<svg viewBox="0 0 26 12" aria-hidden="true">` + mark + `</svg>`)})
	}
	if known(f) {
		const mark = `<circle cx="13" cy="6" r="4.5" style="fill:none;stroke:var(--ink);stroke-width:1.6"/>`
		es = append(es, entry{truthLabel, template.HTML(`<svg viewBox="0 0 26 12" aria-hidden="true">` + mark + `</svg>`)})
	}
	return es
}

// themed turns the fixed colours and the font of a drawing into the page's own, so
// that it follows the reader's theme.
var themed = func() *strings.Replacer {
	pairs := []string{"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", ""}
	add := func(c color.RGBA, name string) {
		hex := fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
		pairs = append(pairs, "fill:"+hex, "fill:var("+name+")", "stroke:"+hex, "stroke:var("+name+")")
	}
	add(ink, "--ink")
	add(rule, "--line")
	for i, c := range palette {
		add(c, fmt.Sprintf("--s%d", i))
	}
	return strings.NewReplacer(pairs...)
}()

// inline draws the figure for the page, w by h points, without labels or legend.
func inline(f release.Figure, w, h float64) (template.HTML, error) {
	c := vgsvg.New(vg.Length(w), vg.Length(h))
	if err := drawFigure(draw.Crop(draw.New(c), 0, -8, 0, -6), f, false); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	svg := b.String()
	svg = svg[strings.Index(svg, "<g "):] // the prologue is for a file of its own
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %g" aria-hidden="true">`, w, h) + themed.Replace(svg)), nil
}
