package chaos

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// childVariable has, for a test binary that is to be a service, what one.
const childVariable = "CONFETTI_CHAOS_CHILD"

// order is what a child is to be.
type order struct {
	Name  string
	Dir   string // its disk
	Ring  string // folder of keys
	Home  string // folder of certificates and clocks
	Point string // the failpoint that it kills itself at; "": none
	Left  int    // how many times it passes it before

	Station *station // of a fleet; nil: it shares nothing
}

// beChild is a service in a process of its own, until it is killed.
func beChild(text string) {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, o.serve())
	os.Exit(1)
}

func (o order) serve() error {
	client, err := serve.Client(serve.Path(filepath.Join(o.Home, "roots.pem")))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	s := setting{
		ring: &ring{dir: o.Ring, publisher: publisherKey}, dir: o.Dir, network: client.Transport,
		log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		now: clockOf(o.Home, o.Name),
		failpoint: func(name string) error {
			mu.Lock()
			defer mu.Unlock()
			if name == o.Point {
				if o.Left--; o.Left < 0 {
					syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {}
				}
			}
			return nil
		},
	}
	if o.Station != nil {
		return o.serveFleet(s)
	}
	p, err := launch(o.Name, s)
	if err != nil {
		return err
	}
	return o.listen(p)
}

// listen runs a service, and says where.
func (o order) listen(p process) error {
	certificate, err := serve.ReadCertificate(filepath.Join(o.Home, "cert.pem"), filepath.Join(o.Home, "key.pem"))
	if err != nil {
		return err
	}
	p.config.Listen, p.config.TLS = "127.0.0.1:0", serve.TLS(certificate, nil)
	s, err := serve.New(p.config)
	if err != nil {
		return err
	}
	at, err := s.Listen()
	if err != nil {
		return err
	}
	fmt.Println(at)
	go p.run(context.Background())
	return s.Serve(context.Background())
}

var publisherKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// A clock is a file with how far it is ahead of the machine's. A service asks for the
// time several times a request: it is read again when it is a little old.
func clockOf(home, name string) func() time.Time {
	var mu sync.Mutex
	var read time.Time
	var ahead time.Duration
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if now.Sub(read) > 10*time.Millisecond {
			read, ahead = now, readClock(home, name)
		}
		return now.Add(ahead)
	}
}

func readClock(home, name string) time.Duration {
	b, err := os.ReadFile(filepath.Join(home, name+".clock"))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
}

func writeClock(home, name string, ahead time.Duration) error {
	return atomicfile.Replace(filepath.Join(home, name+".clock"), strconv.AppendInt(nil, int64(ahead), 10), 0o600)
}

// child is a service in a process of its own, behind a faulty link that keeps its
// address.
type child struct {
	order
	link *link

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	errs *bytes.Buffer
	at   string // where it listens since its last start
}

// start brings it up. A child that kills itself on its way up has started.
func (c *child) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := json.Marshal(c.order)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text), "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with this process, however that ends
	c.errs = &bytes.Buffer{}
	cmd.Stderr = c.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	c.done = make(chan struct{})
	go func(done chan struct{}) {
		io.Copy(io.Discard, out)
		cmd.Wait()
		close(done)
	}(c.done)
	c.cmd = cmd
	if err != nil {
		<-c.done
		if c.Point != "" {
			return nil
		}
		return fmt.Errorf("chaos: %s does not start: %s", c.Name, c.errs)
	}
	if c.at = strings.TrimSpace(line); c.link != nil {
		c.link.to(c.at)
	}
	return nil
}

// kill ends it as a power cut ends a process: kill -9. It reports whether it lived.
func (c *child) kill() (lived bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return false
	}
	select {
	case <-c.done:
	default:
		lived = true
		if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			panic(err)
		}
		<-c.done
	}
	c.cmd = nil
	return lived
}

// quit has it tell what it is doing, and end.
func (c *child) quit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil {
		c.cmd.Process.Signal(syscall.SIGQUIT)
		<-c.done
		c.cmd = nil
	}
}

func (c *child) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return false
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}
