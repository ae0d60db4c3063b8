//go:build light || noregistry

package main

import "github.com/spf13/cobra"

func newRegistry(*terminal) *cobra.Command { return delegated(verbRegistry, registryName) }
func newPush(*terminal) *cobra.Command     { return delegated(verbPush, registryName) }
func newAttach(*terminal) *cobra.Command   { return delegated(verbAttach, registryName) }
func newPull(*terminal) *cobra.Command     { return delegated(verbPull, registryName) }
