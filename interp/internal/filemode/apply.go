package filemode

// Apply returns the permission bits, at most 0o7777, that a file or directory
// with the bits old gets. Other bits of old are ignored.
func (m Mode) Apply(old uint32, isDir bool, umask uint32) uint32 {
	bits := old & allBits
	for _, c := range m.changes {
		value := c.value
		switch {
		case c.copies:
			value = spread(value & bits)
		case c.condExec && (isDir || bits&execBits != 0):
			value |= execBits
		}
		// A directory keeps set-ID bits the operation does not name.
		var keep uint32
		if isDir {
			keep = (setUser | setGroup) &^ c.mentioned
		}
		touched := c.who
		if touched == 0 {
			touched = ^umask
		}
		value &= touched &^ keep
		switch c.op {
		case '+':
			bits |= value
		case '-':
			bits &^= value
		case '=':
			if c.who != 0 {
				keep |= ^c.who
			}
			bits = bits&keep | value
		}
	}
	return bits & allBits
}

// spread gives every class the permissions that any class has.
func spread(bits uint32) (out uint32) {
	for _, permission := range []uint32{readBits, writeBit, execBits} {
		if bits&permission != 0 {
			out |= permission
		}
	}
	return out
}

// MaySetID reports whether the mode can turn on the set-user-ID or the
// set-group-ID bit of a file that does not have it.
func (m Mode) MaySetID() bool {
	for _, c := range m.changes {
		if c.op != '-' && !c.copies && c.value&(setUser|setGroup) != 0 && (c.who == 0 || c.value&c.who&(setUser|setGroup) != 0) {
			return true
		}
	}
	return false
}
