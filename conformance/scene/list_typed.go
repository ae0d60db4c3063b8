package scene

import "steps.example/conformance"

// typed are single steps that change the tree themselves.
func typed() []Scene {
	type tree = conformance.Tree
	gz := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\xc9\xcf\xcf\xe1\x02\x00\xef\x17\x23\xc3\x05\x00\x00\x00"
	deep := tree{
		"hb/var/d/a": file("a"), "hb/var/d/empty": file(""), "hb/var/d/sub/deep/er/b": fileMode("0600", "b"),
		"hb/var/d/sub/l": link("../a"), "hb/var/d/none": dir("0700"),
	}
	with := func(more tree) tree {
		out := tree{}
		for p, e := range deep {
			out[p] = e
		}
		for p, e := range more {
			out[p] = e
		}
		return out
	}
	return []Scene{
		{Name: "mkdir", Steps: `[{"type": "mkdir", "path": {"base": "var", "path": "new"}}]`},
		{Name: "mkdir_p deep", Steps: `[{"type": "mkdir_p", "path": {"base": "var", "path": "a/b/c/d"}}]`},
		{Name: "touch new", Steps: `[{"type": "touch", "path": {"base": "var", "path": "x/new"}}]`},
		{Name: "touch old", Before: tree{"hb/var/f": file("f")}, Xattrs: map[string]string{"hb/var/f": "kept"},
			Steps: `[{"type": "touch", "path": {"base": "var", "path": "f"}}]`},
		{Name: "write new", Steps: `[{"type": "write", "path": {"base": "etc", "path": "demo/conf"}, "content": "new content\n"}]`},
		{Name: "write empty", Steps: `[{"type": "write", "path": {"base": "etc", "path": "empty"}, "content": ""}]`},
		{Name: "write over", Before: tree{"hb/etc/conf": fileMode("0640", "old content\n")}, Xattrs: map[string]string{"hb/etc/conf": "old"},
			Steps: `[{"type": "write", "path": {"base": "etc", "path": "conf"}, "content": "new", "overwrite": true}]`},
		{Name: "write over a hard link", Before: tree{"hb/etc/conf": file("old"), "hb/etc/z": file("z")}, Links: map[string]string{"hb/var/other": "hb/etc/conf"},
			Steps: `[{"type": "write", "path": {"base": "etc", "path": "conf"}, "content": "new", "overwrite": true}]`},
		{Name: "write into a read-only directory", Before: tree{"hb/etc/ro": dir("0555"), "hb/etc/ro/conf": fileMode("0444", "old")},
			Steps: `[{"type": "set_permissions", "paths": [{"base": "etc", "path": "ro"}], "permissions": "0755", "non_recursive": true},
 {"type": "write", "path": {"base": "etc", "path": "ro/conf"}, "content": "new", "overwrite": true},
 {"type": "write", "path": {"base": "etc", "path": "ro/more"}, "content": "more"}]`},
		{Name: "move file", Before: tree{"hb/var/f": file("f")}, Xattrs: map[string]string{"hb/var/f": "kept"},
			Steps: `[{"type": "move", "source": {"base": "var", "path": "f"}, "target": {"base": "etc", "path": "g"}}]`},
		{Name: "move file over", Before: tree{"hb/var/f": file("f"), "hb/etc/g": file("g")},
			Steps: `[{"type": "move", "source": {"base": "var", "path": "f"}, "target": {"base": "etc", "path": "g"}, "overwrite": true}]`},
		{Name: "move a hard link", Before: tree{"hb/var/f": file("f")}, Links: map[string]string{"hb/var/h": "hb/var/f", "hb/etc/i": "hb/var/f"},
			Steps: `[{"type": "move", "source": {"base": "var", "path": "f"}, "target": {"base": "etc", "path": "g"}}]`},
		{Name: "move link", Before: tree{"hb/var/l": link("nowhere")},
			Steps: `[{"type": "move", "source": {"base": "var", "path": "l"}, "target": {"base": "etc", "path": "l"}}]`},
		{Name: "move directory", Before: deep, Xattrs: map[string]string{"hb/var/d/sub": "kept"},
			Steps: `[{"type": "move", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "e"}}]`},
		{Name: "move read-only directory", Before: with(tree{"hb/var/d": dir("0555"), "hb/var/d/sub": dir("0500")}),
			Steps: `[{"type": "move", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "e"}}]`},
		{Name: "move glob into", Before: tree{"hb/var/f-1": file("f"), "hb/etc/into": dir("0755")},
			Steps: `[{"type": "move", "source": {"base": "var", "path": "f-*"}, "target": {"base": "etc", "path": "into"}, "source_glob": true}]`},
		{Name: "move there and back", Before: tree{"hb/var/f": file("f"), "hb/var/g": file("g")},
			Steps: `[{"type": "move", "source": {"base": "var", "path": "f"}, "target": {"base": "var", "path": "t"}},
 {"type": "move", "source": {"base": "var", "path": "g"}, "target": {"base": "var", "path": "f"}},
 {"type": "move", "source": {"base": "var", "path": "t"}, "target": {"base": "var", "path": "g"}}]`},
		{Name: "move_contents", Before: deep,
			Steps: `[{"type": "move_contents", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "e"}}]`},
		{Name: "move_contents over", Before: with(tree{"hb/etc/e/a": file("other a"), "hb/etc/e/z": file("z")}),
			Steps: `[{"type": "move_contents", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "e"}}]`},
		{Name: "move_children", Before: tree{"hb/var/d/a": file("a"), "hb/var/d/s/b": file("b")},
			Steps: `[{"type": "move_children", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "e"}}]`},
		{Name: "copy file", Before: tree{"hb/var/f": fileMode("0750", "some content")}, Xattrs: map[string]string{"hb/var/f": "not copied"},
			Steps: `[{"type": "copy", "source": {"base": "var", "path": "f"}, "target": {"base": "etc", "path": "g"}}]`},
		{Name: "copy over", Before: tree{"hb/var/f": file("f"), "hb/etc/g": fileMode("0600", "g")},
			Steps: `[{"type": "copy", "source": {"base": "var", "path": "f"}, "target": {"base": "etc", "path": "g"}}]`},
		{Name: "copy tree", Before: deep, Links: map[string]string{"hb/var/d/sub/a2": "hb/var/d/a"},
			Steps: `[{"type": "copy", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "e"}, "recursive": true}]`},
		{Name: "copy glob", Before: tree{"hb/var/f1": file("1")},
			Steps: `[{"type": "copy", "source": {"base": "var", "path": "f*"}, "target": {"base": "etc", "path": "g"}, "source_glob": true}]`},
		{Name: "remove file", Before: tree{"hb/var/f": file("f")}, Xattrs: map[string]string{"hb/var/f": "comes back"},
			Steps: `[{"type": "remove", "paths": [{"base": "var", "path": "f"}, {"base": "var", "path": "missing"}]}]`},
		{Name: "remove a hard link", Before: tree{"hb/var/f": file("f")}, Links: map[string]string{"hb/etc/g": "hb/var/f"},
			Steps: `[{"type": "remove", "paths": [{"base": "var", "path": "f"}]}]`},
		{Name: "remove tree", Before: with(tree{"hb/var/d/sub": dir("0500")}), Links: map[string]string{"hb/var/d/a2": "hb/var/d/a"},
			Steps: `[{"type": "remove", "paths": [{"base": "var", "path": "d"}], "recursive": true}]`},
		{Name: "remove by content and link", Before: tree{"hb/var/x1": file("mark"), "hb/var/x2": file("other"), "hb/var/x3": link("mark")},
			Steps: `[{"type": "remove", "paths": [{"base": "var", "path": "x*"}], "content_contains": "mark"},
 {"type": "remove", "paths": [{"base": "var", "path": "x*"}], "symlink_target_contains": "mark"}]`},
		{Name: "inreplace", Before: tree{"hb/etc/conf": fileMode("0600", "before and before\n")},
			Steps: `[{"type": "inreplace", "path": {"base": "etc", "path": "conf"}, "before": "before", "after": "after"}]`},
		{Name: "inreplace regexp first", Before: tree{"hb/etc/conf": file("aa1 aa2\n")}, Links: map[string]string{"hb/etc/conf2": "hb/etc/conf"},
			Steps: `[{"type": "inreplace", "path": {"base": "etc", "path": "conf"}, "before": "a+", "after": "b", "regexp": true, "first_only": true}]`},
		{Name: "set_permissions", Before: deep,
			Steps: `[{"type": "set_permissions", "paths": [{"base": "var", "path": "d"}], "permissions": "u+x,go-rwx"}]`},
		{Name: "set_permissions of one", Before: tree{"hb/var/f": file("f"), "hb/var/ro": dir("0555")}, Links: map[string]string{"hb/var/g": "hb/var/f"},
			Steps: `[{"type": "set_permissions", "paths": [{"base": "var", "path": "f"}], "permissions": "0444", "non_recursive": true},
 {"type": "set_permissions", "paths": [{"base": "var", "path": "ro"}], "permissions": "0700", "non_recursive": true}]`},
		{Name: "set_permissions set-id", Before: tree{"hb/var/f": file("f")},
			Steps: `[{"type": "set_permissions", "paths": [{"base": "var", "path": "f"}], "permissions": "4755"}]`},
		{Name: "set_ownership", Root: true, Before: with(tree{"hb/var/d/suid": fileMode("4755", "s")}),
			Steps: `[{"type": "set_ownership", "paths": [{"base": "var", "path": "d"}], "user": "1", "group": "1"}]`},
		{Name: "set_ownership of one", Root: true, Before: tree{"hb/var/f": file("f")},
			Steps: `[{"type": "set_ownership", "paths": [{"base": "var", "path": "f"}], "user": "1", "group": "1", "non_recursive": true}]`},
		{Name: "symlink", Steps: `[{"type": "symlink", "source": {"base": "relative", "path": "../Cellar/demo/1.0/bin/tool"}, "target": {"base": "homebrew_prefix", "path": "bin/tool"}}]`},
		{Name: "symlink over file", Before: tree{"hb/var/f": file("f")},
			Steps: `[{"type": "symlink", "source": {"base": "relative", "path": "g"}, "target": {"base": "var", "path": "f"}, "force": true}]`},
		{Name: "symlink over link", Before: tree{"hb/var/l": link("old")},
			Steps: `[{"type": "symlink", "source": {"base": "var", "path": "x"}, "target": {"base": "var", "path": "l"}, "force": true}]`},
		{Name: "symlink glob", Before: tree{"hb/Cellar/demo/1.0/s/a": file("a"), "hb/Cellar/demo/1.0/s/b": file("b")},
			Steps: `[{"type": "symlink", "source": {"base": "prefix", "path": "s/*"}, "target": {"base": "var", "path": "links"}, "source_glob": true}]`},
		{Name: "link_dir", Before: tree{"hb/Cellar/demo/1.0/s/a": file("a"), "hb/Cellar/demo/1.0/s/t/b": file("b"), "hb/share/demo": dir("0755")},
			Steps: `[{"type": "link_dir", "source": {"base": "prefix", "path": "s"}, "target": {"base": "homebrew_prefix", "path": "share/demo"}}]`},
		{Name: "link_children", Before: tree{"hb/Cellar/demo/1.0/s/a": file("a"), "hb/Cellar/demo/1.0/s/b": file("b")},
			Steps: `[{"type": "link_children", "source": {"base": "prefix", "path": "s"}, "target": {"base": "homebrew_prefix", "path": "bin"}, "suffix": "-1"}]`},
		{Name: "install_gzipped_executable", Before: tree{"hb/var/tool.gz": file(gz)},
			Steps: `[{"type": "install_gzipped_executable", "source": {"base": "var", "path": "tool.gz"}, "target": {"base": "var", "path": "tool"}}]`},
	}
}
