package papers

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/lab/ldc"
	"github.com/confetti-dp/confetti/release"
)

func ldcPaper() Paper {
	return Paper{
		Name: "ldc", specs: ldc.Specs, counted: numbered, Title: "LDC: every table and figure",
		text: `*Label differential privacy via clustering* hides labels among those of public features that are alike.

Every epsilon is of one label exchanged for any other, and is the total of all that is released. Ways that say *local* keep it though everyone colludes: theirs is equal local and equal central epsilon in one. Where a curator has all labels there is no local one. The paper prints no numbers in its figures: there is nothing to draw in. DP-SGD's delta is one over the number of records, as printed. **Other than the paper**: but where a table says so clusters and models see 50 principal components of pixels, where the paper has all pixels; k-means, regression and DP-SGD are ours, where it has scikit-learn's and TensorFlow Privacy's. Of these scikit-learn's regression and k-means were run beside ours (*other features*). TensorFlow Privacy was not: nothing of its DP-SGD is compared with ours. Of CIFAR-10 a fifth of the records is among our data.

    confetti-lab run ldc --all --data DIR --out results      # goes on where it was stopped

What is wrong as printed, how ours is trained, and peers: [labels-paper.md](../labels-paper.md).`,
		items: []item{
			{name: "Table 1", title: "rates", text: "The paper's are orders, without constants and logarithms. Ours beside them: the same order at these data sets' size and at the row's own epsilon, and what is lost of the accuracy without privacy. ClusterRR's parameter is a third of its total by the sound constants, and its order is larger there: that stands beside. Peers are of one digit against all others: Algorithm 2 is of two labels, and the paper's task of two is MNIST's. The paper's other rows, not private, Beimel et al. and Bassily et al., are of others, and it measures none of them; nor do we. Rates order mechanisms; they are not errors.", show: func(c Cells) ([]release.Table, []figures.Chart) { return []release.Table{rates(c)}, nil }},
			{name: "Figure 1", title: "accuracy against the labels' epsilon, and against the number of clusters", data: "Of CIFAR-10's 50,000 records 10,000 are among our data.", text: "MNIST, Fashion-MNIST and, for the third panel, a fifth of CIFAR-10: 10,000 records for the paper's 50,000, so that a cluster holds 100 in the mean. ClusterRR and DP-SGD are a curator's; the others each device's own. As printed ClusterRR's noise and threshold give no guarantee. The last panel, at a total epsilon of 0.5, is of the first two.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return labelsBy(c, 0)
			}},
			{name: "Figure 1, other features", title: "all pixels, and ours", text: "The paper gives pixels to scikit-learn's k-means and regression as they come. Ours of all 784 pixels, and of 351 principal components of oriented gradients, the features of our own [learners](../learning.md): clusters and models of a row see the same. All pixels teach less than 50 components where noise is large: LP-2ST has 29.5 for 58.9 at 0.25 on MNIST. They have more weights, and trainings keep the steps that components want. By gradients ClusterRR is right for 97.4 of MNIST at 0.25. Without privacy scikit-learn's regression with its default settings has 92.6 and 85.5 by pixels (`python3 lab/ldc/pixels.py DIR mnist fashion-mnist`), and ours 92.7 and 85.4. Its k-means, by the same script with three seeds, makes 100 clusters of MNIST whose labels are less alike than in ours: phi is 0.406 ± 0.006 for our 0.357. So ClusterRR has better clusters here than the paper's may have been.", show: func(c Cells) ([]release.Table, []figures.Chart) { return byFeatures(c), nil }},
			{name: "Figure 2", title: "one digit against all others", text: "The paper does not say which digit; here it is 3. Who always says no is right for 89.9.", show: func(c Cells) ([]release.Table, []figures.Chart) { return labelsBy(c, aDigit) }},
			{name: "Section 6", title: "a great many labels", data: "No data set at hand has thousands of labels: the tables are computed from laws.", text: "The paper's bound is of clusters whose examples all have other labels: the second table. The first is computed from exact laws, and no records are in it: nine in ten of a cluster have its label, the others any, and the label that is told most is named. A model that names it is right for nine tenths of what is named rightly. UniformRR tells one label, so that with thousands of them a report is hardly ever the own one. A *set* of labels holds the own one half of the time: subset selection, a histogram's randomizer `subset` with the cluster as crowd. Its error does not grow with the number of labels. It costs bytes: a set of 10,000 labels at epsilon 1 has 2,689. Whoever trusts a curator has counts with noise, ClusterRR's first step; the whole of it has no setting for more than 33 labels with its guess of 0.03, since its threshold must not exceed one over their number. LP-2ST is drawn, of 100 clusters each, so that a share is off by up to 5 points. Its learner knows the law of the population, and it names more than UniformRR where that fails, and far fewer than sets do. *Not measured*: labels of real records.", show: func(Cells) ([]release.Table, []figures.Chart) { return ldc.ManyLabels(), nil }},
		},
	}
}

