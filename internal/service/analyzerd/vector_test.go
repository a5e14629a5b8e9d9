package analyzerd_test

import (
	"crypto/ed25519"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/vector"
)

// respondents of a study of gradients: 2,000, or as many thousand as CONFETTI_STUDY says.
func respondents(t *testing.T) int {
	n := 2
	if text := os.Getenv("CONFETTI_STUDY"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 2 {
			t.Fatalf("CONFETTI_STUDY is %q: give thousands of devices, at least 2", text)
		}
	}
	return 1000 * n
}

// Two thousand devices answer a study of gradients in secret rows, sealed for both hops and the
// analyzer; some drop out between its rounds. The classifier goes where the exact gradients
// lead, and whoever answers all rounds is charged for all of them.
func TestAStudyOfGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("seals 16,000 envelopes")
	}
	n, classes := respondents(t), []string{"left", "right"}
	shape := features.Shape{Dimension: 2, Classes: 2}
	r := rand.New(rand.NewPCG(1, 2))
	held := make([]vector.Record, n)
	for i := range held {
		held[i] = vector.Record{Features: []float32{float32(2*(i%2)-1) + float32(r.NormFloat64()), float32(r.NormFloat64())}, Class: i % 2}
	}
	p := route()
	p.Question = plan.Question{Kind: "vector", Unfit: plan.UnfitReference, Vector: &plan.Vector{
		Features: shape.Dimension, Classes: classes, Seed: strings.Repeat("5a", 32), Rounds: []plan.VectorRound{{Sums: plan.SumsGradients, Answered: 1}},
	}}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", DishonestShare: 0.1}
	p.Crowd, p.Envelopes.Suite = plan.Crowd{Minimum: n * 9 / 10}, "x25519"
	p.Route.Mix.Instances = p.Route.Mix.Instances[1:] // of two hops
	p, err := design.Fill(p)
	if err != nil {
		t.Fatal(err)
	}
	h := &hops{came: map[string]int{}}
	outside := httptest.NewTLSServer(h)
	defer outside.Close()
	for i := range p.Route.Mix.Instances[0].Hops {
		p.Route.Mix.Instances[0].Hops[i].URL = outside.URL
	}
	c := keyed(t, &p)
	p.Times = plan.Times{}
	start0 := &vector.State{Point: &features.Point{Shape: shape, Mean: make([]float32, 2), Weights: make([]float64, 4),
		Whiten: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1}}}}
	state := start0.Marshal()
	study := plan.SignStudy(plan.Study{
		Version: 1, Plan: p, Rounds: 2, Takes: plan.TakesAll, Withheld: plan.WithheldEnds, Coordinator: plan.Publisher(coordinator.Public().(ed25519.PublicKey)),
		Times: plan.Times{Opens: closes.Add(-24 * time.Hour), Closes: closes.Add(30 * 24 * time.Hour)},
	}, publisher)
	signed, err := study.Round(1, plan.StateName(state), plan.Times{Opens: closes.Add(-2 * time.Hour), Closes: closes}, coordinator)
	if err != nil {
		t.Fatal(err)
	}
	rig := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	rig.client = outside.Client()
	rig.restart()
	hash, _ := wire.ParsePlanName(plan.StateName(state))
	rig.wants(rig.do("PUT", wire.StatePath(hash), wire.StateType, state), created, "")
	for number, here := range []int{n, n - n/20} { // one in twenty drops out
		if number > 0 {
			signed = rig.newest(study)
			hash, err := wire.ParsePlanName(signed.Plan.State)
			if err != nil {
				t.Fatal(err)
			}
			state = rig.get(wire.StatePath(hash)).Body.Bytes()
		}
		proto, err := protocol.WithState(signed.Plan, state)
		if err != nil {
			t.Fatal(err)
		}
		c.answerBy(t, signed, proto, here, func(i int) question.Value { return held[i] })
		if number == 0 {
			rig.wants(rig.register(c), created, "")
		}
		for _, h := range c.handovers {
			rig.wants(rig.put(h), created, "")
		}
		rig.at(signed.Plan.Times.Closes.Add(time.Hour))
		for range 2 { // concludes, and goes on
			if err := rig.service.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rig.wants(rig.get("/v1/releases/"+c.name+".json"), ok, "")
	}
	model, err := c.protocol.Question.Learn(nil)
	if err != nil {
		t.Fatal(err)
	}
	reached := model.(*vector.Model).State // that the second round asked with
	if len(reached.Passed) != 1 {
		t.Fatalf("%+v", reached)
	}
	exact := make([]float64, 4)
	message := make([]float32, shape.GradientLen())
	for _, v := range held {
		phi := make([]float32, 2)
		start0.Point.Features(start0.Features(v.Features), phi)
		start0.Point.Message(phi, v.Class, message)
		for i := range 2 {
			for k := range 2 {
				exact[2*i+k] -= 2.5 * 2 * features.ErrorCut / float64(n) * float64(message[2*k+i])
			}
		}
	}
	dot, own, other := 0.0, 0.0, 0.0
	for i, w := range reached.Point.Weights {
		dot, own, other = dot+w*exact[i], own+w*w, other+exact[i]*exact[i]
	}
	if cosine := dot / math.Sqrt(own*other); !(cosine > 0.9) {
		t.Errorf("the first step and the exact one have a cosine of %v", cosine)
	}
	b, err := rig.service.Budget(t.Context(), "residents")
	if err != nil || len(b.Plans) == 0 || !(b.Plans[0].Epsilon > p.Budget.Epsilon && b.Plans[0].Epsilon < 2*p.Budget.Epsilon) {
		t.Errorf("two rounds of epsilon %v are charged as %+v, %v", p.Budget.Epsilon, b.Plans, err)
	}
}
