package client_test

import (
	"crypto/ed25519"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A plan is fetched once; its answers go by name, and are those of a value of its kind.
func TestAnAddressAndAnswersByName(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	address, o := s.URL+wire.PlanPath(p.Hash()), device(t, s)
	for range 2 {
		c, err := client.OpenURL(t.Context(), address, o)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Report(t.Context(), client.Answers{"class": "shore", "features": []float64{0.5, -0.25, 0}})
		if err != nil && !errors.Is(err, client.ErrAnswered) {
			t.Error(err)
		}
		c.Close()
	}
	if kept, requests, _ := s.counts(); kept != 1 || requests != 2 {
		t.Errorf("%d contributions, %d requests: one of the plan and one contribution", kept, requests)
	}
	for address, want := range map[string]string{
		"http" + strings.TrimPrefix(address, "https"): "not an address of a plan",
		address + "/status":                           "not an address of a plan",
		s.URL + wire.PlanPath([32]byte{1}):            "another plan",
	} {
		if _, err := client.OpenURL(t.Context(), address, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	o.Publishers = plan.Trust("ed25519:" + strings.Repeat("A", 43))
	if _, err := client.OpenURL(t.Context(), address, o); err == nil || !strings.Contains(err.Error(), "nobody here trusts") {
		t.Errorf("whoever published what was kept: %v", err)
	}
}

// What is over leaves nothing behind, and a plan that nobody here trusts as it was signed then
// is fetched again.
func TestWhatIsKeptOfAddresses(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	over, open := p, p
	over.Times.Closes, open.Times.Closes = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	keep := func(p plan.Plan, key ed25519.PrivateKey) string {
		name := p.Name() + ".plan.json"
		if err := os.WriteFile(filepath.Join(dir(o), name), plan.Sign(p, key).Marshal(), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	gone, left := []string{keep(over, publisher), "state"}, []string{keep(open, publisher), keep(p, stranger), "ledger"}
	if err := os.WriteFile(filepath.Join(dir(o), "state"), []byte("public"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.OpenURL(t.Context(), s.URL+wire.PlanPath(p.Hash()), o)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(dir(o), name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(dir(o), name)); err != nil {
			t.Error(err)
		}
	}
}

func TestAnswersThatDoNotFitTheirNames(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	c := opened(t, p, o)
	for want, a := range map[string]client.Answers{
		`no answer to "class"`:            {"features": []float32{62517, 0, 0}},
		`nothing of the name "colour"`:    {"class": "shore", "features": []int{1, 0, 0}, "colour": "62517"},
		`"class" is none of the plan's 2`: {"class": "62517", "features": []float32{0.5, -0.25, 0}},
		`"features" is not a list`:        {"class": "shore", "features": true},
		`asks for "class", "features"`:    {"other": 1},
	} {
		err := c.Answer(a)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "62517") {
			t.Errorf("%q: %v", want, err)
		}
	}
	if l := ledger(t, o); len(l.Entries) != 0 {
		t.Error("something was answered")
	}
}

// The round that was fetched last stands where no service can be reached, and a state is
// fetched once and is the one that the plan names.
func TestTheNewestRoundOfAStudy(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	newService(t, &p, false)
	state := []byte("public")
	var newest plan.Signed
	var paths []string
	var away bool
	analyzer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away {
			panic(http.ErrAbortHandler)
		}
		paths = append(paths, r.URL.Path)
		if strings.HasPrefix(r.URL.Path, "/v1/states/") {
			w.Write(state)
			return
		}
		w.Write(newest.Marshal())
	}))
	defer analyzer.Close()
	p.Analyzer.URL = analyzer.URL
	of := study(p, 3, plan.TakesOne)
	times := of.Study.Times
	newest = round(t, of, 1, 0)
	o := client.Options{Publishers: plan.Trust(sign(p).Publisher), Store: native.Folder{Path: filepath.Join(t.TempDir(), "device")}, Transport: &native.Transport{Roots: analyzer.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}
	address := analyzer.URL + wire.StudyPath(of.Study.Hash())
	open := func() error {
		c, err := client.OpenURL(t.Context(), address, o)
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	away = true
	if err := open(); err != nil {
		t.Errorf("no service can be reached: %v", err)
	}
	away = false
	var err error
	if newest, err = of.Round(2, plan.StateName(state), times, coordinator); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := open(); err == nil || !strings.Contains(err.Error(), "state") {
			t.Errorf("a density has no state: %v", err)
		}
	}
	states := 0
	for _, path := range paths {
		if strings.HasPrefix(path, "/v1/states/") {
			states++
		}
	}
	if kept, err := os.ReadFile(filepath.Join(dir(o), "state")); err != nil || string(kept) != string(state) || states != 1 {
		t.Errorf("the state was fetched %d times, and is %q: %v", states, kept, err)
	}
	state = []byte("another")
	if newest, err = of.Round(2, plan.StateName([]byte("third")), times, coordinator); err != nil {
		t.Fatal(err)
	}
	if err := open(); err == nil || !strings.Contains(err.Error(), "state") {
		t.Errorf("another state: %v", err)
	}
}

// In the background an answer is delivered when the entry is there again.
func TestDeliveryInTheBackground(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	c := opened(t, p, device(t, s))
	tries := 0
	s.setFail(func(*http.Request) error {
		if tries++; tries < 12 {
			return wire.Problemf(wire.Overloaded, "away")
		}
		return nil
	})
	var longest time.Duration
	c.SetTime(time.Now, func(d time.Duration) { longest = max(longest, d) })
	if err := c.Answer(value(1)); err != nil {
		t.Fatal(err)
	}
	if err := c.DeliverAll(t.Context()); err != nil || tries != 12 {
		t.Errorf("%d tries: %v", tries, err)
	}
	if longest < 10*time.Second {
		t.Errorf("it waited %v at most, and should come less and less often", longest)
	}
}
