package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// evidence finds it in a folder, or where it is published, and asks whom the flags name.
func (c releaseVerify) evidence(std terminal.Streams) (e verify.Evidence, err error) {
	if strings.HasPrefix(c.From, "https://") {
		e, err = c.fetch()
	} else {
		e, err = c.kept(std.Err)
	}
	if err != nil {
		return e, err
	}
	e.Plan, e.Version, e.Columns, e.Answers, e.Words = c.Plan, std.Version, beside.SameParquet, results.Again, results.Words
	if c.Page != "" {
		e.Draw = func(signed plan.Signed, json, audit []byte) ([]byte, error) {
			r, err := releases.Read(signed, json, audit)
			var b bytes.Buffer
			if err == nil {
				err = page.WriteOf(&b, r, json, std.Version)
			}
			return b.Bytes(), err
		}
	}
	if c.Log != "" {
		err = c.ask(&e)
	}
	return e, err
}

// kept reads the folder that release fetch wrote.
func (c releaseVerify) kept(told io.Writer) (verify.Evidence, error) {
	if c.Roots != "" && c.Log == "" {
		return verify.Evidence{}, terminal.Usagef("--roots is of the address of an analyzer or of a log: leave it out for a folder alone")
	}
	entries, err := os.ReadDir(c.From)
	if err != nil {
		return verify.Evidence{}, err
	}
	ours := append(slices.Clone(verify.Published), verify.SignedFile, verify.PlanFile, relay.WithdrawalFile)
	var tables []string // as Parquet
	for _, name := range verify.Published {
		if columns, ok := releases.Parquet(name); ok {
			tables = append(tables, columns)
		}
	}
	e := verify.Evidence{Files: map[string][]byte{}, State: c.keptState}
	for _, entry := range entries {
		if slices.Contains(tables, entry.Name()) {
			if !beside.There() {
				fmt.Fprintf(told, "note: %s is not compared with the table that was signed for: confetti-server, which reads it, is not beside confetti\n", entry.Name())
				continue
			}
		} else if !slices.Contains(ours, entry.Name()) {
			e.Others = append(e.Others, entry.Name())
			continue
		}
		if e.Files[entry.Name()], err = atomicfile.Read(filepath.Join(c.From, entry.Name())); err != nil {
			return e, err
		}
	}
	if e.Files[release.JSONFile] == nil {
		return e, fmt.Errorf("there is no %s in %s: name the folder that confetti release fetch wrote, or the release's address", release.JSONFile, c.From)
	}
	return e, nil
}

// ask asks a public log what became of the plan since.
func (c releaseVerify) ask(e *verify.Evidence) error {
	if err := serve.Address(c.Log); err != nil {
		return terminal.Usagef("--log %s: %v", c.Log, err)
	}
	r, err := release.Read(bytes.NewReader(e.Files[release.JSONFile]))
	if err != nil {
		return fmt.Errorf("%s: %w", c.From, err)
	}
	name, err := wire.ParsePlanName(r.Plan)
	if err != nil {
		return err
	}
	web, err := serve.Client(serve.Path(c.Roots))
	if err != nil {
		return err
	}
	defer web.CloseIdleConnections()
	ctx, stop := terminal.UntilStopped()
	defer stop()
	entries, w, err := serve.AskLog(ctx, web, c.Log, name)
	if err != nil {
		return fmt.Errorf("--log: %w", err)
	}
	asked := verify.Asked{Who: c.Log, Entries: entries}
	if w != nil {
		asked.Withdrawal = w.Marshal()
	}
	for _, round := range others(e.Files) {
		_, w, err := serve.AskLog(ctx, web, c.Log, round)
		if err != nil {
			return fmt.Errorf("--log: %w", err)
		}
		if w != nil {
			asked.Rounds = append(asked.Rounds, w.Marshal())
		}
	}
	e.Asked = append(e.Asked, asked)
	return nil
}

// others names the rounds that the release of all rounds so far is learned from, but the newest.
func others(files map[string][]byte) (all [][32]byte) {
	for _, text := range files {
		r, err := release.Read(bytes.NewReader(text))
		if err != nil {
			continue // of another kind, or what is wrong with it is said elsewhere
		}
		for _, round := range r.Rounds {
			if hash, err := wire.ParsePlanName(round.Plan); err == nil && round.Plan != r.Plan && !round.Deleted {
				all = append(all, hash)
			}
		}
	}
	return all
}

// keptState reads the state in the folder of a release.
func (c releaseVerify) keptState(to io.Writer, name string) error {
	f, err := os.Open(filepath.Join(c.From, verify.StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the plan names a public state, which is not here: get the release with confetti release fetch")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return plan.CopyState(to, f, name)
}

func (c releaseVerify) fetch() (verify.Evidence, error) {
	base, name, err := at(c.From)
	if err != nil {
		return verify.Evidence{}, err
	}
	s, ctx, done, err := services.Flags{Roots: c.Roots}.Reach()
	if err != nil {
		return verify.Evidence{}, err
	}
	defer done()
	files, err := fetched(ctx, s, base, name)
	asked := verify.Asked{Who: base, Withdrawal: files[relay.WithdrawalFile]}
	for _, round := range others(files) {
		text, e := s.Get(ctx, base+wire.WithdrawalPath(round))
		var problem *wire.Problem
		switch {
		case e == nil:
			asked.Rounds = append(asked.Rounds, text)
		case !errors.As(e, &problem) || problem.Code != wire.NotFound:
			err = errors.Join(err, e)
		}
	}
	delete(files, relay.WithdrawalFile)
	return verify.Evidence{Files: files, Asked: []verify.Asked{asked}, State: func(to io.Writer, state string) error {
		s, ctx, done, err := services.Flags{Roots: c.Roots}.Reach()
		if err != nil {
			return err
		}
		defer done()
		return s.State(ctx, base, state, to)
	}}, err
}

// at takes the address of a release apart: the analyzer's, and the plan's name.
func at(address string) (base, name string, err error) {
	base, name, found := strings.Cut(address, "/v1/releases/")
	name, _, _ = strings.Cut(name, ".")
	if _, err := wire.ParsePlanName(name); !found || err != nil {
		return "", "", terminal.Usagef("%s is no release's address, which ends with /v1/releases/PLAN", address)
	}
	return base, name, nil
}

// fetched gets a release and its plan from an analyzer by the plan's name.
func fetched(ctx context.Context, s *services.Services, base, name string) (map[string][]byte, error) {
	signed, err := s.Get(ctx, base+"/v1/plans/"+name)
	if err != nil {
		return nil, err
	}
	files, err := s.Published(ctx, base, name)
	if err == nil {
		files[verify.SignedFile] = signed
	}
	return files, err
}
