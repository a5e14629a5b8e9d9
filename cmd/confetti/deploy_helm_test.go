package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"gopkg.in/yaml.v3"
)

const chart = deployed + "/helm/confetti"

// chartValues are those of the chart for a role, with the example of its
// configuration.
func chartValues(t *testing.T, role string) map[string]any {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(deployedText(t, "helm", "confetti", "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	values["role"] = role
	if role != "shuffler" { // whose configuration values.yaml has
		values["config"] = deployedText(t, "config", role+".toml")
	}
	return values
}

// render renders the chart as Helm would: text/template, with a value that is
// missing an error. The templates use none of the functions that Helm adds.
func render(values map[string]any) ([]map[string]any, error) {
	text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var meta map[string]any
	if err := yaml.Unmarshal(text, &meta); err != nil {
		return nil, err
	}
	with := map[string]any{
		"Values":  values,
		"Release": map[string]any{"Name": "north", "Service": "Helm", "Namespace": "default"},
		"Chart":   map[string]any{"Name": meta["name"], "Version": meta["version"], "AppVersion": meta["appVersion"]},
	}
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no templates: %v", err)
	}
	var all []map[string]any
	for _, f := range files {
		t, err := template.New(filepath.Base(f)).Option("missingkey=error").ParseFiles(f)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, with); err != nil {
			return nil, err
		}
		docs, err := documents(out.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, docs...)
	}
	return all, nil
}

// at follows keys, and indices of lists, into YAML; nil where there is nothing.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// names are the values of a key in a list of maps.
func names(list any, key string) []string {
	var all []string
	l, _ := list.([]any)
	for _, one := range l {
		name, _ := at(one, key).(string)
		all = append(all, name)
	}
	return all
}

func TestChart(t *testing.T) {
	var meta struct {
		APIVersion  string `yaml:"apiVersion"`
		Name        string
		Description string
		Type        string
		Version     string
		AppVersion  string `yaml:"appVersion"`
		KubeVersion string `yaml:"kubeVersion"`
	}
	d := yaml.NewDecoder(strings.NewReader(deployedText(t, "helm", "confetti", "Chart.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&meta); err != nil {
		t.Fatal(err)
	}
	semantic := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	if meta.APIVersion != "v2" || meta.Name != "confetti" || meta.Type != "application" || !semantic.MatchString(meta.Version) || !semantic.MatchString(meta.AppVersion) {
		t.Errorf("Chart.yaml: %+v", meta)
	}
	for role := range configs {
		t.Run(role, func(t *testing.T) { checkChart(t, role) })
	}
}

// A release of workers has as many as are asked for, and the shared folder.
func TestChartOfWorkers(t *testing.T) {
	for _, role := range []string{"shuffler", "leader", "analyzer"} {
		t.Run(role, func(t *testing.T) { checkWorkers(t, chartValues(t, role)) })
	}
}

func checkWorkers(t *testing.T, values map[string]any) {
	values["workers"], values["sharedClaim"], values["bucketSecret"] = 3, "parts", "bucket-keys"
	docs, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if d["kind"] != "StatefulSet" {
			continue
		}
		pod := at(d, "spec", "template", "spec")
		args, _ := at(pod, "containers", 0, "args").([]any)
		if n := at(d, "spec", "replicas"); n != 3 || !slices.Contains(args, any("--worker")) {
			t.Errorf("%v replicas of %v", n, args)
		}
		if !slices.Contains(names(at(pod, "containers", 0, "volumeMounts"), "mountPath"), "/var/lib/confetti-parts") || at(pod, "volumes", 0, "persistentVolumeClaim", "claimName") != "parts" {
			t.Error("the shared folder is not there")
		}
		if at(pod, "containers", 0, "envFrom", 0, "secretRef", "name") != "bucket-keys" {
			t.Error("the keys of the bucket are not there")
		}
		return
	}
	t.Error("no StatefulSet")
}

// With a Prometheus to ask, what there is to do decides how many workers there are, by metrics
// that the role's workers show.
func TestChartOfAsManyWorkersAsThereIsWorkFor(t *testing.T) {
	for role, shown := range map[string]string{"shuffler": shownBy(t, "../../internal/service/shufflerd/worker.go"), "leader": shownBy(t, "../../internal/service/aggregated/worker.go"), "analyzer": shownBy(t, "../../internal/service/analyzerd/service.go")} {
		values := chartValues(t, role)
		values["workers"] = 2
		values["autoscale"].(map[string]any)["prometheus"] = "http://prometheus.test:9090"
		docs, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		rules := 0
		for _, d := range docs {
			switch d["kind"] {
			case "StatefulSet":
				if n := at(d, "spec", "replicas"); n != nil {
					t.Errorf("%s: %v replicas, whatever there is to do", role, n)
				}
			case "ScaledObject":
				rules++
				trigger := at(d, "spec", "triggers", 0, "metadata")
				if at(d, "spec", "minReplicaCount") != 2 || at(d, "spec", "maxReplicaCount") != 8 || at(d, "spec", "scaleTargetRef", "name") != "north" || at(d, "spec", "scaleTargetRef", "kind") != "StatefulSet" {
					t.Errorf("%s: %v", role, d["spec"])
				}
				if at(trigger, "serverAddress") != "http://prometheus.test:9090" || at(trigger, "threshold") != "4" || at(trigger, "query") != fmt.Sprintf("max(confetti_%s_ready + confetti_%[1]s_leased)", shown) {
					t.Errorf("%s: %v", role, trigger)
				}
			}
		}
		if rules != 1 {
			t.Errorf("%s: %d rules", role, rules)
		}
	}
}

// shownBy is the name under which a file shows shared work.
func shownBy(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`o\.Metrics\.Meter\.Backlog\("([a-z_]+)"`).FindSubmatch(text)
	if name == nil {
		t.Fatalf("%s shows no shared work", file)
	}
	return string(name[1])
}

