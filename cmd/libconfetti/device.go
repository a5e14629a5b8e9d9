//go:build libconfetti

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/client/embed"
)

// abi is the version of the interface: it rises where a function means something else than before.
const abi = 1

// done is what a function gives that has nothing to say.
type done struct{}

func about() (any, error) {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return map[string]any{"version": version, "abi": abi, "go": runtime.Version()}, nil
}

// call is one that may be ended.
type call struct {
	context.Context
	end context.CancelFunc
}

var (
	calls   table[call]
	devices table[*embed.Device]
)

// begin makes a call that ends by itself after so many seconds; 0: it does not.
func begin(seconds float64) uint64 {
	ctx, end := context.WithCancel(context.Background())
	if limit := seconds * float64(time.Second); limit > 0 && limit < 1<<62 {
		ctx, end = context.WithTimeout(context.Background(), time.Duration(limit))
	}
	return calls.put(call{ctx, end})
}

// cancel ends a call, and forgets it.
func cancel(n uint64) {
	if c, err := calls.take(n); err == nil {
		c.end()
	}
}

// during returns the context of a call; 0 has no end, and one that was cancelled is over.
func during(n uint64) context.Context {
	if n == 0 {
		return context.Background()
	}
	if c, err := calls.get(n); err == nil {
		return c
	}
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}

// place returns a person's folder.
func place(path string) (native.Folder, error) {
	if path == "" {
		return native.Folder{}, &embed.Error{As: embed.BadOptions, Err: errors.New("no folder: give one of the person's own, where the app may write and no backup reads")}
	}
	return native.Folder{Path: path}, nil
}

// trusting returns what carries requests to services with certificates of these authorities, a file or its text; "": the
// system's.
func trusting(roots string) (*network, error) {
	t := &network{Transport: &native.Transport{}}
	if roots == "" {
		return t, nil
	}
	text := []byte(roots)
	if !strings.HasPrefix(roots, "-----BEGIN") {
		var err error
		if text, err = os.ReadFile(roots); err != nil {
			return nil, &embed.Error{As: embed.BadOptions, Err: fmt.Errorf("roots: %w", err)}
		}
	}
	t.Roots = x509.NewCertPool()
	if !t.Roots.AppendCertsFromPEM(text) {
		return nil, &embed.Error{As: embed.BadOptions, Err: errors.New("roots has no certificate in PEM")}
	}
	return t, nil
}

// network tells a certificate that nobody trusts from a service that is away.
type network struct{ *native.Transport }

// Do implements client.Transport.
func (n network) Do(ctx context.Context, r client.Request) (client.Response, error) {
	answer, err := n.Transport.Do(ctx, r)
	if _, wrong := errors.AsType[*tls.CertificateVerificationError](err); wrong {
		err = &embed.Error{As: embed.Certificate, Err: err}
	}
	return answer, err
}

func consent(path string, agreed bool) (any, error) {
	f, err := place(path)
	if err != nil {
		return nil, err
	}
	return done{}, client.Consent(f, agreed)
}

func open(ctx context.Context, path, text string) (any, error) {
	var o struct {
		embed.Options
		Roots   string   `json:"roots"`
		Origins []string `json:"origins"` // of pages: in app.json of a trial, and nothing here
	}
	f, err := place(path)
	if err == nil {
		err = embed.Read([]byte(text), &o)
	}
	if err != nil {
		return nil, err
	}
	t, err := trusting(o.Roots)
	if err != nil {
		return nil, err
	}
	d, err := embed.Open(ctx, o.Options, f, t)
	if err != nil {
		return nil, err
	}
	return struct {
		Device uint64 `json:"device"`
		embed.Asked
	}{devices.put(d), d.Asked()}, nil
}

func ledger(path string) (any, error) {
	f, err := place(path)
	if err != nil {
		return nil, err
	}
	return embed.Ledger(f)
}
