package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// cluster is a PostgreSQL server with a folder of its own, in which its socket is.
type cluster struct {
	folder   string
	postgres string
	settings []string // of the server, name=value
	disk     bool     // the folder is a disk of its own
	identity *syscall.Credential
	process  *os.Process
	ended    chan struct{} // closed when the process has ended
}

// newCluster makes one, and starts nothing.
func newCluster(settings ...string) (*cluster, error) {
	c, err := newFolder(settings)
	if err != nil {
		return nil, err
	}
	if err := c.initialize(); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// initialized keeps what initdb has made for the first server of this process, in a file that has no name and goes with
// the process. The others begin with a copy, which takes a tenth of initdb's time.
var initialized struct {
	sync.Mutex
	*os.File
}

// initialize makes a server's data.
func (c *cluster) initialize() error {
	initialized.Lock()
	defer initialized.Unlock()
	if initialized.File != nil {
		return c.piped(io.NewSectionReader(initialized.File, 0, 1<<40), nil, "tar", "-xf", "-")
	}
	// What initdb writes is synced by nobody, and is made anew with the next test.
	if err := c.command("initdb", "-D", c.data(), "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"); err != nil {
		return err
	}
	file, err := os.CreateTemp(memory(), "pg-")
	if err != nil {
		return err
	}
	if err := errors.Join(os.Remove(file.Name()), c.piped(nil, file, "tar", "-cf", "-", "data")); err != nil {
		return errors.Join(err, file.Close())
	}
	initialized.File = file
	return nil
}

// standby makes a copy of a server that runs, which follows it under a name.
func (c *cluster) standby(name string) (*cluster, error) {
	s, err := newFolder(c.settings)
	if err != nil {
		return nil, err
	}
	if err := s.command("pg_basebackup", "-D", s.data(), "-d", "host="+c.folder+" user=postgres application_name="+name, "-R", "-X", "stream", "-c", "fast", "--no-sync"); err != nil {
		os.RemoveAll(s.folder)
		return nil, err
	}
	return s, nil
}

// promote lets a standby go on alone.
func (c *cluster) promote() error { return c.command("pg_ctl", "promote", "-D", c.data()) }

func newFolder(settings []string) (*cluster, error) {
	c := &cluster{}
	var err error
	if c.postgres, err = program("postgres"); err != nil {
		return nil, err
	}
	// Short, since the path of a socket may not be long.
	if c.folder, err = os.MkdirTemp(memory(), "pg-"); err != nil {
		return nil, err
	}
	// A disk of its own can be filled. Who may not mount one has a folder.
	c.disk = slices.Contains(settings, OwnDisk) && syscall.Mount("tmpfs", c.folder, "tmpfs", 0, "size=256m") == nil
	c.settings = slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return s == OwnDisk })
	if c.identity, err = unprivileged(c.folder); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// fill takes all room from the server's disk, and returns what gives it back.
func (c *cluster) fill() (empty func() error, err error) {
	if !c.disk {
		return nil, errors.New("the server has no disk of its own: nobody here may mount one")
	}
	path := filepath.Join(c.folder, "filler")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	for piece := make([]byte, 1<<20); len(piece) > 0; piece = piece[:len(piece)/2] {
		for err = nil; err == nil; {
			_, err = f.Write(piece)
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return os.Remove(path) }, f.Close()
}

// memory returns a folder whose files are in memory, where this machine has one: no test here cuts the power, and what
// a server that is killed has written stays in the one as on the other.
func memory() string {
	if _, err := os.Stat("/dev/shm"); err == nil {
		return "/dev/shm"
	}
	return "/tmp"
}

func (c *cluster) data() string { return filepath.Join(c.folder, "data") }

// command runs a program of PostgreSQL's as the server's user.
func (c *cluster) command(name string, args ...string) error { return c.piped(nil, nil, name, args...) }

// piped runs a program in the server's folder as the server's user, with an input and an output; nil: none, and the
// output is part of an error.
func (c *cluster) piped(in io.Reader, out io.Writer, name string, args ...string) error {
	path, err := program(name)
	if err != nil {
		return err
	}
	said := new(bytes.Buffer)
	if out == nil {
		out = said
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.folder, in, out, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.identity}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// start returns when the server answers.
func (c *cluster) start() error {
	// Tests end processes of ours, never the machine: the server need not sync.
	cmd := exec.Command(c.postgres, "-D", c.data(), "-k", c.folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_min_messages=fatal")
	for _, s := range c.settings { // the last of a name counts
		cmd.Args = append(cmd.Args, "-c", s)
	}
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
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if status, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid")); err == nil && (bytes.Contains(status, []byte("ready")) || bytes.Contains(status, []byte("standby"))) {
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
	if c.disk {
		syscall.Unmount(c.folder, syscall.MNT_DETACH)
	}
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
