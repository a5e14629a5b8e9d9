package release

import (
	"math"
	"time"

	"github.com/confetti-dp/confetti/account"
)

// sample is a release as a private news classifier would publish it; every number
// is made up, and it says that it is synthetic.
func sample() Release {
	const users = 40000
	classes := []string{"World", "Sports", "Business", "Sci/Tech"}
	r := Release{
		Plan:      "9f2b1c64d0e7a35b8f417726c3aa90de55b1f0c8e94d276a31b60fd28c7e5a04",
		Created:   time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC),
		Synthetic: true,
		Source:    Simulation,
		Crowds:    []Crowd{{Smallest: 9100}, {Smallest: 9517}, {Smallest: 9934}, {Smallest: 10351}, {Lacks: 417}},
		Remarks:   []string{"Of 40,417 rows 417 with an empty cell were left out."},
		Headline: []Metric{
			{Name: "accuracy", Title: "Accuracy of the classifier", Value: 0.8462, Low: 0.8378, High: 0.8543, Level: 0.95, Unit: Share, Note: "on 7,600 public test articles; the interval covers their sampling"},
			{Name: "devices", Title: "Devices that took part", Value: users, Unit: Count},
			{Name: "share_sports", Title: "Share of sports", Value: 0.2713, StdErr: 0.0031, Low: 0.2638, High: 0.2788, Level: 0.95, Among: 4, Truth: known(0.2698), Unit: Share, Note: "the interval covers privacy noise and sampling"},
		},
		Guarantees: []account.Statement{
			{Observer: "everyone colludes", Who: "Every server works together and keeps everything it receives. Only your own device is on your side.",
				Guarantee: account.Guarantee{Epsilon: 1129.4, Delta: 0, Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 769, Bound: account.Exact,
					Method: "sum of the randomized bits", Source: "KDE, Corollary 3.4"}},
			{Observer: "one fragment seen", Who: "Someone sees a single piece of what your device sent, by itself, and knows it came from you.",
				Guarantee: account.Guarantee{Epsilon: 1.472, Delta: 0, Adjacency: account.Replacement, Trust: account.OneFragment, Users: 1, Rounds: 1, Bound: account.Exact,
					Method: "randomized response", Source: "ESA, Definition II.3"},
				Note: "The topic your device names is randomized separately, with epsilon 3."},
			{Observer: "shuffler honest", Who: "At least one mixing server does its job. The analyzer sees everything that comes out, and so does the public.",
				Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Replacement, Trust: account.Shuffled, Users: 9000, Rounds: 768, Bound: account.Upper,
					Method: "exact privacy loss of the counts, composed numerically", Source: "KDE, Theorem 3.2 (sharpened)", Certified: "every number of ones among the others"}},
		},
		Provenance: Provenance{Software: "confetti 0.1.0", Command: "confetti collect --plan news.toml --synthetic --out demo", Randomness: "seed 7"},
	}
	r.Words = Words{
		Title:    "What do readers read about?",
		Question: "Which of four news topics is the article on your screen about, and what do the articles of a topic have in common?",
		Kind:     "density",
		Cost: []Metric{
			{Name: "messages_per_device", Title: "Messages", Value: 768, Unit: Count, Note: "the same for every device, whatever it says"},
			{Name: "bytes_per_device", Title: "Sent", Value: 150528, Unit: Bytes},
			{Name: "seconds_per_device", Title: "Computing", Value: 0.0871, Unit: Seconds, Note: "one core"},
		},
		Withheld: []string{"Class “Weather”: fewer than 9,000 devices named it, so its counts were deleted unread."},
		Assumptions: []string{
			"At most 10% of the devices in a crowd are dishonest; a larger share voids the third guarantee.",
			"At least one of the two mixing servers mixes honestly and does not share what it sees.",
		},
		Notes: []string{"The feature map is public: it comes from the seed in the plan."},
	}
	r.Sections = []Section{classifier(classes), words(classes), densities(classes)}
	r.Protection = []Section{{Title: "If fewer take part", Metrics: []Metric{{Name: "half", Title: "Epsilon among half of them", Value: 1.42}}}}
	return r
}

