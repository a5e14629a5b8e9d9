package kotlin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/testkit/foreign"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/histogram"
)

const root = "../.."

// androidAll are the classes of Android 5, by Robolectric: the oldest that have noBackupFilesDir, since those of later ones are larger.
const androidAll = "5.0.2_r3-robolectric-r0"

// required says that Maven fetches what is missing, and that nothing is skipped.
var required = os.Getenv("CONFETTI_KOTLIN") == "require"

// without skips a test for lack of something, unless CONFETTI_KOTLIN=require.
func without(t *testing.T, what string) {
	t.Helper()
	if required {
		t.Fatal(what)
	}
	t.Skip(what)
}

// kotlin is the package, compiled beside a program that calls it, and where that runs.
type kotlin struct {
	t    *testing.T
	dir  string
	args []string // of java
}

// copied copies a file, or a part of one.
func copied(t *testing.T, from, to string, edit func(string) string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		if edit != nil {
			text = []byte(edit(string(text)))
		}
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// quickstart returns the first lines of Kotlin of the page.
func quickstart(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(string(page), "```kotlin\n")
	lines, _, _ = strings.Cut(lines, "```")
	if n := strings.Count(lines, "\n"); n < 5 || n > 10 {
		t.Fatalf("a quickstart of %d lines:\n%s", n, lines)
	}
	return lines
}

// compiled compiles the package by Maven, without a network where it has what it needs.
func compiled(t *testing.T) kotlin {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the compiler of Kotlin")
	}
	for _, program := range []string{"mvn", "java"} {
		if _, err := exec.LookPath(program); err != nil {
			without(t, "NO "+program+": the package for Kotlin was not compiled (apt-get install maven openjdk-17-jdk-headless)")
		}
	}
	k := kotlin{t: t, dir: t.TempDir()}
	foreign.Library(t, root, k.dir)
	project := filepath.Join(k.dir, "project")
	app := root + "/docs/examples/android/app/src/main/kotlin/dev/confetti/example/"
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	classes := "" // of Android: without them the app's screen is not compiled
	if _, err := os.Stat(filepath.Join(home, ".m2", "repository", "org", "robolectric", "android-all", androidAll)); err == nil || required {
		classes = "<dependency><groupId>org.robolectric</groupId><artifactId>android-all</artifactId><version>" + androidAll + "</version><scope>provided</scope></dependency>"
		copied(t, app+"MainActivity.kt", filepath.Join(project, "src/main/kotlin/dev/confetti/example/MainActivity.kt"), nil)
	} else {
		t.Log("MAVEN HAS NOT FETCHED the classes of Android, and the app's screen was not compiled: CONFETTI_KOTLIN=require go test ./client/kotlin")
	}
	copied(t, app+"Answers.kt", filepath.Join(project, "src/main/kotlin/dev/confetti/example/Answers.kt"), nil)
	copied(t, "pom.xml", filepath.Join(project, "pom.xml"), func(s string) string { return strings.Replace(s, "</dependencies>", classes+"</dependencies>", 1) })
	sources, err := filepath.Glob("src/main/kotlin/dev/confetti/*.kt")
	if err != nil || len(sources) != 3 {
		t.Fatal(sources, err)
	}
	for _, s := range sources {
		copied(t, s, filepath.Join(project, s), nil)
	}
	lines := quickstart(t)
	copied(t, "testdata/Check.kt", filepath.Join(project, "src/main/kotlin/dev/confetti/Check.kt"), func(s string) string { return strings.Replace(s, "QUICKSTART", lines, 1) })
	copied(t, root+"/cmd/confetti/internal/metrics/testdata/counts.kt.txt", filepath.Join(project, "src/main/kotlin/counts/Counts.kt"), nil)
	args := []string{"-q", "-B", "-Dkotlin.compiler.daemon=false", "compile"} // a daemon would outlive the test, and is not reached on a busy machine
	if !required {
		args = append(args, "-o")
	}
	compile := exec.CommandContext(t.Context(), "mvn", args...)
	compile.Dir = project
	if out, err := compile.CombinedOutput(); err != nil {
		if text := string(out); !required && (strings.Contains(text, "offline") || strings.Contains(text, "has not been downloaded")) {
			without(t, "MAVEN HAS NOT FETCHED what the package for Kotlin needs, and it was not compiled: CONFETTI_KOTLIN=require go test ./client/kotlin")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	path := []string{filepath.Join(project, "target", "classes"), k.dir}
	for _, jar := range []string{"net/java/dev/jna/jna/*/jna-*.jar", "org/jetbrains/kotlin/kotlin-stdlib/*/kotlin-stdlib-*.jar"} {
		found, err := filepath.Glob(filepath.Join(home, ".m2", "repository", filepath.FromSlash(jar)))
		if err != nil || len(found) == 0 {
			t.Fatal("there is no ", jar)
		}
		path = append(path, found[len(found)-1])
	}
	k.args = []string{"-Djna.library.path=" + k.dir, "-cp", strings.Join(path, string(os.PathListSeparator)), "dev.confetti.CheckKt"}
	return k
}

// run runs a part of the program, and returns what it prints.
func (k kotlin) run(part string) string {
	k.t.Helper()
	java := exec.CommandContext(k.t.Context(), "java", append(k.args, part)...)
	java.Dir = k.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CI=") { // where it is set an app counts nothing
			java.Env = append(java.Env, v)
		}
	}
	var wrong bytes.Buffer
	java.Stderr = &wrong
	out, err := java.Output()
	if err != nil {
		k.t.Fatalf("%s: %v\n%s%s", part, err, out, &wrong)
	}
	return string(out)
}

