package results

import (
	"fmt"
	"strconv"
	"strings"

	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// latentWords speaks of clusters with classes or groups, of a published model, and of vectors.
type latentWords struct {
	ask     plan.Latent
	groups  []string // that are not withheld
	release *release.Release
}

func newLatentWords(p plan.Plan, r *release.Release) speaker {
	w := latentWords{ask: *p.Question.Latent, release: r}
	for i, name := range p.Crowd.Names {
		if i < len(r.Crowds) && r.Crowds[i].Smallest > 0 {
			w.groups = append(w.groups, name)
		}
	}
	if len(p.Crowd.Names) == 0 {
		w.groups = []string{"respondents"}
	}
	return w
}

func (w latentWords) phrase(m release.Metric) (phrase, bool) {
	p, ok := map[string]phrase{
		respondentsMetric: respondentsPhrase(""),
		"clusters":        {"Public clusters", release.Count, ""},
		"records":         {"Public records", release.Count, ""},
		"agreement":       agreementPhrase("class", flatters),
		"accuracy":        w.accuracy(m),
		"trained_records": {"Records that the encoder was trained on", release.Count, ""},
		"trained_private": {"Of these private", release.Count, "how many they are is public"},
		"trained_epsilon": {"Epsilon that it keeps of each of them", "", "where a record counts for nothing in its place (zeroing-out)"},
		"trained_delta":   {"Delta of this", "", ""},
	}[m.Name]
	return p, ok && m.Key == "" && (m.Name != accuracyMetric || len(w.ask.Classes) > 0 || w.ask.Report == plan.LatentRight)
}

func (w latentWords) accuracy(m release.Metric) phrase {
	switch w.ask.Report {
	case plan.LatentRight:
		return phrase{"Accuracy of the published model", release.Share, "the interval is exact, of those whom respondents were drawn from"}
	case plan.LatentVector:
		return phrase{"Accuracy", release.Share, "of a classifier that learned from the reports, " + onRecords(m)}
	}
	return phrase{"Accuracy", release.Share, "of the likeliest class of the cluster, " + onRecords(m)}
}

// claims lists what was promised to the records that an encoder was trained on.
var claims = map[string]string{
	device.ClaimPublic:  "They are public: nothing is promised to them.",
	device.ClaimPrivate: "Some of them are private, and the encoder keeps a promise to each of these.",
	device.ClaimNone:    "They are private, and nothing is proved of what the encoder tells of them.",
}

// claimSection names the section of an encoder that promises so much.
func claimSection(claim string) string { return "encoder-" + strings.ReplaceAll(claim, " ", "-") }

func (w latentWords) section(s release.Section) (said, bool) {
	classes := map[string]sheetWords{"classes": countsBy("Respondents by class", "class", among(w.ask.Classes))}
	for claim, says := range claims {
		if s.Name == claimSection(claim) && w.ask.Report == plan.LatentVector {
			return said{title: "The records that the encoder was trained on", text: fmt.Sprintf("%s Whoever made it calls them %q.", says, s.Key)}, true
		}
	}
	if s.Key != "" {
		return said{}, false
	}
	const lie = "Estimates are unbiased: some are below zero, and errors are those of the devices' noise. Errors of sums are upper bounds, since the cells of one report push each other aside."
	numbered, report := w.ask.Records > 0, w.ask.Report
	switch {
	case s.Name == "records" && numbered:
		return w.records(), true
	case numbered:
		return said{}, false
	case s.Name == "vectors" && report == plan.LatentVector:
		return said{
			title: "What was said", tables: confused(classes, w.ask.Classes),
			text: fmt.Sprintf("Each report is a vector of %d numbers with noise in it (%s): by itself it tells next to nothing, and a classifier learns from how likely all of them are for each public prototype of the encoder (docs/noisy-records.md).", w.ask.Vector.Dim, sheets.CountsFile),
		}, true
	case s.Name == "right" && report == plan.LatentRight:
		return said{
			title: "How often a model is right", tables: map[string]sheetWords{"right": countsBy("Respondents by what the model gives them", "class", called(map[string]string{wrongRight[0]: "another than theirs", wrongRight[1]: "theirs"}))},
			text: "Each respondent says whether the class that the model gives its record is its own, by randomized response. The interval is of the binomial law of those who say yes. Who judges several models pays for each: groups that judge different ones are to be disjoint.",
		}, true
	case s.Name == "clusters" && report == plan.LatentSymbols && len(w.ask.Classes) == 0:
		t := sheetWords{title: "Clusters", columns: []column{{title: "cluster", keys: numbers("cluster ", w.ask.Clusters)}}}
		for _, name := range w.groups {
			t.columns = append(t.columns, column{title: name, unit: release.Count})
		}
		if w.ask.Clusters > tableRows {
			t.note = fmt.Sprintf("The first %d of %d; %s has all.", tableRows, w.ask.Clusters, sheets.CountsFile)
		}
		return said{title: "Where records lie", text: lie, tables: map[string]sheetWords{"clusters": t}}, true
	case s.Name == "classes" && report == plan.LatentSymbols && len(w.ask.Classes) > 0:
		tables, known := confused(classes, w.ask.Classes), "What clusters hold is not known here: the public state is missing."
		tables["clusters"] = w.clusters()
		for _, t := range s.Tables {
			if t.Name == "clusters" && len(t.Rows) > 0 && len(t.Rows[0]) == len(tables["clusters"].columns) {
				known = fmt.Sprintf("Shares of classes are the likeliest ones for respondents who lie in clusters as the public inputs do that clusters were made of; a network on public records learns from them (%s has all).", sheets.CountsFile)
			}
		}
		return said{title: "Which class goes with which cluster", text: lie + " " + known, tables: tables}, true
	}
	return said{}, false
}

// confused adds which class is taken for which.
func confused(tables map[string]sheetWords, names []string) map[string]sheetWords {
	tables["confusion"] = confusionWords(names)
	return tables
}

// clusters returns the words of the table of clusters with their likeliest classes.
func (w latentWords) clusters() sheetWords {
	t := sheetWords{title: "Clusters", columns: []column{
		{title: "cluster", keys: numbers("cluster ", w.ask.Clusters)}, {title: "respondents", unit: release.Count},
		{title: "likeliest class", keys: among(w.ask.Classes)}, {title: "respondents with it", unit: release.Count},
		{title: "public inputs", unit: release.Share, known: true}, {title: "share of the likeliest class", unit: release.Share, known: true, empty: "none"},
	}}
	if w.ask.Clusters > tableRows {
		t.note = fmt.Sprintf("The %d largest of %d; %s has all.", tableRows, w.ask.Clusters, sheets.CountsFile)
	}
	return t
}

// records returns the words of reports of public records.
func (w latentWords) records() said {
	k, symbols := len(w.ask.Classes), w.ask.Clusters
	if k > 0 {
		symbols *= k
	}
	clusters := countsBy("Respondents by cluster", "cluster", numbers("", w.ask.Clusters))
	if k > 0 { // a cluster and a class, as the table of reports has them
		clusters.columns[0].keys = func(key string) (string, bool) {
			cluster, class, _ := strings.Cut(key, ":")
			_, known := numbers("", w.ask.Clusters)(cluster)
			y, err := strconv.Atoi(class)
			if !known || err != nil || y < 1 || y > k || strconv.Itoa(y) != class {
				return key, false
			}
			return cluster + ", " + w.ask.Classes[y-1], true
		}
	}
	if symbols > tableRows {
		clusters.note = fmt.Sprintf("The first %d of %d.", tableRows, symbols)
	}
	classes := countsBy("Respondents by class", "class", among(w.ask.Classes))
	if k > tableRows {
		classes.note = fmt.Sprintf("The first %d of %d.", tableRows, k)
	}
	return said{
		title: "What was said of each record", tables: map[string]sheetWords{"clusters": clusters, "classes": classes},
		text: fmt.Sprintf("Each report stands beside the number of its public record (%s), with noise in it. Whoever has other columns of the same records joins them by that number (confetti release join): a report is read as what is public says of all that may have led to it, by how likely each is.", sheets.CountsFile),
	}
}
