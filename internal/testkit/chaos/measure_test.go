package chaos

import (
	"crypto/ecdh"
	"crypto/hpke"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// bare is what the standard library's HPKE does on all cores and nothing else:
// openings a second, and microseconds of a processor for one. The latter says
// more on a machine that others use too.
type bare struct{ rate, cost float64 }

func bareRate(each int) bare {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	key, err := ecdh.X25519().GenerateKey(nil)
	must(err)
	private, err := hpke.NewDHKEMPrivateKey(key)
	must(err)
	kdf, aead, info := hpke.HKDFSHA256(), hpke.AES128GCM(), make([]byte, 52)
	enc, sender, err := hpke.NewSender(private.PublicKey(), kdf, aead, info)
	must(err)
	sealed, err := sender.Seal(nil, make([]byte, 56))
	must(err)
	begin, used := time.Now(), processorTime()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range each {
				r, err := hpke.NewRecipient(enc, private, kdf, aead, info)
				must(err)
				_, err = r.Open(nil, sealed)
				must(err)
			}
		})
	}
	wg.Wait()
	n := float64(each * runtime.GOMAXPROCS(0))
	return bare{n / time.Since(begin).Seconds(), (processorTime() - used).Seconds() / n * 1e6}
}

// processorTime is what this process has had of the cores.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory is a number of the kernel's about a process, in bytes.
func (c *child) memory(t *testing.T, what string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Skipf("no memory of processes here: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), what+":")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// processor is the time that a process has had of the cores.
func (c *child) processor(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		t.Skipf("no times of processes here: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest) // from the third field on; times are fields 14 and 15
	var ticks int64
	for _, at := range []int{11, 12} {
		n, err := strconv.ParseInt(f[at], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 wherever Go runs on Linux
}
