package labeldp

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// everyDraw is the law of the labels that a learner sees of three peers, by enumeration of every
// flip and of every choice of whom to ask: no formula.
func everyDraw(labels [3]int, flip float64, answers int) map[int]float64 {
	law := map[int]float64{}
	for flips := range 8 {
		p := 1.0
		var noisy [3]int
		for i, y := range labels {
			if noisy[i] = y ^ flips>>i&1; noisy[i] == y {
				p *= 1 - flip
			} else {
				p *= flip
			}
		}
		asks := int(math.Pow(3, float64(answers)))
		for ask := range asks {
			seen, rest := 0, ask
			for range answers { // who answers is known, so that the order is
				seen, rest = 2*seen+noisy[rest%3], rest/3
			}
			law[seen] += p / float64(asks)
		}
	}
	return law
}

func TestPeersByEnumeration(t *testing.T) {
	const flip = 0.2
	for answers := 1; answers <= 4; answers++ {
		for _, epsilon := range []float64{0, 0.1, 0.4, 0.9, 1.3} {
			worst := 0.0
			for others := range 4 {
				a, b := everyDraw([3]int{0, others & 1, others >> 1}, flip, answers), everyDraw([3]int{1, others & 1, others >> 1}, flip, answers)
				there, back := 0.0, 0.0
				for seen := range a {
					there += math.Max(0, a[seen]-math.Exp(epsilon)*b[seen])
					back += math.Max(0, b[seen]-math.Exp(epsilon)*a[seen])
				}
				worst = math.Max(worst, math.Max(there, back))
			}
			g, err := account.Delta(Peers{Users: 3, Answers: answers, Flip: flip}, epsilon)
			if err != nil || math.Abs(g.Delta-worst) > 1e-8*worst+1e-15 {
				t.Errorf("%d answers, epsilon %v: delta %v, enumerated %v (%v)", answers, epsilon, g.Delta, worst, err)
			}
		}
	}
}

// The neighbour's epsilon is the flip's whatever the cluster, and the learner's far below; a
// shuffler's, who passes each label on once, is another number.
func TestPeersBesideOthers(t *testing.T) {
	e := Peers{Users: 200, Answers: 200, Flip: 0.1}
	const delta = 1e-3
	learner, err := account.Epsilon(e, delta)
	if err != nil {
		t.Fatal(err)
	}
	neighbour, err := e.Neighbour()
	if err != nil || math.Abs(neighbour.Epsilon-math.Log(9)) > 1e-12 || neighbour.Trust != account.Local {
		t.Errorf("%+v, %v", neighbour, err)
	}
	shuffled, err := account.Certify(shuffle.RandomizedResponse{Users: 200, Flip: 0.1}, delta)
	if err != nil {
		t.Fatal(err)
	}
	if !(learner.Epsilon < shuffled.Epsilon && shuffled.Epsilon < neighbour.Epsilon) || learner.Adjacency != account.Label || learner.Trust != account.Peers {
		t.Errorf("learner %+v, shuffled %v, neighbour %v", learner, shuffled.Epsilon, neighbour.Epsilon)
	}
	fewer, err := account.Epsilon(Peers{Users: 200, Answers: 50, Flip: 0.1}, delta)
	if err != nil || !(fewer.Epsilon < learner.Epsilon) {
		t.Errorf("epsilon %v with fewer answers, %v with all (%v)", fewer.Epsilon, learner.Epsilon, err)
	}
}

func TestWrongPeers(t *testing.T) {
	for _, e := range []Peers{{}, {1, 1, 0.1}, {5, 0, 0.1}, {5, 5, 0}, {5, 5, 0.6}, {5, 5, math.NaN()}, {3000, 3000, 0.1}} {
		if _, err := account.Epsilon(e, 1e-6); err == nil {
			t.Errorf("%+v is taken", e)
		}
	}
	if _, err := account.Epsilon(account.Repeat{Event: Peers{5, 5, 0.1}, Rounds: 2}, 1e-6); err == nil {
		t.Error("two rounds have no law here")
	}
}
