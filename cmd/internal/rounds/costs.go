package rounds

import (
	"fmt"
	"io"

	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Costs prints what a round of a study costs against each observer, and where a respondent
// may answer all of them, what these cost together.
func Costs(out io.Writer, round plan.Signed) error {
	proto, err := protocol.New(round.Plan)
	if err != nil {
		return err
	}
	promise, err := proto.Promise()
	if err != nil {
		return err
	}
	all, err := proto.Composed(promise, *round.Study)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "What a round costs who answers it:")
	for i, s := range append(promise.Statements[:len(promise.Statements):len(promise.Statements)], all...) {
		if i == len(promise.Statements) {
			fmt.Fprintf(out, "and all %d rounds together:\n", round.Study.Rounds)
		}
		fmt.Fprintf(out, "  %-28s %s\n", s.Observer, s.Guarantee.Verdict())
		if i >= len(promise.Statements) && s.Note != "" {
			fmt.Fprintf(out, "  %s\n", s.Note)
		}
	}
	return nil
}
