package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/confetti-dp/confetti/internal/plain"
)

// Code names a problem. Codes are stable: a client may branch on them.
type Code string

// The codes of every service.
const (
	BadRequest           Code = "bad-request"
	Unauthenticated      Code = "unauthenticated"
	TokenRefused         Code = "token-refused"
	NotFound             Code = "not-found"
	UnknownPlan          Code = "unknown-plan"
	UnknownVersion       Code = "unknown-version"
	MethodNotAllowed     Code = "method-not-allowed"
	RequestTimeout       Code = "request-timeout"
	AlreadyContributed   Code = "already-contributed"
	BatchTaken           Code = "batch-taken"
	TokenIssued          Code = "token-issued"
	BudgetExceeded       Code = "budget-exceeded"
	NotOpen              Code = "not-open"
	NotClosed            Code = "not-closed"
	EpochOver            Code = "epoch-over"
	Withheld             Code = "withheld"
	PlanWithdrawn        Code = "plan-withdrawn"
	TooLarge             Code = "too-large"
	UnsupportedMediaType Code = "unsupported-media-type"
	WrongRole            Code = "wrong-role"
	ContributionRefused  Code = "contribution-refused"
	BatchRefused         Code = "batch-refused"
	ReceiptRefused       Code = "receipt-refused"
	PlanRefused          Code = "plan-refused"
	PlanNotLogged        Code = "plan-not-logged"
	WithdrawalRefused    Code = "withdrawal-refused"
	RateLimited          Code = "rate-limited"
	Internal             Code = "internal"
	Overloaded           Code = "overloaded"
	PlanSuspended        Code = "plan-suspended"
	StorageFull          Code = "storage-full"
)

// Kind is what is always the same about problems of one code.
type Kind struct {
	Code   Code
	Status int
	Title  string
	Remedy string // what the one who asked can do
	Retry  bool   // whether the same request may succeed later
}

// Kinds is every kind of problem, by status.
var Kinds = []Kind{
	{BadRequest, http.StatusBadRequest, "The request is malformed", "Send the request in the form that docs/wire.md gives; the detail names the part that is not.", false},
	{Unauthenticated, http.StatusUnauthorized, "The request does not say who sends it", "Send a bearer token, a client certificate or a single-use token that this service accepts.", false},
	{TokenRefused, http.StatusForbidden, "The single-use token is not good here", "Ask the plan's issuer for a token of this plan, instance and hop, and use it once.", false},
	{NotFound, http.StatusNotFound, "There is nothing at this path", "Check the path against docs/wire.md.", false},
	{UnknownPlan, http.StatusNotFound, "This service does not serve the plan", "Check the plan's name and the address in the plan, or ask the operator to load the plan.", false},
	{UnknownVersion, http.StatusNotFound, "This service does not speak that version", "Use a version that the header Confetti-Versions lists, or update the service.", false},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "The path does not take this method", "Use a method that the header Allow lists.", false},
	{RequestTimeout, http.StatusRequestTimeout, "The body did not arrive in time", "Send it again over a faster connection.", true},
	{AlreadyContributed, http.StatusConflict, "This respondent has contributed already", "Nothing is to be done: one contribution of a respondent counts, and another one is here.", false},
	{BatchTaken, http.StatusConflict, "Another batch of this crowd is here already", "Do not mix a crowd twice. If the batch that is here is not the right one, the plan must be collected again under a new name.", false},
	{TokenIssued, http.StatusConflict, "Another request of this respondent was signed already", "Send the request that was signed before: a device keeps its seed. A lost seed is a lost contribution.", false},
	{BudgetExceeded, http.StatusConflict, "The population's privacy budget does not allow the plan", "Lower the plan's epsilon to what the detail says, or ask another population.", false},
	{NotOpen, http.StatusConflict, "The collection has not opened yet", "Come back when the plan opens (Retry-After).", true},
	{NotClosed, http.StatusConflict, "The collection has not closed yet", "Come back after the plan has closed.", true},
	{EpochOver, http.StatusGone, "The collection is over", "Discard the contribution: it can no longer count.", false},
	{Withheld, http.StatusGone, "The release is withheld", "Nothing is to be done: what arrived does not keep the promise, as the detail says.", false},
	{PlanWithdrawn, http.StatusGone, "The plan was withdrawn by its publisher", "Discard the contribution once the publisher's statement is checked, which is at the plan's path with /withdrawal. What the answer cost stays spent.", false},
	{TooLarge, http.StatusRequestEntityTooLarge, "The body is larger than the plan or this service allows", "Send no more than the plan's number and size of envelopes.", false},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "This service does not read that media type or version", "Send the type and version that the header Accept names.", false},
	{WrongRole, http.StatusMisdirectedRequest, "The plan gives this part to another service", "Send it to the address that the plan names for the instance and hop.", false},
	{ContributionRefused, http.StatusUnprocessableEntity, "The contribution does not fit the plan", "Make it anew from the plan; the detail names what does not fit.", false},
	{BatchRefused, http.StatusUnprocessableEntity, "The batch does not fit the plan, or too few respondents are in it", "Nothing of it may be used; the detail names what does not fit.", false},
	{ReceiptRefused, http.StatusUnprocessableEntity, "The receipts do not bear the batch out", "Ask the operator of the hop that the detail names for the batch and receipt it signed.", false},
	{PlanRefused, http.StatusUnprocessableEntity, "The plan is not acceptable", "Have its author correct what the detail names, sign it, and load it under its new name.", false},
	{PlanNotLogged, http.StatusUnprocessableEntity, "It is not shown that the plan stands in the public log", "Have the plan's publisher put it into the log that this service asks for, and send it with the log's evidence.", false},
	{WithdrawalRefused, http.StatusUnprocessableEntity, "The withdrawal does not hold here", "Have a publisher who has signed the plan sign the withdrawal, and send it as it was written.", false},
	{RateLimited, http.StatusTooManyRequests, "Too many requests", "Wait as long as Retry-After says, with some jitter.", true},
	{Internal, http.StatusInternalServerError, "The service failed", "Try again later; the operator finds the reason in the service's log.", true},
	{Overloaded, http.StatusServiceUnavailable, "The service is too busy, starting or stopping", "Wait as long as Retry-After says, with some jitter.", true},
	{PlanSuspended, http.StatusServiceUnavailable, "The service does not serve the plan now", "Try again later: nothing is lost. The operator finds in the status why, a publisher who is not trusted any more or a missing key.", true},
	{StorageFull, http.StatusInsufficientStorage, "The service cannot store more", "Try again later; the operator must make room.", true},
}

