package metrics

import (
	"bytes"
	"os"
	"path"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

var started = float64(time.Now().UnixMilli()) / 1e3

// tick is how many times a second Linux counts processor time in /proc.
const tick = 100

// ofRuntime are numbers of Go's runtime, and what each is the sum of, under the names that
// dashboards of Go programs know.
var ofRuntime = []struct {
	name, help, kind string
	from             []string
}{
	{"go_gc_gomemlimit_bytes", "Limit of memory that the runtime keeps to.", "gauge", []string{"/gc/gomemlimit:bytes"}},
	{"go_goroutines", "Goroutines that there are.", "gauge", []string{"/sched/goroutines:goroutines"}},
	{"go_memstats_alloc_bytes", "Heap in use by objects.", "gauge", []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", "Heap ever allocated.", "counter", []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_heap_inuse_bytes", "Heap in use.", "gauge", []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_sys_bytes", "Memory that the system gave.", "gauge", []string{"/memory/classes/total:bytes"}},
	{"go_sched_gomaxprocs_threads", "Threads that run Go code at once, at most.", "gauge", []string{"/sched/gomaxprocs:threads"}},
}

// process writes what the process and its runtime use. Where the system has no /proc, only what
// the runtime knows.
func process(to *bytes.Buffer) {
	for _, one := range ofRuntime {
		samples := make([]metrics.Sample, len(one.from))
		for i, from := range one.from {
			samples[i].Name = from
		}
		metrics.Read(samples)
		sum := uint64(0)
		for _, s := range samples {
			sum += s.Value.Uint64()
		}
		single(to, one.name, one.help, one.kind, float64(sum))
	}
	head(to, "go_info", "Version of Go.", "gauge")
	line(to, "go_info", `version="`+inLabel.Replace(runtime.Version())+`"`, 1)
	system(to, "/proc/self")
	single(to, "process_start_time_seconds", "When the process started, since 1970.", "gauge", started)
}

// system writes what Linux says of a process; nothing of what it does not say.
func system(to *bytes.Buffer, proc string) {
	if text, err := os.ReadFile(path.Join(proc, "stat")); err == nil {
		behind := string(text[bytes.LastIndexByte(text, ')')+1:]) // the program's name, whatever is in it
		if fields := numbers(strings.Fields(behind)); len(fields) > 21 {
			single(to, "process_cpu_seconds_total", "Processor time, of users and of the system.", "counter", (fields[11]+fields[12])/tick)
			single(to, "process_resident_memory_bytes", "Memory that is resident.", "gauge", fields[21]*float64(os.Getpagesize()))
			single(to, "process_virtual_memory_bytes", "Memory that is addressed.", "gauge", fields[20])
		}
	}
	if text, err := os.ReadFile(path.Join(proc, "limits")); err == nil {
		_, behind, _ := strings.Cut(string(text), "Max open files")
		if words := strings.Fields(behind); len(words) > 0 {
			if most, err := strconv.ParseFloat(words[0], 64); err == nil {
				single(to, "process_max_fds", "File descriptors that may be open.", "gauge", most)
			}
		}
	}
	if open, err := os.ReadDir(path.Join(proc, "fd")); err == nil {
		single(to, "process_open_fds", "File descriptors that are open.", "gauge", float64(len(open)))
	}
}

// numbers returns words as numbers; 0 for what is none.
func numbers(words []string) []float64 {
	all := make([]float64, len(words))
	for i, word := range words {
		all[i], _ = strconv.ParseFloat(word, 64)
	}
	return all
}
