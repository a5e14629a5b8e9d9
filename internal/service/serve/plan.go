package serve

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// smallPlan is the longest signed plan of which several may come at once, in bytes.
const smallPlan = 256 << 10

// ReadPlan reads the signed plan that a request brings to PUT /v1/plans/{plan}. Its
// sender needs no credential: the signature is the authentication. So no byte of
// the body is read before its head names enough of the publishers, one long body is
// read at a time, and nothing of the plan is parsed before all signatures are
// checked. Whether the publishers' keys are good for the plan, the caller asks next.
//
// known says whether the service serves the plan already; again is then true and the
// plan itself is not parsed.
func ReadPlan(w http.ResponseWriter, r *http.Request, publishers plan.Publishers, known func(hash [32]byte) bool) (signed plan.Signed, again bool, err error) {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return plan.Signed{}, false, err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.SignedPlanType, wire.SignedPlansType, wire.SignedRoundType, wire.LoggedPlanType); err != nil {
		return plan.Signed{}, false, err
	}
	if r.ContentLength > plan.MaxSignedBytes {
		return plan.Signed{}, false, wire.Problemf(wire.TooLarge, "the body has %d bytes; at most %d fit here", r.ContentLength, plan.MaxSignedBytes)
	}
	head := make([]byte, plan.MaxHeadBytes)
	if n, err := io.ReadFull(Body(w, r, int64(len(head))), head); err == io.EOF || err == io.ErrUnexpectedEOF {
		head = head[:n]
	} else if err != nil {
		return plan.Signed{}, false, err
	}
	refused := func(err error) (plan.Signed, bool, error) {
		code := wire.PlanRefused
		if _, ok := errors.AsType[*plan.NotLoggedError](err); ok {
			code = wire.PlanNotLogged
		}
		return plan.Signed{}, false, wire.Problemf(code, "%w", err)
	}
	beginning, err := plan.ReadHead(head)
	if err == nil {
		err = publishers.Know(beginning.Signers())
	}
	if err != nil {
		return refused(err)
	}
	if r.ContentLength < 0 || r.ContentLength > smallPlan {
		if err := EnterLong(r); err != nil {
			return plan.Signed{}, false, err
		}
	}
	r.Body = rejoined(head, r.Body)
	text, err := ReadBody(w, r, plan.MaxSignedBytes)
	if err != nil {
		return plan.Signed{}, false, err
	}
	u, err := plan.SplitSigned(text)
	if err == nil {
		err = u.Verify(publishers)
	}
	if err != nil {
		return refused(err)
	}
	if u.Hash() != hash {
		return plan.Signed{}, false, wire.Problemf(wire.BadRequest, "{plan} in the path is not the plan's name")
	}
	if known(hash) {
		return plan.Signed{}, true, nil
	}
	if signed, err = u.Parse(); err != nil {
		return refused(err)
	}
	return signed, false, nil
}

// TakePlan is PUT /v1/plans/{plan} of a service that loads what ReadPlan reads: 201
// where it did, 200 where the service serves the plan already.
func TakePlan(w http.ResponseWriter, r *http.Request, publishers plan.Publishers, known func(hash [32]byte) bool, load func(plan.Signed) error) error {
	signed, again, err := ReadPlan(w, r, publishers, known)
	if err != nil {
		return err
	}
	if !again {
		err = load(signed)
	}
	if err == nil {
		Created(w, again)
	}
	return err
}

// Created answers 201 for what is new here, and 200 for what was here before.
func Created(w http.ResponseWriter, again bool) {
	if again {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(http.StatusCreated)
	}
}

// rejoined returns a body of which the head was read, whole again.
func rejoined(head []byte, body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
}
