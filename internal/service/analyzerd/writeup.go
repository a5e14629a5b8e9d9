package analyzerd

import (
	"bytes"
	"encoding/hex"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// writeUp returns the files of a release.
func (s *Service) writeUp(p *protocol.Protocol, c counted, public results.Public) (map[string][]byte, error) {
	if err := analyzer.CheckBatch(p, c.crowds); err != nil {
		return nil, err
	}
	r, model, err := s.numbers(p, c, public)
	if err != nil {
		return nil, err
	}
	words, err := statement.New(plan.Signed{Plan: p.Plan, Study: c.study}, nil)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if results.Counted(p.Plan.Question) {
		sheet, err := results.Beside(model, public)
		if err != nil {
			return nil, err
		}
		r.Cells, files[formatCounts] = sheet.Of, sheet.Text
	}
	if s.o.Audit != nil {
		if words.Audit, err = s.o.Audit(p.Plan, c.state); err != nil {
			return nil, err
		}
		files[formatAudit] = words.Audit
	}
	if err := draw(files, words, r, formatJSON, formatHTML); err != nil {
		return nil, err
	}
	if c.all != nil {
		all, _, err := s.numbers(p, *c.all, public)
		if err != nil {
			return nil, err
		}
		all.Rounds = c.all.rounds
		if err := draw(files, words, all, formatStudyJSON, formatStudyHTML); err != nil {
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

// numbers returns those of a release of what was counted, and what was learned.
func (s *Service) numbers(p *protocol.Protocol, c counted, public results.Public) (release.Release, question.Model, error) {
	model, err := p.Learn(c.crowds)
	if err != nil {
		return release.Release{}, nil, err
	}
	r, err := analyzer.Numbers(p, model, c.crowds, public)
	if err != nil {
		return r, nil, err
	}
	r.Dropped, r.Created = c.dropped, s.o.Now().UTC()
	for crowd, came := range c.without {
		r.Crowds[crowd].Batches = came
	}
	for _, crowd := range c.hopeless {
		r.Crowds[crowd].Failed = true
	}
	r.Provenance = release.Provenance{Software: s.o.Software, Randomness: "fresh randomness"}
	return r, model, nil
}

// draw adds a release to files, as JSON and, with its words, as a page.
func draw(files map[string][]byte, words statement.Plan, r release.Release, formatJSON, formatHTML string) error {
	if err := words.Write(&r); err != nil {
		return err
	}
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

// receipts returns those of the counted batches, for whoever verifies the release, with
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
