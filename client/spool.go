package client

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
)

// spooled is a sealed contribution on its way, a file: one line of JSON, then the
// body as it travels. It is written whole before it is sent for the first time
// and never changes, so that whatever happens the same bytes are sent again.
type spooled struct {
	plan      [32]byte
	instance  uint16
	id        [32]byte   // of the body: its idempotency key
	token     []byte     // for the entry hop; nil where it demands none
	task      dap.TaskID // of a report that is summed; zero of one that is mixed
	created   time.Time
	notBefore time.Time // the random delay
	body      []byte
}

type spoolHead struct {
	Format    string    `json:"format"`
	Plan      string    `json:"plan"`
	Instance  uint16    `json:"instance"`
	ID        string    `json:"id"`
	Token     string    `json:"token,omitempty"`
	Task      string    `json:"task,omitempty"`
	Created   time.Time `json:"created"`
	NotBefore time.Time `json:"not_before"`
}

const (
	spoolFormat  = "confetti-spool/v1"
	maxSpoolHead = 1 << 12
)

var base64url = base64.RawURLEncoding.Strict()

var errSpool = errors.New("client: not a contribution that was spooled here, or damaged")

func (s spooled) bytes() []byte {
	task := ""
	if s.task != (dap.TaskID{}) {
		task = s.task.String()
	}
	head, err := json.Marshal(spoolHead{
		Task:   task,
		Format: spoolFormat, Plan: hex.EncodeToString(s.plan[:]), Instance: s.instance, ID: hex.EncodeToString(s.id[:]),
		Token: base64url.EncodeToString(s.token), Created: s.created.UTC(), NotBefore: s.notBefore.UTC(),
	})
	if err != nil {
		panic("client: " + err.Error()) // times have a year
	}
	return append(append(head, '\n'), s.body...)
}

// parseSpooled reads exactly what bytes writes of a contribution.
func parseSpooled(data []byte) (s spooled, err error) {
	line, body, found := bytes.Cut(data, []byte("\n"))
	if !found || len(line) > maxSpoolHead {
		return s, errSpool
	}
	var h spoolHead
	if strict(line, &h) != nil || h.Format != spoolFormat {
		return s, errSpool
	}
	s = spooled{instance: h.Instance, created: h.Created, notBefore: h.NotBefore, body: body}
	if s.plan, err = wire.ParsePlanName(h.Plan); err != nil {
		return s, errSpool
	}
	if s.id, err = wire.ParsePlanName(h.ID); err != nil || s.id != wire.ContributionID(body) {
		return s, errSpool
	}
	if h.Token != "" {
		if s.token, err = base64url.DecodeString(h.Token); err != nil || len(s.token) != token.Size {
			return s, errSpool
		}
	}
	if h.Task != "" {
		raw, err := base64url.DecodeString(h.Task)
		if err != nil || len(raw) != len(s.task) || s.instance != 0 {
			return s, errSpool
		}
		s.task = dap.TaskID(raw)
		if _, err := dap.ParseUpload(body, 1); err != nil {
			return s, errSpool
		}
		return s, nil
	}
	c, err := envelope.ParseContribution(body)
	if err != nil || c.Plan != s.plan || c.Instance != s.instance {
		return s, errSpool
	}
	return s, nil
}

// spoolName is the file of one contribution.
func spoolName(plan string, instance int) string { return fmt.Sprintf("%s-%d", plan, instance) }

func parseSpoolName(name string) (plan string, instance int, ok bool) {
	plan, number, found := strings.Cut(name, "-")
	instance, err := strconv.Atoi(number)
	return plan, instance, found && err == nil && instance >= 0 && spoolName(plan, instance) == name && len(plan) == 64
}

func (f folder) spool(s spooled) error {
	return f.write(s.bytes(), spoolFolder, spoolName(hex.EncodeToString(s.plan[:]), int(s.instance)))
}

func (f folder) unspool(plan string, instance int) error {
	return f.remove(spoolFolder, spoolName(plan, instance))
}

// readSpooled reads one contribution, and refuses a file that does not hold what
// its name says.
func (f folder) readSpooled(plan string, instance int) (spooled, error) {
	data, err := os.ReadFile(f.path(spoolFolder, spoolName(plan, instance)))
	if err != nil {
		return spooled{}, err
	}
	s, err := parseSpooled(data)
	if err == nil && (hex.EncodeToString(s.plan[:]) != plan || int(s.instance) != instance) {
		err = errSpool
	}
	return s, err
}

// sweep drops what could not be sent in time, of whatever plan, removes what a
// crash has left behind, and says how many bytes the spool still holds.
func (f folder) sweep(l *Ledger, now time.Time) (size int64, err error) {
	for _, e := range l.Entries {
		for _, p := range e.Parts {
			if p.State == Waiting && now.After(e.Expires) {
				if err := f.drop(l, now, e.Plan, p.Instance, "it could not be sent in time"); err != nil {
					return 0, err
				}
			}
		}
	}
	names, err := os.ReadDir(f.path())
	if err != nil {
		return 0, fmt.Errorf("client: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name.Name(), durable.Unfinished) {
			if err := f.remove(name.Name()); err != nil {
				return 0, err
			}
		}
	}
	files, err := os.ReadDir(f.path(spoolFolder))
	if err != nil {
		return 0, fmt.Errorf("client: %w", err)
	}
	for _, file := range files {
		plan, instance, ok := parseSpoolName(file.Name())
		if !ok || !l.waits(plan, instance) {
			if err := f.remove(spoolFolder, file.Name()); err != nil {
				return 0, err
			}
			continue
		}
		info, err := file.Info()
		if err != nil {
			return 0, fmt.Errorf("client: %w", err)
		}
		size += info.Size()
	}
	return size, nil
}

// drop records that a contribution will never be sent, and removes it.
func (f folder) drop(l *Ledger, now time.Time, plan string, instance int, reason string) error {
	if err := f.append(l, record{Kind: kindDropped, At: now, Plan: plan, Instance: instance, Reason: reason}); err != nil {
		return err
	}
	return f.unspool(plan, instance)
}

// part is what an entry says through an instance, or nil.
func (l *Ledger) part(plan string, instance int) *Part {
	e := l.entry(plan)
	if e == nil {
		return nil
	}
	i := slices.IndexFunc(e.Parts, func(p Part) bool { return p.Instance == instance })
	if i < 0 {
		return nil
	}
	return &e.Parts[i]
}

// waits reports whether a contribution is still to be sent.
func (l *Ledger) waits(plan string, instance int) bool {
	p := l.part(plan, instance)
	return p != nil && p.State == Waiting
}
