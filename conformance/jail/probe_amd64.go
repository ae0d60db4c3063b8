//go:build linux

package jail

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// archProbes are about the processor's other ways into the kernel, which a
// filter must know.
var archProbes = []probe{
	denied(71, "x32 system call", "kernel", "ENOSYS SIGSYS", func(*world) error {
		const x32 = 0x40000000
		return raw(x32 | unix.SYS_GETPID)
	}).butHard("this kernel has no x32 calls"),
	denied(71, "system call of 32 bits", "kernel", "SIGSYS SIGSEGV SIGILL", func(w *world) error {
		if err := os.WriteFile(w.in("int80"), int80, 0o700); err != nil {
			return fmt.Errorf("writing: %v", err)
		}
		return unix.Exec(w.in("int80"), []string{"int80"}, nil)
	}).butHard("this kernel has no calls of 32 bits").widened(executeWritable),
}

// int80 is a program that asks for its process number by the system call of 32
// bits, and exits 0 if it got one and 1 if it got an error.
var int80 = program([]byte{
	0xb8, 20, 0, 0, 0, // mov eax, 20 (getpid of 32 bits)
	0xcd, 0x80, // int 0x80
	0x89, 0xc7, // mov edi, eax
	0xc1, 0xef, 31, // shr edi, 31
	0xb8, 60, 0, 0, 0, // mov eax, 60 (exit of 64 bits)
	0x0f, 0x05, // syscall
})

// program is an ELF file with one segment that holds code.
func program(code []byte) []byte {
	const base, head, segment = 0x400000, 64, 56
	var b bytes.Buffer
	put := func(v any) {
		// A buffer takes everything.
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	put([16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1})
	put([]uint16{2, 62}) // executable, x86-64
	put(uint32(1))
	put([]uint64{base + head + segment, head, 0}) // entry, program headers, section headers
	put(uint32(0))
	put([]uint16{head, segment, 1, 0, 0, 0})
	put([]uint32{1, 5}) // load, readable and executable
	size := uint64(head + segment + len(code))
	put([]uint64{0, base, base, size, size, 0x1000})
	put(code)
	return b.Bytes()
}
