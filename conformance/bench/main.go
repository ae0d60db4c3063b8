//go:build linux

// Command bench prints the speed table of the README: ratios against bare system
// calls, a bare decode and /bin/true, measured pair by pair in one run, so that
// a machine whose speed drifts does not matter. `make bench` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	// As a child it makes the tree of the first row with bare system calls.
	if len(os.Args) == 4 && os.Args[1] == "bare" {
		if err := bare(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	runs := flag.Int("n", 5, "counted runs of each pair")
	bin := flag.String("bin", "bin", "directory with the built binaries")
	where := flag.String("dir", "", "directory to work in, on the file system to measure")
	flag.Parse()
	if err := bench(*bin, *where, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(bin, where string, runs int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(where, "steps-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &suite{bin: bin, dir: dir, runs: runs}
	fmt.Printf("machine: %s\n\n", machine(dir))
	fmt.Println("| what | this | against | ratio | goal |")
	fmt.Println("|---|---|---|---|---|")
	for _, f := range []func() error{b.apply, b.scaling, b.validate, b.cold, b.startUp} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
