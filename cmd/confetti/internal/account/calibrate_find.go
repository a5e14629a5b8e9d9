package account

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
)

// What follows finds the noise of one mechanism each: it fills in the statement and
// returns the event of one round.

// bits finds how often the bits of a mechanism are flipped: as often as epsilon needs,
// which wanted finds, and as the local epsilon does, at most. at is the event with so
// many flips.
func (c accountCalibrate) bits(s *statement, most float64, at func(flip float64) account.Event, wanted func() (flip float64, g account.Guarantee, err error)) (event account.Event, flip float64, err error) {
	if c.Epsilon != 0 {
		if flip, s.Guarantee, err = wanted(); err != nil || c.LocalEpsilon == nil {
			return at(flip), flip, err
		}
	}
	local, err := shuffle.LocalFlip(*c.LocalEpsilon, most, func(flip float64) account.Event { return c.repeated(at(flip)) })
	if err != nil {
		return nil, 0, err
	}
	if local > flip {
		flip = local
		if s.Guarantee, err = account.Epsilon(c.repeated(at(flip)), *c.Delta); err != nil {
			return nil, 0, err
		}
	}
	return at(flip), flip, nil
}

// local says what everyone together learns, where that was asked for.
func (c accountCalibrate) local(s *statement, event account.Event) error {
	if c.LocalEpsilon == nil {
		return nil
	}
	local, err := account.LocalEpsilon(c.repeated(event))
	s.add("local_epsilon", "local epsilon", local, "of all that one device sends, though everyone colludes")
	return err
}

func (c accountCalibrate) randomizedResponse(s *statement) (account.Event, error) {
	event, flip, err := c.bits(s, 0.5,
		func(flip float64) account.Event { return shuffle.RandomizedResponse{Users: *c.Users, Flip: flip} },
		func() (float64, account.Guarantee, error) {
			e, g, err := shuffle.CalibrateRR(c.target(), calibrate.Accounting(c.Accounting))
			return e.Flip, g, err
		})
	if err != nil {
		return nil, err
	}
	s.randomizedResponse(shuffle.RandomizedResponse{Users: *c.Users, Flip: flip}, c.Rounds)
	return event, c.local(s, event)
}

func (c accountCalibrate) oneHot(s *statement) (account.Event, error) {
	adjacency, keep, most := account.Adjacency(c.Adjacency), value(c.Keep), 0.5
	if c.Keep != nil {
		most = keep * (1 - 0x1p-30)
	}
	event, flip, err := c.bits(s, most,
		func(flip float64) account.Event {
			return shuffle.OneHot{Users: *c.Users, Flip: flip, Keep: keep, Adjacency: adjacency}
		},
		func() (float64, account.Guarantee, error) {
			if c.Keep == nil {
				e, g, err := shuffle.CalibrateOneHot(c.target(), adjacency)
				return e.Flip, g, err
			}
			e, g, err := shuffle.CalibrateAsymmetricOneHot(c.target(), keep, adjacency)
			return e.Flip, g, err
		})
	if err != nil {
		return nil, err
	}
	if c.Keep != nil {
		s.add("flip_probability", "flip probability", flip, "that a coordinate's bit is sent which is not set")
		s.add("rmse", "RMSE", math.Sqrt(float64(*c.Users)*flip*(1-flip))/(keep-flip), "of the count of a coordinate that nobody sets, in respondents")
		return event, c.local(s, event)
	}
	s.coordinates(*c.Users, flip, "of every coordinate's bit")
	return event, c.local(s, event)
}

func (c accountCalibrate) vector(s *statement) (account.Event, error) {
	at := func(flip float64) account.Event {
		return vectors.VectorResponse{Users: *c.Users, Coordinates: *c.Coordinates, Flip: flip, SquaredGap: *c.SquaredGap}
	}
	event, flip, err := c.bits(s, 0.5-1e-9, at, func() (float64, account.Guarantee, error) {
		e, err := vectors.VectorFlip(*c.Users, *c.Coordinates, *c.SquaredGap, c.Epsilon, *c.Delta)
		if err != nil {
			return 0, account.Guarantee{}, err
		}
		g, err := account.Epsilon(e, *c.Delta)
		return e.Flip, g, err
	})
	if err != nil {
		return nil, err
	}
	s.coordinates(*c.Users, flip, "of every bit")
	s.add("messages_per_device", "messages per device", float64(*c.Coordinates), "one bit each")
	return event, c.local(s, event)
}

