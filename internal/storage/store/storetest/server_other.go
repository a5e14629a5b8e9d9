//go:build !linux

package storetest

import "errors"

type cluster struct{ folder string }

func newCluster() (*cluster, error) { return nil, errors.New("tests start one on Linux only") }
func (*cluster) start() error       { return nil }
func (*cluster) stop(bool)          {}
func (*cluster) remove()            {}
