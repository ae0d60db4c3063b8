package fsroot

import (
	"sync"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// O_PATH needs only search permission on the way, so directories that may be
// passed through but not listed work as they do for plain path names.
const openFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openRoot(real string) (int, error) {
	return unix.Open(real, openFlags, 0)
}

var haveOpenat2 = sync.OnceValue(func() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: openFlags})
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
})

// openBeneath opens the directory rel below the directory fd, following no
// link in any component.
func openBeneath(fd int, rel string) (int, error) {
	if !haveOpenat2() {
		return openByComponent(fd, rel)
	}
	for {
		got, err := unix.Openat2(fd, rel, &unix.OpenHow{
			Flags:   openFlags,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		// EAGAIN: a rename went on elsewhere and the kernel could not vouch for
		// the walk (openat2(2)).
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		return got, err
	}
}

func stampOf(st *unix.Stat_t) changeset.Stamp {
	return changeset.Stamp{
		Dev: uint64(st.Dev), Ino: st.Ino, Mode: st.Mode, UID: st.Uid, GID: st.Gid,
		Nlink: uint64(st.Nlink), Size: st.Size, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(),
	}
}
