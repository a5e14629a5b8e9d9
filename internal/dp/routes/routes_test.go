package routes

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
)

// Sums by aggregators' noise have the error of a curator's discrete Laplace, times sqrt 2 where one honest
// aggregator suffices. Shares of devices have that error too, and cost more bytes.
func TestNoised(t *testing.T) {
	all, err := Noised(calibrate.Target{Users: 2000, Rounds: 2, Epsilon: 1, Delta: 1e-6}, 50)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	each, shared, devices := all[0], all[1], all[2]
	if shared.Name != SharedNoise || devices.Name != DevicesNoise {
		t.Errorf("%s, %s", shared.Name, devices.Name)
	}
	if !(each.RMSE <= 4.0 && each.RMSE > 3.9) || math.Abs(each.RMSE/shared.RMSE-math.Sqrt2) > 1e-12 || !(devices.RMSE > shared.RMSE && devices.RMSE < each.RMSE) {
		t.Errorf("errors %v, %v, %v", each.RMSE, shared.RMSE, devices.RMSE)
	}
	for _, r := range all {
		if !math.IsInf(r.Local, 1) || r.Bytes <= 0 || r.Bytes > devices.Bytes {
			t.Errorf("%+v", r)
		}
	}
	if _, err := Noised(calibrate.Target{Users: 2000, Rounds: 2, Epsilon: -1, Delta: 1e-6}, 50); err == nil {
		t.Error("an epsilon below zero is taken")
	}
}
