package bitnoise

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

func TestPureReconstruction(t *testing.T) {
	type row struct {
		Eps, Theta, Q float64
		N, S          int
		Messages      float64 `json:"messages_per_user"`
		AllOnes       float64 `json:"rmse_unbiased_all_ones"`
		AllZeros      float64 `json:"rmse_unbiased_all_zeros"`
	}
	for _, r := range accounttest.Rows[row](t, "pure_reconstruction.json") {
		p, err := NewPure(r.N, r.Eps, r.Theta, r.Q)
		if err != nil {
			t.Fatal(err)
		}
		if p.Size != r.S {
			t.Errorf("%+v: size %d, want %d", r, p.Size, r.S)
		}
		accounttest.Within(t, "messages", p.MessagesPerUser(), r.Messages, 1e-9)
		accounttest.Within(t, "RMSE, all ones", p.RMSE(r.N), r.AllOnes, 1e-9)
		accounttest.Within(t, "RMSE, all zeros", p.RMSE(0), r.AllZeros, 1e-9)
		published, err := PublishedPure(r.N, r.Eps, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, "drop", published.Drop, r.Q, 1e-12)
	}
}

// ratios is the range of the log likelihood ratio of neighbours on a grid of
// both counts, by the exact law of the protocol given that all others are there.
func (e Pure) ratios(grid int) (least, most float64) {
	p := e.Epsilon - e.Theta
	flood := make([]float64, grid+1)
	flood[0] = 1 // up to a constant
	for c := 1; c <= grid; c++ {
		for j := 1; j <= min(c, e.Size); j++ {
			flood[c] += math.Exp(e.Theta*float64(j)) * flood[c-j] / float64(c)
		}
	}
	hidden := make([]float64, grid+1) // sum over c of e^(-2p(m-c)) P3(c)
	for m := range hidden {
		hidden[m] = flood[m]
		if m > 0 {
			hidden[m] += math.Exp(-2*p) * hidden[m-1]
		}
	}
	g := func(a, b int) float64 {
		if a < 0 || b < 0 {
			return 0
		}
		return math.Exp(-p*math.Abs(float64(a-b))) * hidden[min(a, b)]
	}
	least, most = math.Inf(1), math.Inf(-1)
	for a := range grid + 1 {
		for b := range grid + 1 {
			there := e.Drop * g(a, b)
			zero := (1-e.Drop)*g(a-e.Size, b-e.Size) + there
			one := (1-e.Drop)*g(a-e.Size-1, b-e.Size) + there
			ratio := math.Log(zero / one)
			least, most = min(least, ratio), max(most, ratio)
		}
	}
	return least, most
}

func TestPureOnAGrid(t *testing.T) {
	data, err := accounttest.Vectors.ReadFile("testdata/vectors/pure_checks.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rows []struct {
			Eps, Theta, Q float64
			S             int
			Most          float64 `json:"max_log_ratio"`
			Least         float64 `json:"min_log_ratio"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Rows) == 0 {
		t.Fatal(err, len(file.Rows))
	}
	for _, r := range file.Rows {
		p := Pure{Users: 100, Epsilon: r.Eps, Theta: r.Theta, Drop: r.Q, Size: r.S}
		least, most := p.ratios(4 * r.S)
		accounttest.Within(t, "most", most, r.Most, 1e-6)
		if most > r.Eps || -least > r.Eps {
			t.Errorf("%+v: ratios from %v to %v", p, least, most)
		}
		if _, err := p.Terms(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	// Two fewer than the least size are too few, and the condition knows.
	p, err := NewPure(100, 1, 0.2, 0.01)
	if err != nil || p.Size != 20 {
		t.Fatal(p, err)
	}
	p.Size -= 2
	if _, most := p.ratios(80); most <= 1 {
		t.Errorf("size %d has ratios up to %v", p.Size, most)
	}
	var domain *theorems.DomainError
	if _, err := account.Epsilon(p, 1e-6); !errors.As(err, &domain) {
		t.Errorf("size %d was accounted for: %v", p.Size, err)
	}
}

func TestPublishedPureDomain(t *testing.T) {
	// n = 40000, 768 bitsums, rho = 1/2: q exceeds one below a total of 1.21.
	var domain *theorems.DomainError
	if _, err := PublishedPure(40000, 1.2/768, 0.5); !errors.As(err, &domain) || !(domain.Formula >= 1) {
		t.Errorf("q above one: %v", err)
	}
	if p, err := PublishedPure(40000, 1.25/768, 0.5); err != nil || !(p.Drop < 1) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := PublishedPure(40000, 0.1, 1); !errors.As(err, &domain) {
		t.Errorf("rho = 1 as in the authors' script: %v", err)
	}
	for _, x := range accounttest.Hostile {
		if _, err := PublishedPure(100, x, 0.5); err == nil {
			t.Errorf("epsilon %v was taken", x)
		}
		if _, err := PublishedPure(100, 1, x); err == nil {
			t.Errorf("rho %v was taken", x)
		}
		for _, p := range [][3]float64{{x, 0.1, 0.1}, {1, x, 0.1}, {1, 0.1, x}} {
			if _, err := NewPure(100, p[0], p[1], p[2]); err == nil {
				t.Errorf("%v were taken", p)
			}
		}
	}
	p, err := NewPure(1000, 0.01, 0.004, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	basic, err := p.Guarantee(100)
	if err != nil || basic.Delta != 0 {
		t.Fatal(basic, err)
	}
	accounttest.Within(t, "basic", basic.Epsilon, 1, 1e-12)
	composed, err := account.Epsilon(account.Repeat{Event: p, Rounds: 100}, 1e-6)
	kov, err2 := profile.KairouzOhViswanath(0.01, 0, 100, 1e-6)
	if err != nil || err2 != nil || composed.Epsilon != kov || kov >= 1 {
		t.Errorf("composed %v, KOV %v, %v, %v", composed.Epsilon, kov, err, err2)
	}
}
