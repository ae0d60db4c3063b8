package scene

import "steps.example/conformance"

// commanded are steps that run something.
func commanded() []Scene {
	type tree = conformance.Tree
	run := func(fields string) string {
		return `[{"type": "run", "command": {"base": "bin", "path": "tool"}` + fields + `}]`
	}
	before := tree{
		"hb/var/a": fileMode("0600", "old a"), "hb/var/b": file("old b"), "hb/var/d/x": file("x"), "hb/var/d/sub/y": file("y"),
		"hb/var/l": link("a"),
	}
	everything := `append hb/var/a and more
remove hb/var/b
write hb/var/b written anew
mkdir hb/var/new
write hb/var/new/f new
move hb/var/d/x hb/var/moved
remove hb/var/l
link hb/var/l b
chmod 0700 hb/var/d`
	all := []Scene{
		{Name: "run", Before: before, Command: everything, Steps: run("")},
		{Name: "run that changes nothing", Same: true, Before: before, Command: "write hb/var/t t\nremove hb/var/t", Steps: run("")},
		{Name: "run that empties and removes", Before: before, Command: "empty hb/var/a\nremove hb/var/d/sub/y\nrmdir hb/var/d/sub\nremove hb/var/d/x", Steps: run("")},
		{Name: "run that fails", Before: before, Command: everything, Fails: true,
			Steps: `[{"type": "write", "path": {"base": "etc", "path": "c"}, "content": "c"},
 {"type": "run", "command": {"path": "/bin/false"}}]`},
		{Name: "run between steps", Before: before, Command: "append hb/var/c more\nwrite hb/var/made made",
			Steps: `[{"type": "write", "path": {"base": "var", "path": "c"}, "content": "c"},
 {"type": "run", "command": {"base": "bin", "path": "tool"}},
 {"type": "move", "source": {"base": "var", "path": "made"}, "target": {"base": "etc", "path": "made"}},
 {"type": "write", "path": {"base": "var", "path": "a"}, "content": "typed", "overwrite": true}]`},
		{Name: "init_data_dir", Command: "write hb/var/pg/PG_VERSION 17",
			Steps: `[{"type": "init_data_dir", "path": {"base": "var", "path": "pg"}, "using": "postgresql_initdb"}]`},
		{Name: "gdk_pixbuf_query_loaders", Command: "write hb/var/cache made", Steps: `[{"type": "gdk_pixbuf_query_loaders"}]`},
	}
	for _, kind := range []string{"compile_gsettings_schemas", "gio_querymodules", "gtk_update_icon_cache", "update_mime_database", "update_desktop_database"} {
		all = append(all, Scene{Name: kind, Before: tree{"hb/share/c/in": file("in"), "hb/share/c/cache": file("old")},
			Command: "empty hb/share/c/cache\nappend hb/share/c/cache new",
			Steps:   `[{"type": "` + kind + `", "path": {"base": "homebrew_prefix", "path": "share/c"}}]`})
	}
	return append(all, Scene{Name: "run in the jail", Jail: true, Before: before,
		Steps: `[{"type": "write", "path": {"base": "var", "path": "c"}, "content": "c"},
 {"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "echo more >>a; rm b; mkdir new; echo new >new/f; mv d e"], "chdir": {"base": "var", "path": "."}}]`})
}

