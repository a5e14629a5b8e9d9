package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/release"
)

// sayAnswer says in words what is sure: its first sentence, and what else.
func sayAnswer(r release.Release) (first, more string) {
	if r.Answer != "" {
		first, more, _ = strings.Cut(r.Answer, "\n")
		return first, more
	}
	if r.Untested {
		defer func() { more = strings.TrimSpace(more + " " + untested) }()
	}
	if three := beside(r); three != nil {
		var all []string
		for _, one := range three.Rows {
			if one.Name == "With privacy" {
				first = one.Range
				if first == "" {
					first = one.Value
				}
				first += " right with privacy."
				continue
			}
			name := one.Name
			if name == without {
				name = "without privacy"
			}
			all = append(all, name+" "+one.Value)
		}
		if len(all) > 0 {
			more = strings.Join(all, ", ") + "."
		}
		return first, more
	}
	f, between := leading(r), ranges(r)
	if !ranged(f) {
		var all []string
		for _, m := range r.Headline[:min(2, len(r.Headline))] {
			all = append(all, m.Title+": "+m.String())
		}
		if len(between) > 0 {
			all = between
		}
		if len(all) == 0 {
			return "", ""
		}
		return strings.Join(all, "; ") + ".", ""
	}
	if len(between) > 0 { // of columns that have no picture
		defer func() { more = strings.TrimSpace(more + " " + strings.Join(between, "; ") + ".") }()
	}
	var ranging []release.Section
	for _, s := range r.Sections {
		if len(s.Figures) > 0 && ranged(&s.Figures[0]) {
			ranging = append(ranging, s)
		}
	}
	first, more = ranks(f.Categories, f.Series[0])
	if n := metric(r.Headline, "respondents"); n != nil && n.Value > 0 && len(r.Crowds) < 2 {
		of := " of "
		if strings.HasPrefix(first, tooClose) {
			of = ", among "
		}
		first = strings.TrimSuffix(first, ".") + of + number(n.Value) + " people."
	}
	if len(ranging) < 2 {
		return first, more
	}
	first, more = titled(ranging[0], first), ""
	for _, s := range ranging[1:min(mostAnswers, len(ranging))] {
		one, _ := ranks(s.Figures[0].Categories, s.Figures[0].Series[0])
		more += titled(s, one) + " "
	}
	if n := len(ranging) - mostAnswers; n > 0 {
		more += fmt.Sprintf("And %d more below.", n)
	}
	return first, strings.TrimSpace(more)
}

// ranges says between what the means of one holder's columns lie, which no picture has.
func ranges(r release.Release) (all []string) {
	for _, m := range r.Headline {
		if r.Source == release.OwnTable && m.Level > 0 && m.Key == "" {
			low, high := m, m
			low.Value, high.Value = m.Low, m.High
			all = append(all, m.Title+": "+low.String()+" to "+high.String())
		}
	}
	return all
}

// heading returns the title, with a capital where it begins with the name of a column.
func heading(r release.Release) string {
	if r.Source == release.OwnTable || r.Source == release.Simulation {
		return upper(r.Title)
	}
	return r.Title
}

// grid returns the shaded table that a release without pictures opens with; nil where it has none.
func grid(r release.Release) *release.Table {
	if leading(r) != nil || beside(r) != nil || len(r.Sections) == 0 || len(r.Sections[0].Tables) == 0 || !r.Sections[0].Tables[0].Heat {
		return nil
	}
	return &r.Sections[0].Tables[0]
}

// untested stands where a learner would open with three bars.
const untested = "How often it is right, by chance, with privacy and without, is not known: no public test records were given."

// mostAnswers bounds of how many questions, or crowds, an answer speaks.
const mostAnswers = 3

// titled puts the title of a section before what is said of it.
func titled(s release.Section, said string) string { return upper(s.Title) + ": " + said }

// upper returns a text with a capital letter first.
func upper(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// tooClose begins an answer that nobody can give.
const tooClose = "Too close to tell"

var ordinals = []string{"first", "second", "third"}

// ranks says which values surely come first, second and third, and which are too close to tell.
func ranks(names []string, s release.Series) (first, more string) {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Y[b], s.Y[a]) })
	// tied are the values from a place on that may stand there.
	tied := func(place int) []string {
		var all []string
		for _, i := range order[place:] {
			if s.High[i] >= s.Low[order[place]] {
				all = append(all, "“"+names[i]+"”")
			}
		}
		return all
	}
	tie := func(all []string) string {
		if len(all) > 4 {
			return fmt.Sprintf("any of %d", len(all))
		}
		return strings.Join(all, " or ")
	}
	i := order[0]
	if all := tied(0); len(all) > 1 {
		return tooClose + " what comes first: " + tie(all) + ".", ""
	}
	first = fmt.Sprintf("“%s” comes first: %s to %s.", names[i], number(max(0, s.Low[i])), number(max(0, s.High[i])))
	var sure []string
	for place := 1; place < min(len(order), len(ordinals)); place++ {
		all := tied(place)
		if len(all) > 1 {
			if len(sure) > 0 {
				more = strings.Join(sure, ", ") + ". "
			}
			return first, more + "Then " + tie(all) + ": too close to tell."
		}
		sure = append(sure, all[0]+" is "+ordinals[place])
	}
	if len(sure) > 0 {
		more = strings.Join(sure, ", ") + "."
	}
	return first, more
}

// Answer says in words what is sure, in one or two sentences.
func Answer(r release.Release) string {
	first, more := sayAnswer(r)
	return strings.TrimSpace(first + " " + more)
}

// answer returns sayAnswer for the page.
func answer(r release.Release) template.HTML {
	first, more := sayAnswer(r)
	out := "<strong>" + template.HTMLEscapeString(first) + "</strong>"
	if more != "" {
		out += " " + template.HTMLEscapeString(more)
	}
	return template.HTML(out)
}

// people says how many answered, "" where that is not known or not for everybody.
func people(r release.Release) string {
	if n := metric(r.Headline, "respondents"); n != nil && n.Value > 0 {
		if r.Source == release.OwnTable || r.Source == release.Simulation && !r.Full {
			return number(n.Value) + " people"
		}
		return number(n.Value) + " people answered"
	}
	return ""
}
