package bucket

import "time"

// SetPatience is how long a service may say nothing.
func (b *Bucket) SetPatience(d time.Duration) { b.patience = d }