// told returns the protocol of a cell of labels.
func told(l experiments.Labels) protocol {
	switch {
	case l.Method == experiments.ClusterRR && l.Constants == "paper":
		return protocol{"ClusterRR as printed (no guarantee)", paper(figures.Vermilion, figures.Box)}
	case l.Method == experiments.ClusterRR:
		return protocol{"ClusterRR (a curator)", line(figures.Vermilion, figures.Square)}
	case l.Method == experiments.DPSGD:
		return protocol{"DP-SGD (a curator)", figures.Look{Colour: figures.Ink, Mark: figures.Triangle, Dashed: true}}
	case l.Method == experiments.UniformRR:
		return protocol{"UniformRR (local)", paper(figures.Blue, figures.Ring)}
	case l.Method == experiments.LikelihoodRR:
		return protocol{"ours: RR by likelihood (local)", line(figures.Blue, figures.Circle)}
	case l.Method == experiments.TwoStages:
		return protocol{"LP-2ST (local)", line(figures.Green, figures.Triangle)}
	}
	return protocol{"peer to peer", line(figures.Purple, figures.Circle)}
}

// labelsBy returns the panels of a figure: accuracy over epsilon and, of all classes, over the number of clusters.
func labelsBy(c Cells, against int) (tables []release.Table, figures []figures.Chart) {
	const swept = 0.5
	name, title := "figure1", "Accuracy against the labels' epsilon, "
	if against > 0 {
		name, title = "figure2", "One digit against all others, "
	}
	of := c.where(func(x experiments.Cell) bool {
		return x.Labels.Method != "" && x.Labels.Method != experiments.PeerToPeer && x.Labels.Against == against && x.Labels.Features == ""
	})
	of = slices.DeleteFunc(of, func(m experiments.Measured) bool { return m.Result.Learned == nil })
	for _, set := range datasets(of) {
		f := newChart(name+"-"+stem(set), title+called(set), "Accuracy on "+called(set)+" against the epsilon of a label.", release.Axis{Title: "epsilon of a label, total", Log: true}, release.Axis{Title: "accuracy (share of test records)"})
		t := release.Table{Title: called(set), Columns: columns("labels")}
		byClusters := newChart(name+"-clusters-"+stem(set), "ClusterRR at epsilon 0.5 against the number of clusters, "+called(set), "Accuracy of ClusterRR on "+called(set)+" against the number of clusters.", release.Axis{Title: "clusters", Log: true}, release.Axis{Title: "accuracy (share of test records)"})
		here := of.where(func(x experiments.Cell) bool { return x.Dataset == set })
		epsilons := labelEpsilons(here)
		for _, e := range epsilons {
			t.Columns = append(t.Columns, release.Column{Title: fmt.Sprint(e)})
		}
		at := func(method, constants string, e float64) (experiments.Measured, bool) {
			return here.one(func(x experiments.Cell) bool {
				l := x.Labels
				return l.Method == method && l.Constants == constants && l.Epsilon == e && (l.Clusters == 0 || l.Clusters == 100)
			})
		}
		for _, way := range [][2]string{{experiments.ClusterRR, ""}, {experiments.ClusterRR, "paper"}, {experiments.DPSGD, ""}, {experiments.UniformRR, ""}, {experiments.LikelihoodRR, ""}, {experiments.TwoStages, ""}} {
			cells := []string{told(experiments.Labels{Method: way[0], Constants: way[1]}).words}
			for _, e := range epsilons {
				m, ok := at(way[0], way[1], e)
				if !ok {
					cells = append(cells, none)
					continue
				}
				cells = append(cells, percent(m.Result.Learned.Accuracy, m.Result.Learned.AccuracyStd))
				f.add(told(m.Cell.Labels), e, m.Result.Learned.Accuracy, m.Result.Learned.AccuracyStd)
			}
			if slices.ContainsFunc(cells[1:], func(s string) bool { return s != none }) {
				t.Rows = append(t.Rows, row(cells...))
			}
		}
		for _, e := range epsilons {
			if m, ok := at(experiments.ClusterRR, "", e); ok {
				f.add(noPrivacy, e, m.Result.Learned.AccuracyNoPrivacy, 0)
			}
		}
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
		sweep := here.where(func(x experiments.Cell) bool {
			return x.Labels.Method == experiments.ClusterRR && x.Labels.Constants == "" && x.Labels.Epsilon == swept
		})
		slices.SortFunc(sweep, func(a, b experiments.Measured) int { return a.Cell.Labels.Clusters - b.Cell.Labels.Clusters })
		if len(sweep) > 2 {
			for _, m := range sweep {
				byClusters.add(told(m.Cell.Labels), float64(m.Cell.Labels.Clusters), m.Result.Learned.Accuracy, m.Result.Learned.AccuracyStd)
				byClusters.add(noPrivacy, float64(m.Cell.Labels.Clusters), m.Result.Learned.AccuracyNoPrivacy, 0)
			}
		}
		for _, one := range []*chart{f, byClusters} {
			if drawn, ok := one.done(); ok {
				figures = append(figures, drawn)
			}
		}
	}
	return tables, figures
}

