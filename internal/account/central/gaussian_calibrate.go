package central

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
)

// CalibrateGaussian finds the smallest deviation for a sum of the given
// two-norm sensitivity in each of the target's rounds. Users is not used.
func CalibrateGaussian(t calibrate.Target, sensitivity float64) (Gaussian, account.Guarantee, error) {
	t.Users = max(1, t.Users)
	if err := t.Check(); err != nil {
		return Gaussian{}, account.Guarantee{}, err
	}
	if !(sensitivity > 0 && sensitivity <= 1e100) {
		return Gaussian{}, account.Guarantee{}, fmt.Errorf("account: sensitivity %v: need 0 < s <= 1e100", sensitivity)
	}
	root := math.Sqrt(float64(t.Rounds))
	e := Gaussian{sensitivity * root / t.Distance(), sensitivity}
	// The guarantee recomputed from sigma must not exceed the target by rounding.
	for step := 0x1p-50; step < 1e-6; step *= 2 {
		if e, g, err := calibrate.Meets(t, e); err == nil {
			return e, g, nil
		}
		e.Sigma *= 1 + step
	}
	return calibrate.Meets(t, e)
}
