package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Shown is a season as a device has it, for people who look.
type Shown struct {
	Season string       `json:"season"` // "week/12"
	From   time.Time    `json:"from"`   // of the period that was drawn
	Until  time.Time    `json:"until"`
	Kept   []shownValue `json:"kept,omitempty"` // before the answer
	Said   string       `json:"said,omitempty"` // in words, once it is drawn
	Status string       `json:"status"`         // "comes", "counts", "waits", "said", "silent"
}

// shownValue says what a device keeps of a metric, and how it would tell it.
type shownValue struct {
	Metric string `json:"metric"`
	Value  string `json:"value"` // as it would be told without noise
	Told   string `json:"told"`  // in words: by what chance
}

// Showing lists seasons as a device has them, in the order of time.
type Showing []Shown

// String returns the seasons in words.
func (all Showing) String() string {
	if len(all) == 0 {
		return "nothing is kept: nobody has agreed, or no season has begun since\n"
	}
	text := ""
	for _, s := range all {
		text += s.words()
	}
	return text
}

// words returns the season in words, a line for each metric that is kept.
func (s Shown) words() string {
	const day = "2 January 2006"
	var b strings.Builder
	fmt.Fprintf(&b, "season %s, asked of %s to %s\n", s.Season, s.From.Format(day), s.Until.AddDate(0, 0, -1).Format(day))
	names, values := 0, 0
	for _, k := range s.Kept {
		names, values = max(names, utf8.RuneCountInString(k.Metric)), max(values, utf8.RuneCountInString(sanitize.Text(k.Value)))
	}
	for _, k := range s.Kept {
		fmt.Fprintf(&b, "  %-*s  %-*s  %s\n", names, k.Metric, values, sanitize.Text(k.Value), sanitize.Text(k.Told))
	}
	said := map[string]string{
		"comes": "nothing is kept yet", "counts": "nothing is said before its end", "silent": "nothing was said",
		"waits": "the answer waits for its round, or to be sent", "said": "you said: " + s.Said,
	}[s.Status]
	if s.Status == "waits" && s.Said != "" {
		said = "drawn, and to be sent: " + s.Said
	}
	return b.String() + "  " + sanitize.Text(said) + "\n"
}

// Show returns what a store keeps for the seasons of a registry, and what was said of them. It changes nothing, and draws no answer to
// show: a second draw would be a second answer.
func Show(store client.Store, r Registry, now time.Time) (Showing, error) {
	if some, err := kept(store); err != nil || !some {
		return nil, err
	}
	s, err := load(store)
	if err != nil {
		return nil, err
	}
	l, err := client.ReadLedger(store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listed := map[string]Metric{}
	for _, m := range r.Metrics {
		listed[m.Name] = m
	}
	if err := s.fold(store, r, listed); err != nil { // into a copy, which is not kept
		return nil, err
	}
	asks := map[string]Series{} // by the seasons' names; what is over has left the registry, and what was said of it stays
	for _, series := range r.Series {
		for number := series.From; number <= series.Until; number++ {
			asks[id(series, number)] = series
		}
	}
	var all Showing
	for name, one := range s.Seasons {
		key, text, _ := strings.Cut(name, "/")
		number, err := strconv.Atoi(text[strings.LastIndex(text, "/")+1:])
		if err != nil || !slices.Contains(periods, key) {
			continue
		}
		shown := Shown{Season: name}
		shown.From, shown.Until = asked(key, number, one.Round)
		series, has := asks[name]
		at := slices.IndexFunc(l.Entries, func(e client.Entry) bool { return e.Study == one.Study })
		switch {
		case at >= 0 && l.Entries[at].Waiting():
			shown.Status, shown.Said = "waits", l.Entries[at].Said
		case at >= 0:
			shown.Status, shown.Said = "said", l.Entries[at].Said
		case one.Over || !has || one.Study != series.study(number) || !now.Before(Times(key, number).Closes):
			shown.Status = "silent"
		case now.Before(shown.From):
			shown.Status = "comes"
		default:
			if shown.Status = "counts"; !now.Before(shown.Until) {
				shown.Status = "waits"
			}
			if shown.Kept, err = s.shown(series, one.Kept, listed, shown.From, shown.Until); err != nil {
				return nil, err
			}
		}
		all = append(all, shown)
	}
	slices.SortFunc(all, func(a, b Shown) int {
		return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Season, b.Season))
	})
	return all, nil
}

// shown returns what is kept of each metric of a series, with its law.
func (s *state) shown(series Series, kept map[string]value, listed map[string]Metric, from, until time.Time) (all []shownValue, err error) {
	told, err := laws(series.Study.Plan, len(series.Metrics))
	if err != nil {
		return nil, err
	}
	for i, m := range series.Metrics {
		all = append(all, shownValue{m.Name, words(s.says(m, series, kept, listed, from, until), m), told[i]})
	}
	return all, nil
}

// words returns a value as people read it.
func words(said any, m Metric) string {
	switch v := said.(type) {
	case []string:
		if len(v) == 0 {
			return "none of them"
		}
		return strings.Join(v, ", ")
	case string:
		if m.Kind == "string" && len(v) > m.Longest {
			return "no text"
		}
		return v
	}
	return ""
}

// chancy is a question that says in words how it tells what a device holds.
type chancy interface{ Chance(attribute int) string }

// laws returns in words how a plan tells the value of each of its attributes, of which there are so many.
func laws(p plan.Plan, attributes int) ([]string, error) {
	proto, err := protocol.New(p)
	if err != nil {
		return nil, err
	}
	all := make([]string, attributes)
	for i := range all {
		if q, has := proto.Question.(chancy); has {
			all[i] = q.Chance(i)
		}
		if all[i] == "" {
			c, _, err := client.Forecast(p, nil)
			if err != nil {
				return nil, err
			}
			all[i] = fmt.Sprintf("with noise: whoever reads it learns no more than epsilon %.3g allows, though everyone colludes", c.Local)
		}
		if attributes > 1 {
			all[i] = fmt.Sprintf("one of %d metrics is drawn; if this one, then %s", attributes, all[i])
		}
	}
	return all, nil
}
