// Package fetched reads the rounds that confetti study fetch wrote, as trends and the public page of metrics show them.
// Used by cmd/confetti/internal/study, cmd/confetti/internal/study/trends and cmd/confetti/internal/metrics.
package fetched

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// progressFile names the file that keeps what the analyzer says of each round of a study.
const progressFile = "rounds.json"

// mostCounts is how many values of a round are read.
const mostCounts = 200_000

// SaveProgress writes what the analyzer says of each round beside the releases, for Seasons.
func SaveProgress(dir string, rounds []progress.Plan) error {
	text, err := json.MarshalIndent(rounds, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o755), atomicfile.Replace(filepath.Join(dir, progressFile), append(text, '\n'), 0o644))
}

// Study is what rounds are of.
type Study struct {
	Name   string
	Newest plan.Signed   // of its rounds that are here
	All    []plan.Signed // a round of each season
}

// Seasons reads what confetti study fetch wrote into folders, each with the rounds of a study, and joins them. It returns
// the newest study.
func Seasons(folders []string) (newest Study, rounds []trend.Round, err error) {
	var seasons [][]trend.Round
	var all []plan.Signed
	from := map[string]string{}
	for _, folder := range folders {
		of, season, err := readRounds(folder)
		if err != nil {
			return newest, nil, err
		}
		if other, there := from[of.Name]; there {
			return newest, nil, fmt.Errorf("%s and %s have rounds of the same study: name each season once", other, folder)
		}
		from[of.Name] = folder
		all = append(all, of.Newest)
		if seasons = append(seasons, season); newest.Name == "" || of.Newest.Plan.Times.Closes.After(newest.Newest.Plan.Times.Closes) {
			newest = of
		}
	}
	newest.All = all
	rounds, err = trend.Join(seasons)
	return newest, rounds, err
}

// readRounds reads what confetti study fetch wrote, in the order of rounds.
func readRounds(dir string) (of Study, rounds []trend.Round, err error) {
	folders, err := filepath.Glob(filepath.Join(dir, "round-*"))
	if err != nil {
		return of, nil, err
	}
	told, err := readProgress(dir)
	if err != nil {
		return of, nil, err
	}
	type read struct {
		signed plan.Signed
		round  trend.Round
		err    error
	}
	all := make([]read, len(folders))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var reading sync.WaitGroup
	for i, folder := range folders {
		places <- struct{}{}
		reading.Go(func() {
			all[i].signed, all[i].round, all[i].err = readRound(folder)
			<-places
		})
	}
	reading.Wait()
	for i, folder := range folders {
		signed, one, err := all[i].signed, all[i].round, all[i].err
		if err != nil {
			return of, nil, fmt.Errorf("%s: %w", folder, err)
		}
		if of.Name == "" || of.Name == signed.Plan.Round.Study && signed.Plan.Round.Number > of.Newest.Plan.Round.Number {
			of = Study{Name: signed.Plan.Round.Study, Newest: signed}
		} else if of.Name != signed.Plan.Round.Study {
			return of, nil, fmt.Errorf("%s is a round of another study than the others in %s", folder, dir)
		}
		if i := slices.IndexFunc(told, func(p progress.Plan) bool { return p.Plan == signed.Plan.Name() }); i >= 0 && told[i].Withdrawal != nil {
			one = trend.Round{Number: one.Number, Times: one.Times, Missing: told[i].Missing()}
		}
		rounds = append(rounds, one)
	}
	if of.Name == "" {
		return of, nil, fmt.Errorf("there is no release of a round in %s: get them with confetti study fetch", dir)
	}
	for _, p := range told {
		has := slices.ContainsFunc(rounds, func(r trend.Round) bool { return r.Number == p.Round })
		if why := p.Missing(); !has && p.Study == of.Name && why != "" {
			rounds = append(rounds, trend.Round{Number: p.Round, Times: plan.Times{Closes: p.Closes}, Missing: why})
		}
	}
	if rounds, err = trend.Filled(rounds); err != nil {
		return of, nil, fmt.Errorf("%s: %w", dir, err)
	}
	return of, rounds, nil
}

// readProgress reads what the analyzer said of the rounds, nothing where nobody asked it.
func readProgress(dir string) (all []progress.Plan, err error) {
	text, err := atomicfile.Read(filepath.Join(dir, progressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, progressFile), err)
	}
	return all, nil
}

// readRound reads the release of a round, its plan and its counts.
func readRound(folder string) (signed plan.Signed, one trend.Round, err error) {
	if signed, err = plan.ReadSigned(filepath.Join(folder, verify.SignedFile)); err != nil {
		return signed, one, err
	}
	if signed.Plan.Round == nil {
		return signed, one, errors.New("its plan is by itself, and no round of a study")
	}
	text, err := atomicfile.Read(filepath.Join(folder, release.JSONFile))
	if err != nil {
		return signed, one, err
	}
	r, err := release.Head(text, trend.Detailed(signed.Plan))
	if err != nil {
		return signed, one, err
	}
	if r.Plan != signed.Plan.Name() {
		return signed, one, fmt.Errorf("%s is of another plan than %s", release.JSONFile, verify.SignedFile)
	}
	if _, err := os.Stat(filepath.Join(folder, relay.WithdrawalFile)); err == nil {
		one = trend.Round{Number: signed.Plan.Round.Number, Times: signed.Plan.Times, Missing: "withdrawn by its publisher"}
		return signed, one, nil
	}
	counts, err := os.Open(filepath.Join(folder, sheets.CountsFile))
	if errors.Is(err, fs.ErrNotExist) {
		one, err = trend.Read(signed.Plan, r, nil)
		return signed, one, err
	}
	if err != nil {
		return signed, one, err
	}
	defer counts.Close()
	all, err := sheets.ReadCounts(counts, mostCounts)
	if err == nil {
		one, err = trend.Read(signed.Plan, r, all)
	}
	return signed, one, err
}
