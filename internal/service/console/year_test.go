package console

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	store "github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

const (
	yearRounds  = 365
	yearDevices = 12 // whose reports are made here; of two more they are made by their clients
	yearMinimum = 5
	june        = 152
)

// year is a trial that counts every day of a year: two aggregators, an analyzer and devices in this process, on a clock
// and a network of the test's.
type year struct {
	t        *testing.T
	dir      string
	study    plan.SignedStudy
	length   time.Duration // of a round
	visits   func(d int) []int
	bearers  []string
	random   *rand.Rand
	roles    [2]*aggregated.Service
	helper   store.Store
	analyzer *analyzerd.Service

	mu    sync.Mutex
	now   time.Time
	hosts map[string]http.Handler
	cut   func(r *http.Request) bool // requests that do not arrive; nil: all do
}

func (y *year) check(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
}

func (y *year) time() time.Time {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.now
}

func (y *year) at(now time.Time) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.now = now
}

// RoundTrip is the network.
func (y *year) RoundTrip(r *http.Request) (*http.Response, error) {
	y.mu.Lock()
	host, cut := y.hosts[r.URL.Host], y.cut
	y.mu.Unlock()
	if host == nil || cut != nil && cut(r) {
		return nil, errors.New("no route to host")
	}
	in := r.Clone(r.Context())
	if in.RequestURI = r.URL.RequestURI(); in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	host.ServeHTTP(rec, in)
	return rec.Result(), nil
}

// Get, Read and Do ask for the console.
func (y *year) Get(ctx context.Context, url string) ([]byte, error) {
	_, text, err := y.Do(ctx, http.MethodGet, url, "", nil)
	return text, err
}

func (y *year) Read(ctx context.Context, url string, read func(io.Reader) error) error {
	text, err := y.Get(ctx, url)
	if err != nil {
		return err
	}
	return read(bytes.NewReader(text))
}

func (y *year) Do(ctx context.Context, method, url, mediaType string, body []byte) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", mediaType)
	res, err := y.RoundTrip(r)
	if err != nil {
		return 0, nil, err
	}
	if p := web.ReadProblem(res); p != nil {
		return res.StatusCode, nil, p
	}
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// party gives a party keys in a folder of its own.
func (y *year) party(name string) (plan.Party, envelope.PrivateKey, relay.SignKey) {
	y.t.Helper()
	open, err := envelope.GenerateKey(envelope.X25519)
	y.check(err)
	sign, err := relay.GenerateSignKey()
	y.check(err)
	folder := filepath.Join(y.dir, name)
	y.check(errors.Join(
		os.MkdirAll(folder, 0o700), partykey.CreateOpening(filepath.Join(folder, "open.json"), open, "test"), partykey.CreateSigning(filepath.Join(folder, "sign.json"), sign, "test"),
	))
	return plan.Party{Operator: name, Key: open.Public().String(), URL: "https://" + name + ".test"}, open, sign
}

