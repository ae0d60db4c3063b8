package jail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"steps.example/interp"
)

// survivor makes an output, and leaves a process of its own session behind that
// changes it for ever, or until there is a file stop.
const survivor = `echo begun >out
(exec >/dev/null 2>&1; nohup sh -c 'while [ ! -e stop ]; do echo more >>out; sleep 0.01; done' &)
while [ "$(cat out)" = begun ]; do :; done`

// later is long enough for a survivor to be seen at work.
const later = 200 * time.Millisecond

// survivorCase: what became real is not changed by a process that the command
// left behind.
func survivorCase(ctx context.Context, s *site, r *Result) {
	r.Mechanism = "tree kill, new files"
	r.controlled(s.survivorControl(ctx))
	for _, mode := range []interp.CaptureMode{"", interp.CaptureSnapshot} {
		s.outlive(ctx, r, mode)
	}
}

func (s *site) outlive(ctx context.Context, r *Result, mode interp.CaptureMode) {
	p, err := s.newPrefix()
	if err != nil {
		r.fail("%v", err)
		return
	}
	defer p.store.Close()
	done, err := p.apply(ctx, handoff{outputs: oneOutput}, survivor, mode)
	if err != nil {
		r.Got = "refused"
		r.fail("%v", err)
		return
	}
	r.Got = cmp.Or(r.Got, "ended")
	changed, err := changes(p.at("out"))
	if err == nil && changed {
		r.Got = "alive"
		r.fail("the output changes after the apply (capture %q)", mode)
		err = os.WriteFile(p.at("stop"), nil, 0o600)
	}
	if err != nil {
		r.fail("%v", err)
	}
	if drift, err := p.store.Verify(done.Receipt); err != nil || len(drift) > 0 {
		r.fail("the tree is not what the receipt says: %v %v", drift, err)
	}
}

func (s *site) survivorControl(ctx context.Context) error {
	dir, err := os.MkdirTemp(s.base, "survivor-")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-e", "-c", survivor)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	changed, err := changes(filepath.Join(dir, "out"))
	if err == nil && !changed {
		err = errors.New("nothing was left at work")
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600))
}

// changes reports whether a file gets other content in a while.
func changes(path string) (bool, error) {
	before, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	time.Sleep(later)
	after, err := os.ReadFile(path)
	return string(after) != string(before), err
}
