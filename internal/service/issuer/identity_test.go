package issuer

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity/identitytest"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// people is a world whose issuer tells people by identity tokens. bea and ann are their
// subjects with the provider.
type people struct {
	*world
	provider *identitytest.Provider
	times    int
}

func newPeople(t *testing.T) *people {
	t.Helper()
	w := newWorld(t)
	p := &people{world: w, provider: identitytest.New(t)}
	who, err := identity.OpenOIDC(identity.OIDC{Issuer: p.provider.URL, Audience: "app", Roots: serve.Path(p.provider.Roots)}, w.options.Now)
	if err != nil {
		t.Fatal(err)
	}
	p.tellBy(who)
	return p
}

// tellBy is another issuer, which tells people so, of a plan whose entries all demand
// tokens: any other one is refused.
func (w *world) tellBy(who identity.Identifier) {
	w.t.Helper()
	w.options.Bearers, w.options.Identity, w.options.Folder = nil, who, filepath.Join(w.t.TempDir(), "people")
	w.restart()
	err := w.service.Load(w.signed)
	refused, _ := errors.AsType[*wire.Problem](err)
	wants(w.t, refused, wire.PlanRefused, "an entry that would be shown who people are")
	w.plan = firstInstance(w.plan)
	w.signed = plan.Sign(w.plan, w.publisher)
	if err := w.service.Load(w.signed); err != nil {
		w.t.Fatal(err)
	}
}

// firstInstance is the plan without its other instances.
func firstInstance(p plan.Plan) plan.Plan {
	mix := *p.Route.Mix
	mix.Instances = mix.Instances[:1]
	p.Route.Mix = &mix
	return p
}

// signIn gives a person a new identity token: no two are alike.
func (p *people) signIn(subject string) {
	p.times++
	secret := session.Secret()
	p.bearers[subject] = identitytest.Sign(p.t, jose.RS256, p.provider.Key("first"), "first", "JWT", map[string]any{
		"iss": p.provider.URL, "aud": "app", "sub": subject, "email": subject + "@example.org", "nonce": wire.SignInNonce(p.plan.Hash(), secret),
		"iat": p.now.Unix(), "exp": p.now.Add(time.Hour).Unix(), "jti": fmt.Sprint(p.times),
	}) + "~" + secret
}

// One token of a hop for each person, whatever identity tokens they show and wherever the
// process ends.
func TestOneTokenForEachPerson(t *testing.T) {
	for _, at := range []string{"before mark", "after mark"} {
		t.Run(at, func(t *testing.T) {
			p := newPeople(t)
			p.options.Failpoint = func(name string) error {
				if name == at {
					return errors.New("the process ends here")
				}
				return nil
			}
			p.restart()
			asks, requests := p.ask(token.Seed{1})
			p.signIn("bea-248289761001")
			if _, problem := p.issue("bea-248289761001", asks); problem == nil {
				t.Fatal("the failpoint did not fail")
			}
			p.options.Failpoint = nil
			p.restart()
			p.signIn("bea-248289761001")
			other, _ := p.ask(token.Seed{2})
			if at == "after mark" {
				_, problem := p.issue("bea-248289761001", other)
				wants(t, problem, wire.TokenIssued, "another request after the mark")
			}
			answers, problem := p.issue("bea-248289761001", asks)
			if problem != nil {
				t.Fatal(problem)
			}
			for i, request := range requests {
				if _, err := request.Finish(answers[i]); err != nil {
					t.Error(err)
				}
			}
			p.restart()
			p.signIn("bea-248289761001")
			_, problem = p.issue("bea-248289761001", other)
			wants(t, problem, wire.TokenIssued, "another request of the same person")
			if again, problem := p.issue("bea-248289761001", asks); problem != nil || string(again[0]) != string(answers[0]) {
				t.Errorf("the same request again: %v", problem)
			}
			p.signIn("ann-248289761002")
			if _, problem := p.issue("ann-248289761002", other); problem != nil {
				t.Errorf("another person: %v", problem)
			}
			p.bearers["eve"] = "no token"
			_, problem = p.issue("eve", other)
			wants(t, problem, wire.Unauthenticated, "nobody")

			nobodyIn(t, p.options.Folder, "248289761001", "248289761002", "example.org", p.provider.URL, p.bearers["bea-248289761001"][:20])
		})
	}
}

// nobodyIn looks for words in every file of a folder.
func nobodyIn(t *testing.T, folder string, words ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, w := range words {
			if strings.Contains(string(text), w) || strings.Contains(string(text), hex.EncodeToString([]byte(w))) {
				t.Errorf("%s has %q", filepath.Base(path), w)
			}
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files: %v", files, err)
	}
}

