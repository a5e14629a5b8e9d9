package experiments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/plan"
)

// Gradient is what the plans of a study of gradients leave open, in the plan's words.
type Gradient struct {
	Architecture string `json:"architecture"` // one of Architectures
	Report       string `json:"report"`       // one of GradientReports
	// Users is how many respondents answer each round, the same in all of an epoch's; 0: all
	// of them.
	Users  int `json:"users_per_round"`
	Rounds int `json:"rounds"`
	// Epsilon is the central one of all rounds that a respondent answers, and LocalEpsilon that
	// of one report: either may be 0, and follows from the other.
	Epsilon      float64 `json:"epsilon"`
	LocalEpsilon float64 `json:"local_epsilon,omitempty"`
	Delta        float64 `json:"delta"`
	Bits         int     `json:"bits,omitempty"` // of a vector: rows that a device answers in a round; 0: one for each number

	NoiseBy string `json:"noise_by,omitempty"` // who adds that of a sum of vectors; empty: answers are mixed

	// Liars are the share of a round's respondents who send what pulls a model furthest in the direction of Lie, one of
	// Lies; 0: nobody.
	Liars float64 `json:"liars,omitempty"`
	Lie   string  `json:"lie,omitempty"`

	// Examples of a round stand for all its Users, as ESA has few examples report several times
	// in the place of more respondents. Their reports are then drawn by the normal limit of
	// their sum. 0: each respondent has an example, and every report is drawn.
	Examples int `json:"examples_per_round,omitempty"`
	// Population is how many respondents all examples stand for; 0: one each.
	Population int `json:"population,omitempty"`

	// HeldBack says that half of the respondents answer, and that the model is judged on records of the other half: by these
	// a setting may be chosen.
	HeldBack bool `json:"held_back,omitempty"`

	// Directions are the public ones that a linear model of images has; 0: 351.
	Directions int     `json:"directions,omitempty"`
	Clip       float64 `json:"clip"` // 0: the architecture's
	Rate       float64 `json:"rate"` // 0: the architecture's
	Momentum   float64 `json:"momentum"`
	Average    float64 `json:"average,omitempty"`
}

// GradientReports are those of plans, and the baselines that no plan describes.
var GradientReports = append(slices.Clone(plan.GradientReports), Curator, NoPrivacy)

// Lies names where liars pull a model: against what the others say, or said in the first round; to each class's next one; or
// all to the first class.
var Lies = []string{"against", "back", "next", "one"}

// proved says that devices prove the length of their gradients.
func (g Gradient) proved() bool { return g.NoiseBy != "" && g.NoiseBy != plan.NoiseDevices }

// Architectures are the models: linear ones, and the networks of ESA's Tables XIII and XIV, of which
// the second learns its last layer from gradients.
var Architectures = []string{"linear", "xiii", "xiv"}

// Directed says whether reports are single directions, which have a local epsilon.
func (g Gradient) Directed() bool { return g.Report == "direction" || g.Report == "cap" }

// Baseline says whether somebody sees the gradients.
func (g Gradient) Baseline() bool { return g.Report == Curator || g.Report == NoPrivacy }

// Validate lists everything that is wrong.
func (g Gradient) Validate() error {
	f := &faults{}
	g.validate(f)
	return f.join()
}

