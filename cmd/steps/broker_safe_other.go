//go:build !linux

package main

// confined: elsewhere a jail does not let a command execute what gets more rights.
func confined() error { return nil }
