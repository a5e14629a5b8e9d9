package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/confetti-dp/confetti/plan"
)

// Version is the version of the interface, the first part of every path. A
// service that changes the meaning of a path serves the next version beside it.
const Version = "v1"

// Patterns of net/http for every path. {plan} is the plan's name, 64 lower-case
// hex digits; {instance}, {hop} and {crowd} count from 0.
const (
	ContributionPattern = "PUT /v1/plans/{plan}/instances/{instance}/contributions/{id}"
	BatchPattern        = "PUT /v1/plans/{plan}/instances/{instance}/hops/{hop}/batches/{crowd}"
	PartPattern         = "PUT /v1/plans/{plan}/instances/{instance}/hops/{hop}/batches/{crowd}/parts/{part}"
	HeldPattern         = "GET /v1/plans/{plan}/instances/{instance}/hops/{hop}/batches/{crowd}"
	PlanPattern         = "GET /v1/plans/{plan}"
	StatusPattern       = "GET /v1/plans/{plan}/status"
	TokensPattern       = "POST /v1/plans/{plan}/tokens"
	PlansPattern        = "GET /v1/plans"
	RegisterPattern     = "PUT /v1/plans/{plan}"
	ClosePattern        = "POST /v1/plans/{plan}/close"
	WithdrawPattern     = "PUT /v1/plans/{plan}/withdrawal"
	WithdrawalPattern   = "GET /v1/plans/{plan}/withdrawal"
	ReleasesPattern     = "GET /v1/releases"
	ReleasePattern      = "GET /v1/releases/{file}" // {plan}.json, .csv or .html
	BudgetPattern       = "GET /v1/budgets/{population}"
	StatePattern        = "GET /v1/states/{state}" // 64 lower-case hex digits: the SHA-256 of the body
	KeepStatePattern    = "PUT /v1/states/{state}"
	StudyPattern        = "GET /v1/studies/{study}"
	WitnessPattern      = "POST /v1/log/add-checkpoint" // c2sp.org/tlog-witness
	LogReleasePattern   = "PUT /v1/log/releases/{plan}"
	LogPlanPattern      = "GET /v1/log/plans/{plan}"        // the log's entries of a plan
	LogSignedPattern    = "GET /v1/log/signatures/{digest}" // of a release, by the SHA-256 of its receipts
	LoggedPattern       = "GET /v1/log/texts/{digest}"      // 64 lower-case hex digits: the SHA-256 of the signed plan without evidence, or of receipts
)

// The media types of bodies. Each names the version of its form: a service that
// cannot read one answers UnsupportedMediaType and says in Accept what it reads.
const (
	ContributionType = "application/vnd.confetti.contribution; version=2"
	BatchType        = "application/vnd.confetti.batch; version=1"
	// PartedType is that of receipts and the manifest of a batch in parts, PartType of a part.
	PartedType        = "application/vnd.confetti.batch; version=2"
	PartType          = "application/vnd.confetti.part; version=2"
	TokenRequestType  = "application/vnd.confetti.token-request; version=1"
	TokenResponseType = "application/vnd.confetti.token-response; version=1"
	SignedPlanType    = "application/vnd.confetti.signed-plan+json; version=1"
	// SignedPlansType is that of a plan with several signatures.
	SignedPlansType = "application/vnd.confetti.signed-plan+json; version=2"
	// SignedRoundType is that of a round of a study.
	SignedRoundType = "application/vnd.confetti.signed-plan+json; version=3"
	// LoggedPlanType is that of a plan or round with evidence that it stands in a log.
	LoggedPlanType = "application/vnd.confetti.signed-plan+json; version=4"
	WithdrawalType = "application/vnd.confetti.withdrawal+json; version=1"
	// SignedReleaseType is that of a release's signature with its receipts behind it.
	SignedReleaseType = "application/vnd.confetti.signed-release; version=1"
	// EvidenceType is that of evidence that a plan stands in a log (c2sp.org/tlog-proof).
	EvidenceType = "text/plain; charset=utf-8"
	StateType    = "application/octet-stream"
	ProblemType  = "application/problem+json"
)

// ContributionPath returns where the entry hop takes the contribution with this body.
func ContributionPath(plan [32]byte, instance uint16, id [32]byte) string {
	return fmt.Sprintf("/v1/plans/%x/instances/%d/contributions/%x", plan, instance, id)
}

// BatchPath returns where a hop, or the analyzer as the one after the last, takes a crowd.
func BatchPath(plan [32]byte, instance uint16, hop uint8, crowd uint32) string {
	return fmt.Sprintf("/v1/plans/%x/instances/%d/hops/%d/batches/%d", plan, instance, hop, crowd)
}

// PartPath returns where a part of a crowd's batch is taken, counted from 0.
func PartPath(l Leg, part int) string {
	return fmt.Sprintf("%s/parts/%d", BatchPath(l.Plan, l.Instance, l.Hop, l.Crowd), part)
}

// PlanPath returns where the signed plan is read, and registered with an analyzer.
func PlanPath(plan [32]byte) string { return fmt.Sprintf("/v1/plans/%x", plan) }

// StatusPath returns where a service tells how a plan is getting on.
func StatusPath(plan [32]byte) string { return PlanPath(plan) + "/status" }

