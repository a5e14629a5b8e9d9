package statement

import (
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Cost returns what the plan costs one device.
func Cost(p *protocol.Protocol) []release.Metric {
	switch {
	case p.Plan.Route.Table != nil:
		return nil // no device sends anything
	case p.Plan.Route.Sum != nil:
		return sumCost(p.Plan)
	}
	e := p.Plan.Envelopes
	hops, largest, all := 0, 0, 0
	for i, in := range p.Plan.Route.Instances() {
		hops = max(hops, len(in.Hops))
		size := envelope.Suite(e.Suite).Size(len(in.Hops)+1, e.PayloadBytes)
		for _, slot := range p.Plan.Slots(i) {
			size += slot
		}
		largest = max(largest, size)
		all += size
	}
	contributions := p.Plan.Contributions()
	if contributions == 1 {
		all = largest
	}
	bytes := e.PerDevice * all
	metrics := []release.Metric{{Name: "messages_per_device", Title: "Messages per device", Value: float64(e.PerDevice * contributions), Unit: release.Count, Note: "the same for every device, whatever its data"}}
	if expected := p.Risks().Messages; expected > 0 {
		metrics = append(metrics, release.Metric{Name: "messages_expected", Title: "Of these not dummies", Value: expected, Note: "in the mean, of the longest answer"})
		if rare := p.Risks().Overflow; rare > 0 {
			metrics = append(metrics, release.Metric{Name: "overflow_probability", Title: "A report outgrows them", Value: rare, Note: fmt.Sprintf("probability, for which messages are dropped; it takes %.2g of delta", p.OverflowDelta())})
		}
	}
	return append(metrics, release.Metric{
		Name: "bytes_per_device", Title: "Bytes per device", Value: float64(bytes), Unit: release.Bytes, Note: fmt.Sprintf("sealed in %d layers, suite %s", hops+1, e.Suite),
	})
}

// sumCost returns what a plan costs whose answers are summed.
func sumCost(p plan.Plan) []release.Metric {
	c := p.Route.Sum.Circuit
	allows := "a proof allows a single one among zeros"
	switch c.Kind {
	case plan.CircuitMultihot:
		allows = fmt.Sprintf("a proof allows at most %d ones among zeros", c.Weight)
	case plan.CircuitSumVec:
		allows = fmt.Sprintf("a proof allows numbers from 0 to %d", c.Max)
		if c.Square > 0 {
			allows += ", and no vector that is longer than the plan says"
		}
	}
	return []release.Metric{
		{Name: "numbers_per_device", Title: "Numbers per device", Value: float64(c.Length), Unit: release.Count, Note: allows},
		{Name: "bytes_per_device", Title: "Bytes per device", Value: float64(splitBytes(p)), Unit: release.Bytes, Note: fmt.Sprintf("two shares with their proof, sealed, suite %s", p.Envelopes.Suite)},
	}
}

// splitBytes returns the length of what a device sends: the public share, and the two others
// sealed.
func splitBytes(p plan.Plan) int {
	v, err := vdaf.New(p.Route.Sum, nil)
	if err != nil {
		return 0
	}
	public, leader, helper := v.ShareSizes()
	suite := envelope.Suite(p.Envelopes.Suite)
	return public + suite.Size(1, leader) + suite.Size(1, helper)
}
