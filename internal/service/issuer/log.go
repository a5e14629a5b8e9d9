package issuer

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A mark says that a respondent's request under a key was signed, in hashes that
// the issuer's secret keys: who and what, nobody else can tell or forge.
type mark struct{ who, what [16]byte }

// markLog is the log of a plan's marks, in a folder:
//
//	HASH.log  a package chain's log, whose groups are commits: who (16) || what (16) of each mark
//	HASH.end  how far it had come, as of endEvery ago
//
// A mark is on disk before its request is answered. Marks that come while the
// disk is busy are written together, maxCommit of them at most.
type markLog struct {
	endPath string
	log     *slog.Logger

	mu      sync.Mutex
	file    groups
	known   map[[16]byte][16]byte // who to what, those not yet on disk included
	pending *commit               // is gathering
	writing bool
	broken  error           // what is on disk is not known: nothing more is answered
	end     hashchain.Point // of the log
	late    *time.Timer     // is going to write HASH.end; nil while it says end

	ends sync.Mutex // held by whoever writes HASH.end
}

// groups is the log as a commit needs it.
type groups interface {
	Append(body []byte) error // hashchain.ErrFull: nothing was kept
	End() hashchain.Point
	Close() error
}

// commit is marks that are written together.
type commit struct {
	marks []mark
	done  chan struct{} // closed when they are on disk, or err says why not
	err   error
}

const (
	logFormat = "confetti-issued/v2"
	markSize  = 32
	maxCommit = wire.MaxTokenAsks // marks

	// endEvery is how late HASH.end may be: what rots at the end of the log that
	// soon after it was written cannot be told from what a crash has torn.
	endEvery = time.Second
)

// logTitle binds a log to its plan, and to the secret that its respondents are
// known by: under another one they would all be new.
func logTitle(plan string, secret serve.Secret) string {
	known := secret.Respondent("log", []byte(plan))
	return fmt.Sprintf("%s %s %x", logFormat, plan, known[:8])
}

// openLog reads the marks of a log that was created, and cuts off what a crash has
// torn at its end, which was never answered.
func openLog(path, endPath, title string, log *slog.Logger) (*markLog, error) {
	l := &markLog{endPath: endPath, log: log, known: map[[16]byte][16]byte{}}
	var was hashchain.Point
	text, unknown := os.ReadFile(endPath)
	if unknown == nil {
		unknown = was.UnmarshalText(text)
	}
	file, err := hashchain.Open(path, title, maxCommit*markSize, hashchain.Walk{Known: was}, l.read)
	if err != nil {
		return nil, err
	}
	l.file, l.end = file, file.End()
	if unknown != nil && l.end.Number > 0 {
		log.Warn("how far the log of issued tokens had come was not known: it was read as far as it goes", "file", endPath, "reason", unknown.Error())
	}
	if n := file.Torn(); n > 0 {
		log.Warn("the log of issued tokens ended in a piece of a write that nobody was answered for: it was cut off", "file", path, "bytes", n)
	}
	if was != l.end {
		err = l.writeEnd()
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// read takes the marks of one commit.
func (l *markLog) read(_, body []byte) error {
	if len(body)%markSize != 0 {
		return fmt.Errorf("%w: a group is no list of marks", hashchain.ErrDamaged)
	}
	for ; len(body) > 0; body = body[markSize:] {
		m := mark{[16]byte(body), [16]byte(body[16:])}
		if _, twice := l.known[m.who]; twice {
			return fmt.Errorf("%w: it says two things of one respondent", hashchain.ErrDamaged)
		}
		l.known[m.who] = m.what
	}
	return nil
}

// writeEnd writes down how far the log has come.
func (l *markLog) writeEnd() error {
	l.ends.Lock()
	defer l.ends.Unlock()
	l.mu.Lock()
	end := l.end
	l.late = nil
	l.mu.Unlock()
	text, err := end.MarshalText()
	if err != nil {
		panic("issuer: " + err.Error()) // a number and a digest always encode
	}
	if err := atomicfile.Replace(l.endPath, text, 0o600); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	return nil
}

// taken reports whether one of the marks is of a respondent whose other request
// was signed.
func (l *markLog) taken(marks []mark) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takenLocked(marks)
}

func (l *markLog) takenLocked(marks []mark) bool {
	for _, m := range marks {
		if what, there := l.known[m.who]; there && what != m.what {
			return true
		}
	}
	return false
}

// of returns how many marks there are, and whether any of some is not among them.
func (l *markLog) of(marks []mark) (n int, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known), slices.ContainsFunc(marks, func(m mark) bool { _, there := l.known[m.who]; return !there })
}

