//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/cpu"
)

// machine says on what was measured.
type machine struct {
	Processor string   `json:"processor"`
	Features  []string `json:"features"`
	Cores     int      `json:"cores"`
	System    string   `json:"system"`
	Go        string   `json:"go"`
}

func thisMachine() machine {
	m := machine{Processor: "unknown", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	info, _ := os.ReadFile("/proc/cpuinfo")
	field := func(name string) string {
		if found := regexp.MustCompile(`(?m)^` + name + `\s*:\s*(.*)$`).FindSubmatch(info); found != nil {
			return string(found[1])
		}
		return "?"
	}
	if info != nil {
		m.Processor = fmt.Sprintf("%s (family %s, model %s)", field("model name"), field("cpu family"), field("model"))
	}
	for name, there := range map[string]bool{"AVX2": cpu.X86.HasAVX2, "ADX": cpu.X86.HasADX, "AVX-512F": cpu.X86.HasAVX512F, "AVX-512 IFMA": cpu.X86.HasAVX512IFMA} {
		if !there {
			name = "no " + name
		}
		m.Features = append(m.Features, name)
	}
	return m
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s; %s, %s", m.Processor, m.Cores, strings.Join(m.Features, ", "), m.System, m.Go)
}

// load returns the load averages, or that there are none.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// machineTime returns the time that all cores together were not idle, since the machine started. It stays 0 where the
// system does not say.
func machineTime() time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	ticks := 0
	for i, f := range strings.Fields(line) {
		n, _ := strconv.Atoi(f)
		switch i { // user, nice, system, then idle and waiting, then interrupts and what other guests took
		case 1, 2, 3, 6, 7, 8:
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// busy returns how many cores are busy while we wait.
func busy(wait time.Duration) float64 {
	taken := machineTime()
	time.Sleep(wait)
	return (machineTime() - taken).Seconds() / wait.Seconds()
}

// head returns the commit, and whether something is changed beside it.
func head() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
