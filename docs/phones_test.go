//go:build unix

package docs_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

const (
	android = "examples/android/"
	ios     = "examples/ios/"
)

// match returns what the one group of an expression finds, or fails.
func match(t *testing.T, text, expression string) string {
	t.Helper()
	m := regexp.MustCompile(expression).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no %s", expression)
	}
	return m[1]
}

// catalog is what Gradle takes versions from.
type catalog struct {
	Versions  map[string]string
	Libraries map[string]struct {
		Module  string
		Version struct{ Ref string }
	}
	Plugins map[string]struct {
		ID      string
		Version struct{ Ref string }
	}
}

// faults lists what is wrong with a catalogue and the scripts that take from it: a version that is not exact, a name that
// is not there, one that nobody takes.
func (c catalog) faults(scripts string) (bad []string) {
	names := map[string]string{}
	for name, l := range c.Libraries {
		names["libs."+strings.ReplaceAll(name, "-", ".")] = l.Version.Ref
	}
	for name, p := range c.Plugins {
		names["libs.plugins."+strings.ReplaceAll(name, "-", ".")] = p.Version.Ref
	}
	for name, version := range names {
		if v := c.Versions[version]; !regexp.MustCompile(`^\d+(\.\d+){1,3}$`).MatchString(v) {
			bad = append(bad, fmt.Sprintf("%s has version %q", name, v))
		}
		if !strings.Contains(scripts, "("+name+")") {
			bad = append(bad, name+" is taken by nobody")
		}
	}
	for _, m := range regexp.MustCompile(`\((libs[\w.]*)\)`).FindAllStringSubmatch(scripts, -1) {
		if names[m[1]] == "" {
			bad = append(bad, m[1]+" is not in the catalogue")
		}
	}
	return bad
}

// The project for Android is whole: what nobody here can build is read, and holds together.
func TestTheProjectForAndroidIsWhole(t *testing.T) {
	var manifest struct {
		Permissions []struct {
			Name string `xml:"name,attr"`
		} `xml:"uses-permission"`
		Application struct {
			Backup   string `xml:"allowBackup,attr"`
			Activity struct {
				Name     string `xml:"name,attr"`
				Exported string `xml:"exported,attr"`
			} `xml:"activity"`
		} `xml:"application"`
	}
	if err := xml.Unmarshal([]byte(read(t, android+"app/src/main/AndroidManifest.xml")), &manifest); err != nil {
		t.Fatal(err)
	}
	app := manifest.Application
	if len(manifest.Permissions) != 1 || manifest.Permissions[0].Name != "android.permission.INTERNET" || app.Backup != "false" || app.Activity.Exported != "true" {
		t.Errorf("%+v", manifest)
	}
	build := read(t, android+"app/build.gradle.kts")
	space := match(t, build, `namespace = "([\w.]+)"`)
	activity := read(t, android+"app/src/main/kotlin/"+strings.ReplaceAll(space, ".", "/")+strings.ReplaceAll(app.Activity.Name, ".", "/")+".kt")
	if !strings.HasPrefix(activity, "package "+space+"\n") || !strings.Contains(activity, "class "+strings.TrimPrefix(app.Activity.Name, ".")+" : Activity()") {
		t.Errorf("%s is another class", app.Activity.Name)
	}
	sources, err := filepath.Glob(filepath.Join(android, "app", match(t, build, `kotlin\.directories \+= "(\S+)"`), "dev/confetti/*.kt"))
	if err != nil || len(sources) != 3 {
		t.Errorf("the package for Kotlin is %q, %v", sources, err)
	}
	if rules := read(t, android+"app/"+match(t, build, `"(\S+\.pro)"\)`)); !strings.Contains(rules, "-keep class com.sun.jna.** { *; }") || !strings.Contains(rules, "-keep class * implements com.sun.jna.** { *; }") {
		t.Errorf("a release would lose what JNA finds by name:\n%s", rules)
	}

	text := read(t, android+"gradle/libs.versions.toml")
	var c catalog
	if err := toml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	scripts := read(t, android+"build.gradle.kts") + build + read(t, android+"settings.gradle.kts")
	for _, bad := range c.faults(scripts) {
		t.Error(bad)
	}
	for _, pair := range []string{"{}", "()"} {
		if strings.Count(scripts, pair[:1]) != strings.Count(scripts, pair[1:]) {
			t.Errorf("the scripts of Gradle open and close %s unequally", pair)
		}
	}
	var planted catalog
	if err := toml.Unmarshal([]byte(strings.Replace(text, `"9.2.0"`, `"9.+"`, 1)), &planted); err != nil || len(planted.faults(scripts)) != 1 || len(c.faults(scripts+"(libs.nothing)")) != 1 {
		t.Errorf("a version that is not exact, or a name that is not there, is not found: %v", err)
	}
	pom := read(t, "../client/kotlin/pom.xml")
	if c.Versions["kotlin"] != match(t, pom, `<kotlin.version>([\d.]+)<`) || c.Versions["jna"] != match(t, pom, `<artifactId>jna</artifactId><version>([\d.]+)<`) {
		t.Errorf("Kotlin and JNA are %v, and others in client/kotlin/pom.xml", c.Versions)
	}

	page, native := read(t, android+"README.md"), read(t, android+"native.sh")
	if !strings.Contains(page[:strings.Index(page, "\n## ")], "**Nobody has compiled this app") || !strings.Contains(page, match(t, text, `(Gradle [\d.]+), a JDK`)) || !strings.Contains(page, "platforms;android-"+match(t, build, `compileSdk = (\d+)`)) ||
		!strings.Contains(page, "ndk;"+match(t, native, `ndk/([\d.]+) `)) || !strings.Contains(page, "build-tools;"+match(t, text, `Build Tools (\d+\.\d+\.\d+)`)) {
		t.Error("README.md says other versions than the project, or not at its top who compiled it")
	}
	for _, folder := range regexp.MustCompile(`(?m)^build (\S+) \S+ \S+?(\d+)-clang`).FindAllStringSubmatch(native, -1) {
		if !strings.Contains(match(t, build, `abiFilters \+= listOf\((.*)\)`), `"`+folder[1]+`"`) || folder[2] != match(t, build, `minSdk = (\d+)`) {
			t.Errorf("native.sh builds %s for Android %s, and the app takes another", folder[1], folder[2])
		}
	}
	for _, secret := range []string{"/app/src/main/assets/app.json", "/app/src/main/resources/"} {
		if !strings.Contains(read(t, android+".gitignore"), secret+"\n") {
			t.Errorf("%s would be committed", secret)
		}
	}
}