// KindOf is the kind of a code; false for a code of a later version.
func KindOf(c Code) (Kind, bool) {
	for _, k := range Kinds {
		if k.Code == c {
			return k, true
		}
	}
	return Kind{}, false
}

// Problem is a refusal as it travels: problem details of RFC 9457 with a code
// and a remedy. The detail never holds a value, key, token or address.
type Problem struct {
	Type   string `json:"type"` // urn:confetti:problem: and the code
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   Code   `json:"code"`
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy"`

	RetryAfter time.Duration `json:"-"` // header Retry-After, in whole seconds, rounded up; 0: none
	Accept     string        `json:"-"` // header of that name, where the media type is the problem

	cause error
}

const (
	problemType = "urn:confetti:problem:"
	maxProblem  = 1 << 14 // bytes
	maxDetail   = 1 << 12 // bytes: a refused plan may have many faults
)

// Problemf makes a problem of a known code. The detail goes to whoever asked:
// it names what was wrong with what they sent. %w keeps a cause to branch on.
func Problemf(c Code, format string, a ...any) *Problem {
	k, known := KindOf(c)
	if !known {
		panic("wire: no kind of problem has the code " + string(c))
	}
	cause := fmt.Errorf(format, a...)
	detail := cause.Error()
	return &Problem{
		Type: problemType + string(c), Title: k.Title, Status: k.Status, Code: c,
		Detail: detail[:min(len(detail), maxDetail)], Remedy: k.Remedy, cause: errors.Unwrap(cause),
	}
}

// Error is the detail with its code, both of them words of whoever made the problem.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return "wire: " + plain.Text(string(p.Code))
	}
	return "wire: " + plain.Text(string(p.Code)) + ": " + plain.Lines(p.Detail)
}

// Unwrap is the cause on the side that made the problem; it does not travel.
func (p *Problem) Unwrap() error { return p.cause }

// Retry reports whether the same request may succeed later. A code that this
// build does not know is judged by its status.
func (p *Problem) Retry() bool {
	if k, known := KindOf(p.Code); known {
		return k.Retry
	}
	return p.Status == http.StatusTooManyRequests || p.Status >= 500
}

// AsProblem is the problem in the error, or Internal with nothing of the error
// in it: what a service did not foresee may hold anything.
func AsProblem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Problemf(TooLarge, "the body has more than %d bytes", tooLarge.Limit)
	}
	return Problemf(Internal, "no more is said here")
}

// WriteProblem answers a request with the problem in the error.
func WriteProblem(w http.ResponseWriter, err error) {
	p := AsProblem(err)
	body, jsonErr := json.Marshal(p)
	if jsonErr != nil {
		panic("wire: " + jsonErr.Error()) // strings and numbers always encode
	}
	h := w.Header()
	h.Set("Content-Type", ProblemType)
	h.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if p.Accept != "" {
		h.Set("Accept", p.Accept)
	}
	if p.Code == Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer, PrivateToken")
	}
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n'))
}

// ReadProblem is the problem that a response reports; nil for a status below
// 400. What is no problem document, as of a proxy on the way, is a problem
// without a code. The response's body is read, not closed.
func ReadProblem(r *http.Response) *Problem {
	if r.StatusCode < 400 {
		return nil
	}
	p := &Problem{}
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if body, err := io.ReadAll(io.LimitReader(r.Body, maxProblem+1)); err == nil && len(body) <= maxProblem && mediaType == ProblemType {
		d := json.NewDecoder(bytes.NewReader(body)) // members of later versions are no reason to lose the rest
		if d.Decode(p) != nil {
			*p = Problem{}
		}
	}
	p.Status = r.StatusCode // of the two, the one that every proxy saw
	if s, err := strconv.ParseUint(r.Header.Get("Retry-After"), 10, 20); err == nil {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return p
}
