package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/server/up"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/loopback"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// startTrial runs a trial of a plan with a small crowd, and stops it when the test
// ends, after which nothing of it may be left running. before may change files.
func startTrial(t *testing.T, minimum, devices int, before func(trial.Folder, plan.Signed)) (trial.Folder, *services.Services, plan.Signed) {
	t.Helper()
	return startRoute(t, plan.RouteMix, minimum, devices, before)
}

// startRoute is startTrial for a route.
func startRoute(t *testing.T, route string, minimum, devices int, before func(trial.Folder, plan.Signed)) (trial.Folder, *services.Services, plan.Signed) {
	t.Helper()
	none := goleak.IgnoreCurrent()
	p, err := up.Command{Route: route}.Draft()
	if err != nil {
		t.Fatal(err)
	}
	p.Crowd.Minimum = minimum
	p.Analyzer.Key, p.Analyzer.Releases = newOpener(t, ""), example.Releaser
	if p.Route.Sum != nil {
		p.Route.Sum.Leader.Key, p.Route.Sum.Helper.Key = newOpener(t, ""), newOpener(t, "")
	}
	for _, in := range p.Route.Instances() {
		for h := range in.Hops {
			in.Hops[h].Key = newOpener(t, "")
		}
	}
	if p, err = design.Fill(p); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.toml")
	if err := os.WriteFile(file, author.TOML(p), 0o600); err != nil {
		t.Fatal(err)
	}
	at := trial.Folder(filepath.Join(t.TempDir(), "trial"))
	c := up.Command{Dir: string(at), Plan: file, Closes: new(time.Hour), Devices: new(devices)}
	if err := c.Make(at); err != nil {
		t.Fatal(err)
	}
	signed, err := plans.ReadSigned(at.Path(trial.Plan))
	if err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(at, signed)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var out bytes.Buffer
	go func() {
		err := c.RunUntil(ctx, terminal.Streams{Out: &out, Err: io.Discard})
		stop() // nobody waits for services that do not run
		done <- err
	}()
	s, err := services.Operator{Flags: services.Flags{Dir: string(at)}}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("%v\n%s", err, &out)
		}
		goleak.VerifyNone(t, none)
	})
	for _, p := range plans.Parties(signed.Plan) {
		if err := s.Await(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Register(ctx, io.Discard, signed, ""); err != nil {
		t.Fatal(err)
	}
	return at, s, signed
}

// newOpener makes a key that opens envelopes, writes it unless path is empty, and
// returns the public one.
func newOpener(t *testing.T, path string) string {
	t.Helper()
	key, err := envelope.GenerateKey(envelope.X25519)
	if err == nil && path != "" {
		err = partykey.CreateOpening(path, key, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	return key.Public().String()
}

// command runs a command line in this process and fails the test if it fails.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, err bytes.Buffer
	if code := run(args, terminal.Streams{Out: &out, Err: &err}); code != 0 {
		t.Fatalf("confetti %s: exit code %d\n%s%s", strings.Join(args, " "), code, &out, &err)
	}
	return out.String()
}

func colours(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.csv")
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"colour"})
	for range n {
		w.Write([]string{"green"})
	}
	w.Flush()
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A new plan brings new keys while the old one is still being answered: services
// hold both, and take the new ones up without a restart.
func TestKeysRotateWithOverlap(t *testing.T) {
	const devices = 12
	at, s, first := startTrial(t, 10, devices, nil)
	second, errRefused := rotate(t, at, first, func(signed plan.Signed) error { return s.Register(t.Context(), io.Discard, signed, "") })
	if errRefused == nil || !strings.Contains(errRefused.Error(), "private key") {
		t.Errorf("a plan whose keys nobody has yet: %v", errRefused)
	}
	command(t, "plan", "register", second, "--dir", string(at))
	values := colours(t, devices)
	// Both are answered, the new one first, by the same devices.
	command(t, "submit", values, "--dir", string(at), "--devices", "--plan", second)
	command(t, "submit", values, "--dir", string(at), "--devices")
	for _, file := range []string{at.Path(trial.Plan), second} {
		command(t, "plan", "close", file, "--dir", string(at))
		signed, err := plans.ReadSigned(file)
		if err != nil {
			t.Fatal(err)
		}
		state, err := s.Progress(t.Context(), signed)
		if err != nil || state.Status != analyzerd.Released || len(state.Batches) != 1 || state.Batches[0].Respondents != devices {
			t.Errorf("%s: %+v, %v", file, state, err)
		}
	}
	if text := command(t, "budget", "show", "--dir", string(at)); strings.Count(text, "by trial on") != 2 {
		t.Errorf("the budget does not list both plans:\n%s", text)
	}
}

// rotate signs the same question with new keys for everybody. It tries to register
// the plan before the private keys are there.
func rotate(t *testing.T, at trial.Folder, signed plan.Signed, register func(plan.Signed) error) (file string, refused error) {
	t.Helper()
	publisher, _, err := partykey.ReadSigning(at.Path(trial.Publisher))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(signed.Plan.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	// Made elsewhere, and brought to the services' folders later.
	var moves [][2]string
	place := func(folder, name string) string {
		made := filepath.Join(t.TempDir(), name)
		moves = append(moves, [2]string{made, filepath.Join(folder, "keys", name)})
		return made
	}
	p.Analyzer.Key = newOpener(t, place(at.Of(plans.Party{Role: "analyzer"}), "new.json"))
	releases, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	p.Analyzer.Releases = releases.Public().String()
	if err := partykey.CreateSigning(place(at.Of(plans.Party{Role: "analyzer"}), "new-releases.json"), releases, "test"); err != nil {
		t.Fatal(err)
	}
	for h := range p.Route.Mix.Instances[0].Hops {
		hop, folder := &p.Route.Mix.Instances[0].Hops[h], at.Of(plans.Party{Role: "shuffler", Hop: h})
		hop.Key = newOpener(t, place(folder, "new.json"))
		sign, err := relay.GenerateSignKey()
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := token.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		hop.Receipts, hop.Tokens = sign.Public().String(), tokens.Public().String()
		if err := partykey.CreateSigning(place(folder, "new-receipts.json"), sign, "test"); err != nil {
			t.Fatal(err)
		}
		if err := partykey.CreateTokens(place(at.Of(plans.Party{Role: "issuer"}), fmt.Sprintf("new-%d.json", h)), tokens, "test"); err != nil {
			t.Fatal(err)
		}
	}
	renewed := plan.Sign(p, publisher.Private())
	refused = register(renewed)
	for _, m := range moves {
		if err := os.Rename(m[0], m[1]); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(t.TempDir(), "second.json")
	if err := os.WriteFile(file, renewed.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, refused
}

// Profiles are on a port of their own and nowhere else.
func TestProfilesHaveAPortOfTheirOwn(t *testing.T) {
	port, err := loopback.Port()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	_, s, signed := startTrial(t, 10, 1, func(at trial.Folder, signed plan.Signed) {
		path := at.Config(plans.Parties(signed.Plan)[1])
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, fmt.Appendf(text, "debug = '%s'\n", address), 0o600) // [http] is the last section
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://" + address + "/debug/pprof/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("profiles: %s", res.Status)
	}
	if status, _, err := s.Do(t.Context(), http.MethodGet, plans.Parties(signed.Plan)[1].URL+"/debug/pprof/", "", nil); status != http.StatusNotFound {
		t.Errorf("profiles on the service's own port: %d, %v", status, err)
	}
}
