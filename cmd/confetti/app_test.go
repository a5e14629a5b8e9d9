package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/server/up"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// told passes on what is written, whole.
type told struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (s *told) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

// given is what a trial gives an app.
type given struct {
	Plan       string
	Publishers []string
	Bearer     string
	Roots      string
	Origins    []string
	Delay      *float64
}

// trialFor runs a trial until the test ends, and returns what it says an app needs.
func trialFor(t *testing.T, dir string, origins ...string) (a given) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var out told
	done := make(chan error, 1)
	go func() {
		c := up.Command{Dir: dir, Closes: new(time.Hour), Devices: new(110), Origin: origins, Form: terminal.Form{JSON: true}}
		done <- c.RunUntil(ctx, terminal.Streams{Out: &out, Err: io.Discard})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out.mu.Lock()
		text := bytes.Clone(out.all.Bytes())
		out.mu.Unlock()
		if json.Unmarshal(text, &a) == nil {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatalf("the trial does not start: %s", text)
		}
	}
}

// A trial says as JSON, and in a file, what an app and a page need; its services let in the page that was named,
// and no other.
func TestATrialSaysWhatAnAppNeeds(t *testing.T) {
	dir, origin := filepath.Join(t.TempDir(), "trial"), "http://localhost:8000"
	a := trialFor(t, dir, origin)
	text, err := os.ReadFile(filepath.Join(dir, "app.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept given
	if err := json.Unmarshal(text, &kept); err != nil || kept.Plan != a.Plan || kept.Bearer != a.Bearer || a.Bearer == "" || a.Delay == nil || *a.Delay != 0 || !slices.Equal(a.Origins, []string{origin}) {
		t.Errorf("%v: %s, and printed %+v", err, text, a)
	}
	if devices, err := os.ReadFile(filepath.Join(dir, "devices.tokens")); err != nil || strings.Contains(string(devices), a.Bearer) {
		t.Errorf("the app's token is a device's too: %v", err)
	}
	web, err := serve.Client(serve.Path(a.Roots))
	if err != nil {
		t.Fatal(err)
	}
	for asks, want := range map[string]string{origin: origin, "http://localhost:8001": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", asks)
		answer, err := web.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Access-Control-Allow-Origin"); got != want || answer.StatusCode != http.StatusOK {
			t.Errorf("a page of %s: %q, %s", asks, got, answer.Status)
		}
	}
	for _, c := range []up.Command{{Dir: dir, Origin: []string{"http://localhost:9000"}}, {Dir: t.TempDir(), Origin: []string{"localhost:8000"}}} {
		var usage terminal.UsageError
		if err := c.RunUntil(t.Context(), terminal.Streams{Out: io.Discard, Err: io.Discard}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--origin") {
			t.Errorf("%v: %v", c.Origin, err)
		}
	}
}
