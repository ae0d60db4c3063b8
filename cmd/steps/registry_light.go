//go:build light

package main

import "github.com/spf13/cobra"

func newRegistry(*terminal) *cobra.Command { return delegated(verbRegistry) }
func newPush(*terminal) *cobra.Command     { return delegated(verbPush) }
func newAttach(*terminal) *cobra.Command   { return delegated(verbAttach) }
func newPull(*terminal) *cobra.Command     { return delegated(verbPull) }

// withBatch changes nothing: the full build has the flags.
func withBatch(cmd *cobra.Command, _ *terminal) *cobra.Command { return cmd }