// cases are texts of JSON, and what is none.
var cases = []string{
	`{}`, `[]`, ` { "a" : [ 1 , -2.5e3 , true , false , null , "" ] } `, `"\u00e9\ud83d\ude00\n\t\"\\\/\b\f\r"`, `"é😀"`, `0`, `-0`, `1e-7`, `123456789012345678`,
	`{"a":{"b":[[],[{}]]},"c":"}]"}`, `{"":1}`, "", "{", `{"a"}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a":1 "b":2}`, `tru`, `"`, `"\q"`, `"\u12"`, `1 1`, `--1`, `nul`, `{1:2}`, `[}`,
}

// Kotlin answers a real trial by the lines of the page, has the codes of the table, reads JSON as Go does, and counts by
// what confetti metrics code writes. So does the app for Android, but for its screen, which is compiled alone.
func TestKotlin(t *testing.T) {
	k := compiled(t)
	trial := foreign.Collect(t, root, 103)
	trial.Submit(100)
	copied(t, filepath.Join(trial.Dir, "app.json"), filepath.Join(k.dir, "app.json"), nil)
	if out := k.run("quickstart"); !strings.HasPrefix(out, "sent; you said: ") || !strings.Contains(out, "Which colour do you like best?") {
		t.Errorf("the quickstart says:\n%s", out)
	}
	tokens, err := os.ReadFile(filepath.Join(trial.Dir, "devices.tokens"))
	if err != nil {
		t.Fatal(err)
	}
	as := func(person int) {
		copied(t, filepath.Join(trial.Dir, "app.json"), filepath.Join(k.dir, "app.json"), func(text string) string {
			var app map[string]any
			if err := json.Unmarshal([]byte(text), &app); err != nil {
				t.Fatal(err)
			}
			app["bearer"] = strings.Fields(string(tokens))[person]
			again, err := json.Marshal(app)
			if err != nil {
				t.Fatal(err)
			}
			return string(again)
		})
	}
	as(102)
	if out := k.run("android"); out != "Which colour do you like best?\nSent.\nanswered\nSent.\ntrue\n" {
		t.Errorf("what the app for Android does says\n%s", out)
	}
	as(101)
	want := `NOTHING_KEPT
BAD_OPTIONS
UNREACHABLE
Which colour do you like best? [Field(name=colour, crowd=false, list=false)] true true 64
NOT_OPTED_IN
BAD_ANSWERS
BAD_ANSWERS
CANCELLED
true
ANSWERED
true
ENDED
true
`
	if out := k.run("codes"); out != want {
		t.Errorf("it says\n%s, and not\n%s", out, want)
	}
	if n := trial.Respondents(); n != 103 {
		t.Errorf("%d respondents are counted, not 100 of Go and 3 of Kotlin", n)
	}
	k.json()
	k.counts()
	k.refused()
}

// refused has Kotlin open registries that are not to be believed, in a folder of its own, and one whose clock was set back.
func (k kotlin) refused() {
	t := k.t
	foreign.Refused(t, k.dir)
	if out := k.run("refused"); out != "PUBLISHER\nREGISTRY\nENDED\nROLLED_BACK\nOTHER_APP\n" {
		t.Errorf("it says %s", out)
	}
	if out := k.run("clock"); out != "CLOCK_BACK\n" {
		t.Errorf("of a clock that was set back it says %s", out)
	}
}

