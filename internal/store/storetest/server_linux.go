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
	"sync"
	"syscall"
	"time"
)

var running struct {
	folder string
	server *os.Process
	ended  chan struct{}
}

// server starts PostgreSQL once and returns the folder of its socket.
var server = sync.OnceValues(func() (string, error) {
	initdb, err := program("initdb")
	if err != nil {
		return "", err
	}
	postgres, err := program("postgres")
	if err != nil {
		return "", err
	}
	// Short, since the path of a socket may not be long.
	folder, err := os.MkdirTemp("/tmp", "pg-")
	if err != nil {
		return "", err
	}
	running.folder = folder
	identity, err := unprivileged(folder)
	if err != nil {
		return "", err
	}
	data := filepath.Join(folder, "data")
	setup := exec.Command(initdb, "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
	setup.Dir = folder
	setup.SysProcAttr = &syscall.SysProcAttr{Credential: identity}
	if out, err := setup.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	// Tests end processes of ours, never the machine: the server need not sync.
	cmd := exec.Command(postgres, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_min_messages=fatal")
	cmd.Dir = folder
	log := new(bytes.Buffer)
	cmd.Stderr = log
	// It ends with this process, however that ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: identity, Pdeathsig: syscall.SIGQUIT}
	started := make(chan error)
	running.ended = make(chan struct{})
	go func() {
		runtime.LockOSThread() // which is the parent whose death is signalled
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		running.server = cmd.Process
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(running.ended)
	}()
	if err := <-started; err != nil {
		return "", err
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if status, err := os.ReadFile(filepath.Join(data, "postmaster.pid")); err == nil && bytes.Contains(status, []byte("ready")) {
			return folder, nil
		}
		select {
		case <-running.ended:
			return "", fmt.Errorf("postgres ended: %s", bytes.TrimSpace(log.Bytes()))
		default:
		}
		if time.Now().After(deadline) {
			return "", errors.New("postgres does not get ready")
		}
	}
})

func stop() {
	if running.server != nil {
		running.server.Signal(syscall.SIGINT) // fast shutdown
		<-running.ended
	}
	if running.folder != "" {
		os.RemoveAll(running.folder)
	}
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
