package planlog

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"time"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
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
		wire.LoggedPattern:     s.showBeside(texts),
		wire.LogSignedPattern:  s.showBeside(signatures),
		"GET /checkpoint":      s.showTree,
		"GET /tile/{tile...}":  s.showTree,
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
func (s *Service) showBeside(folder string) serve.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		digest, err := hex.DecodeString(r.PathValue("digest"))
		if err != nil || len(digest) != 32 {
			return wire.Problemf(wire.BadRequest, "{digest} is not 64 hexadecimal digits")
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		return s.show(w, path.Join(folder, hex.EncodeToString(digest)))
	}
}

// showTree answers with a file of the tree, as it lies in the folder.
func (s *Service) showTree(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	return s.show(w, r.URL.Path[1:])
}

func (s *Service) show(w http.ResponseWriter, name string) error {
	// ReadFile of such a folder takes no name that leads out of it.
	text, err := fs.ReadFile(os.DirFS(s.o.Folder), name)
	if err != nil {
		return wire.Problemf(wire.NotFound, "the log has no such file")
	}
	_, err = w.Write(text)
	return err
}