// The decisions say what became of each request, and of whom nobody can read from it.
func TestDecisions(t *testing.T) {
	p := newPeople(t)
	asks, _ := p.ask(token.Seed{1})
	other, _ := p.ask(token.Seed{2})
	for _, who := range []string{"person-one", "person-two"} {
		p.signIn(who)
		p.issue(who, asks)
	}
	p.issue("person-one", other)
	p.bearers["eve"] = "a.b.c"
	for range boundedAtOnce + 50 {
		p.issue("eve", asks)
	}
	p.now = p.now.Add(2 * time.Second)
	p.issue("eve", asks)
	path := p.service.decisionsPath(p.plan.Hash())
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []decision
	for line := range strings.Lines(string(text)) {
		var l decision
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Hour != l.Hour.Truncate(time.Hour) || l.Respondent != "" && len(l.Respondent) != 32 {
			t.Errorf("%+v", l)
		}
		lines = append(lines, l)
	}
	outcomes := map[string]int{}
	for _, l := range lines {
		outcomes[l.Outcome]++
	}
	if want := map[string]int{"signed": 2, "token-issued": 1, "unauthenticated": boundedAtOnce + 1}; !maps.Equal(outcomes, want) {
		t.Errorf("%v, want %v", outcomes, want)
	}
	if lines[0].Respondent == lines[1].Respondent || lines[0].Respondent != lines[2].Respondent {
		t.Error("whether two lines are of one person cannot be told, or of two")
	}
	if last := lines[len(lines)-1]; last.Unwritten != 50 {
		t.Errorf("%+v: 50 were not written", last)
	}
	nobodyIn(t, p.options.Folder, "person-one", "person-two", "example.org")

	// In another plan the same person has another hash; here it goes with the marks.
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Authorization", "Bearer "+p.bearers["person-one"])
	who, err := p.service.respondent(r, &served{plan: p.plan})
	if err != nil {
		t.Fatal(err)
	}
	p.service.note(&served{plan: p.plan, scope: [32]byte{9}}, &who, nil)
	elsewhere, err := os.ReadFile(p.service.decisionsPath([32]byte{9}))
	if err != nil || strings.Contains(string(elsewhere), lines[0].Respondent) {
		t.Errorf("a person can be followed from plan to plan: %s %v", elsewhere, err)
	}
	p.now = p.plan.Times.Closes.Add(p.service.o.Retention + time.Hour)
	if err := p.service.Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("decisions outlive the marks: %v", err)
	}
}

// A person asks no oftener than anybody else.
func TestPeopleAreSlowedDown(t *testing.T) {
	p := newPeople(t)
	p.options.Limits = serve.Visits{Rate: 0.01, Burst: 2}
	p.restart()
	asks, _ := p.ask(token.Seed{1})
	for n := range 4 {
		p.signIn("bea") // other tokens, the same person
		if _, problem := p.issue("bea", asks); n < 2 && problem != nil || n >= 2 && (problem == nil || problem.Code != wire.RateLimited || problem.RetryAfter == 0) {
			t.Errorf("request %d: %v", n, problem)
		}
	}
	p.signIn("ann")
	if _, problem := p.issue("ann", asks); problem != nil {
		t.Errorf("somebody else: %v", problem)
	}
}

// A link opens once: whoever has its code later gets no second token.
func TestLinksOpenOnce(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "links")
	codes, err := serve.AddBearers(rng.New(), path, identity.NewLink(rng.New(), firstInstance(w.plan).Name()), identity.NewLink(rng.New(), strings.Repeat("0", 64)))
	if err != nil {
		t.Fatal(err)
	}
	bearers, err := serve.ReadBearers(path)
	if err != nil {
		t.Fatal(err)
	}
	w.tellBy(identity.Links(bearers))
	w.bearers["link"], w.bearers["another plan's"] = codes[0], codes[1]
	asks, _ := w.ask(token.Seed{1})
	other, _ := w.ask(token.Seed{2})
	if _, problem := w.issue("link", asks); problem != nil {
		t.Fatal(problem)
	}
	if _, problem := w.issue("link", asks); problem != nil {
		t.Errorf("an answer that was lost: %v", problem)
	}
	_, problem := w.issue("link", other)
	wants(t, problem, wire.TokenIssued, "a second opening")
	_, problem = w.issue("another plan's", asks)
	wants(t, problem, wire.Unauthenticated, "another plan's link")
}

func TestPeopleAreToldInOneWay(t *testing.T) {
	provider := identitytest.New(t)
	oidc := &identity.OIDC{Issuer: provider.URL, Audience: "app", Roots: serve.Path(provider.Roots)}
	assertions := &identity.Assertions{Issuer: "app", Audience: "us", Keys: serve.Path(provider.JWKS())}
	links := filepath.Join(t.TempDir(), "links")
	if _, err := serve.AddBearer(rng.New(), links, "x"); err != nil {
		t.Fatal(err)
	}
	const twice = "would count twice"
	for name, c := range map[string]struct {
		config Config
		wants  string
	}{
		"oidc":            {Config{OIDC: oidc}, ""},
		"assertions":      {Config{Assertions: assertions}, ""},
		"links":           {Config{Links: serve.Path(links)}, ""},
		"two":             {Config{OIDC: oidc, Links: serve.Path(links)}, twice},
		"all":             {Config{OIDC: oidc, Assertions: assertions, Links: serve.Path(links)}, twice},
		"beside bearers":  {Config{OIDC: oidc, Visited: serve.Visited{Bearers: serve.Path(links)}}, twice},
		"no such links":   {Config{Links: "none"}, "links"},
		"no client ID":    {Config{OIDC: &identity.OIDC{Issuer: provider.URL}}, "oidc.audience"},
		"no backend keys": {Config{Assertions: &identity.Assertions{Issuer: "a", Audience: "b"}}, "assertions.keys"},
		"nothing":         {Config{}, "nobody could be told apart"},
	} {
		_, o, err := c.config.open(slog.New(slog.DiscardHandler))
		said := fmt.Sprint(err)
		if c.wants == "" && (o.Identity == nil || strings.Contains(said, twice) || strings.Contains(said, "told apart") || strings.Contains(said, "oidc") || strings.Contains(said, "assertions") || strings.Contains(said, "links")) {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(said, c.wants) {
			t.Errorf("%s: %v, want %q", name, err, c.wants)
		}
	}
}
