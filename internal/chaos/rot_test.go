package chaos

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rottenSchedules = flag.Int("chaos.rotten", 8, "seeded schedules of TestRottenDisks")

// A disk that changes, cuts, empties or loses a file while its service is stopped is
// found out, by a refusal or an alarm that says so, or it does no harm.
func TestRottenDisks(t *testing.T) {
	if testing.Short() {
		t.Skip("the schedules with crashes run under the race detector")
	}
	for i := range uint64(*rottenSchedules) {
		checkDrawn(t, *firstSeed+i, drawRotten(*firstSeed+i))
	}
	t.Log(seen)
}

// rots are what a disk may do to a file while its service is stopped.
var rots = map[string]func([]byte, int) []byte{
	"flip":  func(b []byte, n int) []byte { b[n*len(b)/1000] ^= 1 << (n % 8); return b },
	"cut":   func(b []byte, n int) []byte { return b[:n*len(b)/1000] },
	"empty": func([]byte, int) []byte { return []byte{} },
	"gone":  nil,
}

// rot stops a service, spoils one of its files, and starts it again. It refuses, or
// raises an alarm, and its operator puts the disk back as it was; or it goes on, and
// nothing may have been lost, nor come twice: the end of the schedule tells.
func (w *world) rot(n *node, how string, place int) {
	n.restart()
	if !n.up() || n.kind() == "device" {
		return
	}
	n.end() // gracefully: what was written in its last second is checked too
	whole := n.dir + "-whole"
	path, err := spoil(n.dir, whole, how, place)
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	what := how + " of " + n.kind() + "'s " + kindOf(path)
	w.say("%s: %s", n.name, what)
	err = n.start()
	if err == nil {
		if alarm := w.damage(n); alarm != "" {
			err = errors.New(alarm)
			n.end()
		}
	}
	if err == nil {
		seen.add("rot passed over: " + what)
		w.broken = errors.Join(w.broken, os.RemoveAll(whole))
		return
	}
	seen.add("rot refused: " + what)
	w.say("%s refuses: %v", n.name, err)
	if text := err.Error(); !slices.ContainsFunc([]string{"damaged", "missing", "orphan", "does not begin with", "another", "not the secret", "without its plan"}, func(s string) bool { return strings.Contains(text, s) }) {
		w.violation("%s does not say that something is damaged: %v", n.name, err)
	}
	if err := errors.Join(os.RemoveAll(n.dir), os.Rename(whole, n.dir)); err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	if err := n.start(); err != nil {
		w.violation("%s does not start on a disk that was mended: %v", n.name, err)
	}
}

// damage is the alarm with which a service that starts tells of damage.
func (w *world) damage(n *node) string {
	for _, alarm := range n.config.Status(w.ctx()).Alarms {
		if strings.Contains(alarm, "damaged") || strings.Contains(alarm, "without its plan") {
			return alarm
		}
	}
	return ""
}

// spoil copies a disk and changes one file of it.
func spoil(dir, whole, how string, place int) (path string, err error) {
	if err := copyDisk(dir, whole); err != nil {
		return "", err
	}
	var files []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, errors.New("chaos: a disk without files"))
	}
	path = files[place/1000%len(files)]
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if rots[how] == nil || len(text) == 0 {
		return path, os.Remove(path)
	}
	return path, os.WriteFile(path, rots[how](text, place%1000), 0o600)
}

// kindOf is the kind of file that is at a path.
func kindOf(path string) string {
	name := filepath.Base(path)
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && !strings.HasPrefix(name, "records.") && name != "a.db.ledger" {
		name = "*" + name[dot:]
	}
	if stream := filepath.Base(filepath.Dir(path)); strings.HasPrefix(stream, "confetti-") || stream == "msgs" {
		if stream == "msgs" {
			stream = filepath.Base(filepath.Dir(filepath.Dir(path)))
		}
		for _, of := range []string{"confetti-records-inboxes", "confetti-records-shuffler", "confetti-box-in", "confetti-box-out", "confetti-box-spent"} {
			if strings.HasPrefix(stream, of) {
				return of + " " + name
			}
		}
	}
	return name
}