// astrayIn lists identifiers that a project of Xcode names and does not have, and those that it has and nothing names.
func astrayIn(project string) (bad []string) {
	all := regexp.MustCompile(`\b[0-9A-F]{24}\b`)
	plain := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(project, "")
	defined := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^\s*([0-9A-F]{24})\s*= \{`).FindAllStringSubmatch(plain, -1) {
		defined[m[1]]++
	}
	named := map[string]int{}
	for _, id := range all.FindAllString(plain, -1) {
		if named[id]++; defined[id] != 1 {
			bad = append(bad, id+" is not there once")
		}
	}
	for id := range defined {
		if named[id] < 2 {
			bad = append(bad, id+" is named by nothing")
		}
	}
	for _, pair := range []string{"{}", "()"} {
		if strings.Count(plain, pair[:1]) != strings.Count(plain, pair[1:]) {
			bad = append(bad, pair+" are not paired")
		}
	}
	return bad
}

// The project for iOS is whole, and calls what the package and the generated code have.
func TestTheProjectForIOSIsWhole(t *testing.T) {
	project := read(t, ios+"Example.xcodeproj/project.pbxproj")
	for _, bad := range astrayIn(project) {
		t.Error(bad)
	}
	if id := match(t, project, `rootObject = (\w+)`); len(astrayIn(strings.Replace(project, "\t\t"+id+" /* Project", "\t\tAAAAAAAAAAAAAAAAAAAAAAAA /* Project", 1))) == 0 {
		t.Error("an object that is not there is not found")
	}
	own, pkg := read(t, ios+"Package.swift"), read(t, "../client/swift/Package.swift")
	if path := filepath.Join(ios, match(t, own, `package\(name: "Confetti", path: "(\S+)"\)`)); path != "../client/swift" {
		t.Errorf("the package is looked for in %s", path)
	}
	product := match(t, project, `productName = (\w+);\n\t\t\};\n/\* End XCSwift`)
	if !strings.Contains(own, `.library(name: "`+product+`"`) || !strings.Contains(pkg, `.library(name: "Confetti"`) || !strings.Contains(pkg, ".iOS(.v15)") || !strings.Contains(own, ".iOS(.v15)") || !strings.Contains(project, "IPHONEOS_DEPLOYMENT_TARGET = 15.0;") {
		t.Error("the project, its package and ours name other products, or other versions of iOS")
	}
	for _, framework := range []string{"Security", "CoreFoundation"} { // which Go's check of certificates calls
		if !strings.Contains(pkg, `.linkedFramework("`+framework+`")`) {
			t.Errorf("the package is not linked with %s", framework)
		}
	}
	first := read(t, ios+match(t, project, `PBXFileSystemSynchronizedRootGroup;\n\t\t\tpath = (\w+);`)+"/ExampleApp.swift")
	if !strings.Contains(first, "@main") || !strings.Contains(first, "import "+product+"\n") {
		t.Error("the app does not begin, or not with its package")
	}
	screen, generated := read(t, ios+"Sources/Editor/Screen.swift"), read(t, "../cmd/confetti/internal/metrics/testdata/counts.swift.txt")
	for _, m := range regexp.MustCompile(`Counts\.(\w+)`).FindAllStringSubmatch(screen, -1) {
		if !regexp.MustCompile(`public static (func|let) ` + m[1] + `\b`).MatchString(generated) {
			t.Errorf("generated code has no %s", m[1])
		}
	}
	swift := read(t, "../client/swift/Sources/Confetti/Confetti.swift")
	for _, name := range []string{"consent", "words", "open", "report", "deliver"} {
		if !strings.Contains(swift, "func "+name+"(") {
			t.Errorf("the package has no %s", name)
		}
	}
	page := read(t, ios+"README.md")
	if !strings.Contains(page[:strings.Index(page, "\n## ")], "**Nobody has compiled this app") {
		t.Error("README.md does not say at its top who compiled it")
	}
	for _, secret := range regexp.MustCompile(`\.copy\("(\S+?)"\)`).FindAllStringSubmatch(own, -1) {
		if !strings.Contains(read(t, ios+".gitignore"), "/Sources/Editor/"+secret[1]+"\n") {
			t.Errorf("%s would be committed", secret[1])
		}
	}
}

// The scripts that build the library for phones ask compilers and Go for what there is: their words are real, the platforms
// are Go's, and Go takes the flags. What the platforms' own programs would say nobody here knows.
func TestScriptsForPhonesAskForWhatThereIs(t *testing.T) {
	for _, program := range []string{"bash", "cc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here", program)
		}
	}
	ports, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for script, builds := range map[string]int{android + "native.sh": 2, ios + "native.sh": 3} {
		if shellcheck, err := exec.LookPath("shellcheck"); err == nil {
			if out, err := exec.Command(shellcheck, script).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", script, err, out)
			}
		}
		dir := t.TempDir()
		tools := filepath.Join(dir, "tools")
		home := filepath.Join(dir, "docs", filepath.Dir(script))
		if err := os.MkdirAll(home, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(tools, 0o755); err != nil {
			t.Fatal(err)
		}
		write := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(home, "native.sh"), read(t, script))
		write(filepath.Join(tools, "go"), "#!/bin/sh\nprintf '%s %s %s %s\\n' $GOOS/$GOARCH \"$CGO_ENABLED\" \"$(basename ${CC%% *})\" \"$*\" >>"+dir+"/asked\n")
		write(filepath.Join(tools, "xcrun"), "#!/bin/sh\ncase \"$3\" in --show-sdk-path) echo /sdk/$2 ;; --find) echo /bin/$4 ;; *) exit 1 ;; esac\n")
		for _, name := range []string{"lipo", "xcodebuild"} {
			write(filepath.Join(tools, name), "#!/bin/sh\necho "+name+" $* >>"+dir+"/also\n")
		}
		run := exec.Command("bash", filepath.Join(home, "native.sh"))
		run.Env = []string{"PATH=" + tools + ":/usr/bin:/bin", "TMPDIR=" + dir}
		if out, err := run.CombinedOutput(); script == android+"native.sh" && (err == nil || !strings.Contains(string(out), "set it to the folder of an NDK")) {
			t.Errorf("without an NDK %s says %s", script, out)
		}
		os.Remove(filepath.Join(dir, "asked"))
		os.Remove(filepath.Join(dir, "also"))
		run = exec.Command("bash", filepath.Join(home, "native.sh"))
		run.Env = []string{"PATH=" + tools + ":/usr/bin:/bin", "TMPDIR=" + dir, "ANDROID_NDK_HOME=" + filepath.Join(dir, "ndk")}
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		asked := strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "asked"))), "\n")
		if len(asked) != builds {
			t.Fatalf("%s builds %q", script, asked)
		}
		for i, line := range asked {
			words := strings.Fields(line)
			if !slices.Contains(strings.Fields(string(ports)), words[0]) || words[1] != "1" || !strings.Contains(words[2], "clang") {
				t.Errorf("%s: %s", script, line)
			}
			if i > 0 || testing.Short() { // Go reads the flags of one
				continue
			}
			_, flags, _ := strings.Cut(line, " build ")
			flags, output, _ := strings.Cut(flags, " -ldflags=")
			linker, output, _ := strings.Cut(output, " -o ")
			system, arch, _ := strings.Cut(words[0], "/")
			plan := exec.Command("go", append(append([]string{"build", "-n", "-ldflags=" + linker}, strings.Fields(flags)...), "-o", filepath.Join(dir, filepath.Base(strings.Fields(output)[0])), strings.Fields(output)[1])...)
			plan.Dir, plan.Env = "..", append(os.Environ(), "CGO_ENABLED=1", "CC=cc", "GOOS="+system, "GOARCH="+arch)
			if out, err := plan.CombinedOutput(); err != nil || !strings.Contains(string(out), "-buildmode=c-") {
				t.Errorf("%s: %v\n%.600s", line, err, out)
			}
			if _, external, is := strings.Cut(linker, "-extldflags="); is {
				if out, err := exec.Command("cc", "-shared", external, "-o", filepath.Join(dir, "empty.so"), "-xc", os.DevNull).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", external, err, out)
				}
			}
		}
	}
}
