// Package sdk implements confetti sdk, which says what a machine has, and lacks, to build a device in each language. Used
// by cmd/confetti, for developers of apps.
package sdk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// Command groups what helps with devices in other languages.
type Command struct {
	Doctor Doctor `cmd:"" help:"What is at hand here for a device in each language, and what to do about the rest."`
}

// Doctor looks for tools, and changes nothing.
type Doctor struct {
	terminal.Form
}

func (Doctor) Help() string {
	return "It looks for programs on the path, and runs none of them.\n\nExample:\n  confetti sdk doctor"
}

// tool names one thing that a language needs.
type tool struct {
	Name   string `json:"name"`
	At     string `json:"at,omitempty"`     // where it is
	Remedy string `json:"remedy,omitempty"` // where it is not
}

// language lists what a device in it needs, and the page that says how.
type language struct {
	Name  string `json:"language"`
	Ready bool   `json:"ready"`
	Needs []tool `json:"needs"`
	Page  string `json:"page"`
}

// Run prints a line a language.
func (c Doctor) Run(std terminal.Streams) error {
	all := look()
	var text strings.Builder
	for _, l := range all {
		said := make([]string, len(l.Needs))
		for i, n := range l.Needs {
			if said[i] = n.Name + " " + n.At; n.At == "" {
				said[i] = "no " + n.Name + ": " + n.Remedy
			}
		}
		status := "ready"
		if !l.Ready {
			status = "not yet"
		}
		fmt.Fprintf(&text, "%-8s %-8s %s\n%18s%s\n", l.Name, status, strings.Join(said, "\n"+strings.Repeat(" ", 18)), "", l.Page)
	}
	return c.Print(std, map[string]any{"languages": all}, "%s", text.String())
}

// look looks for what each language needs.
func look() []language {
	on := func(program, remedy string) tool {
		at, err := exec.LookPath(program)
		if err != nil {
			return tool{Name: program, Remedy: remedy}
		}
		return tool{Name: program, At: at}
	}
	build, cc, jdk := on("go", "install Go"), on("cc", "install gcc and libc6-dev, or Xcode's command-line tools"), on("javac", "install a JDK, 17 or later")
	all := []language{
		{Name: "Go", Needs: []tool{build}, Page: "docs/quickstart.md"},
		{Name: "C", Needs: []tool{cc, on("pkg-config", "install pkg-config, or name the header's folder yourself")}, Page: "docs/embedding.md"},
		{Name: "pages", Needs: []tool{on("npm", "install Node; a page without a bundler needs the unpacked package alone")}, Page: "docs/browsers.md"},
		{Name: "Python", Needs: []tool{on("python3", "install Python, 3.9 or later")}, Page: "docs/python.md"},
		{Name: "Kotlin", Needs: []tool{build, cc, jdk, on("mvn", "install Maven, or take the three files of client/kotlin into a build of your own")}, Page: "docs/embedding.md"},
		{Name: "Android", Needs: []tool{build, jdk, ndk()}, Page: "docs/examples/android/README.md"},
		{Name: "iOS", Needs: []tool{build, on("xcodebuild", "Apple has it for macOS alone: install Xcode there")}, Page: "docs/examples/ios/README.md"},
	}
	for i := range all {
		all[i].Ready = true
		for _, n := range all[i].Needs {
			all[i].Ready = all[i].Ready && n.At != ""
		}
	}
	return all
}

// ndk finds the compiler of Android's NDK by its variable, which docs/examples/android/native.sh reads too.
func ndk() tool {
	const variable = "ANDROID_NDK_HOME"
	found := tool{Name: "NDK", Remedy: "install one, r27 or later (sdkmanager \"ndk;28.2.13676358\"), and set " + variable + " to its folder"}
	home := os.Getenv(variable)
	if home == "" {
		return found
	}
	compilers, err := filepath.Glob(filepath.Join(home, "toolchains", "llvm", "prebuilt", "*", "bin", "aarch64-linux-android26-clang*"))
	if err != nil || len(compilers) == 0 {
		found.Remedy = variable + " names a folder without the compiler aarch64-linux-android26-clang: name that of an NDK, r27 or later"
		return found
	}
	return tool{Name: "NDK", At: home}
}
