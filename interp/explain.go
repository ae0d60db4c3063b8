package interp

import (
	"fmt"
	"strconv"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/steps"
)

// Explained is one step of a document in words.
type Explained struct {
	Phase steps.Phase `json:"phase"`
	// Step counts from 1 within the phase's block.
	Step int        `json:"step"`
	Type steps.Type `json:"type"`
	// Text says what the step does, beginning with a verb.
	Text string `json:"text"`
	// Conditions must all hold for it to be done.
	Conditions []string `json:"conditions,omitempty"`
	// Capabilities are what it asks for.
	Capabilities []string `json:"capabilities,omitempty"`
	// Again and Undo are the classes of its type, see [steps.Description].
	Again string `json:"again,omitempty"`
	Undo  string `json:"undo,omitempty"`
	// Unsupported is why it cannot be done yet.
	Unsupported string `json:"unsupported,omitempty"`
}

// Explain puts the steps of a document into words. It looks at nothing but the
// document: a path is shown as the document has it, its base in braces.
func Explain(doc *steps.Document) []Explained {
	var out []Explained
	for _, b := range doc.Blocks {
		for i, s := range b.Steps {
			one := *doc
			one.Blocks = []steps.Block{{Phase: b.Phase, Steps: []steps.Step{s}}}
			class := steps.Describe(s.Type())
			reason, _ := steps.Unsupported(s.Type())
			out = append(out, Explained{
				Phase: b.Phase, Step: i + 1, Type: s.Type(), Text: inWords(s), Conditions: conditions(s.StepGuards()),
				Capabilities: steps.Capabilities(&one), Again: class.Again, Undo: class.Undo, Unsupported: reason,
			})
		}
	}
	return out
}

// pathWords is a path as it is shown: {var}/x, or {formula_pkgetc of openssl}/x.
func pathWords(p steps.Path) string {
	dir := string(p.Base)
	if p.Formula != "" {
		dir += " of " + p.Formula
	}
	switch {
	case p.Base == "" || p.Base == steps.BaseAbsolute || p.Base == steps.BaseRelative:
		return changeset.Printable(p.Path)
	case p.Base == steps.BaseSearchPath:
		return changeset.Printable(p.Path) + " in the search path"
	case p.Path == ".":
		return "{" + changeset.Printable(dir) + "}"
	}
	return "{" + changeset.Printable(dir) + "}/" + changeset.Printable(p.Path)
}

