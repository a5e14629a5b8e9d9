package sgd

import (
	"math"

	"github.com/confetti-dp/confetti/lab/experiments"
)

const (
	delta = 1e-6
	// few are the examples that stand for all respondents of a round where as many as ESA has take too long. Their choice adds
	// less than a hundredth to the length of the noise of reports.
	few = 100
	// runs of a cell, of one population; where layers learn in public beforehand, they do so once.
	runs = 3
	// cheap is how often ESA runs a cell, and we one of which so many runs end within ten minutes of a processor.
	cheap = 10
)

// Specs returns all measurements of models that learn in rounds.
func Specs() []experiments.Spec {
	return []experiments.Spec{
		{
			Name: "esa-table11", Datasets: pictures, Title: "Membership inference", Kind: Kind, Sections: attacks,
			Paper: "Table XI: by how much a threshold of the loss tells records that were trained on from others, and the epsilon that this shows, beside what is claimed.",
			Of: func(o experiments.Options, set string) []experiments.Cell {
				largest := columns[len(columns)-1]
				if o.Quick {
					largest = columns[0]
				}
				cells := append(papersWay(set, batches[set][2:], largest), others(set)...)
				return cells
			},
		},
		{
			Name: "esa-table12", Datasets: pictures, Title: "Models from gradients", Kind: Kind, Sections: tables,
			Paper: "Table XII and Figure 2: accuracy at three central epsilons, by directions of ESA's networks as long as its printed accounting lasts, and by what this project adds.",
			Of: func(o experiments.Options, set string) []experiments.Cell {
				return append(papersWay(set, batches[set], o.Some(columns...)...), others(set)...)
			},
		},
		{
			Name: "esa-drift", Beside: true, Datasets: pictures, Title: "Steps of models from gradients", Kind: Kind, Sections: steps,
			Paper: "Table XII, whose steps the paper does not print: models of half of the respondents, judged on the records of the other half.",
			Of:    func(_ experiments.Options, set string) []experiments.Cell { return held(set) },
		},
	}
}

// network is ESA's for a data set.
func network(set string) string {
	if set == cifar {
		return "xiv"
	}
	return "xiii"
}

// papersWay are directions of ESA's network, in each size of batches for as many rounds as the printed
// accounting leaves at each epsilon. Examples stand for its respondents.
func papersWay(set string, users []int, epsilons ...float64) (cells []experiments.Cell) {
	for _, epsilon := range epsilons {
		for _, m := range users {
			printed := printedOrder{respondents: respondentsOf(set), users: m, local: localOf(set), delta: delta}
			g := experiments.Gradient{
				Architecture: network(set), Report: "direction", Users: m, Rounds: printed.rounds(epsilon), LocalEpsilon: localOf(set), Delta: delta,
				Examples: standing(set, printed.rounds(epsilon)), Momentum: 0.9, Average: 0.95, Clip: 1,
			}
			if set == cifar {
				g.Population = respondentsOf(set)
			}
			g.Rate = rate(g, drift[network(set)])
			cells = append(cells, experiments.Cell{Gradient: g, Runs: runsOf(set, g)})
		}
	}
	return cells
}

// standing returns how many examples stand for the respondents of a round. As in ESA they are as many at each size of
// batches, of whom each reports once, twice or five times; few where all runs of a cell take a processor more than ten minutes.
func standing(set string, rounds int) int {
	if longest := map[string]int{"xiii": 800, "xiv": 2500}[network(set)]; rounds > longest {
		return few
	}
	return batches[set][0]
}

// runsOf returns how often a cell is run: as often as ESA's where models learn their last layer alone, and where few
// examples, or no noise, are soon through.
func runsOf(set string, g experiments.Gradient) int {
	const soon = 3000 // rounds
	if set == cifar || g.Examples == few && g.Rounds <= soon || g.Report == experiments.NoPrivacy {
		return cheap
	}
	return runs
}

// drift is that of drifts by which a network has the highest accuracy on records that are held back (esa-drift).
var drift = map[string]float64{"xiii": 0.08, "xiv": 0.6}

var drifts = []float64{0.04, 0.08, 0.15, 0.3, 0.6, 1.2}

// held returns models of half of the respondents, judged on the other half, in the largest batches at the smallest printed
// epsilon, at each of drifts.
func held(set string) (cells []experiments.Cell) {
	for _, c := range papersWay(set, batches[set][2:], columns[0]) {
		for _, d := range drifts {
			c.Gradient.HeldBack, c.Gradient.Examples, c.Gradient.Rate, c.Runs = true, few, rate(c.Gradient, d), runs
			cells = append(cells, c)
		}
	}
	return cells
}

// rate returns that by which the noise of all rounds moves each number of the model by drift: with it the rate of a longer
// study, or of fewer respondents a round, is smaller. ESA prints none.
func rate(g experiments.Gradient, drift float64) float64 { return math.Round(1e5*drift/moved(g)) / 1e5 }

// moved returns how far the noise of all rounds moves each number of the model by steps of length one.
func moved(g experiments.Gradient) float64 {
	noise := g.Clip * math.Sqrt(math.Pi/2/float64(g.Users)) / math.Tanh(g.LocalEpsilon/2)
	return noise * math.Sqrt(float64(g.Rounds)) / (1 - g.Momentum)
}

// others returns what this project adds, and the baselines: linear models on public features of which everybody's
// direction or vector is asked in each round, DP-SGD of the same network, and the same without privacy.
func others(set string) []experiments.Cell {
	linear := experiments.Gradient{Architecture: "linear", Delta: delta, Momentum: 0.9}
	directed, vector := linear, linear
	directed.Report, directed.Rounds, directed.LocalEpsilon, directed.Directions, directed.Momentum = "direction", 30, localOf(set), 80, 0.7
	vector.Report, vector.Rounds, vector.Epsilon, vector.Bits = "vector", 40, 1, 1024
	curator := experiments.Gradient{Architecture: network(set), Report: experiments.Curator, Users: 500, Rounds: 600, Epsilon: columns[0], Delta: delta, Momentum: 0.9, Rate: 0.1}
	free := curator
	free.Report, free.Epsilon = experiments.NoPrivacy, 0
	if set == cifar { // whose features are the network's
		directed.Architecture, directed.Directions, directed.Rounds = network(set), 0, 15
		vector.Architecture, vector.Epsilon, vector.Rounds, vector.Bits = network(set), columns[0], 15, 2048
		curator.Rounds, curator.Rate = 200, 0
		free.Rounds, free.Rate = 200, 0
	}
	var cells []experiments.Cell
	for _, g := range []experiments.Gradient{directed, curator, free, vector} {
		cells = append(cells, experiments.Cell{Gradient: g, Runs: runsOf(set, g)})
	}
	return cells
}
