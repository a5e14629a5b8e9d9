//go:build !linux

package storetest

import "errors"

func server() (string, error) {
	return "", errors.New("tests start one on Linux only")
}

func stop() {}
