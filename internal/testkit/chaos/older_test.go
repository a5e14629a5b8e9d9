package chaos

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A service whose whole folder is put back as it once was learns from its neighbours
// that they have seen more, and does not start; on the newest copy it does.
func TestAnOlderCopyOfAFolder(t *testing.T) {
	for name, what := range map[string]string{
		"issuer":      "older copy",
		hopName(0, 0): "older copy",
		hopName(0, 1): "older copy",
		"analyzer":    "older copy",
	} {
		t.Run(name, func(t *testing.T) {
			w, err := newWorld(shape{hops: []int{2}, tokens: true, minimum: 2, devices: 4, crowds: 1}, "older "+name)
			if w != nil {
				defer w.close()
			}
			if err != nil {
				t.Fatal(err)
			}
			w.report(0)
			n := w.nodes[name]
			n.end()
			if err := errors.Join(copyDisk(n.dir, n.dir+"-older"), n.start()); err != nil {
				t.Fatal(err)
			}
			for d := range 3 {
				w.report(d + 1)
			}
			w.now = closes
			for range 4 {
				for _, service := range w.services() {
					if service != "analyzer" {
						w.step(service)
					}
				}
			}
			if len(w.counted()) != 1 {
				t.Fatal("nothing was counted")
			}
			n.end()
			newest := n.dir
			n.dir += "-older"
			if err := n.start(); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("on the older copy: %v", err)
			}
			if err := os.RemoveAll(n.dir); err != nil {
				t.Fatal(err)
			}
			n.dir = newest
			if err := n.start(); err != nil {
				t.Errorf("on the newest copy: %v", err)
			}
			w.finish()
			for _, v := range w.violations {
				t.Error(v)
			}
		})
	}
}
