package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// trends are what a study's page shows of its metrics. Few are drawn, or those that were asked for; of many it lists what
// is sure of each.
type trends struct {
	Drawn         template.HTML
	Offered       []trend.Trend // of which none is drawn
	Names         []string
	First, Second string   // that are drawn, where they were asked for
	Notes         []string // as they were asked for
	Apart         []string // why rounds have no tables
	Shield        template.HTML
}

// Bounds of what is drawn of a study without being asked for, and of what is marked in it.
const (
	maxDrawn = 3
	maxNotes = 20
)

// trended is what a trend needs of a round, which never changes.
type trended struct {
	trend.Round
	apart string
}

// maxNumbers is how many numbers of rounds are held at once: a year of days of fifty metrics has a third.
const maxNumbers = 300_000

// mostSeasons is how many studies are put after each other: more than a year has.
const mostSeasons = 16

// seasons returns the rounds of a study, and before or after them those of the others that its publisher and coordinator
// ask under the same title. Where these are no seasons, it returns its own alone and says why.
func (a *reader) seasons(ctx context.Context, study string) (rounds []trend.Round, signed []plan.Signed, apart []string, err error) {
	list, err := a.list(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	of := map[string][]analyzerd.Plan{}
	for _, p := range list {
		of[p.Study] = append(of[p.Study], p)
	}
	own := of[study]
	if len(own) == 0 || study == "" {
		return nil, nil, nil, errNoPage
	}
	asked, _, err := a.signed(ctx, own[0].Plan)
	if err != nil {
		return nil, nil, nil, err
	}
	names := []string{study}
	signed = []plan.Signed{asked}
	for _, p := range list { // the newest first
		if p.Study == "" || slices.Contains(names, p.Study) || p.Title != own[0].Title || len(names) == mostSeasons {
			continue
		}
		other, _, err := a.signed(ctx, p.Plan)
		if err != nil {
			return nil, nil, nil, err
		}
		if s := other.Study; s != nil && asked.Study != nil && s.Coordinator == asked.Study.Coordinator && slices.Equal(other.Signers(), asked.Signers()) {
			names, signed = append(names, p.Study), append(signed, other)
		}
	}
	var seasons [][]trend.Round
	for _, name := range names {
		slices.SortFunc(of[name], func(a, b analyzerd.Plan) int { return cmp.Compare(a.Round, b.Round) })
		season, why, err := a.followed(ctx, of[name])
		if err != nil {
			return nil, nil, nil, err
		}
		for _, w := range why {
			if !slices.Contains(apart, w) {
				apart = append(apart, w)
			}
		}
		seasons = append(seasons, season)
	}
	if rounds, err = trend.Join(seasons); err != nil {
		return seasons[0], signed[:1], append(apart, "This study is drawn alone: "+err.Error()+"."), nil
	}
	return rounds, signed, apart, nil
}

// trends draws the metrics of a study, over all its seasons, with what its newest round promises.
func (a *reader) trends(ctx context.Context, study string, newest *asked, ask url.Values) (*trends, error) {
	rounds, signed, apart, err := a.seasons(ctx, study)
	if err != nil {
		return nil, err
	}
	v := &trends{Apart: apart}
	kept, err := newest.words.Keep(signed, newest.signed.Plan.Times.Closes)
	if err != nil {
		return nil, err
	}
	if v.Shield, err = trend.Protected(trend.Shield(kept)); err != nil {
		return nil, err
	}
	var crowds map[string][]string
	v.Names, crowds = trend.Metrics(rounds)
	notes, err := v.note(ask["note"])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range ask["metric"] {
		i := slices.IndexFunc(v.Names, func(n string) bool { return shownAs(n, name) })
		if i >= 0 && !slices.Contains(names, v.Names[i]) && len(names) < 2 {
			names = append(names, v.Names[i])
		}
	}
	for i, to := range []*string{&v.First, &v.Second} {
		if i < len(names) {
			*to = names[i]
		}
	}
	if len(names) == 0 && len(v.Names) > maxDrawn {
		v.Offered = follow(rounds, v.Names, crowds, nil)
		return v, nil
	}
	if len(names) == 0 {
		names = v.Names
	}
	v.Drawn, err = trend.Body(follow(rounds, names, crowds, notes))
	return v, err
}

// note reads what happened on which day.
func (v *trends) note(texts []string) (all []trend.Note, err error) {
	for _, text := range texts {
		if text == "" {
			continue
		}
		n, err := trend.ParseNote(text)
		if err != nil || len(all) == maxNotes {
			return nil, &pageError{http.StatusBadRequest, "This day cannot be marked.", fmt.Sprintf("Write a day and what happened, as 2026-12-07=version 5.0; at most %d.", maxNotes)}
		}
		v.Notes, all = append(v.Notes, text), append(all, n)
	}
	return all, nil
}

// follow returns the trends of metrics, each in all its crowds.
func follow(rounds []trend.Round, names []string, crowds map[string][]string, notes []trend.Note) (all []trend.Trend) {
	for _, name := range names {
		for _, crowd := range crowds[name] {
			if t, ok := trend.Follow(rounds, name, crowd, notes); ok {
				all = append(all, t)
			}
		}
	}
	return all
}

// atOnce is how many rounds are read at once: while one is asked for, others are put together.
const atOnce = 8

// followed reads the rounds of a study that are decided.
func (a *reader) followed(ctx context.Context, all []analyzerd.Plan) (rounds []trend.Round, apart []string, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	read, places := make([]*trended, len(all)), make(chan struct{}, atOnce)
	var reading sync.WaitGroup
	for i, p := range all {
		if p.Status == analyzerd.Released && p.Withdrawal == nil {
			places <- struct{}{}
			reading.Go(func() {
				defer func() { <-places }()
				if ctx.Err() != nil {
					return
				}
				var err error
				if read[i], err = a.round(ctx, p.Plan); err != nil {
					stop(err)
				}
			})
		}
	}
	reading.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	for i, p := range all {
		one := trend.Round{Number: p.Round, Missing: p.Missing()}
		one.Times.Closes = p.Closes
		if read[i] != nil {
			if one = read[i].Round; read[i].apart != "" && !slices.Contains(apart, read[i].apart) {
				apart = append(apart, read[i].apart)
			}
		} else if one.Missing == "" {
			continue // it is not decided yet
		}
		rounds = append(rounds, one)
	}
	if rounds, err = trend.Filled(rounds); err != nil {
		return nil, nil, fmt.Errorf("the analyzer's list: %w", err)
	}
	return rounds, apart, nil
}

// round reads what a trend needs of a released round: no promise is computed, since none is shown.
func (a *reader) round(ctx context.Context, name string) (*trended, error) {
	a.mu.Lock()
	one := a.rounds[name]
	a.mu.Unlock()
	if one != nil {
		return one, nil
	}
	signed, _, err := a.signed(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := a.file(ctx, name, "json")
	if err != nil {
		return nil, err
	}
	r, err := release.Head(text, trend.Detailed(signed.Plan))
	if err == nil && r.Plan != name {
		err = errors.New("the analyzer gives the release of another plan than was asked for")
	}
	if err != nil {
		return nil, err
	}
	out := &released{Release: r}
	if len(results.Offered(signed.Plan.Question)) > 0 {
		if err := out.read(ctx, a, signed.Plan); err != nil {
			return nil, err
		}
	}
	one = &trended{apart: out.apart}
	if one.Round, err = trend.Read(signed.Plan, r, out.counts); err != nil {
		one.apart = "Values cannot be put together here: " + err.Error()
	}
	if one.apart != "" {
		one.Missing = "its numbers could not be put together"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	numbers := one.Numbers()
	for other, r := range a.rounds { // in no order of anybody's
		if numbers += r.Numbers(); numbers > maxNumbers {
			numbers -= r.Numbers()
			delete(a.rounds, other)
		}
	}
	if a.rounds == nil {
		a.rounds = map[string]*trended{}
	}
	a.rounds[name] = one
	return one, nil
}

// trendFile writes what programs read of a study: all numbers of all metrics, or the newest.
func (c *Console) trendFile(w http.ResponseWriter, r *http.Request) error {
	types := map[string]string{"trends.csv": "text/csv; charset=utf-8", "prometheus": "text/plain; version=0.0.4; charset=utf-8"}
	if types[r.PathValue("file")] == "" {
		return errNoPage
	}
	rounds, _, _, err := c.analyzer.seasons(r.Context(), r.PathValue("study"))
	if err != nil {
		return err
	}
	names, crowds := trend.Metrics(rounds)
	followed := follow(rounds, names, crowds, nil)
	var text bytes.Buffer
	if r.PathValue("file") == "prometheus" {
		err = trend.WritePrometheus(&text, r.PathValue("study"), followed)
	} else {
		err = trend.WriteCSV(&text, followed)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", types[r.PathValue("file")])
	_, err = io.Copy(w, &text)
	return err
}
