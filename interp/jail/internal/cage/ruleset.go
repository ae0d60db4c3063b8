//go:build linux

package cage

import (
	"errors"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// scopeABI is the first Landlock version that confines signals.
const scopeABI = 6

// configs are the Landlock versions that the jail knows, everything each can
// handle handled. Which one is used is decided by the caller and enforced
// here, or the run is refused; nothing falls back.
var configs = map[uint32]landlock.Config{
	3: landlock.V3, 4: landlock.V4, 5: landlock.V5, 6: landlock.V6, 7: landlock.V7,
	8: landlock.V8, 9: landlock.V9, 10: landlock.V10, 11: landlock.V11,
}

// Rights of a grant on a directory and on a file. Making sockets and device
// nodes and controlling devices are handled by every ruleset and granted by
// none.
const (
	readDir  = ll.AccessFSReadFile | ll.AccessFSReadDir
	writeDir = readDir | ll.AccessFSWriteFile | ll.AccessFSTruncate |
		ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeFifo |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer

	readFile  = ll.AccessFSReadFile
	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
)

// devices are granted to every command: they hold nothing and keep nothing.
var devices = []struct {
	path   string
	access uint64
}{
	{"/dev/null", ll.AccessFSReadFile | ll.AccessFSWriteFile},
	{"/dev/zero", ll.AccessFSReadFile | ll.AccessFSWriteFile},
	{"/dev/full", ll.AccessFSReadFile | ll.AccessFSWriteFile},
	{"/dev/random", ll.AccessFSReadFile},
	{"/dev/urandom", ll.AccessFSReadFile},
}

// A ruleset is a built Landlock ruleset, ready for landlock_restrict_self.
type ruleset struct {
	fd    int
	flags uint32
}

// newRuleset builds the one layer that confines the command.
func newRuleset(order wire.Order) (ruleset, error) {
	config, ok := configs[order.ABI]
	if !ok {
		return ruleset{}, refuse(nil, "no landlock configuration for abi %d", order.ABI)
	}
	if order.Network {
		config.HandledAccessNet = 0
	}
	fd, flags, err := config.NewRulesetFD()
	if err == nil && fd < 0 {
		err = errors.New("the ruleset is empty")
	}
	if err != nil {
		return ruleset{}, refuse(err, "landlock abi %d", order.ABI)
	}
	for _, g := range order.Grants {
		if err := grant(fd, g); err != nil {
			return ruleset{}, refuse(err, "granting %q", g.Path)
		}
	}
	for _, port := range order.Ports {
		if err := ll.LandlockAddNetPortRule(fd, &ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(port)}, 0); err != nil {
			return ruleset{}, refuse(err, "granting port %d", port)
		}
	}
	if order.Namespaces {
		for _, dir := range newRoot(order).own {
			if err := grant(fd, wire.Grant{Path: dir, Access: wire.Read | wire.Write}); err != nil {
				return ruleset{}, refuse(err, "granting %q", dir)
			}
		}
	}
	for _, dev := range devices {
		path, kind, err := Open(dev.path)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return ruleset{}, refuse(err, "granting %q", dev.path)
		}
		if kind == unix.S_IFCHR {
			err = addRule(fd, path, dev.access)
		}
		unix.Close(path)
		if err != nil {
			return ruleset{}, refuse(err, "granting %q", dev.path)
		}
	}
	if order.Token != "" {
		flags |= ll.FlagRestrictSelfLogNewExecOn
	}
	return ruleset{fd, flags}, nil
}

func grant(ruleset int, g wire.Grant) error {
	fd, kind, err := Open(g.Path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var access uint64
	switch kind {
	case unix.S_IFDIR:
		access = readDir
		if g.Access&wire.Write != 0 {
			access |= writeDir
		}
	case unix.S_IFREG:
		access = readFile
		if g.Access&wire.Write != 0 {
			access |= writeFile
		}
	default:
		return errKind
	}
	if g.Access&wire.Exec != 0 {
		access |= ll.AccessFSExecute
	}
	return addRule(ruleset, fd, access)
}

func addRule(ruleset, path int, access uint64) error {
	return ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{ParentFd: path, AllowedAccess: access}, 0)
}
