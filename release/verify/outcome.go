package verify

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Asked is who was asked, since the release was made, what became of its plan.
type Asked struct {
	Who        string           // such as https://log.example
	Withdrawal []byte           // the publisher's signed statement; nil: there is none
	Entries    []relay.LogEntry // of a log, what it has of the plan; nil: it was no log
	// Rounds are withdrawals of other rounds that the release of all rounds so far is learned from.
	Rounds [][]byte
}

// graver are the findings that are said first where they do not hold, in this order.
var graver = []string{"withdrawn", "signature", "expected", "numbers", "surplus", "missing", "first"}

// conclude writes what is said first.
func (r *Report) conclude(signer string) {
	failed := r.Failed()
	switch {
	case failed > 0:
		r.First = append(r.First, fmt.Sprintf("%d of %d checks did not hold: do not rely on this release.", failed, len(r.Findings)))
	case !r.Expected && r.Shows == showsTable:
		r.First = append(r.First, fmt.Sprintf("All %d checks hold, and nobody signed these counts. Ask %s for the plan's name, and give it with --plan.", len(r.Findings), signer))
	case !r.Expected:
		r.First = append(r.First, fmt.Sprintf("All %d checks hold for %s; nobody said that this is the publisher you expect. Whoever makes all keys anew passes every other check.", len(r.Findings), signer))
	default:
		r.First = append(r.First, fmt.Sprintf("All %d checks hold.", len(r.Findings)))
	}
	for _, what := range graver {
		for _, f := range r.Findings {
			if f.What == what && !f.Holds {
				r.First = append(r.First, fmt.Sprintf("%s: %s", f.What, f.Says))
			}
		}
	}
	for _, u := range r.Unchecked {
		if u.What == "withdrawn" {
			r.First = append(r.First, u.Why)
		}
	}
}

// expected looks whether the plan is the one that somebody expects, by its name.
func (c *checks) expected() {
	c.Expected = c.Trusted != nil || c.Plan != ""
	if c.Plan != "" {
		var err error
		if c.Plan != c.signed.Plan.Name() {
			err = fmt.Errorf("plan %s was expected, and this is %s", plan.Short(c.Plan), plan.Short(c.signed.Plan.Name()))
		}
		c.found("expected", err, "the plan is the one that was expected")
	}
}

// withdrawn looks at what the publisher said since: in the folder, and by those who were asked.
func (c *checks) withdrawn() {
	all := c.Asked
	if text := c.Files[relay.WithdrawalFile]; text != nil {
		all = append(slices.Clone(all), Asked{Who: "the folder", Withdrawal: text})
	}
	var who []string
	for _, a := range all {
		if a.Withdrawal == nil {
			who = append(who, a.Who)
			continue
		}
		w, err := plan.ParseWithdrawal(a.Withdrawal)
		if err == nil && !w.Of(c.signed.Plan.Hash(), c.signed.Signers()) {
			err = fmt.Errorf("%s has a withdrawal that is not of this plan, or by nobody who has signed it", a.Who)
		} else if err == nil {
			err = fmt.Errorf("withdrawn by its publisher on %s: %s", w.At.UTC().Format("2 January 2006, 15:04 UTC"), w.Reason)
		}
		c.found("withdrawn", err, "")
		return
	}
	for _, a := range c.Asked {
		for _, text := range a.Rounds {
			w, err := plan.ParseWithdrawal(text)
			if err == nil && c.learnedOf(w.Plan) && w.Of(w.Plan, c.signed.Signers()) {
				c.found("withdrawn", fmt.Errorf("round %s of its study, which the release of all rounds so far rests on, was withdrawn by its publisher on %s: %s", plan.Short(fmt.Sprintf("%x", w.Plan)), w.At.UTC().Format("2 January 2006, 15:04 UTC"), w.Reason), "")
				return
			}
		}
	}
	if len(who) == 0 {
		c.left("withdrawn", "Nobody was asked whether the plan was withdrawn since: a public log says so, or its analyzer (--log, or the release's address).")
		return
	}
	c.found("withdrawn", nil, "not since, says %s", strings.Join(who, ", "))
}

// learnedOf reports whether the release of all rounds so far is learned from the answers to that plan.
func (c *checks) learnedOf(round [32]byte) bool {
	r, err := release.Read(bytes.NewReader(c.Files[studyFile]))
	return err == nil && slices.ContainsFunc(r.Rounds, func(one release.Round) bool {
		return !one.Deleted && one.Plan == fmt.Sprintf("%x", round)
	})
}

// first looks whether the release is the first that the log has of its plan, and the only one.
func (c *checks) first() {
	for _, a := range c.Asked {
		if a.Entries == nil {
			continue
		}
		var all []string
		for _, e := range a.Entries {
			if e.Kind == plan.ReleaseEntry {
				all = append(all, e.Digest)
			}
		}
		var err error
		switch digest := relay.FileDigest(c.Files[relay.ReceiptsFile]); {
		case len(all) == 0:
			err = fmt.Errorf("%s has no release of the plan", a.Who)
		case all[0] != digest:
			err = fmt.Errorf("%s has another release of the plan, which counts: the first", a.Who)
		case len(all) > 1:
			err = fmt.Errorf("%s has a second release of the plan beside this one, the first: somebody has shown others something else", a.Who)
		}
		c.found("first", err, "%s has this release of the plan, and no other", a.Who)
	}
}