// report finds the largest local epsilon that keeps both promises.
func (c accountCalibrate) report(s *statement, r report) (account.Event, error) {
	local := math.Inf(1)
	if c.LocalEpsilon != nil {
		if local = *c.LocalEpsilon; c.Rounds > 1 { // whose sum is rounded
			local *= (1 - 0x1p-50) / float64(c.Rounds)
		}
	}
	if c.Epsilon != 0 {
		most, size, err := c.mostLocal(r, local)
		if err != nil {
			return nil, err
		}
		local, r.size = math.Min(local, most), size
	}
	event := r.event(local)
	var err error
	if s.Guarantee, err = account.Epsilon(c.repeated(event), *c.Delta); err == nil {
		r.describe(s, local)
	}
	return event, err
}

// mostLocal returns the largest local epsilon for the target, with the size of the subsets:
// that of least error depends on the local epsilon, which depends on it.
func (c accountCalibrate) mostLocal(r report, within float64) (most float64, size int, err error) {
	fixed, next := r, r.subset(math.Min(within, c.Epsilon))
	for range 8 {
		fixed.size = next
		if most, _, err = amplify.CalibrateLocal(c.target(), fixed.event); err != nil {
			break
		}
		if next = r.subset(math.Min(within, most)); next == fixed.size {
			break
		}
	}
	return most, fixed.size, err
}

// fragments finds one-hot reports whose bits are torn into fragments behind a backstop.
func (c accountCalibrate) fragments(s *statement) (event account.Event, err error) {
	adjacency := account.Adjacency(c.Adjacency)
	changed := c.Rounds // bits
	if adjacency == account.Replacement {
		changed *= 2
	}
	var f shuffle.Fragments
	if c.Epsilon != 0 {
		if f, _, err = shuffle.CalibrateFragments(c.target(), *c.Tau, adjacency); err != nil {
			return nil, err
		}
	}
	if c.LocalEpsilon != nil {
		g, err := shuffle.LocalFragments(*c.Users, *c.Tau, adjacency, *c.LocalEpsilon/float64(changed)*(1-0x1p-50))
		if err != nil {
			return nil, err
		}
		if c.Epsilon == 0 || g.Fragment < f.Fragment {
			f = g
		}
	}
	event = f.OneHot(0)
	if s.Guarantee, err = account.Epsilon(c.repeated(event), *c.Delta); err != nil {
		return nil, err
	}
	all, err := f.Exposed(*c.Tau)
	if err != nil {
		return nil, err
	}
	s.add("epsilon_backstop", "backstop epsilon", f.Backstop, "of a bit")
	s.add("epsilon_fragment", "fragment epsilon", f.Fragment, "of a bit in one fragment")
	s.add("local_epsilon", "local epsilon", float64(changed)*all.Epsilon, "of all that one device sends, though everyone colludes")
	return event, nil
}

func (c accountCalibrate) threeNB(s *statement) (account.Event, error) {
	t, how, extra := c.target(), calibrate.Accounting(c.Accounting), value(c.ExtraMessages)
	var err error
	if c.ExtraMessages == nil && how == calibrate.Exact {
		if extra, err = bitnoise.FloodMessages(t); err != nil {
			return nil, err
		}
	}
	e, g, err := bitnoise.CalibrateThreeNB(t, how, extra)
	if s.Guarantee = g; err == nil {
		s.threeNB(e, c.Rounds)
	}
	return e, err
}

func (c accountCalibrate) pure(s *statement) (account.Event, error) {
	t := c.target()
	var e bitnoise.Pure
	var err error
	if calibrate.Accounting(c.Accounting) == calibrate.Paper {
		if e, err = bitnoise.PublishedPure(t.Users, t.Epsilon/float64(t.Rounds), 0.5); err == nil {
			s.Guarantee, err = e.Guarantee(t.Rounds)
		}
	} else {
		e, s.Guarantee, err = bitnoise.CalibratePure(t)
	}
	if err == nil {
		s.pure(e, c.Rounds)
	}
	return e, err
}

func (c accountCalibrate) poisson(s *statement) (account.Event, error) {
	t := c.target()
	e, err := bitnoise.PoissonMean(t.Users, t.Rounds, t.Epsilon, t.Delta)
	if err != nil {
		return nil, err
	}
	s.poisson(e, c.Rounds)
	s.Guarantee, err = account.Epsilon(c.repeated(e), t.Delta)
	return e, err
}

func (c accountCalibrate) gaussian(s *statement) (account.Event, error) {
	e, g, err := central.CalibrateGaussian(c.target(), c.Sensitivity)
	if s.Guarantee = g; err == nil {
		s.add("sigma", "standard deviation", e.Sigma, "of the noise in each sum")
		s.add("rmse", "RMSE", e.Sigma, "of each coordinate of a sum")
	}
	return e, err
}
