//go:build linux

// Command bench prints the speed table of the README: ratios against bare system
// calls, a bare decode, /bin/true and another jail, measured pair by pair in one
// run, so that a machine whose speed drifts does not matter. `make bench` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	// As a child it makes the tree of the first row with bare system calls, or
	// serves a walled process.
	if len(os.Args) == 4 && (os.Args[1] == "bare" || os.Args[1] == walledArg) {
		child := bare
		if os.Args[1] == walledArg {
			child = serveWalled
		}
		if err := child(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	runs := flag.Int("n", 5, "counted runs of each pair")
	bin := flag.String("bin", "bin", "directory with the built binaries")
	where := flag.String("dir", "", "directory to work in, on the file system to measure")
	only := flag.String("only", "", "measure this part alone: apply, scaling, validate, cold, start, jail, durability, receipts, owned or signing")
	flag.Parse()
	if err := bench(*bin, *where, *only, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(bin, where, only string, runs int) error {
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
	found := only == ""
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"apply", b.apply}, {"scaling", b.scaling}, {"validate", b.validate}, {"cold", b.cold}, {"start", b.startUp}, {"jail", b.jail},
		{"durability", b.durability}, {"receipts", b.receipts}, {"owned", b.owned}, {"signing", b.signing},
	} {
		if only != "" && only != part.name {
			continue
		}
		found = true
		if err := part.measure(); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("there is no part %q to measure", only)
	}
	return nil
}