// errTaken is the error of put for marks that are taken.
var errTaken = errors.New("issuer: another request was signed already")

// put makes sure that the marks are on disk, all or, with an error, none. The
// number says how many are new.
func (l *markLog) put(marks []mark) (int, error) {
	l.mu.Lock()
	if l.broken != nil {
		l.mu.Unlock()
		return 0, l.broken
	}
	if l.takenLocked(marks) {
		l.mu.Unlock()
		return 0, errTaken
	}
	c := l.pending
	if c == nil || len(c.marks)+len(marks) > maxCommit {
		if c != nil { // full: the disk is far behind
			l.mu.Unlock()
			return 0, wire.Problemf(wire.Overloaded, "the disk is behind")
		}
		c = &commit{done: make(chan struct{})}
		l.pending = c
	}
	fresh := 0
	for _, m := range marks {
		if _, there := l.known[m.who]; !there {
			l.known[m.who] = m.what
			c.marks = append(c.marks, m)
			fresh++
		}
	}
	// Even with nothing new: a mark that is known may be on its way to the disk,
	// in this commit or the one before it.
	if !l.writing {
		l.writing = true
		go l.commit()
	}
	l.mu.Unlock()
	<-c.done
	return fresh, c.err
}

// commit writes what is pending until nothing is.
func (l *markLog) commit() {
	for {
		l.mu.Lock()
		c := l.pending
		if c == nil {
			l.writing = false
			l.mu.Unlock()
			return
		}
		l.pending = nil
		l.mu.Unlock()

		var b []byte
		for _, m := range c.marks {
			b = append(append(b, m.who[:]...), m.what[:]...)
		}
		var err error
		if len(b) > 0 {
			err = l.file.Append(b)
		}

		l.mu.Lock()
		if err == nil {
			l.advance()
			close(c.done)
			l.mu.Unlock()
			continue
		}
		l.fail(err, c)
		l.mu.Unlock()
	}
}

// advance sees to it that HASH.end follows the log.
func (l *markLog) advance() {
	if l.end = l.file.End(); l.late == nil {
		l.late = time.AfterFunc(endEvery, func() {
			if err := l.writeEnd(); err != nil {
				l.log.Warn("how far the log of issued tokens has come cannot be written down", "reason", err.Error())
			}
		})
	}
}

// fail takes back a commit that did not reach the disk, and the one that is
// gathering behind it, which may count on its marks. With a full disk the log is
// as it was; after anything else nobody knows what is on disk.
func (l *markLog) fail(err error, failed *commit) {
	var answer error
	if errors.Is(err, hashchain.ErrFull) {
		answer = wire.Problemf(wire.StorageFull, "the marks of issued tokens do not fit")
	} else {
		answer = fmt.Errorf("issuer: the log of issued tokens cannot be written, so that nothing more is signed until a restart: %w", err)
		l.broken = answer
	}
	for _, c := range []*commit{failed, l.pending} {
		if c == nil {
			continue
		}
		for _, m := range c.marks {
			delete(l.known, m.who)
		}
		c.err = answer
		close(c.done)
	}
	l.pending = nil
}

// len returns how many marks there are.
func (l *markLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known)
}

// healthy is why nothing can be written any more.
func (l *markLog) healthy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// stop answers everybody who comes from now on with the reason, and returns when
// nothing is under way.
func (l *markLog) stop(why error) {
	for {
		l.mu.Lock()
		l.broken = why
		idle := !l.writing
		l.mu.Unlock()
		if idle {
			return
		}
		time.Sleep(time.Millisecond) // a commit is one write
	}
}

// close lets go of the files. Nothing may be under way.
func (l *markLog) close() error {
	l.mu.Lock()
	late := l.late
	l.mu.Unlock()
	var err error
	if late != nil {
		late.Stop()
		err = l.writeEnd() // if it is being written now: once more
	}
	return errors.Join(err, l.file.Close())
}
