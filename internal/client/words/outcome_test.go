package words

import (
	"errors"
	"testing"

	"github.com/confetti-dp/confetti/client"
)

// Of every way in which an answer can end, "sent" is said of one alone: it fitted, nothing waits,
// nothing was dropped and nothing failed.
func TestSentIsSaidOfWhatWasSent(t *testing.T) {
	yes, no := true, false
	broken := errors.New("the network is down")
	waiting, dropped := &client.WaitingError{Parts: 1, Cause: broken}, &client.DroppedError{Reason: "too late"}
	whole, lost := []client.Part{{Status: client.Sent}, {Status: client.Sent}}, []client.Part{{Status: client.Sent}, {Status: client.Dropped, Reason: "too late"}}
	said := map[string]int{}
	for _, fits := range []*bool{nil, &yes, &no} {
		for _, parts := range [][]client.Part{whole, lost} {
			for _, sending := range []error{nil, waiting, dropped, broken} {
				err := sending
				if fits == &no {
					if unfit := (&client.OutOfDomainError{}); sending == nil {
						err = unfit
					} else {
						err = errors.Join(unfit, sending)
					}
				}
				o, failed := Became(err, client.Entry{Parts: parts}, fits)
				if failed != nil {
					said["failed"]++
				} else {
					said[o.Status]++
				}
				want := Sent
				switch {
				case sending == waiting:
					want = Waiting
				case sending != nil || parts[1].Status == client.Dropped:
					if failed == nil {
						t.Errorf("%v of %v, fits %v: %+v", err, parts, fits, o)
					}
					continue
				case fits == nil:
					want = Delivered
				case !*fits:
					want = Unfit
				}
				if failed != nil || o.Status != want || o.Fits != fits {
					t.Errorf("%v of %v, fits %v: %+v, %v, want %s", err, parts, fits, o, failed, want)
				}
			}
		}
	}
	if said[Sent] != 1 || said["failed"] != 15 || said[Waiting] != 6 {
		t.Errorf("%v", said)
	}
	if _, err := Became(nil, client.Entry{Parts: lost}, &yes); errors.As(err, &dropped) == false {
		t.Errorf("of a lost part: %v", err)
	}
}
