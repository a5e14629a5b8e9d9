//go:build !js

package metrics

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/confetti-dp/confetti/client"
)

// Start opens the app, and takes a Step whenever one is due, until stop. What is counted is kept each second. Under go test, with
// CI in the environment or with client.Off it does nothing, and the app stays closed: a build server would be a
// new person each time.
func (a *App) Start(o client.Options) (stop func() error, err error) {
	if flag.Lookup("test.v") != nil || os.Getenv("CI") != "" || off() {
		return func() error { return nil }, nil
	}
	return a.start(o)
}

// start does what Start does, wherever it is.
func (a *App) start(o client.Options) (stop func() error, err error) {
	if err := a.Open(o); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o, _, _ := a.opened()
		next, told := time.Time{}, ""
		for ctx.Err() == nil {
			var err error
			if !o.Now().Before(next) {
				next, err = a.Step(ctx)
			} else if a.counted() {
				a.stepping.Lock()
				err = a.keep()
				a.stepping.Unlock()
			}
			switch {
			case err == nil:
				told = ""
			case err.Error() != told && ctx.Err() == nil && a.Problem != nil:
				told = err.Error()
				a.Problem(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return func() error { cancel(); <-done; return a.Close() }, nil
}