// newYear begins a trial whose rounds are correlated, of so long each. Something happens to a device in the rounds that visits
// gives, rising, no more of them than count.
func newYear(t *testing.T, of plan.Correlated, length time.Duration, visits func(d int) []int) *year {
	t.Helper()
	dir, err := os.MkdirTemp(atomicfiletest.Memory(), "confetti-year-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	opens := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	y := &year{t: t, dir: dir, length: length, visits: visits, random: seeded.New(35), now: opens, hosts: map[string]http.Handler{}}
	leader, _, leaderSign := y.party("leader")
	helper, _, helperSign := y.party("helper")
	analyzer, _, releases := y.party("analyzer")
	leader.Receipts, helper.Receipts, analyzer.Releases = leaderSign.Public().String(), helperSign.Public().String(), releases.Public().String()
	p, err := design.Fill(plan.Plan{
		Version: plan.Version, Title: "Who has signed up?",
		Question: plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "today", Kind: "set", Values: []string{"signed up"}, Most: 1}},
			Randomizer: plan.Randomizer{Name: plan.RandomizerNone},
		}},
		Budget:    plan.Budget{Epsilon: 8, Delta: 1e-6, Adjacency: "replacement"},
		Crowd:     plan.Crowd{Minimum: yearMinimum},
		Envelopes: plan.Envelopes{Suite: string(envelope.X25519)},
		Route: plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{
			Leader: leader, Helper: helper, Noise: plan.NoiseAggregators, Correlated: &of,
		}},
		Analyzer: analyzer,
	})
	y.check(err)
	_, publisher, err := ed25519.GenerateKey(nil)
	y.check(err)
	_, coordinator, err := ed25519.GenerateKey(nil)
	y.check(err)
	study := plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: of.Rounds, Takes: plan.TakesAll, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(coordinator.Public().(ed25519.PublicKey)), Times: plan.Times{Opens: opens, Closes: opens.Add(time.Duration(of.Rounds)*length + 30*24*time.Hour)},
	}
	y.check(study.Validate())
	y.study = plan.SignStudy(study, publisher)
	first, err := y.study.Round(1, "", plan.Times{Opens: opens, Closes: opens.Add(length)}, coordinator)
	y.check(err)
	names := make([]string, yearDevices+2)
	for d := range names {
		names[d] = fmt.Sprint("device", d)
	}
	y.bearers, err = serve.AddBearers(y.random, filepath.Join(dir, "bearers"), names...)
	y.check(err)
	people, err := serve.ReadBearers(filepath.Join(dir, "bearers"))
	y.check(err)
	via := &http.Client{Transport: y}
	for i, name := range []string{"leader", "helper"} {
		kept, err := shelves.Folder(filepath.Join(dir, name, "shelves"), serve.Common{Begin: serve.Begin{New: true}}, true)
		y.check(err)
		t.Cleanup(func() { kept.Close() })
		y.helper = kept
		y.roles[i], err = aggregated.New(t.Context(), aggregated.Options{
			Common: serve.Common{Keys: filepath.Join(dir, name), Client: via, Now: y.time}, Role: dap.Leader + dap.Role(i), Store: kept,
			Publishers: serve.Trust(first.Signers()...), Pair: aggregator.NewPair([aggregator.PairBytes]byte{3}), Bearers: people, Limits: serve.Visits{Rate: 1e6, Burst: 1e6},
		})
		y.check(err)
		y.hosts[name+".test"], err = serve.New(serve.Config{Name: name, Routes: y.roles[i].Routes(), Ready: y.roles[i].Ready})
		y.check(err)
	}
	books, err := rows.Open(t.Context(), rows.Config{DSN: filepath.Join(dir, "books")})
	y.check(err)
	t.Cleanup(func() { books.Close() })
	y.analyzer, err = analyzerd.New(analyzerd.Options{
		Common: serve.Common{Keys: filepath.Join(dir, "analyzer"), Client: via, Now: y.time}, Store: books, Operators: people,
		Publishers:  []analyzerd.Publisher{{Name: "Research", Key: first.Signers()[0], Population: "all"}},
		Populations: map[string]analyzerd.Population{"all": {Epsilon: 100, Delta: 0.1, Adjacency: account.Replacement}},
		Coordinator: coordinator, Software: "confetti (test)",
	})
	y.check(err)
	y.hosts["analyzer.test"], err = serve.New(serve.Config{Name: "analyzer", Routes: y.analyzer.Routes(), Ready: y.analyzer.Ready})
	y.check(err)
	for _, host := range []string{"leader.test", "helper.test", "analyzer.test"} {
		r, err := http.NewRequest(http.MethodPut, "https://"+host+wire.PlanPath(first.Plan.Hash()), bytes.NewReader(first.Marshal()))
		y.check(err)
		r.Header.Set("Content-Type", wire.PlanType(first))
		r.Header.Set("Authorization", "Bearer "+y.bearers[0])
		res, err := y.RoundTrip(r)
		y.check(err)
		if p := web.ReadProblem(res); p != nil {
			t.Fatal(host, p)
		}
	}
	return y
}

