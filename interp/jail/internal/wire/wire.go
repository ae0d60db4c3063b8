package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is the first thing on the wire. It changes with every change of the
// encoding or of its meaning.
const Version = 2

// Arg0 and Arg1 are the whole argument list of a helper process.
const (
	Arg0 = "steps-jail"
	Arg1 = "supervise"
)

// Canary is the first argument of a helper that is the command in a jail that is
// only tried out.
const Canary = "steps-jail-canary"

// Descriptors of a helper process beyond the standard three.
const (
	OrderFD   = 3 // sealed memory with the Order
	ControlFD = 4 // pipe: its end of file means stop
	ReportFD  = 5 // pipe: takes the Report
	HelperFD  = 6 // the helper's own file, for its exec; of no use after it
)

// MaxSize bounds an encoded message, in bytes.
const MaxSize = 8 << 20

// Access is a set of rights on a path.
type Access uint32

// Rights on a path.
const (
	Read Access = 1 << iota
	Exec
	Write
)

// A Grant gives rights on a file, or on a directory and all it holds.
type Grant struct {
	Path   string
	Access Access
}

// A Link is a symbolic link of the command's root directory.
type Link struct {
	Path   string
	Target string // as the link has it
}

// A Layer is an overlay file system: its directories are lower and mount point,
// upper and work.
type Layer struct {
	Dir, Upper, Work string
}

// An Order is all that the helper needs to know. Limits are numbers for
// setrlimit; zero means none.
type Order struct {
	ABI        uint32 // Landlock version to enforce, exactly
	Namespaces bool   // the helper is the first process of namespaces of its own
	Network    bool
	Ports      []uint16 // to which TCP may connect
	Filter     []uint64 // the system call filter, an instruction each as the kernel has it
	Token      string   // name of the command's process until its exec, to tell its Landlock domain by; or empty
	Grants     []Grant
	Links      []Link  // only with Namespaces
	Layers     []Layer // only with Namespaces
	Dir        string
	Path       string
	Args       []string // argument zero included
	Env        []string

	CPUSeconds, FileSize, OpenFiles, Processes, Memory uint64
}

// Outcome says how an order ended.
type Outcome uint32

// Outcomes.
const (
	Refused     Outcome = iota + 1 // no jail; Errno, if not zero, and Message say why
	NotExecuted                    // the jail stood, the command could not be executed; Errno says why
	Exited                         // Code is the exit status
	Signaled                       // Code is the signal
	NotLayered                     // layer number Code could not be mounted; Errno and Message say why
	NoRoot                         // the namespaces gave no root directory; Errno and Message say why
)

// A Report is the helper's only answer.
type Report struct {
	Outcome Outcome
	Code    uint32
	Errno   uint32
	Message string
}

// Encode returns o as bytes.
func (o Order) Encode() []byte {
	e := encoder{}
	e.number(Version)
	e.number(uint64(o.ABI))
	e.flag(o.Namespaces)
	e.flag(o.Network)
	e.number(uint64(len(o.Ports)))
	for _, port := range o.Ports {
		e.number(uint64(port))
	}
	e.number(uint64(len(o.Filter)))
	for _, instruction := range o.Filter {
		e.number(instruction)
	}
	e.text(o.Token)
	e.number(uint64(len(o.Grants)))
	for _, g := range o.Grants {
		e.text(g.Path)
		e.number(uint64(g.Access))
	}
	e.number(uint64(len(o.Links)))
	for _, l := range o.Links {
		e.text(l.Path)
		e.text(l.Target)
	}
	e.number(uint64(len(o.Layers)))
	for _, l := range o.Layers {
		e.text(l.Dir)
		e.text(l.Upper)
		e.text(l.Work)
	}
	e.text(o.Dir)
	e.text(o.Path)
	e.texts(o.Args)
	e.texts(o.Env)
	for _, n := range []uint64{o.CPUSeconds, o.FileSize, o.OpenFiles, o.Processes, o.Memory} {
		e.number(n)
	}
	return e.out
}

