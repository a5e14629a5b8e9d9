package chaos

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	hoprows "github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
)

var rottenSchedules = flag.Int("chaos.rotten", 100, "seeded schedules of TestRottenDisks")

// A disk that changes, cuts, empties, loses or puts back a file of a service or a
// device is found out, by a refusal or an alarm that says so, or it does no harm:
// whatever was acknowledged is counted once, nobody has a second token, and nothing
// is mixed a second time.
func TestRottenDisks(t *testing.T) {
	if testing.Short() {
		t.Skip("the schedules with crashes run under the race detector")
	}
	if *oneSeed != 0 {
		tellDrawn(t, *oneSeed, drawRotten(*oneSeed))
		return
	}
	begin := time.Now()
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) { // disks wait
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= uint64(*rottenSchedules) || t.Failed() {
					return
				}
				checkDrawn(t, *firstSeed+i, drawRotten(*firstSeed+i))
			}
		})
	}
	wg.Wait()
	t.Logf("%d schedules in %.1f s", *rottenSchedules, time.Since(begin).Seconds())
	t.Log(seen)
	if *rottenSchedules < 100 || *firstSeed != 1 {
		return
	}
	for _, role := range []string{"entry", "hop", "issuer", "analyzer", "device"} {
		for _, how := range slices.Sorted(maps.Keys(rots)) {
			if seen.with("rot", how+" of "+role+"'s") == 0 {
				t.Errorf("no schedule has seen: %s of a file of %s", how, role)
			}
		}
	}
}

// drawRotten makes a small collection in which a file rots at every other step.
func drawRotten(seed uint64) schedule {
	r := seeded.New(seed, 2)
	s := schedule{shape: shape{tokens: r.IntN(2) == 0, minimum: 2, devices: 3 + r.IntN(3), crowds: 1, hops: []int{1 + r.IntN(2)}}}
	w := &world{shape: s.shape}
	names := w.services()
	do := func(what, who string) { s.events = append(s.events, event{do: what, who: who}) }
	kinds := slices.Sorted(maps.Keys(rots))
	rot := func() {
		who := names[r.IntN(len(names))]
		if r.IntN(5) == 0 {
			who = deviceName(r.IntN(s.shape.devices))
		}
		s.events = append(s.events, event{do: "rot", who: who, at: kinds[r.IntN(len(kinds))], n: r.IntN(1_000_000)})
	}
	maybe := func() {
		if r.IntN(3) == 0 {
			rot()
		}
	}
	for d := range s.shape.devices {
		if r.IntN(4) == 0 { // it is spooled, and waits
			s.events = append(s.events, event{do: "link", who: hopName(0, 0), at: faults[r.IntN(len(faults))], n: 1})
		}
		do("report", deviceName(d))
		maybe()
		if r.IntN(4) == 0 {
			do("second", deviceName(r.IntN(d+1)))
		}
	}
	for d := range s.shape.devices {
		if r.IntN(2) == 0 {
			do("deliver", deviceName(d))
		}
	}
	rot()
	do("close", "")
	for range 3 {
		for _, name := range names {
			if name == "issuer" || name == "analyzer" {
				continue
			}
			if r.IntN(2) == 0 { // so that a batch waits on a disk, which rots
				next := "analyzer"
				if name == hopName(0, 0) && s.shape.hops[0] > 1 {
					next = hopName(0, 1)
				}
				s.events = append(s.events, event{do: "link", who: next, at: "cut", n: 1})
				do("step", name)
				s.events = append(s.events, event{do: "rot", who: name, at: kinds[r.IntN(len(kinds))], n: r.IntN(1_000_000)})
				continue
			}
			do("step", name)
			maybe()
		}
	}
	do("step", "analyzer")
	rot()
	return s
}

// rots are what a disk may do to a file. nil: the file is gone, or is as it was at an
// earlier stop.
var rots = map[string]func([]byte, int) []byte{
	"flip":        func(b []byte, n int) []byte { b[n*len(b)/1000] ^= 1 << (n % 8); return b },
	"cut":         func(b []byte, n int) []byte { return b[:n*len(b)/1000] },
	"empty":       func([]byte, int) []byte { return []byte{} },
	"gone":        nil,
	"rolled back": nil,
}

// admitted are words by which a refusal says that a disk is damaged.
var admitted = []string{"damaged", "missing", "orphan", "does not begin with", "another", "not the secret", "without its plan", "older copy"}