// once gives the round in which something happens to a device.
func once(d int) []int {
	switch d {
	case yearDevices: // its client counts from January on
		return []int{45}
	case yearDevices + 1: // and that one from June on
		return []int{210}
	}
	return []int{3 + 30*d + 15*min(1, d/4)} // in what goes wrong too
}

// newest returns the round that devices hear of.
func (y *year) newest() plan.Signed {
	y.t.Helper()
	signed, err := client.FetchRound(y.t.Context(), "https://analyzer.test", y.study.Study.Hash(), y.options(0))
	y.check(err)
	return signed
}

func (y *year) options(d int) client.Options {
	return client.Options{
		Publishers: plan.Trust(y.study.Signatures[0].Publisher), Store: native.Folder{Path: filepath.Join(y.dir, fmt.Sprint("device", d))}, Bearer: y.bearers[d], Now: y.time, Delay: client.NoDelay,
		Caps: client.Caps{
			Plan:   client.Cap{Epsilon: 100, Delta: 0.1, Local: math.Inf(1)},
			Window: client.Cap{Epsilon: 100, Delta: 0.1, Local: math.Inf(1)}, Period: 30 * 24 * time.Hour,
		},
		Transport: &native.Transport{RoundTripper: y},
	}
}

// answers has devices answer a round: the first so many, or all.
func (y *year) answers(round plan.Signed, most int) {
	y.t.Helper()
	number := round.Plan.Round.Number
	t, err := task.New(round.Plan, 0)
	y.check(err)
	for d := range min(most, yearDevices) {
		vector := make([]uint64, round.Plan.Route.Sum.Circuit.Length)
		if i := slices.Index(y.visits(d), number); i >= 0 {
			last := 0
			if i > 0 && len(vector) > 1 { // of windows the round before in which it did
				last = y.visits(d)[i-1]
			}
			vector[last] = 1
		}
		report, err := t.Report(y.random, vector, y.time(), nil)
		y.check(err)
		r, err := http.NewRequest(http.MethodPost, "https://leader.test"+dap.ReportsPath(t.ID), bytes.NewReader(report.Append(nil)))
		y.check(err)
		r.Header.Set("Content-Type", dap.UploadType)
		r.Header.Set("Authorization", "Bearer "+y.bearers[d])
		res, err := y.RoundTrip(r)
		y.check(err)
		if p := web.ReadProblem(res); p != nil {
			y.t.Fatal(p)
		}
	}
	for d := yearDevices; d < min(most, yearDevices+2); d++ {
		if d == yearDevices+1 && number < june {
			continue
		}
		y.reports(d, round)
	}
}

// reports has a device's client answer.
func (y *year) reports(d int, round plan.Signed) {
	y.t.Helper()
	o := y.options(d)
	var err error
	if _, there := os.Stat(o.Store.(native.Folder).Path); there != nil {
		y.check(client.Consent(o.Store, true))
	}
	o.State, err = client.FetchState(y.t.Context(), "https://analyzer.test", round.Plan, o)
	y.check(err)
	c, err := client.Open(round, o)
	y.check(err)
	defer c.Close()
	happened := []string{}
	if slices.Contains(y.visits(d), round.Plan.Round.Number) {
		happened = append(happened, "signed up")
	}
	y.check(c.Report(y.t.Context(), histogram.Answers{Values: []any{happened}}))
}

// Rounds of the year to which something happens.
const (
	tooFew  = 93  // answer: a device says something in it
	rotten  = 138 // the helper's sum of it rots
	delayed = 160 // the helper is away for two days
	overdue = 198 // and for more than a week
)