// DecodeOrder reverses [Order.Encode]. Anything that Encode would not have
// written is an error.
func DecodeOrder(data []byte) (Order, error) {
	d := decoder{in: data}
	d.version()
	var o Order
	o.ABI = d.small()
	o.Namespaces = d.flag()
	o.Network = d.flag()
	for range d.count() {
		o.Ports = append(o.Ports, d.port())
	}
	if n := d.count(); n > 0 {
		o.Filter = make([]uint64, n)
		for i := range o.Filter {
			o.Filter[i] = d.number()
		}
	}
	o.Token = d.text()
	for range d.count() {
		o.Grants = append(o.Grants, Grant{Path: d.text(), Access: Access(d.small())})
	}
	for range d.count() {
		o.Links = append(o.Links, Link{Path: d.text(), Target: d.text()})
	}
	for range d.count() {
		o.Layers = append(o.Layers, Layer{Dir: d.text(), Upper: d.text(), Work: d.text()})
	}
	o.Dir = d.text()
	o.Path = d.text()
	o.Args = d.texts()
	o.Env = d.texts()
	for _, n := range []*uint64{&o.CPUSeconds, &o.FileSize, &o.OpenFiles, &o.Processes, &o.Memory} {
		*n = d.number()
	}
	if err := d.end(); err != nil {
		return Order{}, fmt.Errorf("jail order: %w", err)
	}
	return o, nil
}

// Encode returns r as bytes.
func (r Report) Encode() []byte {
	e := encoder{}
	e.number(Version)
	e.number(uint64(r.Outcome))
	e.number(uint64(r.Code))
	e.number(uint64(r.Errno))
	e.text(r.Message)
	return e.out
}

// DecodeReport reverses [Report.Encode]. Anything that Encode would not have
// written is an error.
func DecodeReport(data []byte) (Report, error) {
	d := decoder{in: data}
	d.version()
	r := Report{Outcome: Outcome(d.small()), Code: d.small(), Errno: d.small(), Message: d.text()}
	if d.err == nil && (r.Outcome < Refused || r.Outcome > NoRoot) {
		d.err = fmt.Errorf("unknown outcome %d", r.Outcome)
	}
	if err := d.end(); err != nil {
		return Report{}, fmt.Errorf("jail report: %w", err)
	}
	return r, nil
}

type encoder struct{ out []byte }

func (e *encoder) number(n uint64) { e.out = binary.LittleEndian.AppendUint64(e.out, n) }

func (e *encoder) flag(b bool) {
	if b {
		e.number(1)
	} else {
		e.number(0)
	}
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.out = append(e.out, s...)
}

func (e *encoder) texts(list []string) {
	e.number(uint64(len(list)))
	for _, s := range list {
		e.text(s)
	}
}

// A decoder keeps its first error and returns zero values after it.
type decoder struct {
	in  []byte
	err error
}

var errShort = errors.New("cut short")

func (d *decoder) number() uint64 {
	if d.err == nil && len(d.in) < 8 {
		d.err = errShort
	}
	if d.err != nil {
		return 0
	}
	n := binary.LittleEndian.Uint64(d.in)
	d.in = d.in[8:]
	return n
}

func (d *decoder) version() {
	if v := d.number(); d.err == nil && v != Version {
		d.err = fmt.Errorf("version %d, this build speaks %d: the helper is not of the same build as its caller", v, Version)
	}
}

func (d *decoder) small() uint32 {
	n := d.number()
	if d.err == nil && n > 1<<32-1 {
		d.err = fmt.Errorf("number %d is out of range", n)
	}
	return uint32(n)
}

func (d *decoder) port() uint16 {
	n := d.number()
	if d.err == nil && n > 1<<16-1 {
		d.err = fmt.Errorf("port %d is out of range", n)
	}
	return uint16(n)
}

func (d *decoder) flag() bool {
	n := d.number()
	if d.err == nil && n > 1 {
		d.err = fmt.Errorf("flag is %d", n)
	}
	return n == 1
}

// count returns a number of items, each of which takes at least eight bytes.
func (d *decoder) count() int {
	n := d.number()
	if d.err == nil && n > uint64(len(d.in)/8) {
		d.err = errShort
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.number()
	if d.err == nil && n > uint64(len(d.in)) {
		d.err = errShort
	}
	if d.err != nil {
		return ""
	}
	s := string(d.in[:n])
	d.in = d.in[n:]
	return s
}

func (d *decoder) texts() []string {
	var list []string
	for range d.count() {
		list = append(list, d.text())
	}
	return list
}

func (d *decoder) end() error {
	if d.err == nil && len(d.in) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.in))
	}
	return d.err
}
