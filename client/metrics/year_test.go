package metrics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/plan"
)

// coordinated is a transport that gives each study's round that is due, as coordinators do that are on time.
type coordinated struct {
	*device
	studies map[string]func() plan.Signed // by name
}

// Do implements client.Transport.
func (c coordinated) Do(ctx context.Context, r client.Request) (client.Response, error) {
	if name, asks := strings.CutPrefix(r.URL, "https://analyzer.test/v1/studies/"); asks {
		return client.Response{Status: http.StatusOK, Body: io.NopCloser(bytes.NewReader(c.studies[name]().Marshal()))}, nil
	}
	return c.device.Do(ctx, r)
}

// fifty are metrics of all periods, of which ten are plans by themselves.
func fifty() (groups [][]Metric) {
	for _, every := range periods {
		var beside []Metric
		for i := range 40 {
			m := append(kinds(), derived()[0], derived()[3])[i%5]
			if m.Kind == "sequence" {
				m.Within = "1d"
			}
			if periods[i%3] == every {
				m.Name, m.Every = fmt.Sprintf("m%d_%s", i, m.Name), every
				beside = append(beside, m)
			}
		}
		groups = append(groups, beside)
	}
	for i := range 10 {
		m := items()
		m.Name, m.Every = fmt.Sprintf("set%d", i), periods[i%3]
		groups = append(groups, []Metric{m})
	}
	return groups
}

// After a year of fifty metrics, used each day, a device has answered each season once, and its folder is small: a ledger that kept the
// values of all periods, or an answer a period, would have more entries.
func TestAYearOfFiftyMetrics(t *testing.T) {
	if testing.Short() {
		t.Skip("answers some 130 plans")
	}
	var all []Series
	d := newDevice(t, nil)
	c := coordinated{d, map[string]func() plan.Signed{}}
	first, seasons, metrics := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 0, 0
	for _, group := range fifty() {
		for i := range group {
			group[i].Ends = "2028-12-31"
		}
		metrics += len(group)
		every := group[0].Every
		s := seriesAt(t, 0.2, 20_000, Next(every, first), Next(every, first.AddDate(1, 0, 0))-1, group...)
		all = append(all, s)
		for season := s.From; season <= s.Until; season++ {
			seasons++
			of := s.Of(season)
			study := plan.SignStudy(of, publisher)
			c.studies[of.Name()] = func() plan.Signed {
				round := 1
				for ; round < Rounds(every); round++ {
					if _, until := asked(every, season, round+1); d.at.Before(until) {
						break
					}
				}
				_, opens := asked(every, season, round)
				_, closes := asked(every, season, round+1)
				signed, err := study.Round(round, "", plan.Times{Opens: opens, Closes: closes}, coordinator)
				if err != nil {
					t.Fatal(err)
				}
				return signed
			}
		}
	}
	d.text, d.at = registry(t, 1, all...), first
	app := d.opened()
	app.options.Transport = c
	if err := app.Consent(true); err != nil {
		t.Fatal(err)
	}
	for day := range 480 {
		for hour := 3; hour < 24; hour += 10 {
			d.at = first.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour)
			for _, s := range all {
				for _, m := range s.Metrics {
					v := map[string]any{"counter": 1, "category": "dark", "number": 0.7, "set": "go", "sequence": "opened", "experiment": "paid"}[m.Kind]
					if err := app.Record(m.Name, v); err != nil {
						t.Fatal(err)
					}
					if m.Kind == "experiment" {
						if _, err := app.Arm(m.Name); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if _, err := app.Step(t.Context()); err != nil {
				t.Fatal(d.at, err)
			}
		}
	}
	begins := time.Now()
	l, err := client.ReadLedger(d.store)
	took := time.Since(begins)
	if err != nil || metrics != 50 || len(l.Entries) != seasons || len(l.Studies) != seasons {
		t.Fatalf("%v: of %d metrics %d seasons were asked, %d drawn and %d answered", err, metrics, seasons, len(l.Studies), len(l.Entries))
	}
	size := int64(0)
	err = filepath.WalkDir(d.store.Path, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			info, err := entry.Info()
			if err != nil {
				return err
			}
			size += info.Size()
		}
		return err
	})
	if err != nil || size > 5<<20 {
		t.Errorf("%v: the folder has %d bytes", err, size)
	}
	s, err := load(d.store)
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range s.Seasons {
		if !one.Over || one.Kept != nil {
			t.Errorf("season %s: %+v", name, one)
		}
	}
	t.Logf("%d answers in %d bytes, read in %v", len(l.Entries), size, took)
}
