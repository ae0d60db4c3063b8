//go:build !linux

package fsroot

import (
	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

const openFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openRoot(real string) (int, error) { return unix.Open(real, openFlags, 0) }

func openBeneath(fd int, rel string) (int, error) { return openByComponent(fd, rel) }

func stampOf(st *unix.Stat_t) changeset.Stamp {
	return changeset.Stamp{
		Dev: uint64(st.Dev), Ino: st.Ino, Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid,
		Nlink: uint64(st.Nlink), Size: st.Size, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(),
	}
}
