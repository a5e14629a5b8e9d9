package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity/identitytest"
	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// People sign in at a provider, and a program in TypeScript gets tokens for them, answers
// through two hops, and is counted by the analyzer: once each, and under no name.
func TestPeopleWhoSignInAnswerFromTypeScript(t *testing.T) {
	web, err := filepath.Abs(filepath.Join("..", "..", "web"))
	if err != nil {
		t.Fatal(err)
	}
	node := webtest.Node(t, web)
	program := filepath.Join(t.TempDir(), "respond.mjs")
	bundle := exec.CommandContext(t.Context(), filepath.Join(web, "node_modules", ".bin", "esbuild"), "wire/test/respond.ts", "--bundle", "--platform=node", "--format=esm", "--outfile="+program)
	bundle.Dir = web
	if out, err := bundle.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	provider := identitytest.New(t)
	at, s, signed := startTrial(t, 4, 1, func(at trial.Folder, _ plan.Signed) {
		path := at.Config(plans.Party{Role: "issuer"})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		settings := fmt.Sprintf("%s\n[oidc]\nissuer = '%s'\naudience = 'app'\nroots = '%s'\n", withoutBearers(string(text)), provider.URL, provider.Roots)
		if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	})

	type person struct {
		Bearer  string `json:"bearer"`
		Again   string `json:"again"`
		Channel int    `json:"channel"`
	}
	token := func(subject, audience string, key any, n int) string {
		secret := session.Secret()
		return identitytest.Sign(t, jose.RS256, key, "first", "JWT", map[string]any{
			"iss": provider.URL, "aud": audience, "sub": subject, "email": subject + "@people.example", "jti": fmt.Sprint(n),
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "nonce": wire.SignInNonce(signed.Plan.Hash(), secret),
		}) + "~" + secret
	}
	key := provider.Key("first")
	const people = 6
	task := struct {
		Service   string   `json:"service"`
		Plan      string   `json:"plan"`
		Publisher string   `json:"publisher"`
		People    []person `json:"people"`
		Strangers []string `json:"strangers"`
	}{Service: signed.Plan.Analyzer.URL, Plan: signed.Plan.Name(), Publisher: signed.Publisher}
	names := []string{"people.example", provider.URL}
	for i := range people {
		subject := fmt.Sprintf("subject-%d-248289761", i)
		names = append(names, subject)
		task.People = append(task.People, person{token(subject, "app", key, 1), token(subject, "app", key, 2), 0})
		for _, part := range strings.Split(task.People[i].Bearer, ".")[1:] {
			names = append(names, part[:24])
		}
	}
	task.Strangers = []string{token("eve", "another app", key, 1), token("eve", "app", identitytest.RSA(t, 2048), 1), "no token"}
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, program)
	run.Stdin, run.Env = bytes.NewReader(text), append(os.Environ(), "NODE_EXTRA_CA_CERTS="+at.Path(trial.Roots))
	var said, wrong bytes.Buffer
	run.Stdout, run.Stderr = &said, &wrong
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &wrong)
	}
	var outcomes map[string][]string
	if err := json.Unmarshal(said.Bytes(), &outcomes); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	for what, want := range map[string]struct {
		each string
		n    int
	}{"tokenAgain": {"same", people}, "tokenTwice": {"token-issued", people}, "answerTwice": {"already-contributed", people}, "spentElsewhere": {"token-refused", people}, "stranger": {"unauthenticated", 3}} {
		if got := outcomes[what]; strings.Join(got, " ") != strings.TrimSpace(strings.Repeat(want.each+" ", want.n)) {
			t.Errorf("%s: %v, want %d times %s", what, got, want.n, want.each)
		}
	}

	command(t, "plan", "close", at.Path(trial.Plan), "--dir", string(at))
	state, err := s.Progress(t.Context(), signed)
	if err != nil || state.Status != analyzerd.Released || len(state.Batches) != 1 || state.Batches[0].Respondents != people {
		t.Fatalf("%+v, %v", state, err)
	}
	release := filepath.Join(t.TempDir(), "release")
	command(t, "release", "fetch", "--dir", string(at), "--out", release)
	command(t, "release", "verify", release, "--publishers", at.Path(trial.Publishers))
	opened(t, release, people)

	// Nothing of who they are is in any file of a hop or of the analyzer, nor in a log. The
	// issuer knows, and has written none of it down.
	files := 0
	err = filepath.WalkDir(string(at), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == filepath.Base(at.Config(plans.Party{Role: "issuer"})) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range names {
			if bytes.Contains(text, []byte(name)) || bytes.Contains(text, []byte(hex.EncodeToString([]byte(name)))) {
				t.Errorf("%s has %q", path, name)
			}
		}
		files++
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("%d files were read: %v", files, err)
	}
}

// opened checks that the analyzer has opened all that so many respondents sent.
func opened(t *testing.T, release string, respondents int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(release, "*receipts.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var receipts struct {
		Batches []struct {
			Whole   float64 `json:"whole"`
			Dropped int     `json:"dropped"`
		} `json:"batches"`
	}
	if err := json.Unmarshal(text, &receipts); err != nil {
		t.Fatal(err)
	}
	if b := receipts.Batches; len(b) != 1 || b[0].Whole != float64(respondents) || b[0].Dropped != 0 {
		t.Errorf("the analyzer opened %+v of %d contributions", b, respondents)
	}
}
