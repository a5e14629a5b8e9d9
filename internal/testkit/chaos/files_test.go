package chaos

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/seeded"
)

// A flipped bit in any file of any role is refused by name, or does no harm: the files are those
// that lie in the folders, so that a new one is aimed at without anybody thinking of it.
func TestABitOfEveryFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts every service some hundred times")
	}
	for name, s := range map[string]shape{
		"mixed":  {hops: []int{2}, tokens: true, minimum: 2, devices: 4, crowds: 1},
		"summed": {sum: true, hops: []int{0}, tokens: true, logged: true, minimum: 2, devices: 4, crowds: 1},
	} {
		for _, late := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", open", true: ", closed"}[late], func(t *testing.T) {
				t.Parallel()
				w, err := newWorld(s, "bits of "+name)
				if w != nil {
					defer w.close()
				}
				if err != nil {
					t.Fatal(err)
				}
				w.report(0)
				w.report(1)
				if late {
					w.happens(event{do: "close"})
					for range 3 {
						for _, service := range w.services() {
							w.step(service)
						}
						w.now = w.now.Add(2 * time.Minute)
					}
				}
				flips, refused, passed := 0, 0, map[string]bool{}
				for _, at := range w.services() {
					n := w.nodes[at]
					for i, path := range filesOf(t, n.dir) {
						for j := range 2 {
							if w.flip(t, n, filepath.Join(n.dir, path), seeded.New(uint64(i), uint64(j), 41).IntN(1000)) {
								refused++
							} else {
								passed[n.kind()+"'s "+kindOf(path)] = true
							}
							flips++
						}
					}
				}
				if !late {
					w.report(2)
					w.report(3)
				}
				w.finish()
				for _, v := range w.violations {
					t.Error(v)
				}
				if w.broken != nil {
					t.Error(w.broken)
				}
				t.Logf("%d flips, %d refused by name; without harm in %v", flips, refused, sortedKeys(passed))
				if flips < 40 || refused < flips/3 {
					t.Errorf("%d of %d flips were refused", refused, flips)
				}
				if t.Failed() {
					t.Log(strings.Join(w.log, "\n"))
				}
			})
		}
	}
}

func sortedKeys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// filesOf are the files of a folder that have something in them, but for the lock.
func filesOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		rest, err := filepath.Rel(dir, path)
		if is, failed := d.Info(); failed == nil && is.Size() > 0 {
			all = append(all, rest)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// flip stops a service, flips a bit of one of its files and starts it. If it refuses, which it must
// say by name, the file is put back as it was.
func (w *world) flip(t *testing.T, n *node, path string, place int) (refused bool) {
	t.Helper()
	n.end()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) || err == nil && len(text) == 0 { // the service has tidied up since
		if err := n.start(); err != nil {
			w.violation("%s does not start on a whole disk: %v", n.name, err)
		}
		return false
	}
	whole := n.dir + "-before"
	if err == nil {
		err = copyDisk(n.dir, whole)
	}
	if err == nil {
		err = os.WriteFile(path, rots["flip"](slices.Clone(text), place), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.say("%s: a bit of %s", n.name, strings.TrimPrefix(path, n.dir))
	said := n.refuses()
	if said != nil {
		w.say("%s refuses: %v", n.name, said)
		if !slices.ContainsFunc(admitted, func(s string) bool { return strings.Contains(said.Error(), s) }) {
			w.violation("%s does not say that something is damaged: %v", n.name, said)
		}
		if err := os.RemoveAll(n.dir); err != nil {
			t.Fatal(err)
		}
		if err := copyDisk(whole, n.dir); err != nil {
			t.Fatal(err)
		}
		if err := n.start(); err != nil {
			w.violation("%s does not start on a disk that was mended: %v", n.name, err)
		}
	}
	if err := os.RemoveAll(whole); err != nil {
		t.Fatal(err)
	}
	return said != nil
}
