// Command s3server is an S3-compatible service for tests, which start it: the gateway of
// Versity over a folder, on one address of this machine, until its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "s3server:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("give the folder of buckets, another for what is said of objects, and a socket")
	}
	go func() { // whoever started this has gone
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	said, err := meta.NewSideCar(args[1])
	if err != nil {
		return err
	}
	buckets, err := posix.New(args[0], said, posix.PosixOpts{SideCarDir: args[1], NewDirPerm: 0o700, NewFilePerm: 0o600})
	if err != nil {
		return err
	}
	defer buckets.Shutdown()
	return embedgw.RunVersityGW(context.Background(), buckets, &embedgw.Config{
		RootUserAccess: os.Getenv("AWS_ACCESS_KEY_ID"), RootUserSecret: os.Getenv("AWS_SECRET_ACCESS_KEY"), Ports: args[2:],
		MaxConnections: 1024, MaxRequests: 1024, MultipartMaxParts: 1, KeepAlive: true, Quiet: true, HealthPath: "/health",
	})
}
