package randomize

import "testing"

// refused expects every use to panic before it touches its arguments.
func refused(t *testing.T, uses ...func()) {
	t.Helper()
	for i, use := range uses {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("use %d went on", i)
				}
			}()
			use()
		}()
	}
}
