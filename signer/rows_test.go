package signer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attacks are the rows of the design's table of attacks, in its order, and where each is
// made and refused. Each of these tests also has the honest case, which passes. A test is
// named by its folder below signer and its function; the scripts are those of the steps
// command.
var attacks = []struct {
	attack string
	tests  string
}{
	{"steps of A applied to B, or v1 to v2",
		`TestVerifyRefusesAnotherPackage TestVerifyRegistryMismatch TestVerifyExpectation TestPackageID
		 registry/lookup/TestForeignBundle apply_trust.txtar`},
	{"replay of older steps for the same version",
		`TestState TestVerifyExpectation registry/lookup/TestReplay registry/lookup/TestRollback trust_replay.txtar`},
	{"fresh client, rollback",
		`registry/lookup/TestRollback registry/lookup/TestFreeze registry/lookup/TestOtherRoot trust_index.txtar
		 logwatch/TestShrinkingLog`},
	{"stripping, omission",
		`TestNoSteps registry/lookup/TestNoSteps registry/lookup/TestOmission sign_keyless.txtar sign_statement.txtar`},
	{"mix and match", `registry/lookup/TestMixAndMatch`},
	{"freeze", `registry/lookup/TestFreeze registry/lookup/TestOffline TestVerifyAPIAge trust_index.txtar`},
	{"equivocation, split view",
		`TestState registry/lookup/TestEquivocation registry/lookup/TestEquivocatingBundle
		 logwatch/TestSplitView logwatch/TestTreeOfTheSameSize logwatch/TestConsistent TestWitnesses e2e/TestWitness trust_log.txtar`},
	{"canonicalisation, duplicate keys, Unicode, numbers",
		`TestVerifyRefusesBadStatements TestParsePURLRefuses TestParsePatternRefuses TestDocumentIsKeptToTheByte TestScanDocumentRefuses`},
	{"size bombs",
		`TestVerifySizes TestEvidenceBombs TestReadBundle TestLargestInputs TestScanDocumentRefuses
		 TestLargestAPI registry/lookup/TestLargestFiles registry/oci/TestHostileRegistry logwatch/TestRefuses`},
	{"payloadType, predicateType confusion",
		`TestVerifyRefusesOtherPayloadTypes TestVerifyRefusesMessageSignatures TestPlainDataBecomesAnEnvelope
		 TestKeypairRefusesForeignData TestVerifyRefusesBadStatements TestVerifyRefusesAlteredBundles`},
	{"identity confusion", `TestVerifyKeylessRefuses TestIdentityPatterns TestNamePatterns TestOtherBuild`},
	{"expired certificate without trusted time", `TestVerifyKeylessRefuses TestThresholds`},
	{"unverified time in key mode", `TestKeyWindow TestPinnedKeyWindow TestKeyTimes`},
	{"key rotation, revocation",
		`TestKeyRotation TestVerifyRevocations TestKeylessRevocations registry/lookup/TestRotate
		 registry/index/TestRotateCutShort registry/index/TestRotateTakesTheLease registry/index/TestRotateRoot registry_rotate.txtar`},
	{"fast-forward", `TestFastForward registry/lookup/TestFastForward registry/lookup/TestForeignBundle`},
	{"takeover of an account at the registry", `TestVerifyAll sign_statement.txtar`},
	{"time of check, time of use", `TestVerifiedOwnsItsBytes trust_replay.txtar`},
	{"downgrade of the policy", `TestPolicyIsNamed TestThresholds TestTrustRoot sign_keyless.txtar trust_file.txtar`},

	// Not in the table, but of the same kind.
	{"a wrong key that is valid", `TestVerifyRefusesAlteredBundles apply_trust.txtar`},
	{"understated capabilities", `TestUnderstatedCapabilities`},
	{"services that lie to the signer", `TestSignerDistrustsServices TestRemoteKey`},
}

// A row whose test is gone would be a claim without proof.
func TestAttacksHaveTests(t *testing.T) {
	t.Parallel()
	functions := make(map[string]map[string]bool) // by folder
	for _, row := range attacks {
		if row.tests == "" {
			t.Errorf("%s: no test", row.attack)
		}
		for _, name := range strings.Fields(row.tests) {
			if strings.HasSuffix(name, ".txtar") {
				if _, err := os.Stat(filepath.Join("..", "cmd", "steps", "testdata", "script", name)); err != nil {
					t.Errorf("%s: %v", row.attack, err)
				}
				continue
			}
			dir, function := filepath.Split(name)
			if functions[dir] == nil {
				functions[dir] = testFunctions(t, filepath.Join(".", dir))
			}
			if !functions[dir][function] {
				t.Errorf("%s: there is no test %s", row.attack, name)
			}
		}
	}
}

// testFunctions are the names of the tests in a folder.
func testFunctions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
