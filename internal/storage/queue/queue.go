// Package queue keeps what a service has accepted until it has been passed on: what Put has returned for is on disk.
// Used by internal/service/inbox and internal/service/shufflerd.
//
// It is NATS JetStream, either embedded in the process (no port, nothing to set up) or a cluster of one's own, by
// one line of configuration.
//
// An Inbox holds many small contents under keys, each written once: the first Put of a key is the mark that it was
// there and the content at the same time, one write, so that no crash can leave one without the other. What comes
// together is written together. A Box does the same for few large messages. Both are dropped whole, which takes the
// order and the times of arrival from the disk with them. Records holds the few small states a service must not
// forget.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

const (
	// MaxBody is the longest message of the embedded server, in bytes: its limit
	// less what the headers take. JetStream gives up on records above 32 MiB.
	MaxBody = 16<<20 - headroom

	// ChunkBody is a length that every server takes by default, in bytes.
	ChunkBody = 1<<20 - headroom

	headroom = 1 << 12 // bytes of headers, generously

	// Of all subjects and streams, so that a cluster can serve others beside us.
	prefix = "confetti"

	startTimeout = 30 * time.Second // recovery of large boxes included
	callTimeout  = 10 * time.Second // of one exchange with the server
)

var (
	// ErrTaken is the error of a Put under a key that holds something else.
	ErrTaken = errors.New("queue: the key is taken by another content")

	// ErrSealed is the error of a Put into a box that takes nothing more.
	ErrSealed = errors.New("queue: the box is sealed")

	// ErrFull is the error of a Put for which the disk, or what the queue may
	// use of it, does not suffice. Nothing was kept.
	ErrFull = errors.New("queue: no room left: give the queue more disk, or wait until a batch has left")

	// ErrDamaged is the error of what the disk does not give back as it was written.
	ErrDamaged = errors.New("queue: damaged")

	// ErrUnavailable is the error of a call that the server did not answer. A
	// Put may have been kept or not: repeat it.
	ErrUnavailable = errors.New("queue: the server does not answer")
)

// Config says where the messages rest. Exactly one of Dir and URL is set.
type Config struct {
	Dir      string // folder of the embedded server; made if missing
	MaxBytes int64  // of disk that the embedded server may use; 0: three quarters of what is free
	URL      string // of a NATS cluster with JetStream and sync_interval: always, comma separated
	Replicas int    // of each box in the cluster, 1 to 5; 0 is 1. The embedded server has 1

	// Of the cluster: PEM files of its authorities and of a client certificate with
	// its key, and a credentials file of NATS; empty: the system's, and none.
	Roots, Certificate, Key, Credentials string

	Damage Damage // what to do about boxes whose blocks the embedded server cannot read without harm

	Log *slog.Logger // of what was found and mended, and the embedded server's own; nil: none
}

// Queue is an open queue. It is safe for concurrent use.
type Queue struct {
	server   *server.Server // nil with a cluster
	conn     *nats.Conn
	js       jetstream.JetStream
	replicas int
	streams  string           // folder of the embedded server's streams
	logs     string           // folder of the embedded queue's inboxes
	lock     *os.File         // of the embedded queue's folder
	disk     *atomicfile.Disk // likewise; nil with a cluster
	inboxes  *Records         // checkpoints of inboxes
	log      *slog.Logger

	background context.Context // of what no caller waits for
	stop       context.CancelFunc

	opening sync.Mutex // held by whoever opens or drops an inbox

	mu   sync.Mutex
	open map[string]*Inbox

	stuck atomic.Bool // the last write was not answered
	usage usage
}

// Open starts the embedded server or connects to the cluster, and returns when
// what was there before can be read.
func Open(ctx context.Context, c Config) (*Queue, error) {
	if (c.Dir == "") == (c.URL == "") {
		return nil, errors.New("queue: set either a folder for the embedded server or the URL of a cluster")
	}
	if c.Replicas < 0 || c.Replicas > 5 || c.Dir != "" && c.Replicas > 1 {
		return nil, fmt.Errorf("queue: %d replicas: a cluster has 1 to 5, the embedded server 1", c.Replicas)
	}
	q := &Queue{replicas: max(c.Replicas, 1), log: c.Log, open: map[string]*Inbox{}}
	if q.log == nil {
		q.log = slog.New(slog.DiscardHandler)
	}
	q.background, q.stop = context.WithCancel(context.Background())
	options := []nats.Option{
		nats.Name(prefix), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // it would write to the terminal
	}
	if c.Dir != "" {
		if err := q.start(c); err != nil {
			q.Close()
			return nil, err
		}
		options = append(options, nats.InProcessServer(q.server))
	}
	if c.Roots != "" {
		options = append(options, nats.RootCAs(c.Roots))
	}
	if c.Certificate != "" {
		options = append(options, nats.ClientCert(c.Certificate, c.Key))
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	err := func() (err error) {
		if q.conn, err = nats.Connect(c.URL, options...); err != nil {
			return fmt.Errorf("queue: connect: %w", err)
		}
		if q.js, err = jetstream.New(q.conn); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		if err := q.answers(ctx); err != nil {
			return err
		}
		q.inboxes, err = q.Records(ctx, "inboxes")
		return err
	}()
	if err != nil {
		q.Close()
		return nil, q.Starting(err)
	}
	return q, nil
}

// Starting says what it may mean that the server does not answer while what was there
// before is read: the embedded one is in this process, and waits for nobody.
func (q *Queue) Starting(err error) error {
	if q.server == nil || !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: this machine is overloaded, or something in the queue's folder is damaged: put it back as it was (docs/damaged-disks.md)", err)
}

// answers waits until the server answers: a cluster that has just started has no
// leader for some seconds, and says nothing.
func (q *Queue) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := q.js.AccountInfo(try)
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
			return fmt.Errorf("queue: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (q *Queue) start(c Config) error {
	logs := filepath.Join(c.Dir, "inboxes")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	lock, err := atomicfile.Lock(c.Dir)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	q.lock, q.logs, q.streams, q.disk = lock, logs, streamsOf(c.Dir), atomicfile.WatchDisk(c.Dir)
	if err := q.checkBlocks(c.Damage); err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: prefix,
		DontListen: true,
		NoSigs:     true,
		NoLog:      true,
		JetStream:  true,
		StoreDir:   c.Dir,
		MaxPayload: MaxBody + headroom,
		// A client that waits for one acknowledgement at a time never has more
		// than one message pending; Box keeps to a few.
		MaxPending:        4 * (MaxBody + headroom),
		JetStreamMaxStore: c.MaxBytes,
		// Without it a message is acknowledged up to two minutes before it is
		// on disk, and a loss of power loses it.
		SyncAlways: true,
	})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	q.server = s
	s.SetLoggerV2(serverLog{q.log}, false, false, false)
	s.Start()
	if !s.ReadyForConnections(startTimeout) || !s.JetStreamEnabled() {
		return fmt.Errorf("queue: the embedded server does not start: is the folder writable, and used by nobody else?")
	}
	return nil
}

