package planlog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// patience is how long a request waits for the witnesses.
const patience = 20 * time.Second

// Routes returns the paths of a log, for serve.Config: those of c2sp.org/tlog-tiles, and of
// signed plans.
func (s *Service) Routes() map[string]serve.Handler {
	return map[string]serve.Handler{
		wire.RegisterPattern:   s.add,
		wire.LogReleasePattern: s.addRelease,
		wire.WithdrawPattern:   registry.TakeWith(s.addWithdrawal),
		wire.LogPlanPattern:    s.showPlan,
		wire.LoggedPattern:     s.showBeside(textsTable),
		wire.LogSignedPattern:  s.showBeside(signaturesTable),
		"GET /checkpoint":      s.showCheckpoint,
		"GET /tile/{tile...}":  s.showTile,
	}
}

// add answers PUT /v1/plans/{plan} with the evidence that the plan stands in the log. The
// publishers' signatures are the authentication.
func (s *Service) add(w http.ResponseWriter, r *http.Request) error {
	publishers := s.o.Publishers.Now()
	publishers.Log = plan.Log{} // this is it
	signed, _, err := serve.ReadPlan(w, r, publishers, func([32]byte) bool { return false })
	if err != nil {
		return err
	}
	if err := publishers.Stands(signed); err != nil {
		return wire.Problemf(wire.PlanRefused, "%w", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	e, err := s.Add(ctx, signed)
	return s.answer(w, e, err)
}

// answer is evidence, or why there is none.
func (s *Service) answer(w http.ResponseWriter, e plan.Evidence, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		p := wire.Problemf(wire.Overloaded, "too few witnesses have signed the log as it is now")
		p.RetryAfter = patience
		return p
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", wire.EvidenceType)
	_, err = w.Write(e.Marshal())
	return err
}

// showBeside answers GET /v1/log/texts/{digest} with a signed plan without evidence, with the
// receipts of a release or with a withdrawal, and GET /v1/log/signatures/{digest} with the
// signature of a release.
func (s *Service) showBeside(table keep.Table) serve.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		digest, err := hex.DecodeString(r.PathValue("digest"))
		if err != nil || len(digest) != 32 {
			return wire.Problemf(wire.BadRequest, "{digest} is not 64 hexadecimal digits")
		}
		text, there, err := s.main.Get(r.Context(), table, hex.EncodeToString(digest))
		if err == nil && !there {
			err = errNoFile
		}
		return show(w, text, err)
	}
}

var errNoFile = wire.Problemf(wire.NotFound, "the log has no such file")

// show answers with a file of the log.
func show(w http.ResponseWriter, text []byte, err error) error {
	if err != nil {
		return shelves.Answer(err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, err = w.Write(text)
	return err
}

// showCheckpoint answers GET /checkpoint.
func (s *Service) showCheckpoint(w http.ResponseWriter, r *http.Request) error {
	s.mu.Lock()
	shown := s.shown
	s.mu.Unlock()
	if shown.text == nil {
		return errNoFile
	}
	return show(w, shown.text, nil)
}

// showTile answers GET /tile/{tile...} with a tile, or a bundle of entries, of what was shown.
func (s *Service) showTile(w http.ResponseWriter, r *http.Request) error {
	tile, err := parseTile(r.URL.Path[1:])
	if err != nil {
		return errNoFile
	}
	inside := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return within(tile, s.shown.size)
	}
	if !inside() {
		if err := s.follow(r.Context()); err != nil { // another process may have shown it
			return shelves.Answer(err)
		}
		if !inside() {
			return errNoFile
		}
	}
	if tile.L != bundles {
		t := s.known()
		text, err := tlog.ReadTileData(tile, &t)
		return show(w, text, err)
	}
	var bundle []byte
	for i := range int64(tile.W) {
		entry, there, err := s.main.Get(r.Context(), entriesTable, numberKey(tile.N*width+i))
		if err == nil && !there {
			err = fmt.Errorf("%w: an entry is missing", errDamaged)
		}
		if err != nil {
			return shelves.Answer(err)
		}
		bundle = appendEntry(bundle, entry)
	}
	return show(w, bundle, nil)
}
