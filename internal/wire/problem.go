package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/sanitize"
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
	SumFailed            Code = "sum-failed"
	RowLate              Code = "row-late"
	RowFailed            Code = "row-failed"
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
	Status int // of HTTP
	Title  string
	Remedy string // what the one who asked can do
	Retry  bool   // whether the same request may succeed later
}

// Kinds is every kind of problem, by status.
var Kinds = []Kind{
	{BadRequest, 400, "The request is malformed", "Send the request in the form that docs/wire.md gives; the detail names the part that is not.", false},
	{Unauthenticated, 401, "The request does not say who sends it", "Send a bearer token, a client certificate or a single-use token that this service accepts.", false},
	{TokenRefused, 403, "The single-use token is not good here", "Ask the plan's issuer for a token of this plan, instance and hop, and use it once.", false},
	{NotFound, 404, "There is nothing at this path", "Check the path against docs/wire-http.md.", false},
	{UnknownPlan, 404, "This service does not serve the plan", "Check the plan's name and the address in the plan, or ask the operator to load the plan.", false},
	{UnknownVersion, 404, "This service does not speak that version", "Use a version that the header Confetti-Versions lists, or update the service.", false},
	{MethodNotAllowed, 405, "The path does not take this method", "Use a method that the header Allow lists.", false},
	{RequestTimeout, 408, "The body did not arrive in time", "Send it again over a faster connection.", true},
	{AlreadyContributed, 409, "This respondent has contributed already", "Do nothing: one contribution of a respondent counts, and another one is here.", false},
	{BatchTaken, 409, "Another batch of this crowd is here already", "Do not mix a crowd twice. If the batch that is here is not the right one, the plan must be collected again under a new name.", false},
	{TokenIssued, 409, "Another request of this respondent was signed already", "Send the request that was signed before: a device keeps its seed. A lost seed is a lost contribution.", false},
	{BudgetExceeded, 409, "The population's privacy budget does not allow the plan", "Lower the plan's epsilon to what the detail says, or ask another population.", false},
	{NotOpen, 409, "The collection has not opened yet", "Come back when the plan opens (Retry-After).", true},
	{NotClosed, 409, "The collection has not closed yet", "Come back after the plan has closed.", true},
	{EpochOver, 410, "The collection is over", "Discard the contribution: it can no longer count.", false},
	{Withheld, 410, "The release is withheld", "Start a new collection: the detail says what this one lacked.", false},
	{PlanWithdrawn, 410, "The plan was withdrawn by its publisher", "Discard the contribution once the publisher's statement is checked, which is at the plan's path with /withdrawal. What the answer cost stays spent.", false},
	{SumFailed, 410, "The sum of this crowd can never be had", "Have the plan's publishers withdraw it. The aggregator's operator finds in the status what failed.", false},
	{RowLate, 410, "The row of this round came too late", "Do nothing: no later round tells of it either.", false},
	{RowFailed, 410, "The row of this round was given up", "Do nothing: no later round tells of it either.", false},
	{TooLarge, 413, "The body is larger than the plan or this service allows", "Send no more than the plan's number and size of envelopes.", false},
	{UnsupportedMediaType, 415, "This service does not read that media type or version", "Send the type and version that the header Accept names.", false},
	{WrongRole, 421, "The plan gives this part to another service", "Send it to the address that the plan names for the instance and hop.", false},
	{ContributionRefused, 422, "The contribution does not fit the plan", "Make it anew from the plan; the detail names what does not fit.", false},
	{BatchRefused, 422, "The batch does not fit the plan, or too few respondents are in it", "Nothing of it may be used; the detail names what does not fit.", false},
	{ReceiptRefused, 422, "The receipts do not bear the batch out", "Ask the operator of the hop that the detail names for the batch and receipt it signed.", false},
	{PlanRefused, 422, "The plan is not acceptable", "Have its author correct what the detail names, sign it, and load it under its new name.", false},
	{PlanNotLogged, 422, "It is not shown that the plan stands in the public log", "Have the plan's publisher put it into the log that this service asks for, and send it with the log's evidence.", false},
	{WithdrawalRefused, 422, "The withdrawal does not hold here", "Have a publisher who has signed the plan sign the withdrawal, and send it as it was written.", false},
	{RateLimited, 429, "Too many requests", "Wait as long as Retry-After says, with some jitter.", true},
	{Internal, 500, "The service failed", "Try again later; the operator finds the reason in the service's log.", true},
	{Overloaded, 503, "The service is too busy, starting or stopping", "Wait as long as Retry-After says, with some jitter.", true},
	{PlanSuspended, 503, "The service does not serve the plan now", "Try again later: nothing is lost. The operator finds in the status why, a publisher who is not trusted any more or a missing key.", true},
	{StorageFull, 507, "The service cannot store more", "Try again later; the operator must make room.", true},
}

// KindOf returns the kind of a code; false for a code of a later version.
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
	maxDetail   = 1 << 12 // bytes: a refused plan may have many faults

	// MaxProblem bounds a problem document, in bytes: what is longer is none.
	MaxProblem = 1 << 14
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

// Error returns the detail with its code, both of them words of whoever made the problem.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return "wire: " + sanitize.Text(string(p.Code))
	}
	return "wire: " + sanitize.Text(string(p.Code)) + ": " + sanitize.Lines(p.Detail)
}

// Unwrap returns the cause on the side that made the problem; it does not travel.
func (p *Problem) Unwrap() error { return p.cause }

// Retry reports whether the same request may succeed later. A code that this
// build does not know is judged by its status.
func (p *Problem) Retry() bool {
	if k, known := KindOf(p.Code); known {
		return k.Retry
	}
	return p.Status == 429 || p.Status >= 500
}

// ReadProblem returns the problem that an answer of a status of 400 and above reports, from its
// status, its headers Content-Type and Retry-After, and its body, of which no more is read than a problem may have. What is no problem document,
// as of a proxy on the way, is a problem without a code.
func ReadProblem(status int, contentType, retryAfter string, from io.Reader) *Problem {
	p := &Problem{}
	body, err := io.ReadAll(io.LimitReader(from, MaxProblem+1))
	mediaType, _, _ := strings.Cut(contentType, ";")
	if err == nil && len(body) <= MaxProblem && strings.EqualFold(strings.TrimSpace(mediaType), ProblemType) {
		d := json.NewDecoder(bytes.NewReader(body)) // members of later versions are no reason to lose the rest
		if d.Decode(p) != nil {
			*p = Problem{}
		}
	}
	p.Status = status // of the two, the one that every proxy saw
	if s, err := strconv.ParseUint(retryAfter, 10, 20); err == nil {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return p
}
