package steps

import (
	"slices"
	"strings"
	"testing"
)

// What a type may ask for covers what its steps do ask for.
func TestMayAsk(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"type": "run", "command": {"path": "/bin/true"}, "network_access": true, "sudo": true, "pass_env": ["A"], "writable_paths": [{"base": "home", "path": ".ssh"}]}`,
		`{"type": "run", "command": {"path": "/bin/true"}, "network": {"tcp": [443]}}`,
		`{"type": "set_permissions", "paths": [{"base": "home", "path": "x"}], "permissions": "u+s"}`,
		`{"type": "set_ownership", "paths": [{"base": "home", "path": ".ssh"}]}`,
		`{"type": "terminate_process", "name": "x", "sudo": true}`,
		`{"type": "remove", "paths": [{"base": "home", "path": "x"}], "sudo": true}`,
		`{"type": "symlink", "source": {"path": "/x"}, "target": {"base": "home", "path": "x"}, "sudo": true}`,
		`{"type": "compile_gsettings_schemas", "path": {"base": "home", "path": "x"}}`,
		`{"type": "delete_keychain_certificate", "name": "x"}`,
		`{"type": "warn", "message": "x"}`,
	} {
		list, err := DecodeSteps([]byte("["+text+"]"), DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		may := MayAsk(list[0].Type())
		for _, c := range Capabilities(&Document{Layout: "homebrew-formula", Blocks: []Block{{Phase: PhasePostInstall, Steps: list}}}) {
			for _, prefix := range []struct{ begins, as string }{
				{"network:tcp/", "network:tcp/PORT"}, {CapabilityEnv, CapabilityEnv + "NAME"}, {CapabilityProtected, CapabilityProtected + "NAME"}, {"write:", "write:PLACE"},
			} {
				if strings.HasPrefix(c, prefix.begins) {
					c = prefix.as
				}
			}
			if !slices.Contains(may, c) {
				t.Errorf("%s asks for %s, but may only ask for %v", list[0].Type(), c, may)
			}
		}
	}
}
