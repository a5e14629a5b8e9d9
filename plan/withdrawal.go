package plan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	withdrawing = "confetti/withdrawal/v1\n"

	// maxReasonBytes bounds the reason of a withdrawal, MaxWithdrawalBytes the text of
	// a signed one.
	maxReasonBytes     = 500
	MaxWithdrawalBytes = 2 << 10
)

// Withdrawal is a publisher's word that a plan of theirs is over for good: nothing more
// is collected, what was is destroyed, and nothing is released. It cannot be taken back.
type Withdrawal struct {
	Plan   [32]byte  // the plan's hash
	At     time.Time // when the publisher says that it was written, in whole seconds; it counts from when it comes
	Reason string    // for operators and respondents: 1 to maxReasonBytes bytes of one line
}

// SignedWithdrawal is a withdrawal as it travels. One publisher signs it, Ed25519 over
// "confetti/withdrawal/v1\n" and its JSON.
type SignedWithdrawal struct {
	Withdrawal
	Signature
}

// withdrawalForm is a withdrawal's JSON, in this order.
type withdrawalForm struct {
	Plan   string `json:"plan"`
	At     string `json:"at"`
	Reason string `json:"reason"`
}

func (w Withdrawal) canonical() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(withdrawalForm{hex.EncodeToString(w.Plan[:]), w.At.UTC().Format(time.RFC3339), w.Reason}); err != nil {
		panic("plan: " + err.Error()) // strings always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Withdraw signs a withdrawal. The error says what is wrong with its reason.
func Withdraw(w Withdrawal, key ed25519.PrivateKey) (SignedWithdrawal, error) {
	if err := w.validate(); err != nil {
		return SignedWithdrawal{}, err
	}
	w.At = w.At.UTC().Truncate(time.Second)
	return SignedWithdrawal{w, sign(withdrawing, w.canonical(), key)}, nil
}

func (w Withdrawal) validate() error {
	if n := len(w.Reason); n == 0 || n > maxReasonBytes {
		return fmt.Errorf("plan: withdrawal: a reason has 1 to %d bytes, this one %d", maxReasonBytes, n)
	}
	if !utf8.ValidString(w.Reason) || slices.ContainsFunc([]rune(w.Reason), func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errors.New("plan: withdrawal: a reason is one line of text, without control characters")
	}
	return nil
}

// Marshal writes the one byte form: a JSON object of publisher, signature and withdrawal
// in this order and without white space.
func (w SignedWithdrawal) Marshal() []byte {
	b := appendHead(nil, []Signature{w.Signature}, "withdrawal")
	return append(append(b, w.canonical()...), '}')
}

// ParseWithdrawal reads what Marshal writes, and the same with a line's end after it.
// The signature is checked, over the bytes as they came, before anything else is read;
// whose it is, WithdrawalHead tells before that and Of afterwards.
func ParseWithdrawal(text []byte) (SignedWithdrawal, error) {
	if len(text) > MaxWithdrawalBytes {
		return SignedWithdrawal{}, fmt.Errorf("plan: withdrawal: longer than %d bytes", MaxWithdrawalBytes)
	}
	all, rest, err := readHead(bytes.TrimSuffix(text, []byte("\n")), "withdrawal", "signed withdrawal", 1)
	if err != nil {
		return SignedWithdrawal{}, err
	}
	body, closed := bytes.CutSuffix(rest, []byte("}"))
	wrong := errors.New("plan: not a withdrawal in its one form: have the publisher write it anew (confetti plan withdraw)")
	if !closed {
		return SignedWithdrawal{}, wrong
	}
	if err := verify(withdrawing, "withdrawal", all, body); err != nil {
		return SignedWithdrawal{}, err
	}
	var form withdrawalForm
	if err := known(body, &form); err != nil {
		return SignedWithdrawal{}, wrong
	}
	w := SignedWithdrawal{Withdrawal{Reason: form.Reason}, all[0]}
	if n, err := hex.Decode(w.Plan[:], []byte(form.Plan[:min(len(form.Plan), 64)])); err != nil || n != 32 {
		return SignedWithdrawal{}, wrong
	}
	if w.At, err = parseSecond(form.At); err != nil {
		return SignedWithdrawal{}, wrong
	}
	if err := w.validate(); err != nil {
		return SignedWithdrawal{}, err
	}
	if !bytes.Equal(w.canonical(), body) {
		return SignedWithdrawal{}, wrong
	}
	return w, nil
}

// Of reports whether the withdrawal is of this plan: it names it, and one of those who
// signed the plan has signed it. Nobody withdraws another's plan, and of several
// publishers each may: it can only end a collection, never begin one.
func (w SignedWithdrawal) Of(hash [32]byte, signers []string) bool {
	return w.Plan == hash && slices.Contains(signers, w.Publisher)
}

// String says who has withdrawn the plan, when and why.
func (w SignedWithdrawal) String() string {
	return fmt.Sprintf("withdrawn by its publisher %s at %s: %s", w.Publisher, w.At.UTC().Format(time.RFC3339), w.Reason)
}
