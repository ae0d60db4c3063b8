package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// Where root's broker has its configuration and its state. A packager may set other
// places with -ldflags -X.
var (
	brokerConfigDir = "/etc/steps/broker"
	brokerStateDir  = "/var/lib/steps/broker"
)

// The files of the configuration.
const (
	brokerFile       = "broker.json"
	brokerPolicyFile = "trust.json"
	maxBrokerFile    = 4 << 20
)

// brokerConfig is what root lets the broker do. The schema says the same, see #Broker.
type brokerConfig struct {
	Comment      string   `json:"comment,omitzero"`
	Version      int      `json:"version"`
	Within       []string `json:"within"`
	Capabilities []string `json:"capabilities"`
}

var (
	brokerDir        = regexp.MustCompile(`^(/[^/\x00-\x1f]*[^/.\x00-\x1f][^/\x00-\x1f]*)+$`)
	brokerCapability = regexp.MustCompile(`^(sudo|ownership|write:[a-z_]+)$`)
)

func parseBrokerConfig(data []byte) (*brokerConfig, error) {
	c := &brokerConfig{}
	if err := json.Unmarshal(bytes.TrimSpace(data), c, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if c.Version != 1 || len(c.Within) == 0 || len(c.Within) > 64 || c.Capabilities == nil {
		return nil, errors.New("must have the version 1, directories in within (64 at most), and capabilities")
	}
	for _, dir := range c.Within {
		if !brokerDir.MatchString(dir) {
			return nil, fmt.Errorf("within: %q must be an absolute path without . and .., and not /", dir)
		}
	}
	for _, capability := range c.Capabilities {
		if !brokerCapability.MatchString(capability) {
			return nil, fmt.Errorf("capabilities: %q cannot be allowed to a broker", capability)
		}
	}
	return c, nil
}

// readRoots reads a file that only root can have written: it, and every directory above
// it, belongs to root and nobody else can write to them. A directory in which others may
// only make entries of their own, like /tmp, is good above one of root's.
func readRoots(path string) ([]byte, error) {
	fail := func(at string, why any) error {
		return &trustError{Kind: "broker", Msg: fmt.Sprintf("%s: %v; only root may be able to decide what the broker does", at, why)}
	}
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fail("/", err)
	}
	at, parts := "/", strings.Split(strings.TrimPrefix(filepath.Clean(path), "/"), "/")
	for i, name := range parts {
		if err := roots(fd, true); err != nil {
			unix.Close(fd)
			return nil, fail(at, err)
		}
		flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
		if i < len(parts)-1 {
			flags |= unix.O_DIRECTORY
		}
		next, err := unix.Openat(fd, name, flags, 0)
		unix.Close(fd)
		at = filepath.Join(at, name)
		if err != nil {
			return nil, fail(at, err)
		}
		fd = next
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := roots(fd, false); err != nil {
		return nil, fail(at, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBrokerFile+1))
	if err == nil && len(data) > maxBrokerFile {
		err = fmt.Errorf("has more than %d bytes", maxBrokerFile)
	}
	if err != nil {
		return nil, fail(at, err)
	}
	return data, nil
}

// roots insists that only root can write to an open file or directory.
func roots(fd int, dir bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	kind, sticky := uint32(unix.S_IFREG), false
	if dir {
		kind, sticky = unix.S_IFDIR, uint32(st.Mode)&unix.S_ISVTX != 0
	}
	switch {
	case uint32(st.Mode)&unix.S_IFMT != kind:
		return errors.New("is not a plain file")
	case st.Uid != 0:
		return fmt.Errorf("belongs to uid %d", st.Uid)
	case st.Mode&0o022 != 0 && !sticky:
		return fmt.Errorf("has mode %04o, others can write to it", st.Mode&0o7777)
	}
	return nil
}

// allows are those of the capabilities that the configuration has.
func (c *brokerConfig) allows(asked []string) []string {
	return slices.DeleteFunc(slices.Clone(asked), func(a string) bool { return !slices.Contains(c.Capabilities, a) })
}
