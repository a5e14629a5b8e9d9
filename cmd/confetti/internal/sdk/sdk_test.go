//go:build unix

package sdk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// A machine that has nothing is told what to do for each language; one that has all of it is ready, and one whose NDK is
// an empty folder is not.
func TestTheDoctorSaysWhatIsMissing(t *testing.T) {
	said := func() string {
		var out strings.Builder
		if err := (Doctor{}).Run(terminal.Streams{Out: &out}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("ANDROID_NDK_HOME", "")
	none := said()
	if strings.Count(none, "not yet ") != 7 || strings.Contains(none, "ready") || !strings.Contains(none, "no cc: install gcc") || !strings.Contains(none, "set ANDROID_NDK_HOME") {
		t.Errorf("of nothing it says\n%s", none)
	}
	compiler := filepath.Join(dir, "ndk/toolchains/llvm/prebuilt/linux-x86_64/bin/aarch64-linux-android26-clang")
	programs := []string{compiler}
	for _, name := range []string{"go", "cc", "pkg-config", "npm", "python3", "javac", "mvn", "xcodebuild"} {
		programs = append(programs, filepath.Join(dir, "bin", name))
	}
	for _, file := range programs {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ANDROID_NDK_HOME", filepath.Join(dir, "ndk"))
	if all := said(); strings.Count(all, " ready ") != 7 || strings.Contains(all, "no ") {
		t.Errorf("of everything it says\n%s", all)
	}
	if err := os.Remove(compiler); err != nil {
		t.Fatal(err)
	}
	if empty := said(); strings.Count(empty, " ready ") != 6 || !strings.Contains(empty, "Android  not yet") || !strings.Contains(empty, "without the compiler") {
		t.Errorf("of an NDK without its compiler it says\n%s", empty)
	}
}

// Each page that it names is there, and the compiler is the one that the script for Android calls.
func TestTheDoctorKnowsTheTree(t *testing.T) {
	const root = "../../../../"
	for _, l := range look() {
		if _, err := os.Stat(root + l.Page); err != nil {
			t.Errorf("%s: %v", l.Name, err)
		}
	}
	script, err := os.ReadFile(root + "docs/examples/android/native.sh")
	if err != nil || !strings.Contains(string(script), "arm64 aarch64-linux-android26-clang\n") || !strings.Contains(string(script), "ndk/28.2.13676358 ") {
		t.Errorf("native.sh asks for another compiler, or another NDK: %v", err)
	}
}
