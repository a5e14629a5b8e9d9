//go:build !linux

package postgrestest

import "errors"

type cluster struct{ folder string }

func newCluster(...string) (*cluster, error) {
	return nil, errors.New("tests start one on Linux only")
}
func (c *cluster) standby(string) (*cluster, error) { return c, nil }
func (*cluster) promote() error                     { return nil }
func (*cluster) start() error                       { return nil }
func (*cluster) fill() (func() error, error)        { return nil, errors.New("tests fill one on Linux only") }
func (*cluster) stop(bool)                          {}
func (*cluster) remove()                            {}
