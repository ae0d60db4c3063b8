package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A Mutant is one sync or check that can be left out.
type Mutant struct {
	N    int    // from 1 on, in the order of files and places
	File string // base name
	Line int
	Func string // the function it is in, for methods with the receiver's type
	Kind string // sync, check, identity or flag
	Text string // the source that is left out, in one line
}

// Key names a mutant in a way that outlives edits around it.
func (m Mutant) Key() string { return m.File + " " + m.Func + " " + m.Kind + " " + m.Text }

// syncs are the functions and methods that make something durable, or that say,
// for recovery, that something is.
var syncs = map[string]bool{"durable": true, "fsync": true, "sync": true, "markBegun": true}

// identities are the predicates that tell one object, or version of it, from another.
var identities = map[string]bool{"sameVersion": true, "SameObject": true, "Unchanged": true}

// flags are what makes a call refuse something by itself.
var flags = map[string]bool{"O_NOFOLLOW": true, "O_EXCL": true, "RENAME_NOREPLACE": true}

// mutator collects the mutants of one file as insertions into its text.
type mutator struct {
	fset    *token.FileSet
	file    string
	src     []byte
	in      string
	next    int
	mutants []Mutant
	inserts []insert
}

type insert struct {
	at   int
	text string
	// Of two at one place, what closes comes first, and the wider opens first.
	closes bool
	width  int
}

// mutate gives the source with all mutants of a file in it, numbered from first
// on. Each is in force only if [support]'s variable says so.
func mutate(name string, src []byte, first int) ([]byte, []Mutant, error) {
	m := &mutator{fset: token.NewFileSet(), file: name, src: src, next: first}
	f, err := parser.ParseFile(m.fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			m.in = funcName(d)
			if d.Body != nil {
				ast.Inspect(d.Body, m.visit)
			}
		case *ast.GenDecl:
			m.in = "-"
			m.constants(d)
		}
	}
	return m.rewritten(), m.mutants, nil
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// constants makes variables of constants that have flags in them, so that they
// can change.
func (m *mutator) constants(d *ast.GenDecl) {
	if d.Tok != token.CONST || d.Lparen.IsValid() {
		return
	}
	before := len(m.mutants)
	ast.Inspect(d, m.visit)
	if len(m.mutants) > before {
		at := m.fset.Position(d.Pos()).Offset
		copy(m.src[at:], "var  ")
	}
}

func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		m.check(n.Cond, n.Body.List)
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, cond := range clause.(*ast.CaseClause).List {
					m.check(cond, clause.(*ast.CaseClause).Body)
				}
			}
		}
	case *ast.CallExpr:
		switch name := called(n); {
		case syncs[name] && !m.defines(name):
			m.add(n, "sync", "mutantSync(%d, func() error { return ", " })")
		case identities[name]:
			m.add(n, "identity", "mutantIs(%d, ", ")")
		case name == "Renameat2":
			for _, arg := range n.Args {
				if sel, ok := arg.(*ast.SelectorExpr); ok && flags[sel.Sel.Name] {
					m.add(sel, "flag", "uint(mutantFlag(%d, ", "))")
				}
			}
			return false
		}
	case *ast.SelectorExpr:
		if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "unix" && flags[n.Sel.Name] {
			m.add(n, "flag", "mutantFlag(%d, ", ")")
			return false
		}
	}
	return true
}

// defines reports whether this is where a sync is made of system calls: there is
// nothing to leave out but what its callers would.
func (m *mutator) defines(name string) bool {
	return strings.HasSuffix(m.in, "."+name) && m.in != "work."+name
}

func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// check adds the condition of an if or case that leads to a refusal.
func (m *mutator) check(cond ast.Expr, body []ast.Stmt) {
	if refuses(body) && !onlyErr(cond) {
		m.add(cond, "check", "mutantCheck(%d, ", ")")
	}
}

