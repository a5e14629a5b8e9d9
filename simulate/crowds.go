package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/shuffler/admission"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
)

func (d destination) name() string { return fmt.Sprintf("%d_%d", d.Instance, d.Crowd) }

// state is how far a crowd has come.
type state struct {
	Hop       int // that mixes it; after the last it lies in parts for the analyzer
	Withheld  string
	Fragments int // that devices sent
	Dropped   int // that hops could not open
	Laid      mixer.Crowd
}

// mix brings a crowd to the analyzer, or finds that it is withheld.
func (r *bounded) mix(ctx context.Context, to destination, blocks []block) (s state, err error) {
	name := "state/" + to.name()
	there, err := r.read(ctx, name, &s)
	if err != nil {
		return s, err
	}
	keys := r.keys.Hops[to.Instance]
	if !there {
		if s, err = r.enter(ctx, to, blocks); err != nil {
			return s, err
		}
		if err := r.write(ctx, name, s); err != nil {
			return s, err
		}
	}
	for s.Withheld == "" && s.Hop < len(keys) {
		hop, err := shuffler.NewHop(r.protocol.Plan, int(to.Instance), s.Hop, keys[s.Hop])
		if err != nil {
			return s, err
		}
		if err := r.steps(ctx, hop, s); err != nil {
			return s, err
		}
		before := s
		if s, err = r.leave(ctx, to, hop, s); err != nil {
			return s, err
		}
		if err := r.write(ctx, name, s); err != nil {
			return s, err
		}
		if err := r.store.Delete(ctx, before.Laid.Under); err != nil {
			return s, err
		}
	}
	return s, nil
}

// post returns where the crowds of a hop lie.
func (to destination) post(hop int) string { return fmt.Sprintf("mixing/%d_%d", to.Instance, hop) }