// json compares how texts are read with Go.
func (k kotlin) json() {
	t := k.t
	if err := os.WriteFile(filepath.Join(k.dir, "cases.txt"), []byte(strings.Join(cases, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := strings.Split(strings.TrimSuffix(k.run("json"), "\n"), "\n")
	if len(read) != len(cases) {
		t.Fatalf("%d texts of %d", len(read), len(cases))
	}
	for i, text := range cases {
		var want, got any
		if json.Unmarshal([]byte(text), &want) != nil {
			if read[i] != "refused" {
				t.Errorf("%s is no JSON, and is read as %s", text, read[i])
			}
			continue
		}
		if err := json.Unmarshal([]byte(read[i]), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %s", text, read[i])
		}
	}
}

// services give out one round, and take what comes.
type services struct {
	round plan.Signed
	came  int
}

// Do implements client.Transport.
func (s *services) Do(_ context.Context, r client.Request) (client.Response, error) {
	if r.Method == http.MethodGet {
		return client.Response{Status: http.StatusOK, Body: io.NopCloser(bytes.NewReader(s.round.Marshal()))}, nil
	}
	s.came++
	return client.Response{Status: http.StatusCreated, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// counts has Kotlin count in the week that a device has drawn, and Go, weeks later, answer what it counted.
func (k kotlin) counts() {
	t := k.t
	now := time.Now().UTC()
	text, season, study := foreign.Weekly(t, now, "editor", 1)
	if err := os.WriteFile(filepath.Join(k.dir, "confetti.registry.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	begins := metrics.Times("week", season).Opens.AddDate(0, 0, -7) // a round collects in the period after the one that it asks of
	week := int(now.Sub(begins)/(7*24*time.Hour)) + 1
	store, network := native.Folder{Path: filepath.Join(k.dir, "counting")}, &services{}
	at := begins.Add(-time.Hour)
	options := client.Options{Store: store, Transport: network, Delay: client.NoDelay, Now: func() time.Time { return at }}
	app := &metrics.App{Registry: text, Publishers: []string{foreign.Public(foreign.Publisher)}}
	type kept struct {
		Seasons map[string]struct {
			Round int
			Kept  map[string]struct {
				N    float64
				Text string
			}
		}
	}
	read := func() (s kept) {
		text, err := store.Load("metrics")
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	name := fmt.Sprintf("week/%d", season)
	for tries := 0; ; tries++ { // until a device has drawn this week: one in four
		if tries == 200 {
			t.Fatalf("no device draws week %d", week)
		}
		at = begins.Add(-time.Hour)
		if err := app.Open(options); err != nil {
			t.Fatal(err)
		}
		if err := app.Consent(true); err != nil {
			t.Fatal(err)
		}
		at = begins
		if _, err := app.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := app.Close(); err != nil {
			t.Fatal(err)
		}
		if read().Seasons[name].Round == week {
			break
		}
		if err := os.RemoveAll(store.Path); err != nil {
			t.Fatal(err)
		}
	}
	out := k.run("count")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if got := strings.Join(lines[:min(6, len(lines))], " "); got != "[] OLD true true true true" || !strings.Contains(out, "export_used    2-4 ") {
		t.Errorf("it says %s", out)
	}
	values := read().Seasons[name].Kept
	if values["export_used"].N != 3 || values["theme"].Text != "dark" || values["start_seconds"].N != 1.2 {
		t.Errorf("what Kotlin counted is kept as %+v", values)
	}
	signed, err := plan.SignStudy(study, foreign.Publisher).Round(week, "", plan.Times{Opens: begins.AddDate(0, 0, 7*week), Closes: begins.AddDate(0, 0, 7*week+7)}, foreign.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	network.round = signed
	at = begins.AddDate(0, 0, 7*week+3)
	if err := app.Open(options); err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if _, err := app.Step(t.Context()); err != nil || network.came != 1 {
		t.Errorf("%v; %d contributions came", err, network.came)
	}
	if l, err := client.ReadLedger(store); err != nil || len(l.Entries) != 1 || l.Entries[0].Said == "" {
		t.Errorf("%v: %+v", err, l)
	}
}