func (g Gradient) validate(f *faults) {
	f.check(slices.Contains(Architectures, g.Architecture), "architecture %q: choose one of %s", g.Architecture, strings.Join(Architectures, ", "))
	f.check(slices.Contains(GradientReports, g.Report), "report %q: choose one of %s", g.Report, strings.Join(GradientReports, ", "))
	f.check(g.Users >= 0, "%d users per round: give a number, or all", g.Users)
	f.check(g.Rounds >= 1 && g.Rounds <= plan.MaxRounds, "%d rounds: give 1 to %d", g.Rounds, plan.MaxRounds)
	f.check(g.Delta > 0 && g.Delta < 1, "delta %v: must be between 0 and 1, both excluded", g.Delta)
	f.check(g.Epsilon >= 0 && g.Epsilon <= 100 && g.LocalEpsilon >= 0 && g.LocalEpsilon <= 50, "epsilon %v, local epsilon %v: give numbers above 0, up to 100 and 50", g.Epsilon, g.LocalEpsilon)
	f.check(g.Directed() || g.LocalEpsilon == 0, "local epsilon: %s has none that means anything: leave it out", g.Report)
	f.check(g.Epsilon > 0 || g.Directed() && g.LocalEpsilon > 0 || g.Report == NoPrivacy, "epsilon %v: give a number above 0, or of directions a local epsilon", g.Epsilon)
	f.check(g.Bits == 0 || g.Report == "vector" && g.Bits > 0 && !g.proved(), "bits belong to vectors, but not where their length is proved")
	f.check(g.NoiseBy == "" || g.Report == "vector" && slices.Contains([]string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices}, g.NoiseBy), "noise %q: vectors are summed, with that of aggregators, shared or devices", g.NoiseBy)
	f.check(g.Liars == 0 && g.Lie == "" || g.Liars > 0 && g.Liars <= 0.5 && g.Report == "vector" && slices.Contains(Lies, g.Lie), "liars %v, lie %q: of vectors up to half may lie, in one of the ways %s", g.Liars, g.Lie, strings.Join(Lies, ", "))
	f.check(g.Examples == 0 || g.Directed() && g.Examples > 0 && g.Examples <= g.Users, "%d examples per round: those of directions stand for at least as many users", g.Examples)
	f.check(g.Population == 0 || g.Examples > 0 && g.Population >= g.Users, "%d respondents: examples stand for as many as answer a round, or more", g.Population)
	f.check(g.Directions >= 0 && g.Directions <= 784 && (g.Directions == 0 || g.Architecture == "linear"), "%d directions: a linear model of images has 1 to 784", g.Directions)
	f.check(g.Clip >= 0 && g.Rate >= 0 && g.Momentum >= 0 && g.Momentum < 1 && g.Average >= 0 && g.Average < 1, "clip %v, rate %v, momentum %v, average %v: give positive numbers, the last two below 1", g.Clip, g.Rate, g.Momentum, g.Average)
}

// String says what is measured, for progress and for errors.
func (g Gradient) String() string {
	budget := fmt.Sprintf("epsilon %g", g.Epsilon)
	switch {
	case g.Report == NoPrivacy:
		budget = "no privacy"
	case g.Epsilon == 0:
		budget = fmt.Sprintf("local epsilon %g", g.LocalEpsilon)
	}
	who := "all"
	if g.Users > 0 {
		who = fmt.Sprint(g.Users)
	}
	return fmt.Sprintf("%s by %s, %d rounds of %s, %s", g.Architecture, g.Report, g.Rounds, who, budget)
}

// Trained is what became of a model that learns in rounds. Numbers are means over runs.
type Trained struct {
	Accuracy    float64 `json:"accuracy"`
	AccuracyStd float64 `json:"accuracy_std"` // standard deviation over runs; 0 for one run
	Curve       []Point `json:"curve"`
	// PaperEpsilon is ESA's Theorem VI.1 as it is proved, where it applies, and PrintedOrder what it prints
	// with a constant of one, which proves nothing.
	PaperEpsilon *float64 `json:"epsilon_paper,omitempty"`
	PrintedOrder *float64 `json:"epsilon_printed_order,omitempty"`
	Answers      int      `json:"rounds_per_respondent"`
	Parameters   int      `json:"parameters"`
	NoiseRatio   float64  `json:"noise_ratio,omitempty"` // over a curator's Gaussian of the same epsilon
	// Advantage is the largest difference of the shares of records trained on, and of others, whose
	// loss is below some threshold.
	Advantage    float64 `json:"membership_advantage"`
	AdvantageStd float64 `json:"membership_advantage_std"`
	// LowerEpsilon is what that attack shows of epsilon, with 95 % confidence in each run.
	LowerEpsilon float64 `json:"epsilon_lower"`
}

// Point is one of a learning curve.
type Point struct {
	Round    int     `json:"round"`
	Accuracy float64 `json:"accuracy"`
}
