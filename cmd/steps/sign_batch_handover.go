//go:build noregistry && !light

package main

import (
	"context"

	"github.com/spf13/pflag"
)

// runSignBatch has the build with the registry's store do it.
func runSignBatch(context.Context, *terminal, batchFlags, *pflag.FlagSet, string) error {
	return handOver(registryName)
}
