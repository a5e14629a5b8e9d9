package chaos

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// task is a crowd's.
func (w *world) task(crowd int) *task.Task {
	t, err := task.New(w.signed.Plan, crowd)
	if err != nil {
		panic(err)
	}
	return t
}

// release is what the analyzer has released; nil: nothing.
func (w *world) release() []byte {
	status, _, text := w.ask("analyzer", http.MethodGet, w.releasePath(), "", nil)
	if status != http.StatusOK {
		return nil
	}
	return text
}

// concludeSum lets a collection over sums come to its end, and checks what has come of it.
func (w *world) concludeSum() {
	at := w.signed.Plan.Times.Closes
	for _, n := range w.nodes {
		n.writes = -1 // there is room again, and nobody is started for it
	}
	for round := 0; round < 3 && w.now.Before(at); round++ {
		for d := range w.shape.devices {
			w.again(d)
		}
		w.restartAll()
	}
	if w.withdrawn() {
		for _, name := range w.services() {
			w.withdrawSum(name)
			w.restartAll()
			w.withdrawSum(name)
		}
	}
	w.now = slices.MaxFunc([]time.Time{w.now, at}, time.Time.Compare)
	for range 16 {
		for _, name := range w.services() {
			w.step(name)
		}
		w.restartAll()
		w.now = w.now.Add(2 * time.Minute)
	}
	if !w.withdrawn() {
		w.checkSums()
	}
	w.now = slices.MaxFunc([]time.Time{w.now, at.Add(2 * time.Hour)}, time.Time.Compare)
	for range 6 {
		for _, name := range w.services() {
			w.step(name)
		}
		w.restartAll()
		w.now = w.now.Add(2 * time.Minute)
	}
	if w.withdrawn() {
		w.checkGone()
	} else {
		w.checkRelease()
	}
	if w.shape.logged {
		w.checkLog()
	}
}

// checkSums compares what the leader gives the analyzer with what devices were acknowledged, one
// by one.
func (w *world) checkSums() {
	for crowd := range w.shape.crowds {
		sent, people := map[int]bool{}, 0
		for d := range w.shape.devices {
			if w.crowdOf(d) == crowd && w.sentOne(d) {
				sent[d] = true
				people++
			}
		}
		sums, reports := w.sumOf(crowd)
		if sums == nil {
			if people >= w.shape.minimum {
				w.violation("crowd %d has %d reports and no sum", crowd, people)
			}
			continue
		}
		seen.add("sum left")
		total := int64(0)
		for _, n := range sums {
			total += n
		}
		if total != int64(reports) || int(reports) < w.shape.minimum {
			w.violation("crowd %d: %d reports of at least %d add up to %d", crowd, reports, w.shape.minimum, total)
		}
		for d := range maxDevices {
			own, other := sums[d], sums[maxDevices+d]
			here := d < w.shape.devices && w.crowdOf(d) == crowd
			switch {
			case sent[d] && (own != 1 || other != 0):
				w.violation("%s was acknowledged and is counted %d times, and %d in its name", deviceName(d), own, other)
			case here && (own < 0 || other < 0 || own+other > 1):
				w.violation("%s is counted %d times, and %d in its name", deviceName(d), own, other)
			case !here && (own != 0 || other != 0):
				w.violation("crowd %d counts %s %d times, who is not in it", crowd, deviceName(d), own+other)
			}
			if sums[2*maxDevices+d] != 0 {
				w.violation("a report of nobody is counted %d times", sums[2*maxDevices+d])
			}
		}
	}
}

// sentOne reports whether a device believes that its one report was acknowledged.
func (w *world) sentOne(d int) bool {
	l, err := client.ReadLedger(native.Folder{Path: w.nodes[deviceName(d)].dir})
	if err != nil {
		w.violation("ledger of %s: %v", deviceName(d), err)
		return false
	}
	return len(l.Entries) == 1 && len(l.Entries[0].Parts) == 1 && l.Entries[0].Parts[0].Status == client.Sent
}

// sumOf opens what the leader gives of a crowd, as the analyzer does; nil: nothing.
func (w *world) sumOf(crowd int) (sums []int64, reports uint64) {
	t := w.task(crowd)
	body := dap.CollectionReq{}.Marshal()
	res, err := w.net.deliver(&parcel{"analyzer", "leader", http.MethodPost, dap.CollectionPath(t.ID), http.Header{"Content-Type": {dap.CollectionType}}, body}, len(body))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, 0
	}
	c, err := dap.ParseCollected(w.text(res))
	if err == nil {
		sums, err = t.Open(w.ring.analyzer, c)
	}
	if err != nil {
		w.violation("the sum of crowd %d: %v", crowd, err)
		return nil, 0
	}
	receipts, err := base64.RawURLEncoding.DecodeString(res.Header.Get(handover.ReceiptHeader))
	if err != nil || len(receipts) != 2*relay.ReceiptSize {
		w.violation("the receipts of crowd %d: %d bytes, %v", crowd, len(receipts), err)
	}
	return sums, c.Reports
}

