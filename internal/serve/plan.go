package serve

import (
	"net/http"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// ReadPlan reads the signed plan that a request brings to PUT /v1/plans/{plan}.
// Whether its publisher is trusted is for the service.
func ReadPlan(w http.ResponseWriter, r *http.Request) (plan.Signed, error) {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return plan.Signed{}, err
	}
	if err := wire.CheckType(r, wire.SignedPlanType); err != nil {
		return plan.Signed{}, err
	}
	text, err := ReadBody(w, r, plan.MaxSignedBytes)
	if err != nil {
		return plan.Signed{}, err
	}
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return plan.Signed{}, wire.Problemf(wire.PlanRefused, "%w", err)
	}
	if signed.Plan.Hash() != hash {
		return plan.Signed{}, wire.Problemf(wire.BadRequest, "{plan} in the path is not the plan's name")
	}
	return signed, nil
}