// mixed are documents of several steps.
func mixed() []Scene {
	type tree = conformance.Tree
	return []Scene{
		{Name: "mixed", Before: tree{
			"hb/etc/conf": file("before\n"), "hb/var/old/f": file("f"), "hb/var/gone/sub/x": file("x"), "hb/var/l": link("gone"), "hb/var/m": fileMode("0600", "m"),
		}, Links: map[string]string{"hb/var/m2": "hb/var/m"}, Xattrs: map[string]string{"hb/var/old/f": "kept"},
			Steps: `[{"type": "mkdir_p", "path": {"base": "var", "path": "demo/log"}},
 {"type": "write", "path": {"base": "var", "path": "demo/log/first"}, "content": "first\n"},
 {"type": "inreplace", "path": {"base": "etc", "path": "conf"}, "before": "before", "after": "after"},
 {"type": "move", "source": {"base": "var", "path": "old"}, "target": {"base": "var", "path": "demo/old"}},
 {"type": "remove", "paths": [{"base": "var", "path": "gone"}], "recursive": true},
 {"type": "symlink", "source": {"base": "relative", "path": "demo"}, "target": {"base": "var", "path": "l"}, "force": true},
 {"type": "set_permissions", "paths": [{"base": "var", "path": "m"}], "permissions": "0640"},
 {"type": "copy", "source": {"base": "var", "path": "m"}, "target": {"base": "etc", "path": "m"}}]`},
		{Name: "tree and home", Before: tree{"home/.demo/conf": file("old"), "home/.demo/gone": file("gone"), "hb/var/f": file("f"), "hb/var/m": file("m")},
			Steps: `[{"type": "write", "path": {"base": "home", "path": ".demo/conf"}, "content": "new", "overwrite": true},
 {"type": "write", "path": {"base": "home", "path": ".demo/more"}, "content": "more"},
 {"type": "remove", "paths": [{"base": "home", "path": ".demo/gone"}, {"base": "var", "path": "f"}]},
 {"type": "write", "path": {"base": "var", "path": "g"}, "content": "g"},
 {"type": "set_permissions", "paths": [{"base": "var", "path": "m"}], "permissions": "0600"},
 {"type": "move", "source": {"base": "var", "path": "m"}, "target": {"base": "etc", "path": "m"}}]`},
		{Name: "file where a directory was", Before: tree{"hb/var/d/x": file("x"), "hb/var/f": file("f")},
			Steps: `[{"type": "remove", "paths": [{"base": "var", "path": "d"}, {"base": "var", "path": "f"}], "recursive": true},
 {"type": "write", "path": {"base": "var", "path": "d"}, "content": "file"},
 {"type": "write", "path": {"base": "var", "path": "f/x"}, "content": "x"}]`},
		{Name: "broker", Root: true, Broker: true, Before: tree{"hb/etc/conf": file("old"), "hb/var/f": file("f"), "hb/var/gone": file("gone")},
			Steps: `[{"type": "write", "path": {"base": "etc", "path": "conf"}, "content": "new", "overwrite": true},
 {"type": "symlink", "source": {"base": "relative", "path": "f"}, "target": {"base": "var", "path": "l"}, "sudo": true},
 {"type": "remove", "paths": [{"base": "var", "path": "gone"}], "sudo": true},
 {"type": "set_ownership", "paths": [{"base": "var", "path": "f"}], "user": "nobody"},
 {"type": "write", "path": {"base": "var", "path": "own"}, "content": "own"}]`},
		{Name: "nothing to do", Same: true, Before: tree{"hb/var/f": file("f")},
			Steps: `[{"type": "write", "path": {"base": "var", "path": "f"}, "content": "other"}, {"type": "mkdir_p", "path": {"base": "var", "path": "."}}]`},
	}
}

const (
	installedSteps = `[{"type": "mkdir_p", "path": {"base": "var", "path": "demo"}},
 {"type": "write", "path": {"base": "var", "path": "demo/version"}, "content": "1"},
 {"type": "write", "path": {"base": "etc", "path": "demo.conf"}, "content": "one\ntwo\nthree\n"},
 {"type": "write", "path": {"base": "etc", "path": "own"}, "content": "demo's", "overwrite": true},
 {"type": "remove", "paths": [{"base": "var", "path": "stale"}], "recursive": true},
 {"type": "move", "source": {"base": "var", "path": "moved"}, "target": {"base": "etc", "path": "moved"}},
 {"type": "symlink", "source": {"base": "relative", "path": "../Cellar/demo/1.0/bin/tool"}, "target": {"base": "homebrew_prefix", "path": "bin/demo"}, "uninstall": true},
 {"type": "set_permissions", "paths": [{"base": "var", "path": "demo"}], "permissions": "0700", "non_recursive": true}]`
	upgradeSteps = `[{"type": "write", "path": {"base": "var", "path": "demo/version"}, "content": "2", "overwrite": true},
 {"type": "mkdir_p", "path": {"base": "var", "path": "demo/new"}},
 {"type": "symlink", "source": {"base": "relative", "path": "../Cellar/demo/2.0/bin/tool"}, "target": {"base": "homebrew_prefix", "path": "bin/demo"}, "uninstall": true}`
)

