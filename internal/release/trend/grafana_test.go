package trend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// dashboard is what of Grafana's form asks for numbers.
type dashboard struct {
	Templating struct {
		List []struct {
			Name, Type, Definition string
		}
	}
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
}

var (
	family = regexp.MustCompile(`confetti_[a-z_]+`)
	label  = regexp.MustCompile(`([a-z]+)=~?"\$?([a-z]+)"`)
	legend = regexp.MustCompile(`\{\{([a-z]+)\}\}`)
	listed = regexp.MustCompile(`^label_values\(.*, ([a-z]+)\)$`)
)

// unserved says what a dashboard asks that an exporter's text does not have.
func (d dashboard) unserved(samples map[string]string) (all []string) {
	variables := map[string]bool{}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}
	check := func(where, asks string, labels ...string) {
		names := family.FindAllString(asks, -1)
		if len(names) == 0 {
			all = append(all, where+" asks for nothing of ours")
		}
		for _, m := range label.FindAllStringSubmatch(asks, -1) {
			if labels = append(labels, m[1]); !variables[m[2]] {
				all = append(all, where+" uses a variable that there is not: "+m[2])
			}
		}
		for _, name := range names {
			served := false
			for sample := range samples {
				served = served || strings.HasPrefix(sample, name+"{") && !slices.ContainsFunc(labels, func(l string) bool {
					return !strings.Contains(sample, "{"+l+"=\"") && !strings.Contains(sample, ","+l+"=\"")
				})
			}
			if !served {
				all = append(all, fmt.Sprintf("%s asks for %s with %v", where, name, labels))
			}
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			of := listed.FindStringSubmatch(v.Definition)
			if of == nil {
				all = append(all, "variable "+v.Name+" lists no label")
				continue
			}
			check("variable "+v.Name, v.Definition, of[1])
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			var labels []string
			for _, m := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				labels = append(labels, m[1])
			}
			check("panel "+p.Title, target.Expr, labels...)
		}
	}
	return all
}

// The dashboard asks for what the exporter writes, all of it, and a dashboard that asks for something else is found.
func TestTheDashboardAsksForWhatIsExported(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/grafana/trends.json")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := Follow(toldRounds(), "theme", "", nil)
	lifts, _ := Follow(weeksOfArms(3, time.Date(2026, 8, 3, 0, 0, 0, 0, time.UTC)), "welcome", "", nil)
	var out bytes.Buffer
	if err := WritePrometheus(&out, "study", []Trend{got, lifts}); err != nil {
		t.Fatal(err)
	}
	samples := parsed(t, out.String())
	read := func(text []byte) (d dashboard) {
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := read(text)
	if faults := d.unserved(samples); len(faults) > 0 || len(d.Panels) == 0 {
		t.Errorf("%d panels: %q", len(d.Panels), faults)
	}
	for sample := range samples {
		if name, _, _ := strings.Cut(sample, "{"); !bytes.Contains(text, []byte(name)) {
			t.Errorf("no panel draws %s", name)
		}
	}
	for from, to := range map[string]string{"confetti_trend_share_low{": "confetti_trend_low{", `=~\"$crowd\"`: `=~\"$segment\"`, "{{value}}": "{{answer}}", `\"$metric\"}, crowd)`: `\"$metric\"}, version)`} {
		broken := bytes.ReplaceAll(text, []byte(from), []byte(to))
		if bytes.Equal(broken, text) || len(read(broken).unserved(samples)) == 0 {
			t.Errorf("%s in the place of %s is not found", to, from)
		}
	}
}