// day runs a round from its opening to the next one.
func (y *year) day(round plan.Signed) {
	y.t.Helper()
	number, closes := round.Plan.Round.Number, round.Plan.Times.Closes
	y.at(round.Plan.Times.Closes.Add(-18 * time.Hour))
	if number == tooFew {
		y.answers(round, yearMinimum-1)
	} else {
		y.answers(round, yearDevices+2)
	}
	y.at(closes)
	fails := func() {
		y.t.Helper()
		if y.roles[0].Step(y.t.Context()) == nil {
			y.t.Fatalf("round %d: a leader that reaches nobody says that all is well", number)
		}
	}
	cut := func(what func(r *http.Request) bool) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.cut = what
	}
	switch number {
	case rotten:
		cut(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/aggregate_shares") })
		fails()
		cut(nil)
		shelf, err := y.helper.Open(y.t.Context(), "plan-"+round.Plan.Name())
		y.check(err)
		y.check(shelf.Update(y.t.Context(), func(tx store.Tx) error { tx.Put(7, "\x00\x00\x00\x00", []byte("rot")); return nil }))
		for range 3 {
			fails()
		}
	case delayed, overdue:
		cut(func(r *http.Request) bool { return r.URL.Host == "helper.test" })
		fails()
		y.at(closes.Add(2 * time.Hour))
		y.concludes()
		if again := y.newest(); again.Plan.Round.Number != number {
			y.t.Fatalf("round %d goes on before its row has come", number)
		}
		away := 48 * time.Hour
		if number == overdue {
			away = plan.LastRow + 3*time.Hour
		}
		y.at(closes.Add(away))
		cut(nil)
		y.check(y.roles[0].Step(y.t.Context()))
	default:
		y.check(y.roles[0].Step(y.t.Context()))
	}
	y.at(slices.MaxFunc([]time.Time{y.time(), closes.Add(time.Hour)}, time.Time.Compare))
	y.concludes()
}

// concludes has the analyzer write a round up, and make the next.
func (y *year) concludes() {
	y.t.Helper()
	for range 2 {
		y.check(y.analyzer.Step(y.t.Context()))
	}
}

// A year of a live trial, by a test's clock: every day each device answers, both aggregators draw a row, and the analyzer
// writes it up and makes the next round. One round has too few answers, of one the helper's sum rots, one row comes two days
// late, and one more than a week; a device joins in June. The console shows the daily line and the running total, and
// both tell of what was said in the rounds that told something, and why the others did not. Rounds close by the calendar.
func TestAYearOfALiveTrial(t *testing.T) {
	if testing.Short() {
		t.Skip("a year takes most of a minute")
	}
	begun := time.Now()
	y := newYear(t, plan.Correlated{Rounds: yearRounds, Events: 1}, 24*time.Hour, once)
	truth := 0
	missed := map[int]string{tooFew: "withheld: too few answered", rotten: "its row failed, and was given up", overdue: "late: its row had not come in time"}
	for number := 1; number <= yearRounds; number++ {
		round := y.newest()
		if round.Plan.Round.Number != number {
			t.Fatalf("round %d after round %d", round.Plan.Round.Number, number-1)
		}
		if off := round.Plan.Times.Closes.Sub(y.study.Study.Times.Opens) % (24 * time.Hour); off != 0 {
			t.Fatalf("round %d closes %v after midnight", number, off)
		}
		y.day(round)
		for d := range yearDevices + 2 {
			if once(d)[0] == number && missed[number] == "" {
				truth++
			}
		}
	}
	t.Logf("%d rounds of %d devices in %v", yearRounds, yearDevices+2, time.Since(begun).Round(time.Second))
	last := y.newest()
	c, err := New(Options{Analyzer: "https://analyzer.test", Hosts: hosts, Public: y, Now: y.time})
	y.check(err)
	res, page := get(t, c, "/releases/"+last.Plan.Name())
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.StatusCode, page)
	}
	for _, why := range missed {
		wants(t, page, why)
	}
	text, err := y.Get(t.Context(), "https://analyzer.test"+wire.ReleasePath(last.Plan.Hash(), "json"))
	y.check(err)
	r, err := release.Read(bytes.NewReader(text))
	y.check(err)
	for _, f := range r.Figures() {
		s := f.Series[0]
		if len(s.X) != yearRounds-len(missed) || len(s.Gaps) != len(missed) {
			t.Errorf("%s has %d points and the gaps %v", f.Name, len(s.X), s.Gaps)
		}
		for i, x := range s.X {
			if s.Low[i] > s.Y[i] && s.Y[i] > 0 || s.High[i] < s.Y[i] {
				t.Errorf("%s, round %v: %v is not in its interval of %v to %v", f.Name, x, s.Y[i], s.Low[i], s.High[i])
			}
		}
		if f.Name == "so-far" && (s.Low[len(s.X)-1] > float64(truth) || s.High[len(s.X)-1] < float64(truth)) {
			t.Errorf("in the end %v to %v are said to have signed up, and %d have", s.Low[len(s.X)-1], s.High[len(s.X)-1], truth)
		}
	}
	study := "/studies/" + y.study.Study.Name()
	_, page = get(t, c, study)
	wants(t, page, "365 of at most 365 so far", "It is over: it had as many rounds as it may have", "How often so far", "What each round adds", "Its row failed, and was given up")
	if n := strings.Count(page, `<li class="card">`); n > newestRounds+1+len(missed) {
		t.Errorf("%d rounds are listed", n)
	}
	ledger, err := client.ReadLedger(y.options(yearDevices + 1).Store)
	y.check(err)
	if len(ledger.Entries) == 0 || len(ledger.Entries) > yearRounds-june+1 {
		t.Errorf("who joins in June has answered %d rounds", len(ledger.Entries))
	}
	t.Run("in a browser", func(t *testing.T) {
		ctx := webtest.Browser(t)
		_, url := start(t, Options{Analyzer: "https://analyzer.test", Public: y, Now: y.time})
		b := webtest.Open(t, ctx, webtest.Phone)
		for name, at := range map[string]string{"year": study, "year in a release": "/releases/" + last.Plan.Name()} {
			b.Do(chromedp.Navigate(url + at))
			b.LookOnAll(t, name)
		}
	})
}

