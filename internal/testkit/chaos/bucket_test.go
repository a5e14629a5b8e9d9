package chaos

import (
	"net/http"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
)

// The same fleet with a bucket in the place of folders, whose service is busy, breaks off, is sent
// another bit and forgets to answer now and then while processes are killed: the release is that of one process,
// byte for byte.
func TestWorkersOnABucketAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("the processes would be this one, which the race detector slows down")
	}
	service := blobtest.Start(t)
	f := newFleet(t, service)
	r, faults := seeded.New(*firstSeed, 16), 0
	service.Break(func(*http.Request) blobtest.Fault {
		if r.IntN(25) > 0 {
			return blobtest.None
		}
		faults++
		return blobtest.Refuse + blobtest.Fault(r.IntN(5))
	})
	for _, v := range f.run(mishaps[0].draw(*firstSeed)) {
		t.Error(v)
	}
	service.Break(nil)
	n := f.met()
	t.Logf("%d things befell processes, and %d their requests", n, faults)
	if n == 0 || faults == 0 {
		t.Error("nothing has befallen them")
	}
	if t.Failed() {
		f.tell()
	}
}
