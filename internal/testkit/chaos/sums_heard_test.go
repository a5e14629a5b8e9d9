package chaos

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/plan"
)

// sumsSeen is what an omniscient observer has seen of a collection over sums.
type sumsSeen struct {
	answers   map[string][32]byte // digest of what a question that is asked twice was answered
	withdrawn map[string]bool     // services that have answered the withdrawal
	released  bool                // before the analyzer had it
	size      int64               // of the log, by its evidence
	logged    map[int64]string    // kinds of entries, by their index
	evidence  []byte              // of one that the log gave
}

// heardSum sees what aggregators and the log answer: what has left once leaves again byte for
// byte, and nothing leaves of a plan that is withdrawn.
func (w *world) heardSum(x *parcel, res *http.Response) {
	if res.StatusCode >= 300 || res.StatusCode == http.StatusAccepted {
		return
	}
	question := ""
	switch {
	case strings.HasSuffix(x.path, "/collection_jobs"), strings.HasSuffix(x.path, "/aggregate_shares"):
		question = x.path
	case strings.HasSuffix(x.path, "/aggregation_jobs"):
		question = fmt.Sprintf("%s %x", x.path, sha256.Sum256(x.body))
	case strings.HasSuffix(x.path, "/reports"):
		seen.add("report acknowledged")
	case x.to == "log" && x.method == http.MethodPut && !strings.HasSuffix(x.path, "/withdrawal"):
		w.heardLog(x, w.text(res))
		return
	default:
		return
	}
	if w.sums.withdrawn[x.to] {
		w.violation("%s answers %s after the withdrawal", x.to, x.path[strings.LastIndexByte(x.path, '/'):])
	}
	if question == "" {
		return
	}
	digest := sha256.Sum256(w.text(res))
	if before, there := w.sums.answers[question]; there && before != digest {
		w.violation("%s gives another answer than before to %s", x.to, x.path[strings.LastIndexByte(x.path, '/'):])
	}
	if w.sums.answers == nil {
		w.sums.answers = map[string][32]byte{}
	}
	w.sums.answers[question] = digest
}

// text reads a body, which whoever asked reads too.
func (w *world) text(res *http.Response) []byte {
	text, _ := io.ReadAll(res.Body) // from memory
	res.Body = io.NopCloser(bytes.NewReader(text))
	return text
}

// heardLog keeps what the log has signed.
func (w *world) heardLog(x *parcel, text []byte) {
	e, err := plan.ParseEvidence(text)
	if err != nil {
		w.violation("the log answers with what is no evidence: %v", err)
		return
	}
	w.sums.evidence = text
	kind := "plan"
	if strings.Contains(x.path, "/log/releases/") {
		kind = "release"
	}
	if was := w.sums.logged[e.Index]; was != "" && was != kind {
		w.violation("the log has a %s where it had a %s", kind, was)
	}
	if w.sums.logged == nil {
		w.sums.logged = map[int64]string{}
	}
	w.sums.logged[e.Index], w.sums.size = kind, max(w.sums.size, e.Index+1)
	seen.add("log entry of a " + kind)
}

// secondReport is another report of a respondent, with what it showed the first time, or of
// nobody where it showed nothing yet.
func (w *world) secondReport(d int) {
	cell, authorization := maxDevices+d, "Bearer "+w.ring.bearers[d]
	var made []byte
	if w.shape.tokens {
		authorization, made = "", make([]byte, token.Size) // for the helper, which knows it for nobody's
		for _, x := range w.net.past {
			if x.from == deviceName(d) {
				authorization = x.header.Get("Authorization")
			}
		}
		if authorization == "" {
			cell, authorization = 2*maxDevices+d, tokenwire.Authorization(made)
		}
	}
	t := w.task(w.crowdOf(d))
	vector := make([]uint64, w.signed.Plan.Route.Sum.Circuit.Length)
	vector[cell] = 1
	report, err := t.Report(rng.New(), vector, w.now, made)
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	header := http.Header{"Content-Type": {dap.UploadType}, "Authorization": {authorization}}
	if _, err := w.net.send(&parcel{"outside", "leader", http.MethodPost, dap.ReportsPath(t.ID), header, report.Append(nil)}); err != nil {
		w.say("%v", err)
	}
}

// withdrawSum brings a service the publisher's withdrawal.
func (w *world) withdrawSum(name string) {
	s, err := plan.Withdraw(plan.Withdrawal{Plan: w.signed.Plan.Hash(), At: opens, Reason: "the wrong question"}, w.ring.publisher)
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	if name == "analyzer" && !w.sums.withdrawn[name] {
		w.sums.released = w.release() != nil
	}
	if status, code := w.withdraw(name, s); status/100 == 2 {
		if w.sums.withdrawn == nil {
			w.sums.withdrawn = map[string]bool{}
		}
		w.sums.withdrawn[name] = true
		seen.add("withdrawn at " + name)
	} else if w.nodes[name].up() {
		w.violation("%s does not take the withdrawal: %d %s", name, status, code)
	}
}
