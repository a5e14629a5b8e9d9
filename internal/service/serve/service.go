package serve

import (
	"context"
	"log/slog"
)

// Opened has what can be done with a configuration in which nothing is wrong.
type Opened struct {
	// Verify reads a copy of what the service keeps as a start does, and asks its neighbours. It
	// says what is whole; the error joins what is not.
	Verify func(ctx context.Context, say func(whole string)) error
	// Run serves until the context ends, and then stops gracefully.
	Run func(context.Context) error
}

// Open opens a service's configuration by what each service states of its own: open reads the
// configuration, and verify and run go on with what it has read.
func Open[O interface{ hangUp() }](log *slog.Logger, open func(*slog.Logger) (Config, O, error),
	verify func(context.Context, O, func(string)) error, run func(context.Context, Config, O) error,
) (Opened, error) {
	http, o, err := open(log)
	if err != nil {
		return Opened{}, err
	}
	return Opened{
		Verify: func(ctx context.Context, say func(string)) error { defer o.hangUp(); return verify(ctx, o, say) },
		Run:    func(ctx context.Context) error { defer o.hangUp(); return run(ctx, http, o) },
	}, nil
}

// hangUp ends connections to other services that nobody uses.
func (c Common) hangUp() { c.Client.CloseIdleConnections() }
