package store

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/plan"
)

func TestWhatFollowsARoundIsWrittenOnce(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		for range 2 {
			n, err := s.Following(ctx, "aa")
			if err != nil || string(n.Signed) != "round 2" || n.Reason != "" || !n.Written.Equal(now) || !n.Announced.Equal(now) {
				t.Errorf("what follows is %+v: %v", n, err)
			}
			if o, err := s.Follow(ctx, "aa", Next{Reason: "another end", Written: now}, nil); o != Again || err != nil {
				t.Error("written again:", o, err)
			}
			if err := s.Announced(ctx, "aa", now.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Following(ctx, "cc"); !errors.Is(err, ErrUnknown) {
			t.Error("an open round is followed:", err)
		}
		if o, err := s.Follow(ctx, "nobody's", Next{Written: now}, nil); o != Failed || err == nil {
			t.Error("a plan that is not there is followed:", o, err)
		}
	})
}

func TestStatesAreThoseOfTheirNames(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		for range 2 { // twice is once
			if err := s.KeepState(ctx, []byte("a state")); err != nil {
				t.Fatal(err)
			}
		}
		if body, err := s.State(ctx, stateName([]byte("a state"))); err != nil || !bytes.Equal(body, []byte("a state")) {
			t.Errorf("%q: %v", body, err)
		}
		if _, err := s.State(ctx, stateName([]byte("another"))); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, err := s.writer.Exec("INSERT INTO states (name, body) VALUES ('00', 'forged')"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.State(ctx, "00"); !errors.Is(err, ErrDamaged) {
			t.Error("a state under another's name is handed out:", err)
		}
	})
}

// Of several plans with one number, brought at once by several processes, one is taken.
func TestARoundIsOnePlan(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		stores := []*Store{open(t, dsn), open(t, dsn)}
		names := []string{"aa", "bb", "cc", "dd"}
		results := make(chan error, len(names))
		for i, name := range names {
			go func() {
				p := samplePlan(name)
				_, err := stores[i%2].Register(context.Background(), p, Round{"study", 3}, signedOf(p), asked(p))
				results <- err
			}()
		}
		taken := 0
		for range names {
			if err := <-results; err == nil {
				taken++
			} else if !errors.Is(err, ErrRound) {
				t.Error(err)
			}
		}
		s := stores[0]
		rounds, err := s.Rounds(t.Context(), "study")
		plans, _ := s.Plans(t.Context())
		if err != nil || taken != 1 || len(plans) != 1 || len(rounds) != 1 || rounds[3] != plans[0].Name {
			t.Errorf("%d taken, %d plans, %v, %v", taken, len(plans), rounds, err)
		}
		// Another number of the study, and the number of another one, are free. charge hears how
		// many rounds are there.
		for _, c := range []struct {
			round Round
			there int
		}{{Round{"study", 1}, 1}, {Round{"other", 3}, 0}, {Round{"study", 2}, 2}, {Round{}, 0}} {
			p := samplePlan(c.round.Study + string(rune('0'+c.round.Number)))
			_, err := s.Register(t.Context(), p, c.round, signedOf(p), func(b Before) (Spending, error) {
				if b.Rounds != c.there {
					t.Errorf("before %+v there were %d rounds", c.round, b.Rounds)
				}
				return p.Spending, nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if rounds, err := s.Rounds(t.Context(), ""); err != nil || len(rounds) != 0 {
			t.Errorf("plans without a study are rounds: %v, %v", rounds, err)
		}
	})
}

// asking is a valid plan without times.
func asking(t testing.TB) plan.Plan {
	t.Helper()
	key, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	party := plan.Party{Operator: "operator", Key: key.Public().String()}
	analyst := party
	analyst.Releases = plan.Publisher(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)).Public().(ed25519.PublicKey))
	p := plan.Plan{
		Version: plan.Version, Title: "test",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 2, Repetitions: 2, Kernel: plan.Kernel{Name: "ip-signs", Seed: strings.Repeat("0", 64)},
			Bitsum: plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected},
		Crowd:     plan.Crowd{Names: []string{"a"}, Minimum: 10},
		Envelopes: plan.Envelopes{PerDevice: 2, PayloadBytes: 8, Suite: string(envelope.X25519)},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{party}}}}},
		Analyzer:  analyst,
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

// A database of before numbers were kept gets them: of several versions the first that came.
func TestNumbersOfAnOlderDatabase(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s := open(t, dsn)
		p, err := s.provider()
		if err != nil {
			t.Fatal(err)
		}
		begins := now.Truncate(time.Hour)
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		study := plan.SignStudy(plan.Study{
			Version: plan.StudyVersion, Plan: asking(t), Rounds: 2, Takes: plan.TakesOne, Withheld: plan.WithheldEnds,
			Coordinator: plan.Publisher(key.Public().(ed25519.PublicKey)), Times: plan.Times{Opens: begins, Closes: begins.Add(10 * time.Hour)},
		}, key)
		want := map[int]string{}
		for i, number := range []int{2, 1, 1} {
			signed, err := study.Round(number, "", plan.Times{Opens: begins.Add(time.Duration(i) * time.Hour), Closes: begins.Add(9 * time.Hour)}, key)
			if err != nil {
				t.Fatal(err)
			}
			one := samplePlan(signed.Plan.Name())
			one.Registered = now.Add(time.Duration(i) * time.Minute)
			if _, err := s.Register(t.Context(), one, Round{}, signed.Marshal(), asked(one)); err != nil {
				t.Fatal(err)
			}
			if want[number] == "" {
				want[number] = one.Name
			}
		}
		register(t, s, samplePlan("aa"))
		if _, err := p.DownTo(t.Context(), numberedVersion-1); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := s.Rounds(t.Context(), study.Study.Name())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
}

// Whoever holds the tables and does nothing costs no write more than its patience, is seen by
// who asks whether the database is ready, and is forgotten when it lets go.
func TestHeldTables(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, other := open(t, dsn), open(t, dsn)
		s.patience = "50"
		if s.kind == sqlite { // whose transactions begin by taking the lock
			if _, err := s.writer.Exec("PRAGMA busy_timeout(50)"); err != nil {
				t.Fatal(err)
			}
		}
		tx, err := other.writer.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if s.kind == postgres {
			if _, err := tx.Exec("LOCK TABLE plans IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
		}
		p := samplePlan("aa")
		if _, err := s.Register(t.Context(), p, Round{}, signedOf(p), asked(p)); !errors.Is(err, ErrBusy) {
			t.Errorf("a write while another holds the tables: %v", err)
		}
		if err := s.Ready(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("ready: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("not ready when it is free: %v", err)
		}
		register(t, s, p)
	})
}