// The study of a trial ends after its last round because that was the last, which is what its page says.
func TestAStudyThatCountsEndsWithItsRounds(t *testing.T) {
	y := newYear(t, plan.Correlated{Rounds: 2, Events: 1}, 24*time.Hour, once)
	for range 2 {
		y.day(y.newest())
	}
	c, err := New(Options{Analyzer: "https://analyzer.test", Hosts: hosts, Public: y, Now: y.time})
	y.check(err)
	_, page := get(t, c, "/studies/"+y.study.Study.Name())
	wants(t, page, "2 of at most 2 so far", "It is over: it had as many rounds as it may have")
}

// weeks says how many rounds a year of windows has here.
const weeks = 52

// visits gives the weeks in which a device is there: three, the second one seven weeks after the first.
func visits(d int) []int { return []int{1 + d, 8 + d, 20 + d} }

// A year of a live trial, week by week, that asks for windows: the console shows different people of any window, and how
// often somebody came back after so many weeks, as the release has them, and refuses what is no window. It does so in a browser
// with its script and without.
func TestAnyWindowOfALiveTrial(t *testing.T) {
	if testing.Short() {
		t.Skip("52 rounds take some seconds")
	}
	y := newYear(t, plan.Correlated{Rounds: weeks, Events: 3, Windows: true}, 7*24*time.Hour, visits)
	for range weeks {
		y.day(y.newest())
	}
	last := y.newest()
	text, err := y.Get(t.Context(), "https://analyzer.test"+wire.ReleasePath(last.Plan.Hash(), "json"))
	y.check(err)
	r, err := release.Read(bytes.NewReader(text))
	y.check(err)
	var grid *release.Grid
	var gaps release.Series
	for _, f := range r.Figures() {
		switch f.Name {
		case "windows":
			grid = f.Grid
		case gapsFigure:
			gaps = f.Series[0]
		}
	}
	if grid == nil || grid.Columns != weeks || len(gaps.X) != weeks-1 {
		t.Fatalf("the newest release has the windows %+v and the gaps %v", grid, gaps.X)
	}
	back := map[int]int{}
	for d := range yearDevices + 2 {
		if d == yearDevices+1 {
			continue // it joins too late for this year
		}
		for i := 1; i < 3; i++ {
			back[visits(d)[i]-visits(d)[i-1]]++
		}
	}
	for i, x := range gaps.X {
		if true, most := float64(back[int(x)]), gaps.High[i]-gaps.Y[i]; math.Abs(gaps.Y[i]-true) > 2*max(most, gaps.Y[i]-gaps.Low[i]) { // eight deviations
			t.Errorf("%.0f are said to have come back after %.0f weeks, %.1f to %.1f", true, x, gaps.Low[i], gaps.High[i])
		}
	}
	for first := 1; first <= weeks; first++ {
		for last := first; last <= weeks; last++ {
			true := 0
			for d := range yearDevices + 1 {
				if slices.ContainsFunc(visits(d), func(n int) bool { return n >= first && n <= last }) {
					true++
				}
			}
			at := (last-1)*weeks + first - 1
			if math.Abs(grid.Values[at]-float64(true)) > 2*grid.Within[at] { // eight deviations
				t.Errorf("weeks %d to %d: %d people, said %.1f within %.1f", first, last, true, grid.Values[at], grid.Within[at])
			}
		}
	}
	c, err := New(Options{Analyzer: "https://analyzer.test", Hosts: hosts, Public: y, Now: y.time})
	y.check(err)
	study := "/studies/" + y.study.Study.Name()
	shows := func(first, last, gap int) []string {
		at := (last-1)*weeks + first - 1
		high := people(max(0, grid.Values[at]+grid.Within[at]))
		return []string{
			fmt.Sprintf("to %s</p><p>different people in rounds %d to %d", high, first, last),
			fmt.Sprintf("to %s</p><p>times somebody came back exactly %d rounds later", people(gaps.High[gap-1]), gap),
		}
	}
	_, page := get(t, c, study)
	wants(t, page, "52 of at most 52 so far", "Different people of any window", "How often people came back", fmt.Sprintf("different people in rounds %d to %d", weeks-days+1, weeks), "in the next round")
	_, page = get(t, c, study+"?first=9&last=21&gap=7")
	wants(t, page, shows(9, 21, 7)...)
	for _, wrong := range []string{"first=9&last=8", "first=0", "last=53", "first=x", "gap=0", "gap=52", "gap=" + strings.Repeat("9", 40)} {
		res, page := get(t, c, study+"?"+wrong)
		if res.StatusCode != http.StatusOK || strings.Contains(page, `class="value"`) {
			t.Errorf("%s: status %d, and a number", wrong, res.StatusCode)
		}
		wants(t, page, `<p class="banner">`)
	}
	t.Run("in a browser", func(t *testing.T) {
		ctx := webtest.Browser(t)
		_, url := start(t, Options{Analyzer: "https://analyzer.test", Public: y, Now: y.time})
		for _, script := range []bool{false, true} {
			b := webtest.Open(t, ctx, webtest.Phone)
			b.Scripts(t, script)
			b.Do(chromedp.Navigate(url + study))
			set := `for (const [name, value] of [["first", 9], ["last", 21], ["gap", 7]]) document.querySelector("#view [name=" + name + "]").value = value;`
			if script { // which shows a choice at once
				b.Do(chromedp.Evaluate[chromedp.Void](set + `document.querySelector("#view [name=gap]").dispatchEvent(new Event("change", {bubbles: true})); 0`))
			} else {
				b.Do(chromedp.Evaluate[chromedp.Void](set + `document.querySelector("#view button").click(); 0`))
			}
			b.Do(webtest.Until(`/rounds 9 to 21[^]*exactly 7 rounds later/.test(document.body?.innerText)`))
		}
		b := webtest.Open(t, ctx, webtest.Phone)
		for name, at := range map[string]string{"any window": study + "?first=9&last=21&gap=7", "windows in a release": "/releases/" + last.Plan.Name()} {
			b.Do(chromedp.Navigate(url + at))
			b.LookOnAll(t, name)
		}
	})
}