func checkChart(t *testing.T, role string) {
	values := chartValues(t, role)
	docs, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]map[string]any{}
	for _, d := range docs {
		kind, _ := d["kind"].(string)
		if d["apiVersion"] == nil || kind == "" || at(d, "metadata", "name") != "north" || kinds[kind] != nil {
			t.Errorf("%v is no object of its own", d)
		}
		kinds[kind] = d
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, []string{"ConfigMap", "NetworkPolicy", "Service", "StatefulSet"}) {
		t.Fatalf("objects: %v", got)
	}
	text, _ := at(kinds["ConfigMap"], "data", role+".toml").(string)
	if text != values["config"] {
		t.Errorf("the configuration was changed on its way:\n%s", text)
	}
	config(t, role, text)

	set := kinds["StatefulSet"]
	pod := at(set, "spec", "template", "spec")
	labels, _ := at(set, "spec", "template", "metadata", "labels").(map[string]any)
	for _, selector := range []any{at(set, "spec", "selector", "matchLabels"), at(kinds["Service"], "spec", "selector"), at(kinds["NetworkPolicy"], "spec", "podSelector", "matchLabels")} {
		chosen, _ := selector.(map[string]any)
		for key, want := range chosen {
			if labels[key] != want {
				t.Errorf("a selector wants %s: %v", key, want)
			}
		}
		if len(chosen) == 0 {
			t.Error("a selector chooses everything")
		}
	}
	container := at(pod, "containers", 0)
	line := []string{"confetti-server"}
	switch role {
	case "shuffler":
		line[0] = "confetti-shuffler"
	case "leader", "helper":
		line[0] = "confetti-aggregator"
	}
	args, _ := at(container, "args").([]any)
	for _, a := range args {
		line = append(line, fmt.Sprint(a))
	}
	mounts := names(at(container, "volumeMounts"), "mountPath")
	if c := runs(t, line); !slices.Contains(mounts, filepath.Dir(c)) || filepath.Base(c) != role+".toml" {
		t.Errorf("the configuration %s is not mounted: %v", c, mounts)
	}
	if image, _ := at(container, "image").(string); !strings.HasPrefix(image, line[0]+":") {
		t.Errorf("%s runs in the image %s", line[0], image)
	}
	volumes := append(names(at(pod, "volumes"), "name"), "state")
	for _, v := range append(names(at(container, "volumeMounts"), "name"), names(at(pod, "initContainers", 0, "volumeMounts"), "name")...) {
		if !slices.Contains(volumes, v) {
			t.Errorf("volume %s is mounted and not there", v)
		}
	}
	if at(set, "spec", "volumeClaimTemplates", 0, "metadata", "name") != "state" {
		t.Error("the state is on no volume")
	}
	for _, c := range []any{container, at(pod, "initContainers", 0)} {
		if at(c, "securityContext", "readOnlyRootFilesystem") != true || at(c, "securityContext", "allowPrivilegeEscalation") != false || at(c, "securityContext", "capabilities", "drop", 0) != "ALL" {
			t.Errorf("%v is not hardened", at(c, "name"))
		}
	}
	if at(pod, "securityContext", "runAsNonRoot") != true || at(pod, "automountServiceAccountToken") != false {
		t.Error("the pod is not hardened")
	}
	for probe, path := range map[string]string{"livenessProbe": "/healthz", "readinessProbe": "/readyz"} {
		if at(container, probe, "httpGet", "path") != path || at(container, probe, "httpGet", "scheme") != "HTTPS" {
			t.Errorf("%s: %v", probe, at(container, probe))
		}
	}
}

