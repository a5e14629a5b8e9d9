package chaos

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
)

// The same fleet with a bucket in the place of folders, whose service is busy, breaks off, is sent
// another bit and forgets to answer now and then while processes are killed: the release is that of one process,
// byte for byte. When the bucket loses all that it holds, its crowds wait, which the hop says. Put back, they come to
// their end as if nothing had been.
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
	if !t.Failed() {
		f.loses(service)
	}
	if t.Failed() {
		f.tell()
	}
}

// loses empties the bucket at once when a hop's crowds are laid out in it, and puts all back at once when the hop says
// that nothing is there: of a bucket that is there in part, crowds are lost.
func (f *fleet) loses(service *blobtest.Service) {
	const gone = "the store has nothing of a crowd"
	aside, back := f.t.TempDir(), make(chan struct{})
	move := func(from, to string) {
		if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
			f.t.Errorf("%v: %s", err, out)
		}
	}
	said := f.run(mishap{dooms: map[string][]doom{"hop0.0": {{"call", fleetCrowds, "parts-marked"}}}, calls: func(f *fleet, _ string) {
		service.Alone(func(folder string) {
			move(folder, aside)
			names, err := os.ReadDir(folder)
			f.check(err)
			for _, name := range names {
				f.check(os.RemoveAll(filepath.Join(folder, name.Name())))
			}
		})
		go func() {
			defer close(back)
			if !f.until(mishap{}, func() bool { return strings.Contains(f.town.status("hop0.0"), gone) }) {
				f.t.Error("the hop does not say that its bucket is empty")
			}
			if batches, err := f.db.Batches(context.Background(), f.signed.Plan.Name()); err != nil || len(batches) > 0 {
				f.t.Errorf("of a bucket that has lost all, %d batches came: %v", len(batches), err)
			}
			service.Alone(func(folder string) { move(aside, folder) })
		}()
	}})
	select {
	case <-back:
	case <-time.After(2 * patience):
		f.t.Error("the bucket was never put back")
	}
	for _, v := range said {
		f.t.Errorf("the bucket had lost all: %s", v)
	}
}
