package analyzerd

import (
	"bytes"
	"encoding/hex"

	"github.com/confetti-dp/confetti/internal/release/findings"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/release"
)

// writeUp is the files of a release.
func (s *Service) writeUp(p *protocol.Protocol, c counted, public findings.Public) (map[string][]byte, error) {
	if err := analyzer.Kept(p, c.crowds); err != nil {
		return nil, err
	}
	r, model, err := s.publish(p, c, public)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if findings.Counted(p.Plan.Question) {
		sheet, err := findings.Beside(model, public)
		if err != nil {
			return nil, err
		}
		if sheet.Note != "" {
			r.Notes = append(r.Notes, sheet.Note)
		}
		files[formatCounts] = sheet.Text
	}
	if s.o.Audit != nil {
		found, err := s.o.Audit(p.Plan, c.state)
		if err != nil {
			return nil, err
		}
		r.Protection, files[formatAudit] = append(r.Protection, found.Section), found.File
	}
	if err := draw(files, r, formatJSON, formatHTML); err != nil {
		return nil, err
	}
	if c.all != nil {
		all, _, err := s.publish(p, *c.all, public)
		if err != nil {
			return nil, err
		}
		all.Title += " (all rounds so far)"
		all.Rounds = c.all.rounds
		if err := draw(files, all, formatStudyJSON, formatStudyHTML); err != nil {
			return nil, err
		}
	}
	if files[formatReceipts], err = c.receipts(p.Plan, files); err != nil {
		return nil, err
	}
	if p.Plan.Analyzer.Releases != "" {
		files[formatSignature] = relay.ReleaseOf(p.Plan.Hash(), files[formatReceipts]).Sign(c.sign.Private())
	}
	return files, nil
}

// publish is the release of what was counted, and what was learned.
func (s *Service) publish(p *protocol.Protocol, c counted, public findings.Public) (release.Release, question.Model, error) {
	r, model, err := analyzer.Publish(p, c.crowds, public)
	if err != nil {
		return r, nil, err
	}
	r.Created = s.o.Now().UTC()
	r.Notes = append(r.Notes, c.notes...)
	r.Provenance = release.Provenance{Software: s.o.Software, Randomness: "fresh randomness"}
	return r, model, inStudy(&r, p, c.study)
}

// draw adds a release to files, as JSON and as a page.
func draw(files map[string][]byte, r release.Release, formatJSON, formatHTML string) error {
	var json, html bytes.Buffer
	if err := r.WriteJSON(&json); err != nil {
		return err
	}
	if err := page.WriteHTML(&html, r); err != nil {
		return err
	}
	files[formatJSON], files[formatHTML] = json.Bytes(), html.Bytes()
	return nil
}

// inStudy has the release of a round say what the study costs.
func inStudy(r *release.Release, p *protocol.Protocol, s *plan.Study) error {
	if s == nil {
		return nil
	}
	all, err := p.Stated(protocol.Promise{Statements: r.Guarantees}, s)
	r.Notes, r.Guarantees = append(r.Notes, p.InStudy(*s)), all
	return err
}

// receipts are those of the counted batches, for whoever verifies the release, with
// the digests of its files.
func (c counted) receipts(p plan.Plan, files map[string][]byte) ([]byte, error) {
	all := relay.Receipts{Format: relay.ReceiptsFormat, Plan: p.Name(), Files: map[string]string{}}
	for format, text := range files {
		all.Files[format] = relay.FileDigest(text)
	}
	for _, b := range c.batches {
		one := relay.BatchReceipts{Instance: b.Instance, Crowd: b.Crowd, SHA256: hex.EncodeToString(b.SHA256[:]), Whole: b.Smallest, Dropped: b.Dropped}
		if p.Route.Sum != nil {
			one.Dropped = 0 // the aggregators have refused them, and say so
		}
		receipts, err := relay.SplitReceipts(b.Receipts)
		if err != nil {
			return nil, err
		}
		for _, receipt := range receipts {
			one.Receipts = append(one.Receipts, receipt.Bytes())
		}
		all.Batches = append(all.Batches, one)
	}
	return all.Marshal()
}
