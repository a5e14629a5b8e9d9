package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/bands"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// The newest round that surely left its band is told once, also by a console that begins anew; a withdrawn one is not told.
func TestTheNewestRoundIsTold(t *testing.T) {
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p, people := metrics(2, 3000)
	s.study(t, p, people, people)
	var got []bands.Message
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m bands.Message
		if text, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(text, &m) != nil {
			t.Errorf("it gets %q", text)
		}
		got = append(got, m)
	}))
	defer to.Close()
	dir := t.TempDir()
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := partykey.CreateSigning(filepath.Join(dir, "hook.json"), key, "test"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bands.toml")
	text := fmt.Sprintf("url = %q\nkey = \"hook.json\"\n", to.URL)
	for _, band := range []string{"value = \"a\"\nlow = 0.6\nhigh = 0.9", "value = \"b\"\nlow = 0.1\nhigh = 0.5", "value = \"z\"\nlow = 0.6\nhigh = 0.9"} {
		text += fmt.Sprintf("[[band]]\ntitle = %q\nmetric = \"metric 1\"\n%s\n", p.Title, band)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	look := func(times int) {
		t.Helper()
		c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Folder: folder, Bands: func() (Bands, error) {
			return bands.Open(file, folder, slog.New(slog.DiscardHandler), time.Now)
		}})
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			if err := c.tellBands(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	look(2)
	look(1)
	if len(got) != 1 || got[0].Value != "a" || got[0].Round != 2 || got[0].Plan != s.plans[1].Plan || got[0].High >= 0.6 {
		t.Fatalf("%+v", got)
	}
	s.study(t, p, people)
	s.plans[2].Withdrawal = &analyzerd.Withdrawal{Reason: "a beta"}
	if look(1); len(got) != 1 {
		t.Errorf("a withdrawn round is told, or one of before anew: %+v", got[1:])
	}
	s.plans[2].Withdrawal = nil
	if look(1); len(got) != 2 || got[1].Plan != s.plans[2].Plan || got[1].ID == got[0].ID {
		t.Errorf("the next season is not told: %+v", got)
	}
	broken := errors.New("of no use")
	if _, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Folder: folder, Bands: func() (Bands, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("bands of no use: %v", err)
	}
	look(1) // and the folder is free again
}
