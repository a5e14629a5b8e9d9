package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/rounds"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

type sign struct {
	asked
	Parties     string `help:"A plan, signed or not, whose hops and analyzer carry the metrics (confetti plan new): what it asks does not matter." required:"" type:"path" placeholder:"PLAN"`
	Key         string `help:"The publisher's private key: confetti keys new --for publisher." required:"" type:"path" placeholder:"FILE"`
	Coordinator string `help:"The private key of who signs rounds, which the analyzer's configuration names too." required:"" type:"path" placeholder:"FILE"`
	Seasons     int    `help:"How many seasons of each plan, from the next that begins: 13 weekly ones are a year." default:"1" placeholder:"N"`
	Out         string `help:"Folder for the first round of each season that is new: confetti plan register brings it to the services." required:"" type:"path" placeholder:"DIR"`
	terminal.Form
}

func (sign) Help() string {
	return `Makes a study of each season, signs it and its first round, and writes the registry that
an app embeds. After that the analyzer with the coordinator's key makes the rounds by
itself. Seasons that have begun stay as they were signed. It refuses what check refuses.

Example:
  confetti metrics sign --parties parties.toml --key publisher.json --coordinator coordinator.json --seasons 13 --out seasons`
}

// signedSeason is a season that is new.
type signedSeason struct {
	Name  string `json:"season"` // "week/11"
	Study string `json:"study"`
	File  string `json:"file"`
	text  []byte
}

// made is what sign says.
type made struct {
	Registry string         `json:"registry"`
	Version  int            `json:"version"`
	Seasons  []signedSeason `json:"seasons"`
}

func (c sign) Run(std terminal.Streams) error {
	if c.Seasons < 1 || c.Seasons > 60 {
		return terminal.Usagef("--seasons is %d: give 1 to 60", c.Seasons)
	}
	f, old, err := c.read()
	if err != nil {
		return err
	}
	publisher, _, err := partykey.ReadSigning(c.Key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	if !slices.Contains(f.Publishers, publisher.Public().String()) {
		return terminal.Usagef("--key: %s is not among the publishers of %s: no device would take what it signs", publisher.Public(), c.File)
	}
	coordinator, _, err := partykey.ReadSigning(c.Coordinator)
	if err != nil {
		return fmt.Errorf("--coordinator: %w", err)
	}
	like, _, _, err := plans.ReadAny(c.Parties)
	if err != nil {
		return fmt.Errorf("--parties: %w", err)
	}
	if like.Route.Mix == nil {
		return terminal.Usagef("--parties: its answers are summed, and those of metrics are mixed: name a plan with hops")
	}
	if err := plans.Addressed(like); err != nil {
		return fmt.Errorf("--parties: %w", err)
	}
	at, err := c.day()
	if err != nil {
		return err
	}
	if err := early(old, at, c.today()); err != nil {
		return err
	}
	found, err := compare(f, old, at, c.today())
	if err == nil {
		err = found.verdict()
	}
	if err != nil {
		return err
	}
	next, seasons, err := f.plan(old, like, coordinator, at, c.today(), c.Seasons)
	if err != nil {
		return err
	}
	for i := range seasons {
		if err := seasons[i].sign(next, publisher, coordinator, c.Out); err != nil {
			return err
		}
	}
	result := made{c.Registry, next.Version, seasons}
	if reflect.DeepEqual(old, next) {
		return c.Print(std, result, "registry  %s, version %d: nothing is new\n", result.Registry, result.Version)
	}
	text, err := next.Sign(publisher.Private())
	if err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error { return c.save(seasons, text) }); err != nil {
		return err
	}
	return c.Print(std, result, "registry  %s, version %d\n%s", result.Registry, result.Version, lines(seasons))
}

func lines(seasons []signedSeason) string {
	var text strings.Builder
	for _, s := range seasons {
		fmt.Fprintf(&text, "season    %s, %s\n", s.Name, s.File)
	}
	return text.String()
}

