package envelope

import "fmt"

// Contribution is what one device hands in to a plan before version 4: all its envelopes for one instance, each
// sealed for the entry by itself. Devices that have promised such an answer send it so; no entry takes it any
// more, and it leaves with the next edition.
type Contribution struct {
	Plan      [32]byte
	Instance  uint16
	Crowd     uint32
	Envelopes [][]byte // all of one length
}

// Marshal encodes the contribution. Envelopes of different lengths are an error.
func (c Contribution) Marshal() ([]byte, error) {
	return marshal(kindContribution, Batch{Plan: c.Plan, Instance: c.Instance, Crowd: c.Crowd, Envelopes: c.Envelopes})
}

// ParseContribution decodes exactly what Marshal writes. The envelopes are
// slices of data, not copies.
func ParseContribution(data []byte) (Contribution, error) {
	b, err := parse(kindContribution, data)
	if err != nil {
		return Contribution{}, fmt.Errorf("envelope: contribution: %w", err)
	}
	return Contribution{Plan: b.Plan, Instance: b.Instance, Crowd: b.Crowd, Envelopes: b.Envelopes}, nil
}