// Close ends the connection and stops the embedded server. What was put is
// there at the next Open.
func (q *Queue) Close() {
	q.opening.Lock()
	defer q.opening.Unlock()
	for name, in := range q.inboxesNow() {
		in.close()
		q.know(name, nil)
	}
	q.stop()
	if q.conn != nil {
		q.conn.Close()
	}
	if q.server != nil {
		q.server.Shutdown()
		q.server.WaitForShutdown()
	}
	if q.lock != nil {
		q.lock.Close()
	}
}

// inboxesNow returns the inboxes that are open, by name.
func (q *Queue) inboxesNow() map[string]*Inbox {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.open)
}

// know takes note of an open inbox; nil: it is closed.
func (q *Queue) know(name string, in *Inbox) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if in == nil {
		delete(q.open, name)
	} else {
		q.open[name] = in
	}
}

// MaxBody returns the longest message that this queue takes, in bytes: at most the
// constant, less with a cluster whose max_payload is lower.
func (q *Queue) MaxBody() int { return min(MaxBody, int(q.conn.MaxPayload())-headroom) }

// MaxContent returns the longest content of an inbox, in bytes.
func (q *Queue) MaxContent() int {
	return q.MaxBody() - hashchain.Head - sealing - groupHead - contentHead
}

// Healthy returns an error if the queue cannot take anything now: a cluster out
// of reach, a disk that is full, or an embedded server that stopped because it
// was. The last needs a restart.
func (q *Queue) Healthy(ctx context.Context) error {
	if q.server != nil && (q.stuck.Load() || !q.server.JetStreamEnabled()) {
		return errors.New("queue: the embedded server writes nothing, as after the disk was full: make room and restart")
	}
	for name, in := range q.inboxesNow() {
		if err := in.groups.Broken(); err != nil {
			return fmt.Errorf("inbox %s: %w", name, err)
		}
	}
	if q.disk != nil {
		if err := q.disk.Err(); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
	}
	return q.Room(ctx, 0)
}

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	keyForm  = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

func mustBe(form *regexp.Regexp, text string) {
	if !form.MatchString(text) {
		panic(fmt.Sprintf("queue: %q is no name", text)) // names are made by the program, never by a peer
	}
}

// stream makes the JetStream stream of a box or of records, if it is not there.
func (q *Queue) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Subjects = []string{subjects(c.Name) + ">"}
	c.Replicas = q.replicas
	c.Storage = jetstream.FileStorage
	c.Discard = jetstream.DiscardNew
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for {
		s, err := q.js.Stream(ctx, c.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			s, err = q.js.CreateStream(ctx, c)
		}
		// After the last box is dropped the server removes the folder of all, in
		// the background: it may do so under a new one.
		if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == noStore && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return nil, explain(err)
		}
		return s, nil
	}
}

// noStore is the code of a stream that could not be made.
const noStore = 10049

// subjects returns what the subjects of a stream begin with.
func subjects(stream string) string { return prefix + "." + stream + "." }

// serverLog takes up what the embedded server warns of.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Warnf(format string, a ...any) {
	l.log.Warn("queue server: " + fmt.Sprintf(format, a...))
}
func (l serverLog) Errorf(format string, a ...any) {
	l.log.Error("queue server: " + fmt.Sprintf(format, a...))
}
func (l serverLog) Fatalf(format string, a ...any) {
	l.log.Error("queue server: " + fmt.Sprintf(format, a...))
}
func (serverLog) Noticef(string, ...any) {}
func (serverLog) Debugf(string, ...any)  {}
func (serverLog) Tracef(string, ...any)  {}

// explain turns what the server says into the errors of this package.
func explain(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api):
		switch api.ErrorCode {
		case 10109: // stream is sealed
			return ErrSealed
		case 10002, 10023, 10047: // limits of the account, of the server, of its storage
			return ErrFull
		case 10077: // the store failed; what it says is all there is
			if strings.Contains(api.Description, "space") || strings.Contains(api.Description, "maximum") {
				return ErrFull
			}
		case 10004, 10008, 10163: // a node of the cluster is away, or only now comes back
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return fmt.Errorf("queue: %w", err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("queue: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