// A release of a console has flags in the place of a configuration, whose files are mounted, and is
// asked whether it answers by its own name.
func TestChartOfAConsole(t *testing.T) {
	values := chartValues(t, "shuffler")
	values["role"] = "console"
	for _, roots := range []string{"", "/etc/confetti/private/roots.pem"} {
		values["console"].(map[string]any)["roots"] = roots
		docs, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		var set map[string]any
		for _, d := range docs {
			switch kind := d["kind"]; kind {
			case "StatefulSet":
				set = d
			case "ConfigMap", "ScaledObject":
				t.Errorf("a console has a %s", kind)
			}
		}
		pod := at(set, "spec", "template", "spec")
		container := at(pod, "containers", 0)
		line := []string{"confetti-server"}
		args, _ := at(container, "args").([]any)
		for _, a := range args {
			line = append(line, fmt.Sprint(a))
		}
		c := consoleLine(t, line)
		mounts := names(at(container, "volumeMounts"), "mountPath")
		for _, file := range []string{c.Certificate, c.Key, c.Tokens} {
			if !slices.Contains(mounts, filepath.Dir(file)) {
				t.Errorf("%s is not mounted: %v", file, mounts)
			}
		}
		if !slices.Contains(mounts, c.Folder) || c.Roots != roots || c.Analyzer == "" || c.Listen == "" {
			t.Errorf("%+v, and %v", c, mounts)
		}
		volumes := append(names(at(pod, "volumes"), "name"), "state")
		for _, v := range names(at(container, "volumeMounts"), "name") {
			if !slices.Contains(volumes, v) {
				t.Errorf("volume %s is mounted and not there", v)
			}
		}
		if image, _ := at(container, "image").(string); !strings.HasPrefix(image, "confetti-server:") {
			t.Errorf("it runs in the image %s", image)
		}
		for _, probe := range []string{"livenessProbe", "readinessProbe"} {
			asked := at(container, probe, "httpGet")
			if at(asked, "path") != "/static/icon.svg" || at(asked, "scheme") != "HTTPS" || "https://"+fmt.Sprint(at(asked, "httpHeaders", 0, "value")) != c.Address {
				t.Errorf("%s: %v", probe, asked)
			}
		}
	}
}

// A value that no template may miss, and a typo in one, are errors.
func TestChartIsRenderedStrictly(t *testing.T) {
	values := chartValues(t, "shuffler")
	delete(values, "tlsSecret")
	if _, err := render(values); err == nil {
		t.Error("a value is missing, and nobody says so")
	}
	// Every value is used: one that is not does nothing when it is set.
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for path := range leafPaths("", chartValues(t, "shuffler")) {
		if !bytes.Contains(all, []byte(".Values"+path+" ")) {
			t.Errorf("no template uses %s", path)
		}
	}
}

// leafPaths are the dotted paths of all values.
func leafPaths(at string, v any) map[string]bool {
	m, ok := v.(map[string]any)
	if !ok {
		return map[string]bool{at: true}
	}
	all := map[string]bool{}
	for key, inner := range m {
		maps.Copy(all, leafPaths(at+"."+key, inner))
	}
	return all
}
