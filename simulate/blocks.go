package simulate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/shuffler/admission"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// block is what some devices did.
type block struct {
	Unfit int
	Sent  [][]destination // by device
}

func (r *bounded) devices(ctx context.Context, values []question.Value, seed uint64) ([]block, error) {
	all := make([]block, (len(values)+r.Block-1)/r.Block)
	for i := range all {
		name, from, to := fmt.Sprintf("devices/%d", i), i*r.Block, min((i+1)*r.Block, len(values))
		there, err := r.read(ctx, name, &all[i])
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !there {
			err = r.contribute(ctx, values[from:to], seed, from, i, &all[i])
			if err == nil {
				err = r.write(ctx, name, all[i])
			}
		}
		if err != nil {
			return nil, err
		}
		r.progress("devices seal and send", to, len(values))
	}
	return all, nil
}

// contribute lets the devices of a block answer, on all processors. What an earlier attempt
// has left of it goes.
func (r *bounded) contribute(ctx context.Context, values []question.Value, seed uint64, first, number int, b *block) error {
	under := fmt.Sprintf("accepted/%d", number)
	if err := r.store.Delete(ctx, under); err != nil {
		return err
	}
	sealed, errs := make([][]client.Sealed, len(values)), make([]error, len(values))
	cores := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for core := range cores {
		wg.Go(func() {
			contribute := devices(r.protocol, seed)
			for i := core; i < len(values); i += cores {
				sealed[i], errs[i] = contribute(values[i], first+i)
			}
		})
	}
	wg.Wait()
	entries := map[uint16]admission.Rules{}
	bodies := map[destination][]byte{}
	for i, all := range sealed {
		if _, ok := errors.AsType[*question.OutOfDomainError](errs[i]); ok {
			b.Unfit++
		} else if errs[i] != nil {
			return fmt.Errorf("device %d: %w", first+i+1, errs[i])
		}
		to := make([]destination, 0, len(all))
		for _, c := range all {
			rules, known := entries[c.Instance]
			if !known {
				var err error
				if rules, err = admission.NewRules(r.protocol.Plan, int(c.Instance)); err != nil {
					return err
				}
				entries[c.Instance] = rules
			}
			if _, err := rules.Check(c.Body); err != nil {
				return fmt.Errorf("device %d: %w", first+i+1, err)
			}
			d := destination{c.Instance, c.Crowd}
			if slices.ContainsFunc(to, func(other destination) bool { return other.Instance == d.Instance }) {
				return fmt.Errorf("device %d: %w", first+i+1, shuffler.ErrAlreadyContributed)
			}
			to = append(to, d)
			bodies[d] = append(bodies[d], c.Body...)
		}
		b.Sent = append(b.Sent, to)
	}
	for d, body := range bodies {
		if err := r.store.Put(ctx, under+"/"+d.name(), body); err != nil {
			return err
		}
	}
	return nil
}
