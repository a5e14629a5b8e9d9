package envelope

// Cutter cuts a stream into envelopes, which are whoever's takes them.
type Cutter struct {
	Skip, Size int // bytes
	part       []byte
	Take       func([]byte) error
}

func (c *Cutter) Write(p []byte) (int, error) {
	n := len(p)
	skipped := min(c.Skip, len(p))
	c.Skip -= skipped
	for p = p[skipped:]; len(p) > 0; {
		if c.part == nil {
			c.part = make([]byte, 0, c.Size)
		}
		more := min(len(p), c.Size-len(c.part))
		c.part, p = append(c.part, p[:more]...), p[more:]
		if len(c.part) == c.Size {
			if err := c.Take(c.part); err != nil {
				return 0, err
			}
			c.part = nil
		}
	}
	return n, nil
}
