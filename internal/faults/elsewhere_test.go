package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// elsewhere are the faults that have nothing to run here: other tests of the project hold Seawall to their
// promises, or something is missing to play them with.
func elsewhere() []fault {
	return []fault{
		{
			number: 25, name: "Reshard", injection: "slots moved to and fro between masters, key by key, under load", promise: "CROSSSLOT 0, admitted beyond the limit 0",
			tests: []string{"store/redisstore.TestSlotsMoveUnderLoad"},
		},
		{
			number: 26, name: "A shard down", injection: "`kill -9` of one of three masters, or SIGSTOP", promise: "other slots unaffected; a replica takes over",
			tests: []string{
				"store/redisstore.TestALostMasterIsGivenUpAlone", "store/redisstore.TestAReplicaTakesOver",
				"store/redisstore.TestAMasterThatHangsHoldsUpItsOwnCallersOnly",
			},
		},
		{
			number: 31, name: "An instance's clock steps", injection: "±1 h and more", promise: "decisions are the same",
			tests: []string{"store/redisstore.TestAWrongClockIsPutRight", "store/redisstore.TestPeer_stripe_gist_anInstanceWhoseClockIsWrongGivesNothingAway"},
		},
		{
			number: 32, name: "Hostile keys", injection: "long, NUL, CR LF, braces, invalid UTF-8; 10⁶ tuples", promise: "stored keys ≤ 128 bytes, collisions 0",
			tests: []string{".TestHostileTuplesShareNoKey", "store/redisstore.TestStoredKeys"},
		},
		{
			number: 33, name: "Lines in names", injection: "CR and LF in what headers echo", promise: "injected headers 0",
			tests: []string{"middleware.TestACallerCannotWriteIntoTheHeaders"},
		},
		{
			number: 34, name: "Forged addresses", injection: "`X-Forwarded-For` of every kind", promise: "one key per client",
			tests: []string{"middleware/identity.TestForgedHeadersMintNoKeys", "middleware.TestForgedHeadersAreLimitedEndToEnd", "internal/abuse.TestForgedAddresses"},
		},
		{
			number: 35, name: "IPv6", injection: "many hosts of one /64, mapped IPv4", promise: "one key per /64; mapped = IPv4",
			tests: []string{"middleware/identity.TestByAddressOneKeyPerClient", "middleware.TestPeer_express_rate_limit_mappedAddressesAreTheirIPv4Addresses"},
		},
		{
			number: 36, name: "Path tricks", injection: "case, `//`, `%2f`, method override, 404s", promise: "further buckets 0",
			tests: []string{"middleware.TestACallerIsTheSameOnEveryPath", "internal/abuse.TestMadeUpPaths"},
		},
		{
			number: 37, name: "Many callers", injection: "a flood of unique keys", promise: "memory bounded; the refused are not forgotten",
			tests: []string{"store/memstore.TestI5Flood", "store/memstore.TestRefusedAreProtectedUntilTheySpend", "internal/abuse.TestCallersWithoutNumber"},
		},
		{
			number: 38, name: "Cardinality", injection: "every kind of caller", promise: "no caller in a label",
			tests: []string{"middleware/telemetry.TestNoCallerIsInTheScrape", "middleware/telemetry.TestNoCallerIsInTheSpans"},
		},
		{
			number: 39, name: "Log flood", injection: "denials and failures without end", promise: "≤ 1 line a second",
			tests: []string{"middleware/telemetry.TestAtMostOneLineASecond"},
		},
		{
			number: 40, name: "Slowloris", injection: "headers and bodies byte by byte", promise: "leases = running handlers",
			tests: []string{"internal/abuse.TestClientsThatSendAByteAtATime"},
		},
		{
			number: 41, name: "Clients hang up", injection: "in the middle of the handler", promise: "a worker that works is counted; then leases 0",
			tests: []string{"middleware.TestAClientThatHangsUpDoesNotFreeAWorkerThatStillWorks", "store/redisstore.TestPeer_mennanov_limiters_aCanceledContextReleases", "internal/abuse.TestClientsThatHangUp"},
		},
		{
			number: 42, name: "Handlers panic", injection: "panic, ErrAbortHandler, Goexit", promise: "leases 0",
			tests: []string{"middleware.TestSlotsAreGivenBackHoweverTheHandlerEnds", "middleware.TestAHandlersPanicIsNotSwallowed"},
		},
		{
			number: 43, name: "Long connections", injection: "hijacked, server-sent events, longer than the TTL", promise: "leases = open connections",
			tests: []string{"middleware.TestAHijackedConnectionHoldsItsSlotUntilTheHandlerReturns", "store/redisstore.TestHeldLeasesOutliveTheirTTL"},
		},
		{
			number: 44, name: "HTTP/2 rapid reset", injection: "10⁵ streams", promise: "handlers ≤ cap; leases 0",
			tests: []string{"internal/abuse.TestRapidReset"},
		},
		{
			number: 45, name: "Retry storm", injection: "retries at once, ten times as many", promise: "goodput ≥ 90 %",
			tests: []string{"internal/abuse.TestAStormOfRetries"},
		},
		{
			number: 47, name: "Flag provider hangs", injection: "2 s, for ever, panics", promise: "last good values; no request waits",
			tests: []string{"flags.TestAProviderThatHangsForEver", "flags.TestAProviderThatFailsLeavesTheLastGoodValues"},
		},
		{
			number: 48, name: "Flag nonsense", injection: "negative, NaN, huge, of another type, blank", promise: "refused; last good values",
			tests: []string{"flags.TestAnInvalidValueKeepsTheLastGoodOne", "ratelimit.TestGarbageScaleCostsNothing"},
		},
		{
			number: 49, name: "Reload", injection: "policies replaced while they are used", promise: "buckets refilled 0",
			tests: []string{"ratelimit.TestReloadKeepsWhatIsUnchanged"},
		},
		{
			number: 58, name: "No processor", injection: "three times the requests that two processors can handle", promise: "critical goodput ≥ 99 %",
			tests: []string{"internal/overload.TestShort"},
		},
		{
			number: 59, name: "Broken signals", injection: "NaN, no capacity, negative counts", promise: "critical requests are never shed",
			tests: []string{"workershed.TestControllerIgnoresWhatIsNoUtilization", "workershed.TestHardCapRefusesAllButCritical", "workershed.TestASignalThatCannotBeReadShedsNobody"},
		},
	}
}

// TestElsewhereExists looks for the tests that are named.
func TestElsewhereExists(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^([\w/]*)\.(\w+)$`)
	for _, f := range elsewhere() {
		assert.NotEqual(t, f.later == "", f.tests == nil, "%d: either", f.number)
		for _, test := range f.tests {
			parts := name.FindStringSubmatch(test)
			require.NotNil(t, parts, test)
			files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(parts[1]), "*_test.go"))
			require.NoError(t, err)
			found := false
			for _, file := range files {
				source, err := os.ReadFile(file)
				require.NoError(t, err)
				found = found || regexp.MustCompile(`(?m)^func `+parts[2]+`\(`).Match(source)
			}
			assert.True(t, found, "%d: %s", f.number, test)
		}
	}
}

// TestCatalogue asserts that every number is there once.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	for i, f := range catalogue() {
		assert.Equal(t, i+1, f.number)
		assert.NotEmpty(t, f.name)
		assert.NotEmpty(t, f.injection)
		assert.NotEmpty(t, f.promise)
		assert.Equal(t, f.run == nil, f.tests != nil || f.later != "", "%d", f.number)
	}
}
