package terminal

import (
	"context"
	"os/signal"
	"syscall"
)

// UntilStopped ends when the process is asked to stop; asked twice, it dies.
func UntilStopped() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
