//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: measures system calls of Linux; run it there")
	os.Exit(1)
}
