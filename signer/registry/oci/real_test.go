package oci

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// realRegistry starts Debian's docker-registry on a loopback port.
func realRegistry(t *testing.T) (address string) {
	t.Helper()
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("needs docker-registry on the PATH (Debian: docker-registry)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	l.Close()
	config := filepath.Join(t.TempDir(), "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %s}\n", t.TempDir(), address)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return address
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The whole way through a registry that others wrote, which has no referrers API.
func TestRealRegistry(t *testing.T) {
	t.Parallel()
	place := realRegistry(t) + "/acme/foo"
	t.Run("push attach pull", func(t *testing.T) { pushAttachPull(t, place) })
	t.Run("put", func(t *testing.T) { putTagged(t, place) })
}
