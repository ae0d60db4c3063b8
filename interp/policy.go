package interp

import (
	"cmp"
	"time"

	"steps.example/interp/jail"
)

// Policy is all that one command gets: what its jail lets it reach, and what it
// may leave behind. It follows from the step, the layout and the machine, holds
// for this command alone, and goes into the plan and the receipt whole. Paths
// are physical.
type Policy struct {
	// Reads and Execs are what it may read, and execute, beside the system's own
	// programs and libraries, which are SystemReads and SystemExecs.
	Reads       []string `json:"reads,omitempty"`
	Execs       []string `json:"execs,omitempty"`
	SystemReads []string `json:"system_reads,omitempty"`
	SystemExecs []string `json:"system_execs,omitempty"`
	// Writes are the directories and files that it may change. It also gets a
	// private home and temporary directory, which is gone afterwards.
	Writes []string `json:"writes,omitempty"`
	// Absent are writable paths of the step at which nothing is. Nothing is made
	// there, so the command cannot write to them.
	Absent []string `json:"absent,omitempty"`
	// Network is any address and port; Ports are TCP ports at any address.
	Network bool     `json:"network,omitempty"`
	Ports   []uint16 `json:"tcp_ports,omitempty"`
	// Env are the step's own variables, NAME=VALUE. PassEnv are names of the
	// user's; their values are in no plan and no receipt. A variable of both is
	// the step's.
	Env     []string `json:"env,omitempty"`
	PassEnv []string `json:"pass_env,omitempty"`
	Limits  Limits   `json:"limits"`
	// Outputs are all that it may create, change or delete in Writes; nil where
	// the step declares none, and anything goes.
	Outputs []Output `json:"outputs,omitzero"`
	// Protect are files and directories that it must leave as they are, beside
	// what no grant reaches: they are compared afterwards.
	Protect []string `json:"protect,omitempty"`
	// Gaps are guarantees that the user accepts to miss, Require optional ones
	// that must be kept. Guarantees says by which mechanism each is kept here.
	Gaps       []string          `json:"gaps,omitempty"`
	Require    []string          `json:"require,omitempty"`
	Guarantees map[string]string `json:"guarantees,omitempty"`
}

// Limits bound a command. All but Timeout and Output hold for each of its
// processes by itself. Before the machine has settled it, 0 means its default;
// afterwards, no limit.
type Limits struct {
	Timeout   int   `json:"timeout_seconds,omitempty"`
	CPU       int   `json:"cpu_seconds,omitempty"`
	FileSize  int64 `json:"file_size,omitempty"`
	OpenFiles int   `json:"open_files,omitempty"`
	Processes int   `json:"processes,omitempty"`
	Memory    int64 `json:"memory,omitempty"`
	Output    int   `json:"output,omitempty"`
}

// Output is something that a command is to make.
type Output struct {
	// Path is physical; with Any it is a pattern.
	Path       string `json:"path"`
	Any        bool   `json:"any,omitempty"`
	Kind       string `json:"kind"` // as the document has it
	MaxSize    int64  `json:"max_size,omitempty"`
	Executable bool   `json:"executable,omitempty"`
	// within is the directory that holds all that the pattern matches.
	within string
}

func (l Limits) jail() jail.Limits {
	return jail.Limits{
		Wall:        time.Duration(l.Timeout) * time.Second,
		CPU:         time.Duration(l.CPU) * time.Second,
		FileSize:    l.FileSize,
		OpenFiles:   int64(l.OpenFiles),
		Processes:   int64(l.Processes),
		Memory:      l.Memory,
		OutputBytes: int64(l.Output),
	}
}

// DefaultLimits are the limits of a command whose step sets none.
func DefaultLimits() Limits {
	d := jail.DefaultLimits()
	return Limits{
		Timeout:   int(d.Wall / time.Second),
		CPU:       int(d.CPU / time.Second),
		FileSize:  d.FileSize,
		OpenFiles: int(d.OpenFiles),
		Processes: int(d.Processes),
		Memory:    d.Memory,
		Output:    int(d.OutputBytes),
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		Timeout:   cmp.Or(l.Timeout, d.Timeout),
		CPU:       cmp.Or(l.CPU, d.CPU),
		FileSize:  cmp.Or(l.FileSize, d.FileSize),
		OpenFiles: cmp.Or(l.OpenFiles, d.OpenFiles),
		Processes: cmp.Or(l.Processes, d.Processes),
		Memory:    cmp.Or(l.Memory, d.Memory),
		Output:    cmp.Or(l.Output, d.Output),
	}
}
