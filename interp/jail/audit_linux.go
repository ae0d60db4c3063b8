package jail

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// auditABI is the first Landlock version whose denials the kernel's audit
// records.
const auditABI = 7

// Types of audit messages (linux/audit.h).
const (
	auditGet            = 1000
	auditLandlockAccess = 1423
	auditLandlockDomain = 1424
	auditReadLog        = 1 // multicast group
)

// What a report can lack.
const (
	gapPartial = "of what the command tried, only denials by landlock are reported: calls refused by the system call filter " +
		"and names that do not exist in its private root are not"
	gapABI    = "the kernel records no denials before landlock abi 7 (Linux 6.15)"
	gapRoot   = "the kernel tells of denials only to root (CAP_AUDIT_READ): run the same command as root to see them"
	gapOff    = "the kernel's audit is off, so no denial is recorded: turn it on as root with `auditctl -e 1`, run again, and off with `auditctl -e 0`"
	gapAbsent = "this kernel has no audit, so no denial is recorded"
)

// quiet is for how long a record may be missing after the end of the command.
const quiet = 100 * time.Millisecond

// An audit hears the kernel's records of denials.
type audit struct {
	fd      int
	token   string // what our command's process is called until its exec
	done    chan struct{}
	ended   chan struct{}
	records denials
}

// listen starts to hear records, or says why there are none.
func listen(s Support) (a *audit, gap string) {
	if s.Landlock < auditABI {
		return nil, gapABI
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return nil, gapAbsent
	}
	if gap := hear(fd); gap != "" {
		unix.Close(fd)
		return nil, gap
	}
	var random [4]byte
	rand.Read(random[:])
	a = &audit{fd: fd, token: "jail-" + hex.EncodeToString(random[:]), done: make(chan struct{}), ended: make(chan struct{})}
	a.records.token = a.token
	go a.read()
	return a, gapPartial
}

// hear asks whether audit is on and joins those whom it tells.
func hear(fd int) (gap string) {
	request := make([]byte, unix.NLMSG_HDRLEN)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], auditGet)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST)
	err := errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: quiet.Microseconds()}),
		unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	if err != nil {
		return gapRoot
	}
	answer := make([]byte, 8<<10)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	// The state: a mask, then whether it is on.
	const enabled = unix.NLMSG_HDRLEN + 4
	switch {
	case err != nil || n < enabled+4 || binary.NativeEndian.Uint16(answer[4:]) != auditGet:
		return gapRoot
	case binary.NativeEndian.Uint32(answer[enabled:]) == 0:
		return gapOff
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: auditReadLog}); err != nil {
		return gapRoot
	}
	return ""
}

func (a *audit) read() {
	defer close(a.ended)
	buf := make([]byte, 16<<10)
	for {
		n, _, err := unix.Recvfrom(a.fd, buf, 0)
		switch {
		case err == nil && n >= unix.NLMSG_HDRLEN:
			a.records.add(binary.NativeEndian.Uint16(buf[4:]), string(buf[unix.NLMSG_HDRLEN:n]))
		case err == unix.EAGAIN || err == unix.EINTR:
			select {
			case <-a.done:
				return
			default:
			}
		case err != nil && err != unix.ENOBUFS:
			return
		}
	}
}

// end returns what was recorded, each denial once.
func (a *audit) end() []Denial {
	close(a.done)
	<-a.ended
	unix.Close(a.fd)
	return a.records.of()
}

// denials are those of all Landlock domains that there are records of, and
// which of these are ours. A domain is introduced only at its first denial, and
// by the name that its first process had.
type denials struct {
	token  string
	ours   []string // domains
	denied map[string][]Denial
}

// add takes in one record.
func (d *denials) add(kind uint16, text string) {
	_, text, _ = strings.Cut(text, "): ")
	f := fields(text)
	switch kind {
	case auditLandlockDomain:
		if f["comm"] == d.token {
			d.ours = append(d.ours, f["domain"])
		}
	case auditLandlockAccess:
		if d.denied == nil {
			d.denied = map[string][]Denial{}
		}
		path := f["path"]
		if port := f["dest"]; port != "" {
			path = "port " + port
		}
		denial := Denial{What: f["blockers"], Path: path, By: "landlock"}
		if list := d.denied[f["domain"]]; !slices.Contains(list, denial) {
			d.denied[f["domain"]] = append(list, denial)
		}
	}
}

func (d *denials) of() []Denial {
	var out []Denial
	for _, domain := range d.ours {
		out = append(out, d.denied[domain]...)
	}
	return out
}

// fields splits the fields of a record: name=value, with values quoted, or in
// hexadecimal digits where a quoted one would not be safe to show.
func fields(text string) map[string]string {
	out := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " ") {
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			break
		}
		var value string
		if quoted, found := strings.CutPrefix(rest, `"`); found {
			value, text, _ = strings.Cut(quoted, `"`)
		} else {
			value, text, _ = strings.Cut(rest, " ")
			if name == "path" || name == "comm" {
				if raw, err := hex.DecodeString(value); err == nil {
					value = string(raw)
				}
			}
		}
		out[name] = strings.Trim(strconv.QuoteToGraphic(value), `"`)
	}
	return out
}
