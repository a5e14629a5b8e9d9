package protocol

// CrowdName is what the plan calls a crowd, for people.
func (p *Protocol) CrowdName(crowd int) string { return p.question.crowdName(crowd) }
