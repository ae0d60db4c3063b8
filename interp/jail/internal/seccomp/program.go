//go:build linux

package seccomp

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data. Arguments are 64 bits wide, little-endian on
// every architecture supported here.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

const allow = unix.SECCOMP_RET_ALLOW

func deny(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// A rule gives an answer to a system call when all conditions hold. Rules are
// tried in order and the first that fits decides.
type rule struct {
	nr     uint32
	answer uint32
	when   []cond
}

// A cond compares one half of an argument: it holds if the value, masked, is
// among values, or, with not, if it is not.
type cond struct {
	arg    uint32
	high   bool // the upper 32 bits
	mask   uint32
	values []uint32
	not    bool
}

// is holds if the lower 32 bits of an argument are among values. The kernel
// looks at no more than these for arguments of C type int and unsigned int.
func is(arg uint32, values ...uint32) cond { return cond{arg: arg, mask: 1<<32 - 1, values: values} }

// isNot is the opposite of is.
func isNot(arg uint32, values ...uint32) cond {
	return cond{arg: arg, mask: 1<<32 - 1, values: values, not: true}
}

// has holds if any bit of mask is set in an argument.
func has(arg uint32, mask uint32) cond {
	return cond{arg: arg, mask: mask, values: []uint32{0}, not: true}
}

// masked holds if an argument's bits under mask are among values.
func masked(arg, mask uint32, values ...uint32) cond {
	return cond{arg: arg, mask: mask, values: values}
}

func (c cond) but() cond {
	c.not = !c.not
	return c
}

// assemble turns rules into a program: another architecture is fatal, a number
// above newest or from foreign on gets ENOSYS, what no rule fits is allowed.
//
// Numbers are found by halving. The kernel runs every number through a new
// filter, to know which are always allowed: with one test after the other that
// alone took as long as starting a program.
func assemble(arch, newest uint32, rules []rule) []unix.SockFilter {
	prog := []unix.SockFilter{
		load(offArch),
		jump(unix.BPF_JEQ, arch, 1, 0),
		ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(offNr),
		// x32 calls carry bit 30 and are above newest too.
		jump(unix.BPF_JGT, newest, 0, 1),
		ret(deny(unix.ENOSYS)),
	}
	blocks := map[uint32][]unix.SockFilter{}
	for _, r := range rules {
		blocks[r.nr] = append(blocks[r.nr], r.block()...)
	}
	return append(prog, search(slices.Sorted(maps.Keys(blocks)), blocks)...)
}

// few numbers are tested one after the other.
const few = 4

// search is the code that finds the block of a number among the sorted ones
// given, and allows the others.
func search(numbers []uint32, blocks map[uint32][]unix.SockFilter) []unix.SockFilter {
	var code []unix.SockFilter
	if len(numbers) <= few {
		for _, nr := range numbers {
			block := blocks[nr]
			if len(block) > 1 { // conditions, which may fail
				block = append(slices.Clip(block), ret(allow))
			}
			code = append(code, jump(unix.BPF_JEQ, nr, 0, offset(len(block))))
			code = append(code, block...)
		}
		return append(code, ret(allow))
	}
	middle := len(numbers) / 2
	low, high := search(numbers[:middle], blocks), search(numbers[middle:], blocks)
	// The distance may be too long for a test; it is not for a plain jump.
	code = append(code, jump(unix.BPF_JGE, numbers[middle], 0, 1),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(low))})
	return slices.Concat(code, low, high)
}

// block is the code after the number has matched. It ends behind itself when a
// condition fails.
func (r rule) block() []unix.SockFilter {
	// From the end, as every jump needs the distance to it.
	code := []unix.SockFilter{ret(r.answer)}
	for i := len(r.when) - 1; i >= 0; i-- {
		code = append(r.when[i].code(len(code)), code...)
	}
	return code
}

// code tests c before rest instructions that run if it holds; what is to run
// otherwise comes right after those.
func (c cond) code(rest int) []unix.SockFilter {
	at := offArgs + 8*c.arg
	if c.high {
		at += 4
	}
	code := []unix.SockFilter{load(at)}
	if c.mask != 1<<32-1 {
		code = append(code, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: c.mask})
	}
	for i, v := range c.values {
		left := len(c.values) - 1 - i // tests still to come
		hit, miss := left, 0
		if c.not {
			hit = left + rest
		}
		if left == 0 && !c.not {
			miss = rest
		}
		code = append(code, jump(unix.BPF_JEQ, v, offset(hit), offset(miss)))
	}
	return code
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(op uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func ret(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

// offset narrows a jump. A rule too long for it is a fault in the table, and
// no filter is better than a wrong one.
func offset(n int) uint8 {
	if n < 0 || n > 255 {
		panic("BUG(steps): a seccomp rule is too long for a jump")
	}
	return uint8(n)
}
