// Package spool reads and writes the form of a sealed contribution that waits to be sent. Used by client.
package spool

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Contribution is a sealed contribution on its way: one line of JSON, then the
// body as it travels. It is kept whole before it is sent for the first time
// and never changes, so that whatever happens the same bytes are sent again.
type Contribution struct {
	Plan      [32]byte
	Instance  uint16
	ID        [32]byte   // of the body: its idempotency key
	Token     []byte     // for the entry hop; nil where it demands none
	Task      dap.TaskID // of a report that is summed; zero of one that is mixed
	Created   time.Time
	NotBefore time.Time // the random delay
	Body      []byte
}

type head struct {
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
	format  = "confetti-spool/v1"
	maxHead = 1 << 12

	// Under begins the names of all that is spooled.
	Under = "spool/"
)

var base64url = base64.RawURLEncoding.Strict()

// ErrDamaged is the error of what is no contribution, or a damaged one.
var ErrDamaged = errors.New("client: not a contribution that was spooled here, or damaged")

// Bytes returns the contribution as it is kept.
func (c Contribution) Bytes() []byte {
	task := ""
	if c.Task != (dap.TaskID{}) {
		task = c.Task.String()
	}
	line, err := json.Marshal(head{
		Task:   task,
		Format: format, Plan: hex.EncodeToString(c.Plan[:]), Instance: c.Instance, ID: hex.EncodeToString(c.ID[:]),
		Token: base64url.EncodeToString(c.Token), Created: c.Created.UTC(), NotBefore: c.NotBefore.UTC(),
	})
	if err != nil {
		panic("spool: " + err.Error()) // times have a year
	}
	return append(append(line, '\n'), c.Body...)
}

// Parse reads exactly what Bytes writes of a contribution.
func Parse(data []byte) (Contribution, error) {
	c, err := parse(data)
	if err == nil && !bytes.Equal(c.Bytes(), data) {
		err = ErrDamaged // the same in another form, which nobody here has written
	}
	return c, err
}

func parse(data []byte) (c Contribution, err error) {
	line, body, found := bytes.Cut(data, []byte("\n"))
	if !found || len(line) > maxHead {
		return c, ErrDamaged
	}
	var h head
	if strictjson.JSON(line, &h) != nil || h.Format != format {
		return c, ErrDamaged
	}
	c = Contribution{Instance: h.Instance, Created: h.Created, NotBefore: h.NotBefore, Body: body}
	if c.Plan, err = wire.ParsePlanName(h.Plan); err != nil {
		return c, ErrDamaged
	}
	if c.ID, err = wire.ParsePlanName(h.ID); err != nil || c.ID != wire.ContributionID(body) {
		return c, ErrDamaged
	}
	if h.Token != "" {
		if c.Token, err = base64url.DecodeString(h.Token); err != nil || len(c.Token) != token.Size {
			return c, ErrDamaged
		}
	}
	if h.Task != "" {
		raw, err := base64url.DecodeString(h.Task)
		if err != nil || len(raw) != len(c.Task) || c.Instance != 0 {
			return c, ErrDamaged
		}
		c.Task = dap.TaskID(raw)
		if _, err := dap.ParseUpload(body, 1); err != nil {
			return c, ErrDamaged
		}
		return c, nil
	}
	if plan, instance, err := destination(body); err != nil || plan != c.Plan || instance != c.Instance {
		return c, ErrDamaged
	}
	return c, nil
}

// destination returns the plan and the instance that a contribution names, which may be of a plan before version 4.
func destination(body []byte) (plan [32]byte, instance uint16, err error) {
	form, _, err := envelope.ParseForm(body)
	if err == nil {
		return form.Plan, form.Instance, nil
	}
	earlier, err := envelope.ParseContribution(body)
	return earlier.Plan, earlier.Instance, err
}

// Name returns what the contribution of a plan through an instance is kept under.
func Name(plan string, instance int) string { return fmt.Sprintf("%s%s-%d", Under, plan, instance) }

// ParseName reads what Name writes.
func ParseName(name string) (plan string, instance int, ok bool) {
	plan, number, found := strings.Cut(strings.TrimPrefix(name, Under), "-")
	instance, err := strconv.Atoi(number)
	return plan, instance, found && err == nil && instance >= 0 && Name(plan, instance) == name && len(plan) == 64
}
