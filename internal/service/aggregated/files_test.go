package aggregated

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// parted has the two aggregators reach each other by files alone, and returns their folder.
func (w *world) parted() string {
	w.t.Helper()
	dir := w.t.TempDir()
	w.meddle = func(*http.Request, func() *http.Response) (*http.Response, error) {
		return nil, errors.New("there is no network")
	}
	for _, n := range w.nodes {
		n.service.o.Files = dir
	}
	return dir
}

// pass has both do once what the files allow.
func (w *world) pass() error {
	helper := w.nodes[dap.Helper]
	return errors.Join(w.nodes[dap.Leader].service.askFiles(w.t.Context()), helper.service.answerFiles(w.t.Context(), helper.server))
}

func files(t *testing.T, dir, kind string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+kind))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// What is counted by files is to the last bit what one process counts, and what leaves is drawn once: answers that are lost are
// written again, the same, also by a helper that was started anew.
func TestFilesCountWhatANetworkDoes(t *testing.T) {
	w := newWorld(t, func(p *plan.Plan) {
		p.Route.Sum.Noise, p.Route.Sum.Law, p.Route.Sum.Decay = plan.NoiseAggregators, plan.LawLaplace, 0.5
	})
	dir := w.parted()
	reports := w.answered()
	wantLeader, wantHelper := w.alone(reports)
	if err := w.pass(); err != nil {
		t.Fatal(err)
	}
	if n := len(files(t, dir, requestFile)); n != 3 {
		t.Errorf("%d requests are written of three jobs", n)
	}
	if err := w.nodes[dap.Leader].service.askFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	for role, want := range map[dap.Role]aggregator.Batch{dap.Leader: wantLeader, dap.Helper: wantHelper} {
		s := w.nodes[role].service
		got, err := s.sum(t.Context(), found(s, w.plan.Hash()).crowds[0])
		a, err1 := got.MarshalBinary()
		b, err2 := want.MarshalBinary()
		if err := errors.Join(err, err1, err2); err != nil || !bytes.Equal(a, b) || got.Reports != uint64(len(said)) {
			t.Errorf("aggregator %d has added another sum of %d reports: %v", role, got.Reports, err)
		}
	}
	answers := map[string][]byte{}
	answer := func() {
		t.Helper()
		helper := w.nodes[dap.Helper]
		if err := helper.service.answerFiles(t.Context(), helper.server); err != nil {
			t.Fatal(err)
		}
		for _, path := range files(t, dir, answerFile) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if answers[path] != nil && !bytes.Equal(answers[path], b) {
				t.Errorf("%s is answered in another way", path)
			}
			if answers[path] = b; os.Remove(path) != nil {
				t.Fatal(path)
			}
		}
	}
	answer()
	w.kill(dap.Helper)
	w.start(dap.Helper)
	w.nodes[dap.Helper].service.o.Files = dir
	answer()
	if len(answers) != 4 {
		t.Errorf("%d requests were answered, and not those of three jobs and a share", len(answers))
	}
	for path, b := range answers {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.pass(); err != nil {
		t.Fatal(err)
	}
	if sums, n := w.opened(); n != uint64(len(said)) || len(sums) != cells {
		t.Errorf("%d reports, %d sums", n, len(sums))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
}

// Files that somebody has changed are refused at both ends, and nothing of them counts.
func TestFilesThatAreChanged(t *testing.T) {
	for _, kind := range []string{requestFile, answerFile} {
		w := newWorld(t, nil)
		dir := w.parted()
		w.answered()
		leader, helper := w.nodes[dap.Leader], w.nodes[dap.Helper]
		spoil := func() []string {
			paths := files(t, dir, kind)
			for i, path := range paths {
				b, err := os.ReadFile(path)
				if err == nil && i == 0 {
					b = b[:len(b)/3] // cut
				} else if err == nil {
					b[len(b)-i] ^= 1
				}
				if err := errors.Join(err, os.WriteFile(path, b, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			return paths
		}
		err := leader.service.askFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var spoilt []string
		if kind == requestFile {
			spoilt = spoil()
			err = helper.service.answerFiles(t.Context(), helper.server)
		} else {
			if err := helper.service.answerFiles(t.Context(), helper.server); err != nil {
				t.Fatal(err)
			}
			spoilt = spoil()
			err = leader.service.askFiles(t.Context())
		}
		if err == nil || len(spoilt) != 3 || kind == requestFile && strings.Count(err.Error(), "is changed") != 3 {
			t.Errorf("%d spoilt %s: %v", len(spoilt), kind, err)
		}
		for _, path := range spoilt {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if err := w.pass(); err != nil {
				t.Fatal(err)
			}
		}
		w.want(want, uint64(len(said)))
	}
}

// A file of a leader that has reports verified again, beside another part of its own, is answered that they were here.
func TestFilesAnswerOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.parted()
	reports := w.answered()
	if err := w.pass(); err != nil {
		t.Fatal(err)
	}
	c := found(w.nodes[dap.Leader].service, w.plan.Hash()).crowds[0]
	job := c.leader.Begin(c.batch(), reports[:2])
	_, _, err := w.nodes[dap.Leader].service.ask(t.Context(), c, dap.AggregationPath(c.ID), dap.AggregationType, job.Request.Marshal(), "")
	if !errors.Is(err, errWaits) {
		t.Fatal(err)
	}
	helper := w.nodes[dap.Helper]
	if err := helper.service.answerFiles(t.Context(), helper.server); err != nil {
		t.Fatal(err)
	}
	text, _, err := w.nodes[dap.Leader].service.ask(t.Context(), c, dap.AggregationPath(c.ID), dap.AggregationType, job.Request.Marshal(), "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := dap.ParseAggregationResp(text, job.Request)
	if err != nil || all[0].Error != dap.ReportReplayed || all[1].Error != dap.ReportReplayed {
		t.Errorf("%+v, %v", all, err)
	}
	// Without its ledger of names a helper tells again: what a command that is handed requests and keys alone would do.
	stateless := found(helper.service, w.plan.Hash()).crowds[0].helper
	if again := stateless.Verify(job.Request); again[0].Message == nil {
		t.Error("verification alone remembers what it has verified")
	}
}
