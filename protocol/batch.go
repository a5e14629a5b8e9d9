package protocol

import "fmt"

// CheckBatch returns why the promise does not hold for a smallest batch of so many whole
// contributions; 0 where none came.
func (p *Protocol) CheckBatch(arrived int) error {
	if _, err := p.Promise(); err != nil {
		return err
	}
	if arrived == 0 {
		return fmt.Errorf("protocol: no batch came: fewer than %d respondents answered in every crowd, or what they sent has not arrived; there is nothing to publish", p.Plan.Crowd.Minimum)
	}
	b, smallest := p.Plan.Budget, p.Plan
	smallest.Crowd.Minimum = arrived
	honest := smallest.MinHonest()
	if honest >= p.Plan.MinHonest() {
		return nil
	}
	got, err := p.GuaranteeWith(honest)
	if err != nil {
		return fmt.Errorf("protocol: the smallest batch holds %d whole contributions: %w", arrived, err)
	}
	if got.Epsilon > b.Epsilon {
		return fmt.Errorf("protocol: the smallest batch holds %d whole contributions, %d of them honest by the plan's assumption: epsilon %.6g at delta %g, where %.6g was promised", arrived, honest, got.Epsilon, b.Delta, b.Epsilon)
	}
	return nil
}