// checkRelease compares the release with the sums: a number for a number.
func (w *world) checkRelease() {
	text := w.release()
	wanted := map[int][]int64{}
	for crowd := range w.shape.crowds {
		if sums, _ := w.sumOf(crowd); sums != nil {
			wanted[crowd] = sums
		}
	}
	if len(wanted) == 0 {
		if text != nil {
			w.violation("there is a release, and no sum has left")
		}
		return
	}
	if text == nil {
		w.violation("sums have left, and there is no release")
		return
	}
	var release struct {
		Crowds   []struct{ Smallest int }
		Sections []struct {
			Name   string
			Tables []struct {
				Name string
				Rows [][]struct {
					Key   string
					Value *float64
				}
			}
		}
	}
	if err := json.Unmarshal(text, &release); err != nil || len(release.Crowds) != w.shape.crowds {
		w.violation("the release is of %d crowds: %v", len(release.Crowds), err)
		return
	}
	for crowd, r := range release.Crowds {
		total := int64(0)
		for _, n := range wanted[crowd] {
			total += n
		}
		if int64(r.Smallest) != total {
			w.violation("the release has %d reports of crowd %d, whose sum has %d", r.Smallest, crowd, total)
		}
	}
	compared := 0
	for _, section := range release.Sections {
		crowd := 1
		if fmt.Sscanf(section.Name, "crowd-%d-answers", &crowd); section.Name != "answers" && !strings.HasSuffix(section.Name, "-answers") {
			continue
		}
		for _, table := range section.Tables {
			if table.Name != "largest" {
				continue
			}
			for _, row := range table.Rows {
				cell, err := strconv.Atoi(row[0].Key)
				if err != nil || row[1].Value == nil || math.Abs(*row[1].Value-float64(wanted[crowd-1][cell])) > 0.01 {
					w.violation("the release says %v of cell %q, which %v have said", row[1].Value, row[0].Key, wanted[crowd-1])
					continue
				}
				compared++
			}
		}
	}
	if compared == 0 {
		w.violation("the release has no number that could be compared")
	}
	seen.add("release compared")
}

// checkGone wants nothing of a withdrawn plan but its withdrawal.
func (w *world) checkGone() {
	if text := w.release(); text != nil && !w.sums.released {
		w.violation("the analyzer has released a plan that is withdrawn")
	}
	for _, name := range w.services() {
		if name == "log" {
			continue
		}
		// It may have lost the plan, and must not take it again.
		status, code, _ := w.ask(name, http.MethodPut, wire.PlanPath(w.signed.Plan.Hash()), wire.PlanType(w.signed), w.signed.Marshal())
		if code != wire.PlanWithdrawn && !(name == "analyzer" && w.sums.released) {
			w.violation("%s takes a plan that is withdrawn: %d %s", name, status, code)
		}
	}
	for _, name := range aggregators {
		filepath.WalkDir(w.nodes[name].dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.Contains(d.Name(), w.signed.Plan.Name()) {
				w.violation("%s has %s still", name, d.Name())
			}
			return nil
		})
	}
}

// checkLog wants every entry of which the log has given evidence where it was.
func (w *world) checkLog() {
	status, _, text := w.ask("log", http.MethodGet, wire.LogPlanPath(w.signed.Plan.Hash()), "", nil)
	var all []relay.LogEntry
	if err := json.Unmarshal(text, &all); status != http.StatusOK || err != nil {
		w.violation("the log shows no entries: %d, %v", status, err)
		return
	}
	has, kinds := map[int64]string{}, map[string]int{}
	for _, e := range all {
		has[int64(e.Index)] = e.Kind
		kinds[e.Kind]++
	}
	for _, i := range slices.Sorted(maps.Keys(w.sums.logged)) {
		if has[i] != w.sums.logged[i] {
			w.violation("the log has lost entry %d, a %s: there is %q", i, w.sums.logged[i], has[i])
		}
	}
	for kind, n := range kinds {
		if n > 1 {
			w.violation("the log has %d entries of a %s", n, kind)
		}
	}
	if status, _, text := w.ask("log", http.MethodGet, "/checkpoint", "", nil); status != http.StatusOK || !sizeAtLeast(text, w.sums.size) {
		w.violation("the log's checkpoint is of less than %d entries: %q", w.sums.size, text)
	}
	if text := w.release(); text != nil && kinds["release"] != 1 && !w.withdrawn() {
		w.violation("a release does not stand in the log")
	}
}

func sizeAtLeast(checkpoint []byte, least int64) bool {
	var size int64
	lines := strings.SplitN(string(checkpoint), "\n", 3)
	if len(lines) < 3 {
		return false
	}
	_, err := fmt.Sscan(lines[1], &size)
	return err == nil && size >= least
}