// TokensPath returns where an issuer signs tokens for a plan.
func TokensPath(plan [32]byte) string { return PlanPath(plan) + "/tokens" }

// ClosePath returns where an analyzer is told to close a collection.
func ClosePath(plan [32]byte) string { return PlanPath(plan) + "/close" }

// LogPlanPath names where a log says which entries of a plan it has.
func LogPlanPath(plan [32]byte) string { return fmt.Sprintf("/v1/log/plans/%x", plan) }

// LoggedPath names where a log gives the text of an entry with that digest, in hex.
func LoggedPath(digest string) string { return "/v1/log/texts/" + digest }

// LogReleasePath names where a log takes the release of a plan, signed by its analyzer.
func LogReleasePath(plan [32]byte) string { return fmt.Sprintf("/v1/log/releases/%x", plan) }

// ReleasePath returns where an analyzer gives a file of a plan's release, by its format.
func ReleasePath(plan [32]byte, format string) string {
	return fmt.Sprintf("/v1/releases/%x.%s", plan, format)
}

// StatePath returns where an analyzer gives a public state to whoever asks.
func StatePath(state [32]byte) string { return fmt.Sprintf("/v1/states/%x", state) }

// StudyPath returns where an analyzer gives the newest round of a study to whoever asks.
func StudyPath(study [32]byte) string { return fmt.Sprintf("/v1/studies/%x", study) }

// Request is what a path's variables are read from: a *http.Request, which a device has no use for.
type Request interface{ PathValue(name string) string }

// PathState reads {state}.
func PathState(r Request) ([32]byte, error) { return pathHash(r, "state") }

// PathStudy reads {study}.
func PathStudy(r Request) ([32]byte, error) { return pathHash(r, "study") }

// WithdrawalPath returns where a plan is withdrawn, and where the publisher's statement is read.
func WithdrawalPath(plan [32]byte) string { return PlanPath(plan) + "/withdrawal" }

// PlanType returns the media type of a signed plan.
func PlanType(s plan.Signed) string {
	switch {
	case s.Evidence != nil:
		return LoggedPlanType
	case s.Study != nil:
		return SignedRoundType
	case len(s.Others) > 0:
		return SignedPlansType
	}
	return SignedPlanType
}

// ContributionID returns the idempotency key of a contribution: the SHA-256 of its
// body. The same body again is the same contribution.
func ContributionID(body []byte) [32]byte { return sha256.Sum256(body) }

// CoverID returns the id of a body that the entry authenticates, writes to its disk and
// answers as it does a contribution, and deletes unread when the epoch is over.
// Whoever watches the network sees a contribution.
func CoverID(body []byte) [32]byte {
	return sha256.Sum256(append([]byte("confetti/cover/v1"), body...))
}

// PathPlan reads {plan}.
func PathPlan(r Request) ([32]byte, error) { return pathHash(r, "plan") }

// PathID reads {id}.
func PathID(r Request) ([32]byte, error) { return pathHash(r, "id") }

// PathInstance reads {instance}.
func PathInstance(r Request) (uint16, error) {
	n, err := pathNumber(r, "instance", 16)
	return uint16(n), err
}

// Leg is which batch of a plan a request is about: a crowd's, through an instance,
// as it comes to a hop.
type Leg struct {
	Plan     [32]byte
	Instance uint16
	Hop      uint8
	Crowd    uint32
}

// PathLeg reads {plan}, {instance}, {hop} and {crowd}.
func PathLeg(r Request) (l Leg, err error) {
	if l.Plan, err = PathPlan(r); err != nil {
		return l, err
	}
	if l.Instance, err = PathInstance(r); err != nil {
		return l, err
	}
	hop, err := pathNumber(r, "hop", 8)
	if err != nil {
		return l, err
	}
	crowd, err := pathNumber(r, "crowd", 32)
	l.Hop, l.Crowd = uint8(hop), uint32(crowd)
	return l, err
}

// PathPartLeg reads what PathLeg reads, and {part}.
func PathPartLeg(r Request) (l Leg, part int, err error) {
	if l, err = PathLeg(r); err != nil {
		return l, 0, err
	}
	n, err := pathNumber(r, "part", 16)
	return l, int(n), err
}

// ParsePlanName reads a plan's name: 64 lower-case hex digits.
func ParsePlanName(text string) (hash [32]byte, err error) {
	n, err := hex.Decode(hash[:], []byte(text[:min(len(text), 64)]))
	// Upper case would be a second name of the same thing.
	if err != nil || n != 32 || hex.EncodeToString(hash[:]) != text {
		return [32]byte{}, fmt.Errorf("not 64 lower-case hex digits")
	}
	return hash, nil
}

func pathHash(r Request, name string) ([32]byte, error) {
	hash, err := ParsePlanName(r.PathValue(name))
	if err != nil {
		return hash, Problemf(BadRequest, "{%s} in the path is %w", name, err)
	}
	return hash, nil
}

func pathNumber(r Request, name string, bits int) (uint64, error) {
	text := r.PathValue(name)
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil || strconv.FormatUint(n, 10) != text { // leading zeros, plus signs
		return 0, Problemf(BadRequest, "{%s} in the path is not a decimal number below 2^%d without leading zeros", name, bits)
	}
	return n, nil
}
