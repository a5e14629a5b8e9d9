package analyzerd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/plan"
)

// shownRounds is how many of a study's rounds the operator's page has, the newest ones.
const shownRounds = 20

// ofStudies shows how far each study has come and what each of its newest rounds taught.
func (s *Service) ofStudies(ctx context.Context, plans []rows.Plan, st *serve.Status) error {
	rounds := map[string]map[int]rows.Plan{}
	for _, p := range plans {
		o, err := s.outline(ctx, p.Name)
		if err != nil || o.round.Study == "" {
			continue
		}
		if rounds[o.round.Study] == nil {
			rounds[o.round.Study] = map[int]rows.Plan{}
		}
		rounds[o.round.Study][o.round.Number] = p
	}
	for _, name := range slices.Sorted(maps.Keys(rounds)) {
		of := rounds[name]
		numbers := slices.Sorted(maps.Keys(of))
		last := of[numbers[len(numbers)-1]]
		study, _, err := s.study(ctx, last.Name)
		if err != nil {
			return err
		}
		decided := 0
		for _, p := range of {
			if !p.Decided.IsZero() {
				decided++
			}
		}
		all := study.Study.Rounds
		st.Gauges = append(st.Gauges, serve.Gauge{
			Name: "study " + plan.Short(name), Share: float64(decided) / float64(max(1, all)),
			Text: fmt.Sprintf("%d of at most %s over; the newest is number %d", decided, serve.Count(all, "round", "rounds"), numbers[len(numbers)-1]),
			Data: studyData{name, decided, all},
		})
		t := serve.Table{Title: "Study " + plan.Short(name) + ", its newest rounds", Columns: []string{"round", "plan", "status", "what it gave"}}
		for _, n := range numbers[max(0, len(numbers)-shownRounds):] {
			d := s.describe(ctx, of[n])
			gave, err := s.headline(ctx, d)
			if err != nil {
				return err
			}
			t.Rows = append(t.Rows, []string{strconv.Itoa(n), plan.Short(d.Plan), string(d.Status), gave})
		}
		st.Tables = append(st.Tables, t)
	}
	return nil
}

// studyData is a study's gauge, for programs.
type studyData struct {
	Study  string `json:"study"`
	Over   int    `json:"rounds_over"`
	Rounds int    `json:"rounds"`
}

// headline returns a release's answer in a few numbers. Releases do not change: each is read once.
func (s *Service) headline(ctx context.Context, d Plan) (string, error) {
	if d.Status != Released {
		return "", nil
	}
	s.mu.Lock()
	gave, known := s.gave[d.Plan]
	s.mu.Unlock()
	if known {
		return gave, nil
	}
	body, _, err := s.o.Store.Release(ctx, d.Plan, formatJSON)
	if err != nil {
		return "", err
	}
	var r struct {
		Headline []struct {
			Name  string  `json:"name"`
			Value float64 `json:"value"`
		} `json:"headline"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return "", fmt.Errorf("release of plan %s: %w", plan.Short(d.Plan), err)
	}
	var all []string
	for _, m := range r.Headline {
		all = append(all, fmt.Sprintf("%s %.4g", strings.ReplaceAll(m.Name, "_", " "), m.Value))
	}
	gave = strings.Join(all, "; ")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gave[d.Plan] = gave
	return gave, nil
}