// rot stops a service, spoils one of its files, and starts it again. It refuses, or
// raises an alarm, and its operator puts the disk back as it was; or it goes on, and
// nothing may have been lost, nor come twice: the end of the schedule tells.
func (w *world) rot(n *node, how string, place int) {
	n.restart()
	if !n.up() {
		return
	}
	n.end() // gracefully: what was written in its last second is checked too
	whole := fmt.Sprintf("%s-whole-%d", n.dir, len(n.past))
	path, err := n.spoil(whole, how, place)
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	n.past = append(n.past, whole)
	if path == "" { // nothing has changed since
		if err := n.start(); err != nil {
			w.violation("%s does not start on a whole disk: %v", n.name, err)
		}
		return
	}
	what := how + " of " + n.kind() + "'s " + kindOf(path)
	w.say("%s: %s", n.name, what)
	if w.hide != nil {
		w.broken = errors.Join(w.broken, w.hide(n, path, whole))
	}
	if err = n.refuses(); err == nil {
		seen.add("rot passed over: " + what)
		if n.name == "issuer" {
			if w.twinned != nil {
				w.broken = errors.Join(w.broken, w.twinned(n))
			}
			w.secondTokens()
		}
		return
	}
	seen.add("rot refused: " + what)
	w.say("%s refuses: %v", n.name, err)
	if text := err.Error(); !slices.ContainsFunc(admitted, func(s string) bool { return strings.Contains(text, s) }) {
		w.violation("%s does not say that something is damaged: %v", n.name, err)
	}
	if err := errors.Join(os.RemoveAll(n.dir), copyDisk(whole, n.dir)); err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	if err := n.start(); err != nil {
		w.violation("%s does not start on a disk that was mended: %v", n.name, err)
	}
}

// secondTokens asks for other tokens in the name of everybody who has some.
func (w *world) secondTokens() {
	hash := w.signed.Plan.Hash()
	for _, d := range slices.Sorted(maps.Keys(w.tokens)) {
		var asks tokenwire.Request
		for h := range w.shape.hops[w.instanceOf(d)] {
			at := token.Context{Plan: hash, Instance: uint16(w.instanceOf(d)), Hop: uint8(h)}
			request, err := token.NewRequest(token.Seed{byte(d), 99}, w.ring.tokens[at.Instance][h].Public(), at)
			if err != nil {
				w.broken = errors.Join(w.broken, err)
				return
			}
			asks.Asks = append(asks.Asks, tokenwire.Ask{Instance: at.Instance, Hop: at.Hop, Blinded: request.Blinded})
		}
		header := http.Header{"Content-Type": {wire.TokenRequestType}, "Authorization": {"Bearer " + w.ring.bearers[d]}}
		body := asks.Marshal()
		res, err := w.net.deliver(&parcel{"outside", "issuer", http.MethodPost, wire.TokensPath(hash), header, body}, len(body))
		if err == nil && res.StatusCode < 300 {
			w.violation("%s has got a second token", deviceName(d))
		}
	}
}

// refuses starts a node and returns how it tells of damage; nil: it goes on.
func (n *node) refuses() error {
	if n.kind() == "device" {
		c, err := client.Open(n.w.signed, n.w.options(n.w.deviceCell(n.name), nil))
		if err == nil {
			c.Close()
		}
		return err
	}
	err := n.start()
	if err == nil {
		if alarm := n.w.damage(n); alarm != "" {
			err = errors.New(alarm)
			n.end()
		}
	}
	return err
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

// spoil copies the disk of a node that is stopped and changes one file of it; an
// empty path: there was nothing to change.
func (n *node) spoil(whole, how string, place int) (path string, err error) {
	if err := copyDisk(n.dir, whole); err != nil {
		return "", err
	}
	var files []string
	err = filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, errors.New("chaos: a disk without files"))
	}
	if how == "rolled back" {
		return n.rollBack(files, place)
	}
	path = pick(files, place/1000)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if rots[how] == nil || len(text) == 0 {
		return path, os.Remove(path)
	}
	return path, os.WriteFile(path, rots[how](text, place%1000), 0o600)
}

// pick takes a file of a folder that is picked first: most folders have a few files,
// and what matters most is often alone.
func pick(files []string, n int) string {
	folders := map[string][]string{}
	for _, path := range files {
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], path)
	}
	names := slices.Sorted(maps.Keys(folders))
	in := folders[names[n%len(names)]]
	return in[n/len(names)%len(in)]
}

// rollBack puts back one of the files that have changed since an earlier stop.
func (n *node) rollBack(files []string, place int) (string, error) {
	if len(n.past) == 0 {
		return "", nil
	}
	from := n.past[place%len(n.past)]
	earlier := map[string][]byte{}
	for _, path := range files {
		rest, err := filepath.Rel(n.dir, path)
		if err != nil {
			return "", err
		}
		now, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if was, err := os.ReadFile(filepath.Join(from, rest)); err == nil && !bytes.Equal(was, now) {
			earlier[path] = was
		}
	}
	if len(earlier) == 0 {
		return "", nil
	}
	path := slices.Sorted(maps.Keys(earlier))[place/1000%len(earlier)]
	return path, os.WriteFile(path, earlier[path], 0o600)
}

// kindOf is the kind of file that is at a path.
func kindOf(path string) string {
	name := filepath.Base(path)
	if filepath.Base(filepath.Dir(path)) == "spool" {
		return "spool"
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && name != "shelves.ledger" && name != "ledger.end" {
		name = "*" + name[dot:]
	}
	for _, of := range []string{"in", "out", "spent"} {
		if strings.Contains(filepath.ToSlash(path), "/"+hoprows.BlobsFolder+"/") && strings.Contains(filepath.ToSlash(path), "/"+of+"/") {
			return "blob of " + of
		}
	}
	if kind, _, of := strings.Cut(filepath.Base(path), "-"); of && filepath.Base(filepath.Dir(path)) == shelves.InFolder {
		return kind + " " + name
	}
	return name
}
