package steps

// The values of preserve: what becomes of a file that the user changed since the
// package wrote it.
const (
	PreserveKeep      = "keep"
	PreserveReplace   = "replace"
	PreserveRenameOld = "rename_old"
	PreserveRenameNew = "rename_new"
	PreserveMerge     = "merge"
)

// checkWrite checks what no field says by itself.
func (d *decoder) checkWrite(s *Write) { d.checkPreserve(s.Preserve, s.Overwrite) }

// checkCopy checks what no field says by itself.
func (d *decoder) checkCopy(s *Copy) { d.checkPreserve(s.Preserve, s.Overwrite) }

// checkPreserve wants one answer to what becomes of a file that is there.
func (d *decoder) checkPreserve(preserve string, overwrite *bool) {
	if preserve == "" || overwrite == nil {
		return
	}
	for i := range d.members {
		if m := &d.members[i]; string(m.key) == "overwrite" {
			d.fault(m.at, where{name: "overwrite"}, "contradicts preserve, which says when a file is replaced", "one of the two")
		}
	}
}