// life are the stages of a package's life.
func life() []Scene {
	type tree = conformance.Tree
	before := tree{"hb/etc/own": file("the user's"), "hb/var/stale/s": file("s"), "hb/var/moved": file("moved")}
	preserve := func(how string) string {
		return `[{"type": "write", "path": {"base": "etc", "path": "conf"}, "content": "ONE\ntwo\nthree\n", "preserve": "` + how + `"}]`
	}
	list := []Scene{
		{Name: "undo", Verb: VerbUndo, Before: before, Installed: installedSteps},
		{Name: "undo of a command", Verb: VerbUndo, Before: tree{"hb/var/a": file("a"), "hb/var/b": file("b"), "hb/var/d/x": file("x")},
			Command: "append hb/var/a more\nremove hb/var/b\nmove hb/var/d/x hb/var/y\nwrite hb/var/n new",
			Installed: `[{"type": "write", "path": {"base": "etc", "path": "c"}, "content": "c"},
 {"type": "run", "command": {"base": "bin", "path": "tool"}}]`},
		{Name: "uninstall", Verb: VerbUninstall, Before: before, Installed: installedSteps,
			Removal: `[{"type": "remove", "paths": [{"base": "var", "path": "demo/cache"}], "recursive": true}]`,
			Since:   "mkdir hb/var/demo/cache\nwrite hb/var/demo/cache/c c"},
		{Name: "uninstall by force", Verb: VerbUninstall, Force: true, Before: before, Installed: installedSteps,
			Command: "write hb/var/demo/made made\nempty hb/var/demo/version",
			Removal: `[{"type": "write", "path": {"base": "var", "path": "goodbye"}, "content": "goodbye"},
 {"type": "run", "command": {"path": "/bin/false"}}]`},
		{Name: "upgrade", Verb: VerbUpgrade, Before: before, Installed: installedSteps, Steps: upgradeSteps + `]`,
			Removal: `[{"type": "remove", "paths": [{"base": "var", "path": "demo/cache"}], "recursive": true}]`,
			Since:   "write hb/var/demo/cache c"},
		{Name: "upgrade with a command", Verb: VerbUpgrade, Before: before, Installed: installedSteps,
			Command: "write hb/var/demo/made made\nempty hb/var/demo/version",
			Steps:   upgradeSteps + `, {"type": "run", "command": {"base": "bin", "path": "tool"}}]`},
		{Name: "upgrade that fails", Verb: VerbUpgrade, Before: before, Installed: installedSteps, Fails: true,
			Command: "write hb/var/demo/made made\nempty hb/var/demo/version",
			Steps:   upgradeSteps + `, {"type": "run", "command": {"path": "/bin/false"}}]`},
		{Name: "repair", Verb: VerbRepair, Before: before, Installed: installedSteps,
			Since: "remove hb/bin/demo\nappend hb/etc/demo.conf drift\nremove hb/var/demo/version\nchmod 0755 hb/var/demo"},
		{Name: "triggers", Verb: VerbTriggers, Defer: true, Before: tree{"hb/share/c/in": file("in")}, Command: "write hb/share/c/cache made",
			Installed: `[{"type": "update_mime_database", "path": {"base": "homebrew_prefix", "path": "share/c"}},
 {"type": "write", "path": {"base": "var", "path": "f"}, "content": "f"}]`},
	}
	for _, how := range []string{"keep", "replace", "rename_old", "rename_new", "merge"} {
		list = append(list, Scene{Name: "preserve " + how, Verb: VerbUpgrade, Same: how == "keep",
			Installed: `[{"type": "write", "path": {"base": "etc", "path": "conf"}, "content": "one\ntwo\nthree\n"}]`,
			Since:     "append hb/etc/conf four\n", Steps: preserve(how)})
	}
	return list
}
