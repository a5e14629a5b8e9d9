package registry

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// maxEarly is how many withdrawals of plans that are not here one publisher may bring.
const maxEarly = 256

// Withdrawals are the plans that their publishers have withdrawn, for good, and the
// withdrawals of plans that have not come yet. It is safe for concurrent use.
//
// Of a plan that is here, or comes, the withdrawal is final: whoever signs the plan
// once more, it is refused. Until then a withdrawal is early. It is kept for a
// publisher who is known, and holds once that publisher's signature is on the plan:
// otherwise one publisher could end the plans of another.
type Withdrawals struct {
	keep func(ctx context.Context, name string, w plan.SignedWithdrawal) error

	mu    sync.Mutex
	names map[string]bool // of all that are kept
	final map[[32]byte]plan.SignedWithdrawal
	early map[[32]byte][]plan.SignedWithdrawal
	had   map[string]int // early ones, by publisher
}

// NewWithdrawals begins with none. keep makes one last under a name, before it counts;
// a final one has the plan's name and nothing else: see Final.
func NewWithdrawals(keep func(ctx context.Context, name string, w plan.SignedWithdrawal) error) *Withdrawals {
	return &Withdrawals{keep: keep, names: map[string]bool{}, final: map[[32]byte]plan.SignedWithdrawal{}, early: map[[32]byte][]plan.SignedWithdrawal{}, had: map[string]int{}}
}

// Restore takes up what an earlier process kept, or another one has kept since. Again is no error.
func (x *Withdrawals) Restore(name string, text []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.names[name] {
		return nil
	}
	w, err := plan.ParseWithdrawal(text)
	if err == nil && name != finalName(w) && name != earlyName(w) {
		err = fmt.Errorf("it is another withdrawal than its name says")
	}
	if err != nil {
		return fmt.Errorf("serve: the withdrawal %s is damaged: put it back as it was: %w", name, err)
	}
	x.put(name, w)
	return nil
}

func finalName(w plan.SignedWithdrawal) string { return hex.EncodeToString(w.Plan[:]) }
func earlyName(w plan.SignedWithdrawal) string {
	return finalName(w) + "_" + keytext.ID(w.Publisher)
}

// Final says that a withdrawal of that name is of a plan that is or was here.
func Final(name string) bool { return !strings.Contains(name, "_") }

// put remembers one. The caller holds mu.
func (x *Withdrawals) put(name string, w plan.SignedWithdrawal) {
	x.names[name] = true
	if Final(name) {
		x.final[w.Plan] = w
	} else {
		x.early[w.Plan] = append(x.early[w.Plan], w)
		x.had[w.Publisher]++
	}
}

// Find returns the withdrawal of a plan that is or was here.
func (x *Withdrawals) Find(hash [32]byte) (plan.SignedWithdrawal, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w, there := x.final[hash]
	return w, there
}

// Err returns a problem if the plan was withdrawn.
func (x *Withdrawals) Err(hash [32]byte) error {
	if w, there := x.Find(hash); there {
		return withdrawnProblem(w)
	}
	return nil
}

func withdrawnProblem(w plan.SignedWithdrawal) error {
	return wire.Problemf(wire.PlanWithdrawn, "%s", w)
}

// Admit returns a problem if a plan that those have signed must not be taken up. An early
// withdrawal becomes final by it. The caller takes up no plan meanwhile.
func (x *Withdrawals) Admit(ctx context.Context, hash [32]byte, signers []string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w, there := x.final[hash]; there {
		return withdrawnProblem(w)
	}
	for _, w := range x.early[hash] {
		if w.Of(hash, signers) {
			if err := x.keep(ctx, finalName(w), w); err != nil {
				return err
			}
			x.put(finalName(w), w)
			return withdrawnProblem(w)
		}
	}
	return nil
}

