package steps

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	prefix := func(p string) Path { return Path{Base: "homebrew_prefix", Path: p} }
	own := Guard{Condition: "on", ID: "1", Value: "linux"}
	icons := Guard{Base: "homebrew_prefix", Path: "Cellar/gtk4/*/INSTALL_RECEIPT.json"}
	for _, tc := range []struct {
		name string
		in   Step
		want []Step
	}{
		{"compile_gsettings_schemas", &CompileGsettingsSchemas{Path: prefix("share/glib-2.0/schemas"), Guards: []Guard{own}}, []Step{
			&Run{Command: prefix("opt/glib/bin/glib-compile-schemas"), Args: []string{"/hb/share/glib-2.0/schemas"}, Guards: []Guard{own}},
		}},
		{"gio_querymodules", &GioQuerymodules{Path: prefix("lib/gio/modules")}, []Step{
			&Run{Command: prefix("opt/glib/bin/gio-querymodules"), Args: []string{"/hb/lib/gio/modules"}, Guards: []Guard{}},
		}},
		{"gdk_pixbuf_query_loaders", &GdkPixbufQueryLoaders{}, []Step{
			&Run{Command: prefix("opt/gdk-pixbuf/bin/gdk-pixbuf-query-loaders"), Args: []string{"--update-cache"}, Guards: []Guard{}},
		}},
		{"gtk_update_icon_cache", &GtkUpdateIconCache{Path: prefix("share/icons/$path"), Guards: []Guard{own}}, []Step{
			&Run{Command: prefix("opt/gtk4/bin/gtk4-update-icon-cache"), Args: []string{"-q", "-t", "-f", "/hb/share/icons/$path"},
				Guards: []Guard{own, {Condition: "if_exists", ID: "composite:gtk4", Base: icons.Base, Path: icons.Path}}},
			&Run{Command: prefix("opt/gtk+3/bin/gtk3-update-icon-cache"), Args: []string{"-q", "-t", "-f", "/hb/share/icons/$path"},
				Guards: []Guard{own, {Condition: "unless_exists", ID: "composite:gtk3", Base: icons.Base, Path: icons.Path}}},
		}},
		{"update_mime_database", &UpdateMimeDatabase{Path: prefix("share/mime")}, []Step{
			&Run{Command: prefix("opt/shared-mime-info/bin/update-mime-database"), Args: []string{"/hb/share/mime"}, Guards: []Guard{}},
		}},
		{"update_desktop_database", &UpdateDesktopDatabase{Path: prefix("share/applications")}, []Step{
			&Run{Command: prefix("opt/desktop-file-utils/bin/update-desktop-database"), Args: []string{"/hb/share/applications"}, Guards: []Guard{}},
		}},
		{"postgresql_initdb", &InitDataDir{Path: prefix("var/data"), Using: "postgresql_initdb"}, []Step{
			&MkdirP{Path: prefix("var/data"), Guards: []Guard{}},
			&Run{Command: Path{Base: "bin", Path: "initdb"}, Args: []string{"--locale=en_US.UTF-8", "-E", "UTF-8", "/hb/var/data"},
				Guards: []Guard{{Condition: "unless_exists", ID: "composite:done", Base: "homebrew_prefix", Path: "var/data/PG_VERSION"}}},
		}},
		{"postgresql_initdb with a locale", &InitDataDir{Path: Path{Path: "/x/{{version}}[1]/"}, Using: "postgresql_initdb", Locale: "C"}, []Step{
			&MkdirP{Path: Path{Path: "/x/{{version}}[1]/"}, Guards: []Guard{}},
			&Run{Command: Path{Base: "bin", Path: "initdb"}, Args: []string{"--locale=C", "-E", "UTF-8", "/x/{{version}}[1]/"},
				Guards: []Guard{{Condition: "unless_exists", ID: "composite:done", Path: `/x/{{version}}\[1\]/PG_VERSION`}}},
		}},
		{"mysql_initialize", &InitDataDir{Path: Path{Base: "var", Path: "."}, Using: "mysql_initialize"}, []Step{
			&MkdirP{Path: Path{Base: "var", Path: "."}, Guards: []Guard{}},
			&Run{Command: Path{Base: "bin", Path: "mysqld"},
				Args:   []string{"--initialize-insecure", "--user={{user}}", "--basedir={{prefix}}", "--datadir=/hb/.", "--tmpdir=/tmp"},
				Guards: []Guard{{Condition: "unless_exists", ID: "composite:done", Base: "var", Path: "mysql/general_log.CSM"}}},
		}},
		{"mariadb_install_db", &InitDataDir{Path: Path{Base: "formula_pkgetc", Formula: "x", Path: "d"}, Using: "mariadb_install_db"}, []Step{
			&MkdirP{Path: Path{Base: "formula_pkgetc", Formula: "x", Path: "d"}, Guards: []Guard{}},
			&Run{Command: Path{Base: "bin", Path: "mysql_install_db"},
				Args:   []string{"--verbose", "--user={{user}}", "--basedir={{prefix}}", "--datadir=/hb/d", "--tmpdir=/tmp"},
				Guards: []Guard{{Condition: "unless_exists", ID: "composite:done", Base: "formula_pkgetc", Formula: "x", Path: "d/mysql/user.frm"}}},
		}},
		{"a primitive", &Warn{Message: "a"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, composite, err := Expand(tc.in, func(p Path) (string, error) {
				if p.Base == "" {
					return p.Path, nil
				}
				return "/hb/" + p.Path, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if composite != (tc.want != nil) {
				t.Errorf("composite is %t", composite)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpandErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such base")
	_, composite, err := Expand(&GioQuerymodules{Path: Path{Base: "var", Path: "a"}}, func(Path) (string, error) { return "", cause })
	if !composite || !errors.Is(err, cause) {
		t.Errorf("got %t, %v", composite, err)
	}
	_, _, err = Expand(&InitDataDir{Path: Path{Path: "/a"}, Using: "oracle"}, func(p Path) (string, error) { return p.Path, nil })
	if err == nil || strings.HasPrefix(err.Error(), "BUG") {
		t.Errorf("got %v", err)
	}
}

// Each type is a composite, or not there yet, or the interpreter's.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	for _, typ := range Types {
		_, composite := composites[typ]
		reason, not := Unsupported(typ)
		if composite && not || not != (reason != "") {
			t.Errorf("%s: composite %t, unsupported %t for %q", typ, composite, not, reason)
		}
	}
	if _, not := Unsupported(TypeWrite); not {
		t.Error("write is unsupported")
	}
}