func pathsWords(list []steps.Path) string {
	words := make([]string, 0, len(list))
	for _, p := range list {
		words = append(words, pathWords(p))
	}
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// maxQuoted is how much of a text is shown.
const maxQuoted = 40

func quoteWords(s string) string {
	short := []rune(s)
	if len(short) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(string(short[:maxQuoted])) + fmt.Sprintf("… (%d bytes)", len(s))
}

func conditions(guards []steps.Guard) []string {
	var out []string
	for _, g := range guards {
		p := pathWords(steps.Path{Base: g.Base, Path: g.Path, Formula: g.Formula})
		switch g.Condition {
		case "if_exists":
			out = append(out, "if "+p+" exists")
		case "unless_exists":
			out = append(out, "unless "+p+" exists")
		default:
			out = append(out, g.Condition+" "+g.Value+" only")
		}
	}
	return out
}

// phrase joins the parts that are not empty.
func phrase(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

// when is words where a condition holds.
func when(holds bool, words string) string {
	if holds {
		return words
	}
	return ""
}

func inWords(s steps.Step) string {
	switch s := s.(type) {
	case *steps.Mkdir:
		return "make the directory " + pathWords(s.Path) + ", which must not exist"
	case *steps.MkdirP:
		return "make the directory " + pathWords(s.Path) + " and those above it, where they are missing"
	case *steps.Touch:
		return "make the empty file " + pathWords(s.Path) + ", or set its time if it exists"
	case *steps.Write:
		how := "if it does not exist"
		if s.Overwrite != nil && *s.Overwrite {
			how = "replacing what is there"
		}
		if s.Preserve != "" {
			how = "and where it exists do what preserve says: " + s.Preserve
		}
		return phrase("write "+quoteWords(s.Content)+" to "+pathWords(s.Path), how)
	case *steps.Move:
		return phrase("move "+pathWords(s.Source)+" to "+pathWords(s.Target), overwriting(s.Overwrite, "replacing files only"))
	case *steps.MoveContents:
		return "move all that is in " + pathWords(s.Source) + " into " + pathWords(s.Target)
	case *steps.MoveChildren:
		return "move all that is in " + pathWords(s.Source) + " into " + pathWords(s.Target)
	case *steps.Copy:
		return phrase("copy "+pathWords(s.Source)+when(s.Recursive, " with all that is in it")+" to "+pathWords(s.Target),
			overwriting(s.Overwrite, "replacing what is there"), when(s.Preserve != "", "but where it exists do what preserve says: "+s.Preserve))
	case *steps.Remove:
		return phrase("remove "+pathsWords(s.Paths)+when(s.Recursive, " with all that is in it"),
			when(s.SymlinkTargetContains != "", "links to "+quoteWords(s.SymlinkTargetContains)+" only"),
			when(s.ContentContains != "", "files that hold "+quoteWords(s.ContentContains)+" only"), asRoot(s.Sudo))
	case *steps.Inreplace:
		return phrase("in "+pathWords(s.Path)+" replace "+when(s.Regexp, "what matches ")+quoteWords(s.Before)+" by "+quoteWords(s.After),
			when(s.FirstOnly, "the first time only"), when(s.SkipAudit, "if it is there at all"))
	case *steps.SetPermissions:
		return "set the mode of " + pathsWords(s.Paths) + when(!s.NonRecursive, ", and of what is in it,") + " to " + s.Permissions
	case *steps.SetOwnership:
		return "give " + pathsWords(s.Paths) + when(!s.NonRecursive, ", and what is in it,") + " to " + owner(s.User, s.Group)
	case *steps.ChangeDylibID:
		return "set the identification name of the library " + pathWords(s.Source) + " to " + changeset.Printable(s.ID)
	case *steps.Symlink:
		return phrase("make the link "+pathWords(s.Target)+" to "+pathWords(s.Source), when(s.Force, "replacing a file or link"),
			when(s.Uninstall, "and remove it with the package"), asRoot(s.Sudo))
	case *steps.LinkDir:
		return "link each file below " + pathWords(s.Source) + " into the same place below " + pathWords(s.Target)
	case *steps.LinkChildren:
		return phrase("link each entry of "+pathWords(s.Source)+" into "+pathWords(s.Target),
			when(s.Prefix+s.Suffix != "", "as "+changeset.Printable(s.Prefix)+"NAME"+changeset.Printable(s.Suffix)))
	case *steps.Run:
		return runWords(s)
	case *steps.TerminateProcess:
		return phrase("end the processes called "+quoteWords(s.Name), when(s.MustSucceed, "and fail if that does not work"), asRoot(s.Sudo))
	case *steps.Warn:
		return "print the warning " + quoteWords(s.Message)
	case *steps.DeleteKeychainCertificate:
		return "delete the certificate " + quoteWords(s.Name) + " from the system's keychain"
	case *steps.InitDataDir:
		return "initialise the data directory " + pathWords(s.Path) + " with " + s.Using + ", unless that was done"
	case *steps.InstallGzippedExecutable:
		return "unpack " + pathWords(s.Source) + " to " + pathWords(s.Target) + " and make that executable"
	}
	return rebuildWords(s)
}

// rebuildWords is for types whose documentation says it all but the path.
func rebuildWords(s steps.Step) string {
	verb, rest, _ := strings.Cut(strings.TrimSuffix(steps.Describe(s.Type()).Doc, "."), " ")
	if strings.HasSuffix(verb, "s") {
		verb = strings.TrimSuffix(verb, "s")
	}
	text := verb + " " + rest
	var path steps.Path
	switch s := s.(type) {
	case *steps.CompileGsettingsSchemas:
		path = s.Path
	case *steps.GioQuerymodules:
		path = s.Path
	case *steps.GtkUpdateIconCache:
		path = s.Path
	case *steps.UpdateMimeDatabase:
		path = s.Path
	case *steps.UpdateDesktopDatabase:
		path = s.Path
	default:
		return text
	}
	return strings.TrimSuffix(text, " path") + " " + pathWords(path)
}

func overwriting(choice *bool, absent string) string {
	switch {
	case choice == nil:
		return absent
	case *choice:
		return "replacing what is there"
	}
	return "which must not exist"
}

func asRoot(s steps.Sudo) string { return when(s != steps.SudoNever, "as root") }

func owner(user, group string) string {
	if user == "" {
		user = "the user who installs"
	}
	return changeset.Printable(user) + when(group != "", " and the group "+changeset.Printable(group))
}

func runWords(s *steps.Run) string {
	args := ""
	for _, a := range s.Args {
		args += " " + strconv.Quote(a)
	}
	network := when(s.NetworkAccess, "with the network")
	if s.Network != nil {
		network = fmt.Sprintf("with connections to the ports %v", s.Network.TCP)
	}
	written := ""
	if s.StdoutPath != nil {
		written = "its output goes to " + pathWords(*s.StdoutPath)
	}
	return phrase("run "+pathWords(s.Command)+args+" in a jail", network, when(len(s.PassEnv) > 0, "seeing "+strings.Join(s.PassEnv, " and ")),
		when(len(s.WritablePaths) > 0, "which may also write to "+pathsWords(s.WritablePaths)), written, when(s.AllowFailure, "and go on if it fails"), asRoot(s.Sudo))
}
