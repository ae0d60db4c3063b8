package race

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// orders are what an attacker process is told.
type orders struct {
	Root, Aside, Mirror, Apart string
	Targets                    []string
	Seed                       uint64
	// NoHardLinks leaves out that attack.
	NoHardLinks bool
}

const (
	begin = 'b'
	end   = 'e'
)

// playAttacker attacks from each begin to the next end on standard input, and answers
// that with how often it struck, in 8 bytes.
func playAttacker(data string) error {
	var o orders
	if err := json.Unmarshal([]byte(data), &o); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	in := make([]byte, 1)
	for {
		if _, err := io.ReadFull(os.Stdin, in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil || in[0] != begin {
			return fmt.Errorf("order %q: %w", in, err)
		}
		n, err := o.attack(rng)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(binary.LittleEndian.AppendUint64(nil, n)); err != nil {
			return err
		}
	}
}

// attack strikes until it is told to end.
func (o *orders) attack(rng *rand.Rand) (uint64, error) {
	a, err := newAttacker(o.Root, o.Aside, o.Mirror, o.Apart)
	if err != nil {
		return 0, err
	}
	defer a.close()
	var left []func()
	defer func() {
		for _, back := range left {
			back()
		}
	}()
	var n uint64
	for !told() {
		by := attacks[rng.IntN(len(attacks))]
		if o.NoHardLinks && by.name == hardLinked {
			continue
		}
		back, err := a.strike(by, o.Targets[rng.IntN(len(o.Targets))])
		if err != nil {
			continue
		}
		n++
		pause(rng)
		// Now and then it stays.
		if rng.IntN(4) == 0 && len(left) < 16 {
			left = append(left, back)
		} else {
			back()
		}
	}
	return n, nil
}

// pause is as long as a system call or a few.
func pause(rng *rand.Rand) {
	for until := time.Now().Add(time.Duration(rng.IntN(200)) * time.Microsecond); time.Now().Before(until); {
	}
}

// told reports whether there is an order.
func told() bool {
	fds := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	if err != nil || n == 0 {
		return false
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	return true
}

// process is an attacker that runs.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(o orders) (*process, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, partArg, string(data))}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// during has the attacker strike while f runs, and says how often it did.
func (p *process) during(f func()) (int, error) {
	if _, err := p.in.Write([]byte{begin}); err != nil {
		return 0, fmt.Errorf("attacker: %w", err)
	}
	f()
	if _, err := p.in.Write([]byte{end}); err != nil {
		return 0, fmt.Errorf("attacker: %w", err)
	}
	answer := make([]byte, 8)
	if _, err := io.ReadFull(p.out, answer); err != nil {
		return 0, fmt.Errorf("attacker: %w", err)
	}
	return int(binary.LittleEndian.Uint64(answer)), nil
}

// close ends the attacker.
func (p *process) close() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}
