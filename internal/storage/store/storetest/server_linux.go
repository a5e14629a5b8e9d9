package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// cluster is a PostgreSQL server with a folder of its own, in which its socket is.
type cluster struct {
	folder   string
	postgres string
	identity *syscall.Credential
	process  *os.Process
	ended    chan struct{} // closed when the process has ended
}

// newCluster makes one, and starts nothing.
func newCluster() (*cluster, error) {
	initdb, err := program("initdb")
	if err != nil {
		return nil, err
	}
	c := &cluster{}
	if c.postgres, err = program("postgres"); err != nil {
		return nil, err
	}
	// Short, since the path of a socket may not be long.
	if c.folder, err = os.MkdirTemp("/tmp", "pg-"); err != nil {
		return nil, err
	}
	if err := c.initialize(initdb); err != nil {
		os.RemoveAll(c.folder)
		return nil, err
	}
	return c, nil
}

func (c *cluster) data() string { return filepath.Join(c.folder, "data") }

func (c *cluster) initialize(initdb string) (err error) {
	if c.identity, err = unprivileged(c.folder); err != nil {
		return err
	}
	setup := exec.Command(initdb, "-D", c.data(), "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
	setup.Dir = c.folder
	setup.SysProcAttr = &syscall.SysProcAttr{Credential: c.identity}
	if out, err := setup.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// start returns when the server answers.
func (c *cluster) start() error {
	// Tests end processes of ours, never the machine: the server need not sync.
	cmd := exec.Command(c.postgres, "-D", c.data(), "-k", c.folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_min_messages=fatal")
	cmd.Dir = c.folder
	log := new(bytes.Buffer)
	cmd.Stderr = log
	// It ends with this process, however that ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.identity, Pdeathsig: syscall.SIGQUIT}
	started := make(chan error)
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread() // which is the parent whose death is signalled
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	c.process, c.ended = cmd.Process, ended
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if status, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid")); err == nil && bytes.Contains(status, []byte("ready")) {
			return nil
		}
		select {
		case <-c.ended:
			return fmt.Errorf("postgres ended: %s", bytes.TrimSpace(log.Bytes()))
		default:
		}
		if time.Now().After(deadline) {
			return errors.New("postgres does not get ready")
		}
	}
}

// stop ends the server, if it runs. At once, it ends as after a loss of power.
func (c *cluster) stop(atOnce bool) {
	if c.process == nil {
		return
	}
	with := syscall.SIGINT // fast shutdown: whoever is connected is cut off
	if atOnce {
		with = syscall.SIGQUIT
	}
	c.process.Signal(with)
	<-c.ended
	c.process = nil
}

// remove stops the server and deletes its folder.
func (c *cluster) remove() {
	c.stop(false)
	os.RemoveAll(c.folder)
}

func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("%s is not installed", name)
	}
	return found[len(found)-1], nil
}

// unprivileged gives the folder to somebody whom PostgreSQL runs as: it refuses root.
func unprivileged(folder string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(folder, int(uid), int(gid))
	}
	return nil, errors.New("root cannot run it, and there is no user postgres or nobody")
}