// labelEpsilons returns those of some cells, in order.
func labelEpsilons(c Cells) (all []float64) {
	for _, m := range c {
		all = append(all, m.Cell.Labels.Epsilon)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// byFeatures returns a table for each data set: accuracies by what clusters and models see.
func byFeatures(c Cells) (tables []release.Table) {
	words := map[string]string{experiments.Pixels: "pixels as they come", experiments.OrientedGradients: "ours: oriented gradients"}
	of := c.where(func(x experiments.Cell) bool { return x.Labels.Features != "" })
	for _, set := range datasets(of) {
		t := release.Table{Title: called(set), Columns: columns("features", "labels")}
		here := of.where(func(x experiments.Cell) bool { return x.Dataset == set })
		epsilons := labelEpsilons(here)
		for _, e := range epsilons {
			t.Columns = append(t.Columns, release.Column{Title: fmt.Sprint(e)})
		}
		t.Columns = append(t.Columns, release.Column{Title: "without privacy"})
		for _, features := range experiments.LabelFeatures {
			for _, method := range []string{experiments.ClusterRR, experiments.DPSGD, experiments.UniformRR, experiments.TwoStages} {
				cells, without := []string{words[features], told(experiments.Labels{Method: method}).words}, none
				for _, e := range epsilons {
					m, ok := here.one(func(x experiments.Cell) bool {
						return x.Labels.Features == features && x.Labels.Method == method && x.Labels.Epsilon == e
					})
					if !ok {
						cells = append(cells, none)
						continue
					}
					cells, without = append(cells, percent(m.Result.Learned.Accuracy, m.Result.Learned.AccuracyStd)), percent(m.Result.Learned.AccuracyNoPrivacy, 0)
				}
				t.Rows = append(t.Rows, row(append(cells, without)...))
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// rates is Table 1.
func rates(c Cells) release.Table {
	t := release.Table{Columns: columns("data", "labels", "epsilon, total", "who sees the labels", "printed order", "in numbers, at that epsilon", "at a third of it", "lost of the accuracy without privacy")}
	for _, set := range []string{"mnist", "fashion-mnist"} {
		of := c.where(func(x experiments.Cell) bool {
			return x.Dataset == set && x.Labels.Constants == "" && x.Labels.Features == "" && (x.Labels.Clusters == 0 || x.Labels.Clusters == 100)
		})
		at := func(method string, epsilon float64, against int) (experiments.Measured, bool) {
			return of.one(func(x experiments.Cell) bool {
				return x.Labels.Method == method && x.Labels.Epsilon == epsilon && x.Labels.Against == against
			})
		}
		add := func(m experiments.Measured, who, order, rate, third string) {
			l := m.Result.Learned
			t.Rows = append(t.Rows, row(called(set), told(m.Cell.Labels).words, fmt.Sprint(m.Cell.Labels.Epsilon), who, order, rate, third, percent(l.AccuracyNoPrivacy-l.Accuracy, l.AccuracyStd)))
		}
		epsilons := []float64{0.25, 0.5, 1, 2}
		for _, e := range epsilons {
			if m, ok := at(experiments.ClusterRR, e, 0); ok {
				own, _, _ := ldc.Rate(m, e)
				third, _, _ := ldc.Rate(m, e/3)
				add(m, "a curator", "K sqrt(d/n) + K^2 phi/(1 + (e^eps - 1) phi)", number(own), number(third))
			}
		}
		for _, e := range epsilons {
			if m, ok := at(experiments.UniformRR, e, 0); ok {
				own, _, _ := ldc.Rate(m, e)
				add(m, "nobody", "K/eps sqrt(d/n)", number(own), none)
			}
		}
		for _, e := range epsilons {
			clusters, found := at(experiments.ClusterRR, e, aDigit) // by which it is known how alike labels are
			if m, ok := at(experiments.PeerToPeer, e, aDigit); ok && found && clusters.Result.Learned.Clusters != nil {
				add(m, "nobody; a neighbour one flipped label", "sqrt(d/(eps n)) + phi", number(ldc.PeersRate(m.Result.Users, e, clusters.Result.Learned.Clusters.Phi)), none)
			}
		}
	}
	return t
}

// aDigit is that of Figure 2 and of peers: the fourth class, 3.
const aDigit = 4