// enter lays out what devices sent to a crowd, as far as randomized deletion leaves it.
func (r *bounded) enter(ctx context.Context, to destination, blocks []block) (s state, err error) {
	rules, err := admission.NewRules(r.protocol.Plan, int(to.Instance))
	if err != nil {
		return s, err
	}
	came := 0
	for _, b := range blocks {
		for _, sent := range b.Sent {
			if slices.Contains(sent, to) {
				came++
			}
		}
	}
	kept, respondents, err := rules.Survivors(rng.New(), came)
	if errors.Is(err, admission.ErrWithheld) {
		s.Withheld = admission.Withheld{Crowd: to.Crowd, Minimum: rules.Minimum}.String()
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Fragments = respondents * rules.Envelopes
	return s, r.lay(ctx, to, &s, rules.Head(to.Crowd, respondents), rules.Bytes(), func(take func([]byte) error) error {
		at := 0
		for number, b := range blocks {
			if !slices.ContainsFunc(b.Sent, func(sent []destination) bool { return slices.Contains(sent, to) }) {
				continue
			}
			body, err := r.store.Get(ctx, fmt.Sprintf("accepted/%d/%s", number, to.name()))
			if err != nil {
				return err
			}
			for ; len(body) >= rules.Bytes(); at++ {
				if kept[at] {
					if err := take(body[:rules.Bytes()]); err != nil {
						return err
					}
				}
				body = body[rules.Bytes():]
			}
		}
		return nil
	})
}

// lay lays a crowd out for the hop that its state names, over what an earlier attempt left. At the entry it comes in
// contributions of so many bytes.
func (r *bounded) lay(ctx context.Context, to destination, s *state, head envelope.Head, contribution int, each func(func([]byte) error) error) error {
	hop, err := shuffler.NewHop(r.protocol.Plan, int(to.Instance), s.Hop, r.keys.Hops[to.Instance][s.Hop])
	if err == nil {
		err = hop.Check(head)
	}
	if err == nil {
		err = r.store.Delete(ctx, mixer.Folder(to.post(s.Hop), to.Crowd))
	}
	if err != nil {
		return err
	}
	if s.Hop == 0 {
		s.Laid = mixer.NewEntry(to.post(s.Hop), head, contribution, r.PartBytes)
	} else {
		s.Laid = mixer.New(to.post(s.Hop), head, r.PartBytes)
	}
	return s.Laid.Lay(ctx, r.store, each)
}

// steps takes all steps of a crowd at a hop.
func (r *bounded) steps(ctx context.Context, hop *shuffler.Hop, s state) error {
	for {
		steps, err := s.Laid.Steps(ctx, r.store)
		if err != nil || len(steps) == 0 {
			return err
		}
		all, half := s.Laid.Parts()+s.Laid.Buckets, s.Laid.Buckets
		if steps[0].Gather {
			half = 0
		}
		for i, step := range steps {
			r.progress(fmt.Sprintf("hop %d mixes crowd %d", s.Hop+1, s.Laid.Crowd+1), all-half-len(steps)+i, all)
			if err := errors.Join(ctx.Err(), s.Laid.Do(ctx, hop, r.store, step)); err != nil {
				return err
			}
		}
	}
}

// leave hands what a hop has mixed to the next, or to the analyzer.
func (r *bounded) leave(ctx context.Context, to destination, hop *shuffler.Hop, s state) (state, error) {
	did, tokens, err := s.Laid.Sums(ctx, r.store)
	if err != nil {
		return s, err
	}
	head := envelope.Head{
		Plan: r.protocol.Hash, Instance: to.Instance, Hop: uint8(s.Hop), Crowd: to.Crowd,
		Respondents: s.Laid.Respondents, Envelopes: s.Laid.Envelopes, Size: s.Laid.Size,
	}
	if did, err = hop.Leave(head, did, tokens); err != nil {
		return s, err
	}
	before := s.Laid
	s.Hop++
	s.Dropped += did.Dropped
	head.Hop++
	head.Size = hop.SizeOut()
	head.Envelopes = uint64(did.Out)
	out := func(take func([]byte) error) error {
		return before.Write(ctx, r.store, &envelope.Cutter{Size: head.Size, Take: take})
	}
	if s.Hop < len(r.keys.Hops[to.Instance]) {
		return s, r.lay(ctx, to, &s, head, 0, out)
	}
	under := "batches/" + to.name()
	if err := r.store.Delete(ctx, under); err != nil {
		return s, err
	}
	dealer := parts.NewDealer(head, r.PartBytes, func(name string, body []byte) error {
		return r.store.Put(ctx, under+"/"+name, body)
	})
	if err := out(dealer.Add); err != nil {
		return s, err
	}
	return s, dealer.Close()
}

// count returns what the analyzer finds in a crowd's parts, shard by shard.
func (r *bounded) count(ctx context.Context, to destination, c *analyzer.Counter) (crowd tally.Crowd, dropped int, err error) {
	under := "batches/" + to.name()
	names, err := r.store.List(ctx, under)
	if err != nil {
		return crowd, 0, err
	}
	counted := map[string]bool{}
	names = slices.DeleteFunc(names, func(name string) bool {
		counted[name] = true
		return strings.HasPrefix(name, under+"/"+parts.TablesFolder+"/")
	})
	shards, err := parts.Shards(names)
	if err != nil {
		return crowd, 0, err
	}
	var whole parts.Table
	for i, shard := range shards {
		r.progress(fmt.Sprintf("the analyzer counts crowd %d", to.Crowd+1), i, len(shards))
		if err := ctx.Err(); err != nil {
			return crowd, 0, err
		}
		name := under + "/" + parts.TablesFolder + "/" + strconv.Itoa(shard.Number)
		var one parts.Table
		if counted[name] {
			body, err := r.store.Get(ctx, name)
			if err != nil {
				return crowd, 0, err
			}
			if one, err = parts.ParseTable(body, r.protocol); err != nil {
				return crowd, 0, err
			}
		} else {
			if one, err = shard.Count(ctx, c, r.store); err != nil {
				return crowd, 0, err
			}
			body, err := one.Marshal()
			if err == nil {
				err = r.store.Put(ctx, name, body)
			}
			if err != nil {
				return crowd, 0, err
			}
		}
		if err := whole.Merge(one); err != nil {
			return crowd, 0, err
		}
	}
	dropped = whole.Counted.Dropped
	crowd, err = whole.Whole(r.protocol)
	return crowd, dropped, err
}