// Take keeps a withdrawal. signers are those of the plan, nil if it is not here; then
// its publisher must be known. again says that it, or another one of the plan, was
// here before. The caller takes up no plan meanwhile.
func (x *Withdrawals) Take(ctx context.Context, w plan.SignedWithdrawal, signers []string, known plan.Publishers) (again bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, there := x.final[w.Plan]; there {
		return true, nil
	}
	name := finalName(w)
	if signers == nil {
		name = earlyName(w)
		if slices.ContainsFunc(x.early[w.Plan], func(o plan.SignedWithdrawal) bool { return o.Publisher == w.Publisher }) {
			return true, nil
		}
		if _, ours := known.Find(w.Publisher); !ours {
			return false, wire.Problemf(wire.WithdrawalRefused, "the plan is not here, and signed by %s, whom nobody here trusts", w.Publisher)
		}
		if x.had[w.Publisher] >= maxEarly {
			return false, wire.Problemf(wire.WithdrawalRefused, "%d withdrawals of plans that are not here have come from its publisher, the limit", maxEarly)
		}
	} else if !w.Of(w.Plan, signers) {
		return false, wire.Problemf(wire.WithdrawalRefused, "%s has not signed the plan, and only who has can withdraw it", w.Publisher)
	}
	if err := x.keep(ctx, name, w); err != nil {
		return false, err
	}
	x.put(name, w)
	return false, nil
}

// All returns the withdrawals of plans that are or were here, the newest first.
func (x *Withdrawals) All() []plan.SignedWithdrawal {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []plan.SignedWithdrawal
	for _, w := range x.final {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b plan.SignedWithdrawal) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return slices.Compare(a.Plan[:], b.Plan[:])
	})
	return all
}

// withdrawnData is a row of Table, for programs.
type withdrawnData struct {
	Plan      string    `json:"plan"`
	Publisher string    `json:"publisher"`
	At        time.Time `json:"at"`
	Reason    string    `json:"reason"`
}

// Table shows them on a status page; none if there are none.
func (x *Withdrawals) Table() []serve.Table {
	t := serve.Table{Title: "Withdrawn plans", Columns: []string{"plan", "at", "reason", "publisher"}}
	var data []withdrawnData
	for _, w := range x.All() {
		t.Rows = append(t.Rows, []string{plan.Short(finalName(w)), w.At.Format(time.RFC3339), w.Reason, w.Publisher})
		data = append(data, withdrawnData{finalName(w), w.Publisher, w.At, w.Reason})
	}
	if data == nil {
		return nil
	}
	t.Data = data
	return []serve.Table{t}
}

// Show answers GET /v1/plans/{plan}/withdrawal with the publisher's statement.
func (x *Withdrawals) Show(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	statement, there := x.Find(hash)
	if !there {
		return wire.Problemf(wire.NotFound, "the plan that begins with %x was not withdrawn here", hash[:4])
	}
	w.Header().Set("Content-Type", wire.WithdrawalType)
	_, err = w.Write(statement.Marshal())
	return err
}

// TakeWith answers PUT /v1/plans/{plan}/withdrawal: 201 when the service has stopped the
// plan for good, 200 if it had before. The signature is the authentication, whoever
// brings it.
func TakeWith(withdraw func(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error)) serve.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		hash, err := wire.PathPlan(r)
		if err != nil {
			return err
		}
		if err := web.CheckType(r.Header.Get("Content-Type"), wire.WithdrawalType); err != nil {
			return err
		}
		text, err := serve.ReadBody(w, r, plan.MaxWithdrawalBytes)
		if err != nil {
			return err
		}
		statement, err := plan.ParseWithdrawal(text)
		if err != nil {
			return wire.Problemf(wire.WithdrawalRefused, "%w", err)
		}
		if statement.Plan != hash {
			return wire.Problemf(wire.BadRequest, "{plan} in the path is not the plan that is withdrawn")
		}
		// To the end, whatever becomes of the connection.
		again, err := withdraw(context.WithoutCancel(r.Context()), statement)
		if err != nil {
			return err
		}
		serve.Created(w, again)
		return nil
	}
}

// suspendedFor is when a device that is told of a suspended plan comes again.
const suspendedFor = 10 * time.Minute

// Suspended returns the problem of a plan that is here and not served now.
func Suspended() error {
	p := wire.Problemf(wire.PlanSuspended, "its operator is told why")
	p.RetryAfter = suspendedFor
	return p
}