func classifier(classes []string) Section {
	counts := [][]float64{{1590, 84, 137, 89}, {31, 1822, 19, 28}, {112, 23, 1528, 237}, {98, 31, 280, 1491}}
	t := Table{Name: "confusion", Title: "Confusion matrix", Heat: true, Columns: []Column{{Title: "true topic"}}, Note: "Rows are the true topic, columns the one the classifier names. 7,600 public test articles."}
	per := Table{Name: "topics", Title: "Topic by topic", Columns: []Column{{Title: "Topic"}, {"Devices", Count}, {"95%, all at once", Count}, {"Recall", Share}, {"Precision", Share}}}
	bars := Figure{Name: "recall", Title: "Recall by topic, 95% intervals", Alt: "Bars of the recall and precision of each of the four topics, between 78% and 96%; sports is best.", Kind: Bars, Categories: classes,
		X: Axis{Title: "topic"}, Y: Axis{Title: "share of articles"}, Series: []Series{{Title: "recall"}, {Title: "precision"}}}
	for i, c := range classes {
		row, sum, column := []Cell{named(c)}, 0.0, 0.0
		for j := range classes {
			row = append(row, Number(counts[i][j], 0))
			sum += counts[i][j]
			column += counts[j][i]
		}
		t.Columns = append(t.Columns, Column{c, Count})
		t.Rows = append(t.Rows, row)
		for s, of := range []float64{sum, column} {
			p := counts[i][i] / of
			e := 1.96 * math.Sqrt(p*(1-p)/of)
			bars.Series[s].Y = append(bars.Series[s].Y, p)
			bars.Series[s].Low = append(bars.Series[s].Low, p-e)
			bars.Series[s].High = append(bars.Series[s].High, p+e)
			bars.Series[s].Truth = append(bars.Series[s].Truth, p+e/2)
		}
		per.Rows = append(per.Rows, []Cell{named(c), Number(9100+417*float64(i), 38.2), Interval(9005+417*float64(i), 9195+417*float64(i)), Number(bars.Series[0].Y[i], 0.009), Number(bars.Series[1].Y[i], 0.009)})
	}
	return Section{Name: "classifier", Title: "The classifier", Text: "It was learned from randomized counts alone: no server ever held an article, or anything made from one article.",
		Metrics: []Metric{{Name: "margin", Title: "Median margin", Value: 0.1834, StdErr: 0.0072, Note: "difference of the two best scores"}},
		Tables:  []Table{t, per}, Figures: []Figure{bars}}
}

func words(classes []string) Section {
	vocabulary := [][]string{
		{"iraq", "minister", "palestinian", "troops", "election", "baghdad", "nuclear", "president"},
		{"season", "coach", "quarterback", "playoffs", "inning", "striker", "olympics", "touchdown"},
		{"shares", "profit", "quarterly", "stocks", "investors", "earnings", "barrel", "merger"},
		{"software", "microsoft", "users", "linux", "browser", "nasa", "spyware", "processor"},
	}
	s := Section{Name: "words", Title: "Each topic in words", Text: "The words of a public vocabulary that lie where the density of the topic is highest. The range is where the true rank lies, with 95% confidence."}
	for i, c := range classes {
		l := List{Name: "topic", Key: c, Title: c, Level: 0.95, Among: 30000}
		for j, w := range vocabulary[i] {
			l.Items = append(l.Items, Item{Key: w, Score: 0.412 - 0.021*float64(j) - 0.013*float64(i), StdErr: 0.011, Low: 0.37 - 0.021*float64(j), High: 0.455 - 0.021*float64(j), Truth: known(0.41 - 0.021*float64(j)), RankLow: max(1, j-1), RankHigh: j + 3})
		}
		s.Lists = append(s.Lists, l)
	}
	return s
}

func densities(classes []string) Section {
	f := Figure{Name: "density", Title: "Density of each topic along the first axis", Alt: "Four smooth humps, one per topic, of about the same height; business and sci/tech overlap the most. Each has a narrow band of error.",
		Kind: Lines, X: Axis{Title: "first principal axis of the vocabulary (standard deviations)"}, Y: Axis{Title: "estimated density"}}
	for i, c := range classes {
		s := Series{Key: c, Title: c}
		for x := -4.0; x <= 4; x += 0.16 {
			centre := []float64{-1.7, 1.9, -0.2, 0.7}[i]
			y := math.Exp(-(x-centre)*(x-centre)/1.2) / 1.9
			s.X, s.Y = append(s.X, x), append(s.Y, y)
			s.Low, s.High = append(s.Low, y-0.018), append(s.High, y+0.018)
		}
		f.Series = append(f.Series, s)
	}
	g := Figure{Name: "error-by-devices", Title: "Error of one sum as the crowd grows", Alt: "On logarithmic axes the relative error falls in a straight line from one tenth at a thousand devices to one thousandth at a hundred thousand.",
		Kind: Points, X: Axis{Title: "devices", Log: true}, Y: Axis{Title: "relative error of one sum", Log: true}, Series: []Series{{Title: "measured"}}}
	for n := 1000.0; n <= 1.01e5; n *= math.Sqrt(10) {
		y := 100 / n
		g.Series[0].X, g.Series[0].Y = append(g.Series[0].X, n), append(g.Series[0].Y, y)
		g.Series[0].Low, g.Series[0].High = append(g.Series[0].Low, y*0.8), append(g.Series[0].High, y*1.25)
	}
	return Section{Name: "densities", Title: "Where the topics lie", Figures: []Figure{f, g}}
}

// named is a cell of a topic, which its plan has a name for.
func named(c string) Cell { return Cell{Key: c, Text: c} }

func known(x float64) *float64 { return &x }
