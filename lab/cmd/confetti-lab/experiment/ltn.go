package experiment

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/ltn"
)

type experimentLTN struct {
	flags.DataSets
	Dataset     string  `help:"mnist, fashion-mnist, or another set of square pictures; lending_club, loans that were paid or charged off (collection and joining)." default:"mnist"`
	Application string  `help:"What is learned: collection (classes, from records with labels) novel (a class that no public record has), or joining (of loans: columns as they are beside noisy ones of another party)." default:"collection"`
	Mechanism   string  `help:"What a respondent says: symbols, its public cluster jointly with its label (of a novel class the cluster alone), by subset selection; or its label beside a vector: vlm, the code of a variational encoder with Laplace noise (LTN); privunit, a direction about that code; pca, principal components with Laplace noise; direct, the record itself with Laplace noise." default:"symbols"`
	Level       string  `help:"Of vlm, what classifiers see: latent, codes; or feature, the records that noisy codes stand for." default:"latent"`
	Gaussian    bool    `help:"Of vlm, pca and direct: Gaussian noise in the place of Laplace's, at delta 1e-6."`
	Dim         int     `help:"Of pca: how many components; 0: 8." placeholder:"N"`
	Encoder     string  `help:"File of the encoder of vectors: made and kept there where it is missing, so that cells of one seed share it." type:"path" placeholder:"FILE"`
	Epsilon     float64 `help:"Local epsilon of all that a respondent says, though everyone colludes." default:"2"`
	Clusters    int     `help:"Public clusters; 0: by the rule, from public numbers alone."`
	Central     float64 `help:"Where what clusters and network (symbols), or the second stage of an encoder (vlm), are made of is private: what these records are promised, at delta 1e-5, where one counts for nothing in its place; 0: they are public." placeholder:"EPSILON"`
	Printed     bool    `name:"paper-two-stage" help:"Of vlm with --central: both stages see all records, as LTN prints it, and nothing is proved."`
	Seed        uint64  `help:"The same seed gives the same experiment." default:"1"`
	JSON        bool    `help:"Print one JSON object."`
}

func (experimentLTN) Help() string {
	return `Learns from records whose features and labels are private, though everyone colludes (LTN).
For a novel class the features are private, and which of two groups answers is not. Three quarters of the training pictures, without labels, are public and make the clusters.

Example:
  confetti-lab ltn --data DIR --dataset mnist --application collection --mechanism symbols --epsilon 2 --seed 1 --json`
}

func (c experimentLTN) Run(std terminal.Streams) error {
	if err := errors.Join(flags.Word("application", c.Application, experiments.RecordApplications), flags.Word("mechanism", c.Mechanism, experiments.RecordMechanisms), flags.Word("level", c.Level, experiments.RecordLevels)); err != nil {
		return err
	}
	cell := ltn.Cell{Dataset: c.Dataset, Seed: c.Seed, Encoder: c.Encoder, Records: experiments.Records{Application: c.Application, Mechanism: c.Mechanism, Epsilon: c.Epsilon, Clusters: c.Clusters, Central: c.Central, PaperStages: c.Printed, Gaussian: c.Gaussian, Dim: c.Dim}}
	if c.Level != experiments.RecordLevels[0] {
		cell.Level = c.Level
	}
	return measured(std, withLoans{source{c.DataSets, c.Dataset, c.Seed}}, cell, c.JSON, ltn.Run, showLTN)
}

// withLoans has the loans in a form of its own.
type withLoans struct{ source }

func (s withLoans) load() (*dataset.Set, error) {
	if s.name == ltn.LoansName && s.Data != "" {
		return ltn.Loans(s.Data)
	}
	return s.source.load()
}

func showLTN(res ltn.Result) []string {
	made := fmt.Sprintf("public clusters      %d of %d records without labels, purity %.3f", res.Clusters, res.Public, res.Purity)
	switch {
	case res.Central > 0 && res.Clusters > 0:
		made = fmt.Sprintf("private clusters     %d of %d records without labels, with noise", res.Clusters, res.Public)
	case res.Application == experiments.Joining:
		made = fmt.Sprintf("without the others    %.4f; %.4f with all columns as they are; encoder or clusters of %d public records", res.AccuracyAlone, res.AccuracyNoPrivacy, res.Public)
	case res.Clusters == 0:
		made = fmt.Sprintf("vectors              %.4f without any privacy, %.4f of a record whose vector alone is told; encoder of %d public records", res.AccuracyNoPrivacy, res.AccuracyLatent, res.Public)
	}
	return []string{
		fmt.Sprintf("accuracy             %.4f on records as they are, of %d respondents", res.AccuracyClean, res.Respondents),
		fmt.Sprintf("told by a device     %.4f, at the same local epsilon", res.AccuracyPrivate),
		"everyone colludes    " + account.Verdict(&res.EpsilonLocal, localDelta(res), account.Replacement),
		"shuffler honest      " + account.Verdict(&res.EpsilonCentral, res.Delta, account.Replacement),
		made,
		"what it is made of   " + promised(res),
		fmt.Sprintf("seconds              %.1f", res.Seconds),
	}
}

// localDelta returns that of a report by itself: 0 but of Gaussian noise.
func localDelta(res ltn.Result) float64 {
	if res.Gaussian {
		return res.Delta
	}
	return 0
}

// promised says what the records were promised that clusters, encoder and network are made of.
func promised(res ltn.Result) string {
	if res.EpsilonMade > 0 {
		return fmt.Sprintf("%s: epsilon %.4g, delta 1e-5 of a record that counts for nothing in its place", res.Claim, res.EpsilonMade)
	}
	return res.Claim
}
