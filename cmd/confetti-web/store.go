//go:build js && wasm

package main

import (
	"fmt"
	"io/fs"
	"syscall/js"
)

// store is a client.Store whose methods are JavaScript's (Store in web/client/store.js),
// which answer with promises.
type store struct{ js.Value }

func (s store) String() string { return "this browser's storage" }

func (s store) ask(method string, args ...any) (v js.Value, err error) {
	defer thrown(&err)
	v, err = await(s.Call(method, args...))
	if err != nil {
		err = fmt.Errorf("the browser's storage: %w", err)
	}
	return v, err
}

// Lock implements client.Store.
func (s store) Lock() (unlock func(), err error) {
	release, err := s.ask("lock")
	if err != nil {
		return nil, err
	}
	return func() { release.Invoke() }, nil
}

// Load implements client.Store.
func (s store) Load(name string) ([]byte, error) {
	v, err := s.ask("load", name)
	if err != nil || v.IsUndefined() {
		return nil, absent(name, err)
	}
	return array(v), nil
}

func absent(name string, err error) error {
	if err == nil {
		err = &fs.PathError{Op: "load", Path: name, Err: fs.ErrNotExist}
	}
	return err
}

// Append implements client.Store.
func (s store) Append(name string, at int, data []byte) error {
	there, err := s.ask("append", name, at, uint8Array(data))
	if err != nil || !there.Bool() {
		return absent(name, err)
	}
	return nil
}

// Replace implements client.Store.
func (s store) Replace(name string, data []byte) error {
	_, err := s.ask("replace", name, uint8Array(data))
	return err
}

// Remove implements client.Store.
func (s store) Remove(name string) error {
	_, err := s.ask("remove", name)
	return err
}

// List implements client.Store.
func (s store) List() (map[string]int64, error) {
	all, err := s.ask("list")
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for i := range all.Length() {
		sizes[all.Index(i).Index(0).String()] = int64(all.Index(i).Index(1).Float())
	}
	return sizes, nil
}

// Stamp implements client.Store.
func (s store) Stamp(name string) (any, error) {
	v, err := s.ask("stamp", name)
	if err != nil || v.IsUndefined() {
		return nil, absent(name, err)
	}
	return v.String(), nil
}
