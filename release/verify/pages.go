package verify

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/release/pagemarks"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/release"
)

// A page is checked for what no page of a release has, whatever program drew it: a script, a handler, an
// address outside. What a browser forgives is not forgiven here, so that nothing is read otherwise than a
// browser reads it: elements and attributes are those of a list, and attributes stand in double quotes.

var (
	elements = strings.Fields("html head meta title style body main header section article div p span h1 h2 h3 ul ol li dl dt dd " +
		"table thead tbody tr th td time strong em code pre a abbr figure figcaption svg g path rect line circle polyline polygon text tspan title desc defs clippath use image br details summary footer")
	// attributes are those of these elements; none of them has an address, but for a place in the page.
	attributes = strings.Fields("lang charset name content class id datetime tabindex role scope style aria-hidden aria-label aria-labelledby " +
		"viewbox preserveaspectratio x y x1 y1 x2 y2 cx cy r rx ry d points width height fill fill-opacity stroke stroke-width stroke-dasharray transform font-size text-anchor clip-path colspan rowspan dx dy start")
	// picture is what an image has for an address: itself.
	picture   = regexp.MustCompile(`^data:image/png;base64,[A-Za-z0-9+/]+=*$`)
	attribute = regexp.MustCompile(`^\s+([A-Za-z][A-Za-z0-9-]*)(?:="([^"]*)")?`)
	tag       = regexp.MustCompile(`^</?([A-Za-z][A-Za-z0-9]*)`)
	// outside matches what in a style could ask somebody else for something, or hide that it does.
	outside = regexp.MustCompile(`(?i)url\s*\(|@import|expression\s*\(|src\s*\(|image-set|\\|/\*`)
)

// inert reports what a page has that no page of a release has.
func inert(page []byte) error {
	text := string(page)
	if rest, begins := strings.CutPrefix(text, "<!doctype html>"); begins {
		text = rest
	} else {
		return errors.New("it does not begin as a page of a release does")
	}
	for text != "" {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			return nil
		}
		text = text[at:]
		if strings.HasPrefix(text, pagemarks.PageBegins) {
			end := strings.Index(text, pagemarks.PageBegan)
			if end < 0 || strings.Contains(text[4:end], "--") || strings.Contains(text[4:end], ">") {
				return errors.New("it has a comment that does not end")
			}
			text = text[end+len(pagemarks.PageBegan):]
			continue
		}
		m := tag.FindStringSubmatch(text)
		if m == nil {
			return errors.New("it has something between tags that is none")
		}
		name := strings.ToLower(m[1])
		if !slices.Contains(elements, name) {
			return fmt.Errorf("it has an element <%s>, which no page of a release has", name)
		}
		rest, err := attributesOf(text[len(m[0]):], name)
		if err != nil {
			return err
		}
		text = rest
		if name == "style" && m[0][1] != '/' {
			end := strings.Index(text, "</style>")
			if end < 0 || strings.Contains(text[:end], "<") || outside.MatchString(uncommented(text[:end])) {
				return errors.New("its style asks for something outside of the page")
			}
			text = text[end:]
		}
	}
	return nil
}

// uncommented leaves the comments of a style out.
func uncommented(style string) string {
	return regexp.MustCompile(`/\*[^*]*\*/`).ReplaceAllString(style, "")
}

// attributesOf reads the attributes of a tag to its end.
func attributesOf(text, element string) (rest string, err error) {
	for {
		m := attribute.FindStringSubmatch(text)
		if m == nil {
			break
		}
		name, value := strings.ToLower(m[1]), m[2]
		inside := (name == "href" || name == "xlink:href") && strings.HasPrefix(value, "#") || element == "image" && name == "href" && picture.MatchString(value)
		if !inside && !slices.Contains(attributes, name) {
			return "", fmt.Errorf("<%s> has an attribute %s, which no page of a release has", element, name)
		}
		if strings.ContainsAny(value, "<>") || name == "style" && outside.MatchString(value) || name != "content" && strings.Contains(value, "url(") && !strings.HasPrefix(value, "url(#") {
			return "", fmt.Errorf("the attribute %s of <%s> asks for something outside of the page", name, element)
		}
		text = text[len(m[0]):]
	}
	text = strings.TrimLeft(text, " \t\r\n")
	if rest, closed := strings.CutPrefix(text, "/>"); closed {
		return rest, nil
	}
	if rest, closed := strings.CutPrefix(text, ">"); closed {
		return rest, nil
	}
	return "", fmt.Errorf("<%s> is not written as a page of a release is", element)
}

// pageOf are the pages of a release, and what each is drawn from.
var pageOf = map[string]string{release.PageFile: release.JSONFile, studyPage: studyFile}

// page looks at a page whatever program drew it, and compares it with the one that this program draws.
func (c *checks) page(name string) {
	page, json := c.Files[name], c.Files[pageOf[name]]
	if page == nil || json == nil {
		return // which files is it that says so
	}
	err := inert(page)
	if digest := fmt.Sprintf(`<meta name="%s" content="%s">`, pagemarks.DigestName, relay.FileDigest(json)); err == nil && c.signed.Plan.Version >= 3 && bytes.Count(page, []byte(digest)) != 1 {
		err = fmt.Errorf("it is the page of another %s: the digest in it is not that of this one", pageOf[name])
	}
	if !c.found("page "+name, err, "no script, no handler, no address outside, and drawn from this %s", pageOf[name]) {
		return
	}
	line, _, _ := bytes.Cut(page, []byte("\n"))
	_, by, named := strings.Cut(string(line), pagemarks.PageBegins)
	by = strings.TrimSuffix(by, pagemarks.PageBegan)
	switch {
	case c.Draw == nil:
		c.left("page "+name+" again", "that the program which it names draws this page: it is drawn again where that is asked for (--page)")
	case !named || by != c.Version:
		c.left("page "+name+" again", fmt.Sprintf("not compared: made by %q, and this is %q: --page writes the page that this program makes of what holds", by, c.Version))
	default:
		again, err := c.Draw(c.signed, json, c.Files[release.AuditFile])
		if err == nil && !bytes.Equal(page, again) {
			err = errors.New("the program that it names draws another page of this release")
		}
		c.found("page "+name+" again", err, "byte for byte what %s draws", c.Version)
	}
}
