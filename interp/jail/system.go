package jail

import (
	"path/filepath"
	"slices"
)

// systemDirs hold the programs and libraries of the system: all readable by
// everyone, none of them about one user or one machine's secrets.
var systemDirs = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/libx32", "/lib64",
	"/nix/store", "/gnu/store",
}

// systemFiles are the parts of /etc that ordinary programs need. The whole of
// /etc would, for root, hold password hashes and private keys.
var systemFiles = []string{
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
	"/etc/hosts", "/etc/resolv.conf", "/etc/gai.conf", "/etc/protocols", "/etc/services",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
	"/etc/ca-certificates", "/etc/fonts", "/etc/gitconfig", "/etc/mime.types", "/etc/os-release", "/etc/xml",
}

// SystemReads returns what programs of the system read to start and work: the
// system's own files and a few of /etc, as they are on this machine, links
// resolved. Users' files, /proc, /run and /tmp are not among them.
func SystemReads() []string { return resolved(append(slices.Clone(systemDirs), systemFiles...)) }

// SystemExecs returns the directories with the programs and libraries of the
// system, as they are on this machine, links resolved.
func SystemExecs() []string { return resolved(systemDirs) }

// resolved returns the paths that exist, with links resolved, without those that
// lie under another.
func resolved(paths []string) []string {
	var out []string
	for _, path := range paths {
		target, err := filepath.EvalSymlinks(path)
		if err != nil || slices.ContainsFunc(out, func(dir string) bool { return within(target, dir) }) {
			continue
		}
		out = append(out, target)
	}
	return out
}
