package console

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

// auditLog is who did what. It goes to the program's log as it happens, and the page shows the
// newest lines.
type auditLog struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	last []deed
}

// deed is one action.
type deed struct {
	At        time.Time
	Who, What string
}

const shownDeeds = 50

func (a *auditLog) add(who, what string) {
	a.log.Info("operator", "who", who, "what", what)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = append(a.last, deed{a.now().UTC(), who, what})
	a.last = a.last[max(0, len(a.last)-shownDeeds):]
}

// newest lists what was done, the last first.
func (a *auditLog) newest() []deed {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(a.last)
	slices.Reverse(all)
	return all
}
