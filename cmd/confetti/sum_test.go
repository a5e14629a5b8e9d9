package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

var summed = flag.Int("summed", 30, "devices of the trial over sums")

// A device that says every colour at once, with a proof that allows it, is refused by the
// two aggregators together; the release counts all others, and says so.
func TestATrialOverSumsReleasesWithoutALiar(t *testing.T) {
	devices := *summed
	at, _, signed := startRoute(t, plan.RouteSum, devices/2, devices, nil)
	if out := command(t, "submit", colours(t, devices-1), "--dir", string(at), "--devices"); !strings.HasPrefix(out, fmt.Sprintf("%d answers sent", devices-1)) {
		t.Fatal(out)
	}
	lie(t, at, signed, devices-1)
	command(t, "plan", "close", "--dir", string(at))
	dir := at.Path("release")
	command(t, "release", "fetch", "--dir", string(at), "--out", dir)
	command(t, "release", "verify", dir, "--publishers", at.Path(trial.Publishers))
	if out := command(t, "release", "show", dir); !strings.Contains(out, "Respondents counted") || !strings.Contains(out, "1 report was refused") {
		t.Errorf("the release does not say that a report was refused: %s", out)
	}
}

// lie is a device that keeps to no circuit but its own.
func lie(t *testing.T, at trial.Folder, signed plan.Signed, device int) {
	t.Helper()
	tokens := stolen(t, at, signed, device)
	s, err := task.New(signed.Plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := signed.Plan.Route.Sum.Circuit
	if s.VDAF, err = prio3.New(prio3.SumVec{Length: c.Length, Max: 1}, signed.Plan.Route.Sum.Chunk, dap.Context(s.ID)); err != nil {
		t.Fatal(err)
	}
	all := make([]uint64, c.Length)
	for i := range all {
		all[i] = 1
	}
	report, err := s.Report(rng.New(), all, time.Now(), tokens[1])
	if err != nil {
		t.Fatal(err)
	}
	post(t, at, signed.Plan.Route.Sum.Leader.URL+dap.ReportsPath(s.ID), dap.UploadType, tokenwire.Authorization(tokens[0]), report.Append(nil))
}

// stolen are the tokens of a device, as the issuer gives them.
func stolen(t *testing.T, at trial.Folder, signed plan.Signed, device int) (tokens [][]byte) {
	t.Helper()
	text, err := os.ReadFile(at.Path(trial.Devices))
	if err != nil {
		t.Fatal(err)
	}
	var ask tokenwire.Request
	var requests []*token.Request
	for h, party := range signed.Plan.Route.Ways()[0] {
		key, err := token.ParsePublicKey(party.Tokens)
		if err != nil {
			t.Fatal(err)
		}
		request, err := token.NewRequest(token.Seed{1}, key, token.Context{Plan: signed.Plan.Hash(), Hop: uint8(h)})
		if err != nil {
			t.Fatal(err)
		}
		requests, ask.Asks = append(requests, request), append(ask.Asks, tokenwire.Ask{Hop: uint8(h), Blinded: request.Blinded})
	}
	bearer := "Bearer " + strings.Fields(string(text))[device]
	answer, err := tokenwire.ParseResponse(post(t, at, signed.Plan.Route.Issuer().URL+wire.TokensPath(signed.Plan.Hash()), wire.TokenRequestType, bearer, ask.Marshal()))
	if err != nil {
		t.Fatal(err)
	}
	for i, request := range requests {
		one, err := request.Finish(answer.Answers[i])
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, one)
	}
	return tokens
}

// post sends a body as a device does.
func post(t *testing.T, at trial.Folder, url, mediaType, authorization string, body []byte) []byte {
	t.Helper()
	client, err := serve.Client(serve.Path(at.Path(trial.Roots)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("Authorization", authorization)
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		t.Fatal(p)
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
