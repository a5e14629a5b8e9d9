package registry

import (
	"context"
	"log/slog"
	"time"
)

// Follow takes up what other processes of a service have taken, each second until the context ends.
func Follow(ctx context.Context, log *slog.Logger, service string, takeUp func(context.Context) error) {
	for ctx.Err() == nil {
		if err := takeUp(ctx); err != nil && ctx.Err() == nil {
			log.Warn("what other processes of this "+service+" have taken is not known, and will be asked for again", "error", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
