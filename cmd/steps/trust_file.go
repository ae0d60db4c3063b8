package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxPolicyFile bounds a trust policy, in bytes; package signer takes no larger one.
const maxPolicyFile = 1 << 20

// readPolicy reads a trust policy, and refuses one that somebody else can write: who can
// write it decides whom this user, or root, trusts. Groups are let pass with a warning,
// since many systems give each user one of their own.
func readPolicy(t *terminal, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &exitError{code: exitTrust, err: err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &exitError{code: exitTrust, err: err}
	}
	mode := info.Mode()
	owner := uint32(os.Geteuid())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = st.Uid
	}
	const whom = "and so decide whom you trust"
	switch {
	case mode.IsRegular() && mode.Perm()&0o002 != 0:
		return nil, &trustError{Kind: "policy", Msg: fmt.Sprintf("trust policy %s has mode %04o: everybody can write it, %s; run chmod o-w on it, and read it again", path, mode.Perm(), whom)}
	case mode.IsRegular() && owner != 0 && int(owner) != os.Geteuid():
		return nil, &trustError{Kind: "policy", Msg: fmt.Sprintf("trust policy %s belongs to uid %d, who can write it, %s; use a copy of your own, or of root's", path, owner, whom)}
	case mode.IsRegular() && mode.Perm()&0o020 != 0:
		t.talk("WARNING: trust policy %s has mode %04o: its group can write it, %s", path, mode.Perm(), whom)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPolicyFile+1))
	if err != nil {
		return nil, &exitError{code: exitTrust, err: fmt.Errorf("trust policy: %w", err)}
	}
	if len(data) > maxPolicyFile {
		return nil, &trustError{Kind: "policy", Msg: fmt.Sprintf("trust policy %s has more than %d bytes", path, maxPolicyFile)}
	}
	return data, nil
}
