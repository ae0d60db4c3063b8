package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

func playPart(role, data string) error {
	decode := func(v any) error { return json.Unmarshal([]byte(data), v) }
	if name, ok := strings.CutPrefix(role, "probe "); ok {
		p, known := findProbe(name)
		if !known {
			return fmt.Errorf("no probe %q", name)
		}
		var w world
		if err := decode(&w); err != nil {
			return err
		}
		return p.try(&w)
	}
	switch role {
	case "caller", "cases":
		var j job
		if err := decode(&j); err != nil {
			return err
		}
		runtime.LockOSThread()
		if role == "caller" {
			return becomeCaller(j)
		}
		runtime.UnlockOSThread()
		return runJob(j)
	case "guest":
		var g guest
		if err := decode(&g); err != nil {
			return err
		}
		return g.play()
	}
	return fmt.Errorf("no part %q", role)
}

// errnoName is the name of the error number in err, or nothing.
func errnoName(err error) string {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	if errno == unix.EOPNOTSUPP { // two names for one number
		return "EOPNOTSUPP"
	}
	return unix.ErrnoName(errno)
}