// refuses reports whether a block ends by making an error, or returning one.
func refuses(body []ast.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	var values []ast.Expr
	switch last := body[len(body)-1].(type) {
	case *ast.ReturnStmt:
		values = last.Results
	case *ast.AssignStmt:
		if to, ok := last.Lhs[len(last.Lhs)-1].(*ast.Ident); ok && to.Name == "err" && last.Tok == token.ASSIGN {
			if call, ok := last.Rhs[len(last.Rhs)-1].(*ast.CallExpr); ok && (called(call) == "Errorf" || called(call) == "moved") {
				values = last.Rhs
			}
		}
	}
	if len(values) == 0 {
		return false
	}
	switch last := values[len(values)-1].(type) {
	case *ast.Ident:
		return last.Name == "err" || strings.HasPrefix(last.Name, "err") || strings.HasPrefix(last.Name, "Err")
	case *ast.CallExpr:
		switch called(last) {
		case "Errorf", "New", "Join", "stuck", "moved", "lookup", "noLayers", "damaged":
			return true
		}
	case *ast.UnaryExpr:
		return last.Op == token.AND
	case *ast.SelectorExpr:
		return strings.HasPrefix(last.Sel.Name, "E")
	case *ast.CompositeLit:
		return true
	}
	return false
}

// onlyErr reports whether a condition asks for nothing but whether a call failed:
// to leave that out is a fault of another kind, which injected errors find.
func onlyErr(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			return onlyErr(e.X) && onlyErr(e.Y)
		}
		x, ok := e.X.(*ast.Ident)
		y, nilly := e.Y.(*ast.Ident)
		return ok && nilly && strings.HasPrefix(x.Name, "err") && y.Name == "nil"
	case *ast.ParenExpr:
		return onlyErr(e.X)
	}
	return false
}

func (m *mutator) add(n ast.Node, kind, open, close string) {
	from, to := m.fset.Position(n.Pos()), m.fset.Position(n.End())
	text := strings.Join(strings.Fields(string(m.src[from.Offset:to.Offset])), " ")
	m.mutants = append(m.mutants, Mutant{N: m.next, File: m.file, Line: from.Line, Func: m.in, Kind: kind, Text: text})
	width := to.Offset - from.Offset
	m.inserts = append(m.inserts,
		insert{at: from.Offset, text: fmt.Sprintf(open, m.next), width: width},
		insert{at: to.Offset, text: close, closes: true, width: width})
	m.next++
}

func (m *mutator) rewritten() []byte {
	slices.SortStableFunc(m.inserts, func(a, b insert) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		if a.closes != b.closes {
			if a.closes {
				return -1
			}
			return 1
		}
		if a.closes {
			return cmp.Compare(a.width, b.width)
		}
		return cmp.Compare(b.width, a.width)
	})
	var out bytes.Buffer
	last := 0
	for _, in := range m.inserts {
		out.Write(m.src[last:in.at])
		out.WriteString(in.text)
		last = in.at
	}
	out.Write(m.src[last:])
	return out.Bytes()
}

// support is the file beside the mutated ones. With the variable MUTANT set to a
// number that mutant is in force; with MUTANT_SEEN set to a file, the numbers of
// all that would have made a difference to a condition or a call are appended to it.
const support = `package commit

import (
	"os"
	"strconv"
	"sync"
)

var (
	mutantActive, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantLog       = os.Getenv("MUTANT_SEEN")
	mutantLock      sync.Mutex
	mutantSeen      = map[int]bool{}
)

// mutantOff is for where the mutant n does something else than the original.
func mutantOff(n int) bool {
	if mutantLog != "" {
		mutantLock.Lock()
		defer mutantLock.Unlock()
		if !mutantSeen[n] {
			// A suite may have left no descriptors, or no room: then it says so later.
			f, err := os.OpenFile(mutantLog, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
			if err == nil {
				_, err = f.WriteString(strconv.Itoa(n) + "\n")
				f.Close()
			}
			mutantSeen[n] = err == nil
		}
	}
	return n != mutantActive
}

func mutantCheck(n int, refuses bool) bool { return refuses && mutantOff(n) }

func mutantIs(n int, same bool) bool { return same || !mutantOff(n) }

func mutantSync(n int, f func() error) error {
	if mutantOff(n) {
		return f()
	}
	return nil
}

func mutantFlag(n, flag int) int {
	if mutantOff(n) {
		return flag
	}
	return 0
}
`
