package vectors

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// limit finds how far a number may go until more than epsilon is spent, in few runs of the accountant.
type limit struct {
	epsilon, delta float64
	event          func(x float64) account.Event // costs more with x
	kept, exceeded struct{ x, epsilon float64 }  // the nearest that were asked
}

func newLimit(epsilon, delta float64, event func(x float64) account.Event) *limit {
	l := &limit{epsilon: epsilon, delta: delta, event: event}
	l.kept.x, l.exceeded.x = math.Inf(-1), math.Inf(1)
	return l
}

// asked runs the accountant at x, keeps what it found, and reports whether epsilon is enough.
func (l *limit) asked(x float64) bool {
	g, err := account.Epsilon(l.event(x), l.delta)
	if err != nil {
		g.Epsilon = math.Inf(1)
	}
	is := err == nil && profile.Keeps(g.Epsilon, l.epsilon)
	if is {
		l.kept.x, l.kept.epsilon = x, g.Epsilon
	} else {
		l.exceeded.x, l.exceeded.epsilon = x, g.Epsilon
	}
	return is
}

// enough reports whether epsilon is enough at x, without the accountant where earlier runs tell.
func (l *limit) enough(x float64) bool {
	if x <= l.kept.x || x >= l.exceeded.x {
		return x <= l.kept.x
	}
	return l.asked(x)
}

// narrow asks where a line between the nearest two meets epsilon, and then on either side of where a better line does: what
// is spent is nearly a line, and a search that halves has few steps left.
func (l *limit) narrow() {
	for _, aside := range [][]float64{{0}, {-4e-5, 4e-5}} {
		at := l.kept.x + (l.exceeded.x-l.kept.x)*(l.epsilon-l.kept.epsilon)/(l.exceeded.epsilon-l.kept.epsilon)
		if !(at > l.kept.x && at < l.exceeded.x) { // of infinities it is no number
			return
		}
		for _, by := range aside {
			l.enough(at * (1 + by))
		}
	}
}