// save writes the rounds first and the registry last: no device has a season that nobody can register.
func (c sign) save(seasons []signedSeason, registry []byte) error {
	if err := errors.Join(os.MkdirAll(c.Out, 0o755), os.MkdirAll(filepath.Dir(c.Registry), 0o755)); err != nil {
		return err
	}
	for _, s := range seasons {
		if kept, err := atomicfile.Read(s.File); err == nil && !bytes.Equal(kept, s.text) {
			return fmt.Errorf("%s is of another signing: name an empty folder with --out", s.File)
		}
		if err := atomicfile.Replace(s.File, s.text, 0o644); err != nil {
			return err
		}
	}
	return atomicfile.Replace(c.Registry, registry, 0o644)
}

// sign makes the first round of a season.
func (s *signedSeason) sign(r metrics.Registry, publisher, coordinator relay.SignKey, out string) error {
	for _, series := range r.Series {
		for season := series.From; season <= series.Until; season++ {
			of := series.Of(season)
			if of.Name() != s.Study {
				continue
			}
			round, _, err := rounds.First(plan.SignStudy(of, publisher.Private()), series.First(season), coordinator)
			if err != nil {
				return err
			}
			s.File = filepath.Join(out, strings.ReplaceAll(s.Name, "/", "-")+".signed.json")
			s.text = append(round.Marshal(), '\n')
			return nil
		}
	}
	return errors.New("the season is in no series")
}

// plan returns the registry that follows another one, and its seasons that are new. What has begun stays as it is.
func (f file) plan(old metrics.Registry, like plan.Plan, coordinator relay.SignKey, at, today time.Time, seasons int) (metrics.Registry, []signedSeason, error) {
	next := metrics.Registry{App: f.App, Version: old.Version}
	known := map[string]bool{}
	keys := map[string]bool{}
	for key, g := range f.groups(at) {
		keys[key] = true
		next.Metrics = append(next.Metrics, g.metrics...)
	}
	slices.SortFunc(next.Metrics, func(a, b metrics.Metric) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range old.Series {
		keys[s.Key()] = true
		for season := s.From; season <= s.Until; season++ {
			of := s.Of(season)
			known[of.Name()] = true
		}
	}
	var fresh []signedSeason
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		every, _, _ := strings.Cut(key, "/")
		first := metrics.Next(every, at)
		all := begun(old.Series, key, every, first, earlier(at, today))
		for season := first; season < first+seasons; season++ {
			g, some := f.groups(metrics.Times(every, season).Opens)[key]
			if !some {
				break
			}
			study, err := f.study(g, like, coordinator.Public().String())
			if err != nil {
				return next, nil, err
			}
			quarters, _ := g.budget.quarters() // the file was validated
			one := metrics.Series{From: season, Until: season, Metrics: g.metrics, Study: study, Quarters: quarters}
			if n := len(all); n > 0 && all[n-1].Until == season-1 && all[n-1].Quarters == quarters && reflect.DeepEqual(all[n-1].Metrics, one.Metrics) && reflect.DeepEqual(all[n-1].Study, one.Study) {
				all[n-1].Until = season
			} else {
				all = append(all, one)
			}
			if of := one.Of(season); !known[of.Name()] {
				fresh = append(fresh, signedSeason{Name: fmt.Sprintf("%s/%d", key, season), Study: of.Name()})
			}
		}
		next.Series = append(next.Series, all...)
	}
	if !reflect.DeepEqual(next, old) {
		next.Version++
	}
	return next, fresh, next.Validate()
}

// early refuses a day on which a season of the registry had not begun that has begun since: it would be signed anew, and devices
// have drawn.
func early(old metrics.Registry, at, today time.Time) error {
	for _, s := range old.Series {
		every := s.Metrics[0].Every
		if first := max(s.From, metrics.Next(every, at)); first <= s.Until && first < metrics.Next(every, today) {
			return terminal.Usagef("--on %s is past, and season %d of each %s has begun since: devices have drawn, so it stays as it was signed. Leave out --on", at.Format(time.DateOnly), first, s.Key())
		}
	}
	return nil
}

// begun returns of some series those of a key, as far as their seasons have begun and are not over.
func begun(old []metrics.Series, key, every string, first int, at time.Time) (all []metrics.Series) {
	for _, s := range old {
		if s.Key() != key {
			continue
		}
		s.Until = min(s.Until, first-1)
		for s.From <= s.Until && !metrics.Times(every, s.From).Closes.After(at) {
			s.From++
		}
		if s.From <= s.Until {
			all = append(all, s)
		}
	}
	return all
}
