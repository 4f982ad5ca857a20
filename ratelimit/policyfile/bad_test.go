package policyfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

// badFile is a file, and all that is wrong with it, from the line on.
type badFile struct {
	text string
	want []string
}

func bad(text string, want ...string) badFile { return badFile{text, want} }

func badFiles() []badFile {
	return []badFile{
		// no YAML
		bad("", `1: the file is empty; want version and ratelimit`),
		bad("# only\n", `1: the file is empty; want version and ratelimit`),
		bad("---\n", `1: the file is empty; want a map with the keys version and ratelimit`),
		bad("a: [1\nb: 2\n", `2: invalid YAML: did not find expected ',' or ']', while parsing a flow sequence that begins on line 1`),
		bad("a: {x: 1\n\n\n", `3: invalid YAML: did not find expected ',' or '}', while parsing a flow mapping that begins on line 1`),
		bad("a: 'x\n\n", `2: invalid YAML: found unexpected end of stream, while scanning a quoted scalar that begins on line 1`),
		bad("a: b: c\n", `1: invalid YAML: mapping values are not allowed in this context`),
		bad("\ta: 1", `1: invalid YAML: found character that cannot start any token; indent by spaces, and put quotes around a text that does not begin with a letter or digit`),
		bad("a: @b", `1: invalid YAML: found character that cannot start any token; indent by spaces, and put quotes around a text that does not begin with a letter or digit`),
		bad("a: `b`", `1: invalid YAML: found character that cannot start any token; indent by spaces, and put quotes around a text that does not begin with a letter or digit`),
		bad("a: 1\n\tb: 2\n", `2: invalid YAML: found a tab character that violates indentation, while scanning a plain scalar that begins on line 1`),
		bad("a: 1\n- b\n", `2: invalid YAML: did not find expected key, while parsing a block mapping that begins on line 1`),
		bad("version: 1\n---\nratelimit: []\n", `3: a second document begins; want one`),
		bad("%YAML 1.2\n---\nversion: 1", `1: the line begins with '%'; want no YAML directives`),
		bad("a: \x00", `1: there is a control character; want text`),
		bad("a: b\na: \xff", `2: this is not UTF-8`),
		bad("a\rb", `1: there is a control character; want text`),
		bad("a:\n - \u0085b", `2: there is a control character; want text`),
		bad("a: \uffff", `1: there is a control character; want text`),
		bad("a: \u2028b", `1: there is a control character; want text`),
		bad("a: 1\n\ufeffb: 2", `1: unknown key "a"; want version or ratelimit`, `1: version is missing; want 1`, `1: ratelimit is missing; want a list of policies`, `2: unknown key "\ufeffb"; want version or ratelimit`),
		bad("[[[[[[[[[[[[[[[[[", `1: invalid YAML: lists and maps lie more than 16 deep in each other`),
		bad("a:\n - - - - - - - - - - - - - - - - - b", `2: invalid YAML: lists and maps lie more than 16 deep in each other`),
		bad(one("routes: [*]"), `5: invalid YAML: did not find expected alphabetic or numeric character; put quotes around a text that begins with '*' or '&'`),
		bad(one("cost:", "  *: 1"), `6: invalid YAML: did not find expected alphabetic or numeric character; put quotes around a text that begins with '*' or '&'`),
		bad(one("callers: &"), `5: invalid YAML: did not find expected alphabetic or numeric character; put quotes around a text that begins with '*' or '&'`),
		bad(one("routes: [&a]"), `5: there is an anchor, "&a"; want none, or quotes around a text that begins with '&'`),
		bad(one("overrides: &x", "  - *x"), `5: there is an anchor, "&x"; want none, or quotes around a text that begins with '&'`, `6: there is an alias, "*x"; want the value itself, or quotes around a text that begins with '*'`),
		bad(one("callers: *x"), `5: invalid YAML: unknown anchor 'x' referenced; put quotes around a text that begins with '*' or '&'`),
		bad(one("cost: !!int 1"), `5: there is a tag, "!!int"; want none, or quotes around a text that begins with '!'`),
		bad("!%0A", `1: there is a tag, "!\n"; want none, or quotes around a text that begins with '!'`),
		bad(one("callers: !everyone"), `5: there is a tag, "!everyone"; want none, or quotes around a text that begins with '!'`),
		bad(one("cost: ! 1"), `5: there is a tag, "!"; want none, or quotes around a text that begins with '!'`),
		bad(one("cost: {<<: {a: 1}}"), `5: a key is <<; want a text, in quotes if need be`),
		bad(one("cost: {[a]: 1}"), `5: a key is a list; want a text, in quotes if need be`),
		bad(one("cost: {1: 1}"), `5: a key is 1; want a text, in quotes if need be`),
		bad(one("cost: {~: 1}"), `5: a key is ~; want a text, in quotes if need be`),
		bad(one("cost: {a: 1, ? a : 2}"), `5: key "a" occurs twice, first on line 5; want each key once`),
		bad(one("callers: everyone", "callers: anonymous"), `6: key "callers" occurs twice, first on line 5; want each key once`),
		bad(one("plans: {gold: {}, gold: {}}"), `5: key "gold" occurs twice, first on line 5; want each key once`),

		// the file
		bad("x", `1: the file is "x"; want a map with the keys version and ratelimit`),
		bad("[]", `1: the file is a list; want a map with the keys version and ratelimit`),
		bad("null", `1: the file is null; want a map with the keys version and ratelimit`),
		bad("{}", `1: version is missing; want 1`, `1: ratelimit is missing; want a list of policies`),
		bad("version: 2\nratelimit: []\n", `1: version is 2; want 1`, `2: ratelimit is empty; want at least one policy`),
		bad("version: 1\n", `1: ratelimit is missing; want a list of policies`),
		bad("version: 1.0\nratelimit:\n", `1: version is 1.0; want 1`, `2: ratelimit is empty; want a list of policies`),
		bad("version: \"1\"\nratelmit: []\n", `1: version is "1"; want 1`, `2: unknown key "ratelmit"; want "ratelimit"`, `2: ratelimit is empty; want at least one policy`),
		bad("version: 1\nconcurrency: []\nratelimit: {}\n", `2: unknown key "concurrency"; want version or ratelimit`, `3: ratelimit is a map; want a list of policies`),
		bad(head+"  - x", `3: ratelimit[0] is "x"; want a map with the keys name, bucket, log, counter, window, callers, routes, cost, on-failure, plans and overrides`),
		bad(head+"  - {}", `3: ratelimit[0].name is missing; want a name such as api`, `3: ratelimit[0]: the quota is missing; want bucket, log, counter or window`),
		bad(head+"  -", `3: ratelimit[0] is empty; want a map with the keys name, bucket, log, counter, window, callers, routes, cost, on-failure, plans and overrides`),
		bad(head+"  - name: Api\n    bucket: {rate: 1/s, burst: 1}\n", `3: policy "Api": name is "Api"; want 1 to 32 lower-case letters, digits, '-' or '_', beginning with a letter`),
		bad(head+"  - name: 42\n    log: {limit: 1, window: 1s}\n", `3: ratelimit[0].name is 42; want a text (in quotes, if 42 is meant)`),
		bad(head+"  - name:\n    log: {limit: 1, window: 1s}\n", `3: ratelimit[0].name is empty; want a text`),
		bad(head+"  - nam: api\n    log: {limit: 1, window: 1s}\n", `3: ratelimit[0]: unknown key "nam"; want "name"`),
		bad(head+"  - name: a\n    log: {limit: 1, window: 1s}\n  - name: b\n    log: {limit: 1, window: 1s}\n  - name: a\n    log: {limit: 1, window: 1s}\n", `7: policy "a": occurs twice, first on line 3; want each name once`),

		// quotas
		bad(one("bucket:"), `4: policy "api": bucket is empty; want a map with the keys rate and burst`),
		bad(one("bucket: 10/s"), `4: policy "api": bucket is "10/s"; want a map with the keys rate and burst`),
		bad(one("bucket: {burst: 20}"), `4: policy "api": bucket.rate is missing; want a rate from 1/30d to 1000000/s, such as 10/s, 0.5/s, 100/m, 5/h, 10000/d or 1/90s`),
		bad(one("bucket: {rate: 1/s}"), `4: policy "api": bucket.burst is missing; want 1 to 1000000000`),
		bad(one("bucket: {rate: 1/s, brust: 1}"), `4: policy "api": bucket: unknown key "brust"; want "burst"`),
		bad(one("bucket: {rate: 1/s, burst: 1, brust: 1}"), `4: policy "api": bucket: unknown key "brust"; want "burst"`),
		bad(one("bucket: {rate: 10/s, burst: 0}"), `4: policy "api": bucket.burst is 0; want 1 to 1000000000`),
		bad(one("bucket: {rate: 10/s, burst: -1}"), `4: policy "api": bucket.burst is -1; want 1 to 1000000000`),
		bad(one("bucket: {rate: 10/s, burst: 1000000001}"), `4: policy "api": bucket.burst is 1000000001; want 1 to 1000000000`),
		bad(one("bucket: {rate: 10/s, burst: 99999999999999999999}"), `4: policy "api": bucket.burst is 99999999999999999999; want 1 to 1000000000`),
		bad(one(`bucket: {rate: 10/s, burst: "20"}`), `4: policy "api": bucket.burst is "20"; want a whole number from 1 to 1000000000`),
		bad(one("bucket: {rate: 10/s, burst: 1e3}"), `4: policy "api": bucket.burst is 1e3; want a whole number from 1 to 1000000000`),
		bad(one("bucket: {rate: 10/s, burst: 010}"), `4: policy "api": bucket.burst is 010; want a whole number from 1 to 1000000000`),
		bad(one("bucket: {rate: 10/s, burst: 0x10}"), `4: policy "api": bucket.burst is 0x10; want a whole number from 1 to 1000000000`),
		bad(one("bucket: {rate: 10/s, burst: [20]}"), `4: policy "api": bucket.burst is a list; want a whole number from 1 to 1000000000`),
		bad(one("bucket: {rate: 10, burst: 20}"), `4: policy "api": bucket.rate is 10; want a rate from 1/30d to 1000000/s, such as 10/s, 0.5/s, 100/m, 5/h, 10000/d or 1/90s`),
		bad(one("bucket: {rate: 1000001/s, burst: 20}"), `4: policy "api": bucket.rate is "1000001/s"; want a rate from 1/30d to 1000000/s, such as 10/s, 0.5/s, 100/m, 5/h, 10000/d or 1/90s`),
		bad(one("bucket: {rate: {}, burst: 20}"), `4: policy "api": bucket.rate is a map; want a rate from 1/30d to 1000000/s, such as 10/s, 0.5/s, 100/m, 5/h, 10000/d or 1/90s`),
		bad(one("bucket: {rate: 1/30d, burst: 1000000}"), `4: policy "api": bucket.burst of 1000000 at 1 per 720h0m0s takes more than 100 years to refill; want a smaller burst or a higher rate`),
		bad(one("log: {limit: 1, window: 1us}"), `4: policy "api": log.window is 1µs; want whole milliseconds from 1ms to 366 days`),
		bad(one("log: {limit: 1, window: 367d}"), `4: policy "api": log.window is 8808h0m0s; want at most 366 days`),
		bad(one("log: {limit: 1, window: 60}"), `4: policy "api": log.window is 60; want a duration such as 1m, 24h or 30d`),
		bad(one("log: {limit: 1, window: -1s}"), `4: policy "api": log.window is -1s; want whole milliseconds from 1ms to 366 days`),
		bad(one("counter: {limit: 0, window: 1500ms}"), `4: policy "api": counter.limit is 0; want 1 to 1000000000`, `4: policy "api": counter.window is 1.5s; want whole seconds from 1s to 366 days`),
		bad(one("counter: {limit: 1}"), `4: policy "api": counter.window is missing; want a duration such as 1m`),
		bad(one("counter: {window: 1m, per: x}"), `4: policy "api": counter: unknown key "per"; want limit or window`, `4: policy "api": counter.limit is missing; want 1 to 1000000000`),
		bad(one("window: {limit: 1}"), `4: policy "api": window.every is missing; want day, week, month or a duration of whole seconds from 1s to 366d`),
		bad(one("window: {every: day}"), `4: policy "api": window.limit is missing; want 1 to 1000000000`),
		bad(one("window: {limit: 1, every: 1.5s}"), `4: policy "api": window.every is "1.5s"; want day, week, month or a duration of whole seconds from 1s to 366d`),
		bad(one("window: {limit: 1, every: 367d}"), `4: policy "api": window.every is "367d"; want day, week, month or a duration of whole seconds from 1s to 366d`),
		bad(one("window: {limit: 1, every: dya}"), `4: policy "api": window.every is "dya"; want day, week, month or a duration of whole seconds from 1s to 366d`),
		bad(one("window: {limit: 1, every: 90}"), `4: policy "api": window.every is 90; want day, week, month or a duration of whole seconds from 1s to 366d`),
		bad(one("window: {limit: 1, every: day, first: monday}"), `4: policy "api": window.first goes with every: week or month only`),
		bad(one("window: {limit: 1, every: week, first: mondey}"), `4: policy "api": window.first is "mondey"; want "monday"`),
		bad(one("window: {limit: 1, every: week, first: 1}"), `4: policy "api": window.first is 1; want sunday, monday, tuesday, wednesday, thursday, friday or saturday`),
		bad(one("window: {limit: 1, every: month, first: 32}"), `4: policy "api": window.first is 32; want 1 to 31`),
		bad(one("window: {limit: 1, every: month, first: monday, from: 2026-01-01T00:00:00Z}"), `4: policy "api": window.first is "monday"; want a whole number from 1 to 31`, `4: policy "api": window.from goes with every: a duration only`),
		bad(one("window: {limit: 1, every: day, zone: Mars/Olympus, at: 24:00}"), `4: policy "api": window.zone is "Mars/Olympus"; want a name of the time zone database such as Europe/Berlin, which this machine must have: install tzdata or import time/tzdata`, `4: policy "api": window.at is "24:00"; want a time of day from "00:00" to "23:59:59"`),
		bad(one("window: {limit: 1, every: day, zone: Local}"), `4: policy "api": window.zone is "Local"; want a name of the time zone database such as Europe/Berlin, which this machine must have: install tzdata or import time/tzdata`),
		bad(one(`window: {limit: 1, every: day, zone: ""}`), `4: policy "api": window.zone is ""; want a name of the time zone database such as Europe/Berlin, which this machine must have: install tzdata or import time/tzdata`),
		bad(one("window: {limit: 1, every: day, zone: ../etc}"), `4: policy "api": window.zone is "../etc"; want a name of the time zone database such as Europe/Berlin, which this machine must have: install tzdata or import time/tzdata`),
		bad(one("window: {limit: 1, every: day, at: 6:00}"), `4: policy "api": window.at is "6:00"; want a time of day from "00:00" to "23:59:59"`),
		bad(one("window: {limit: 1, every: 1h, zone: UTC, at: 01:00, first: 1}"), `4: policy "api": window.first goes with every: week or month only`, `4: policy "api": window.zone goes with every: day, week or month only`, `4: policy "api": window.at goes with every: day, week or month only`),
		bad(one("window: {limit: 1, every: 1h, from: 2026-01-01}"), `4: policy "api": window.from is 2026-01-01; want a whole second from 1970 to 2200 such as 2026-01-01T00:00:00Z`),
		bad(one("window: {limit: 1, every: 1h, from: 2026-01-01T00:00:00.5Z}"), `4: policy "api": window.from is 2026-01-01T00:00:00.5Z; want a whole second from 1970 to 2200 such as 2026-01-01T00:00:00Z`),
		bad(one("window: {limit: 1, every: 1h, from: 1969-01-01T00:00:00Z}"), `4: policy "api": window.from is 1969-01-01T00:00:00Z; want a whole second from 1970 to 2200 such as 2026-01-01T00:00:00Z`),
		bad(one("window: {limit: 1, every: 1h, from: 0001-01-01T00:00:00Z}"), `4: policy "api": window.from is 0001-01-01T00:00:00Z; want a whole second from 1970 to 2200 such as 2026-01-01T00:00:00Z`),
		bad(one("window: {limit: 1, every: 1h, from: [2026]}"), `4: policy "api": window.from is a list; want a whole second from 1970 to 2200 such as 2026-01-01T00:00:00Z`),
		bad(one("bucket: {rate: 1/s, burst: 1}", "log: {limit: 1, window: 1s}"), `5: policy "api": log stands beside bucket; want one of them`),
		bad(head+"  - name: api\n    callers: everyone\n", `3: policy "api": the quota is missing; want bucket, log, counter or window`),

		// whom and what a policy is about
		bad(one("callers: signedin"), `5: policy "api": callers is "signedin"; want "signed-in"`),
		bad(one("callers: all"), `5: policy "api": callers is "all"; want everyone, signed-in or anonymous`),
		bad(one("callers:"), `5: policy "api": callers is empty; want everyone, signed-in or anonymous`),
		bad(one("callers: [everyone]"), `5: policy "api": callers is a list; want everyone, signed-in or anonymous`),
		bad(one("on-failure: closd"), `5: policy "api": on-failure is "closd"; want "closed"`),
		bad(one("on_failure: closed"), `5: policy "api": unknown key "on_failure"; want "on-failure"`),
		bad(one("onFailure: closed"), `5: policy "api": unknown key "onFailure"; want "on-failure"`),
		bad(one("on-failure: fail"), `5: policy "api": on-failure is "fail"; want local, open or closed`),
		bad(one("rout: [/a]"), `5: policy "api": unknown key "rout"; want "routes"`),
		bad(one("routes: []"), `5: policy "api": routes is empty; want at least one route, or no such key for all of them`),
		bad(one("routes: /v1"), `5: policy "api": routes is "/v1"; want a list of routes such as [/v1/*]`),
		bad(one(`routes: [/a*b, 1, "", [x]]`), `5: policy "api": routes[0] is "/a*b"; want a route such as /v1/*, with '*' at its end only`, `5: policy "api": routes[1] is 1; want a route such as /v1/*, with '*' at its end only (in quotes, if 1 is meant)`, `5: policy "api": routes[2] is ""; want a route such as /v1/*, with '*' at its end only`, `5: policy "api": routes[3] is a list; want a route such as /v1/*, with '*' at its end only`),
		bad(one("match: x"), `5: policy "api": unknown key "match"; want name, bucket, log, counter, window, callers, routes, cost, on-failure, plans or overrides`),
		bad(one("cost: 0"), `5: policy "api": cost is 0; want 1 to 1000000000`),
		bad(one("cost: x"), `5: policy "api": cost is "x"; want a whole number from 1 to 1000000000`),
		bad(one("cost: 1000000001"), `5: policy "api": cost is 1000000001; want 1 to 1000000000`),
		bad(one("cost: {}"), `5: policy "api": cost is empty; want costs by route such as {"/v1/search": 100, "*": 1}, or a number`),
		bad(one("cost: []"), `5: policy "api": cost is a list; want a whole number from 1 to 1000000000`),
		bad(one(`routes: [GET /v1/a, "/v1/{id}"]`), `5: policy "api": routes[0] is "GET /v1/a"; want a route such as /v1/*, with '*' at its end only`, `5: policy "api": routes[1] is "/v1/{id}"; want a route such as /v1/*, with '*' at its end only`),
		bad(one(`cost: {/v1: 0, "/a*b": 1, "*": x, "": 1}`), `5: policy "api": cost["/v1"] is 0; want 1 to 1000000000`, `5: policy "api": cost: the route "/a*b"; want a route such as /v1/*, with '*' at its end only`, `5: policy "api": cost["*"] is "x"; want a whole number from 1 to 1000000000`, `5: policy "api": cost: the route ""; want a route such as /v1/*, with '*' at its end only`),

		// plans and overrides
		bad(one("plans: [gold]"), `5: policy "api": plans is a list; want a map of plans such as {gold: {bucket: {rate: 100/s, burst: 200}}}`),
		bad(one("plans:"), `5: policy "api": plans is empty; want a map of plans such as {gold: {bucket: {rate: 100/s, burst: 200}}}`),
		bad(one("plans: {Gold: {bucket: {rate: 1/s, burst: 1}}}"), `5: policy "api": plans: the name "Gold"; want 1 to 32 lower-case letters, digits, '-' or '_', beginning with a letter`),
		bad(one("plans: {block: {bucket: {rate: 1/s, burst: 1}}}"), `5: policy "api": plans.block: every policy has a plan of this name; want another one`),
		bad(one("plans: {gold: {log: {limit: 1, window: 1s}}}"), `5: policy "api": plans.gold: log in a policy that has a bucket; want a bucket: what a caller has spent counts on under another plan of the same algorithm only`),
		bad(one("plans: {gold: {}}"), `5: policy "api": plans.gold: the quota is missing; want bucket`),
		bad(one("plans: {gold: }"), `5: policy "api": plans.gold is empty; want a map with the keys bucket, log, counter and window`),
		bad(one("plans: {gold: {bukcet: {rate: 1/s, burst: 1}}}"), `5: policy "api": plans.gold: unknown key "bukcet"; want "bucket"`),
		bad(one("plans: {gold: {bucket: {rate: 1/s, burst: 1}, log: {limit: 1, window: 1s}}}"), `5: policy "api": plans.gold: log stands beside bucket; want one of them`),
		bad(one("overrides: {}"), `5: policy "api": overrides is a map; want a list such as [{caller: [user, "42"], plan: block}]`),
		bad(one("overrides: [a]"), `5: policy "api": overrides[0] is "a"; want a map with the keys caller, key and plan`),
		bad(one("overrides: [{caller: a}]"), `5: policy "api": overrides[0].plan is missing; want a name of plans, allow or block`),
		bad(one("overrides: [{plan: block}]"), `5: policy "api": overrides[0] is about nobody; want caller, the parts as given to seawall.NewKey, or key, its text`),
		bad(one("overrides: [{caller: a, key: 1.a, plan: block}]"), `5: policy "api": overrides[0] has both caller and key; want one of them`),
		bad(one("overrides: [{caller: 42, plan: block}]"), `5: policy "api": overrides[0].caller is 42; want a text, or a list of the parts as given to seawall.NewKey, such as [user, "42"] (in quotes, if 42 is meant)`),
		bad(one("overrides: [{caller: [user, 42], plan: block}]"), `5: policy "api": overrides[0].caller[1] is 42; want a text (in quotes, if 42 is meant)`),
		bad(one("overrides: [{caller: [], plan: blok}]"), `5: policy "api": overrides[0].plan is "blok"; want "block"`, `5: policy "api": overrides[0].caller is an empty list; want a text, or a list of the parts as given to seawall.NewKey, such as [user, "42"]`),
		bad(one("overrides: [{caller: , plan: block}]"), `5: policy "api": overrides[0].caller is empty; want a text, or a list of the parts as given to seawall.NewKey, such as [user, "42"]`),
		bad(one("overrides: [{caller: a, plan: gold}]"), `5: policy "api": overrides[0].plan is "gold"; want allow or block`),
		bad(one("overrides: [{caller: a, plan: [gold]}]"), `5: policy "api": overrides[0].plan is a list; want allow or block`),
		bad(one("overrides: [{key: 3.k, plan: block}]"), `5: policy "api": overrides[0].key is "3.k"; want a key's text as logs and the store show it, such as "4.user2.42", each part after its length`),
		bad(one("overrides: [{key: 2.42, plan: block}]"), `5: policy "api": overrides[0].key is 2.42; want a key's text as logs and the store show it, such as "4.user2.42", each part after its length (in quotes, if 2.42 is meant)`),
		bad(one("overrides: [{key: [user], plan: block}]"), `5: policy "api": overrides[0].key is a list; want a key's text as logs and the store show it, such as "4.user2.42", each part after its length`),
		bad(one("overrides: [{key: fleet, plan: block}]"), `5: policy "api": overrides[0].key is "fleet"; want a key's text as logs and the store show it, such as "4.user2.42", each part after its length`),
		bad(one(`overrides: [{key: "", plan: block}]`), `5: policy "api": overrides[0].key is ""; want a key's text as logs and the store show it, such as "4.user2.42", each part after its length`),
		bad(one("plans: {gold: {bucket: {rate: 1/s, burst: 1}}}", "overrides: [{caller: a, plan: glod}]"), `6: policy "api": overrides[0].plan is "glod"; want "gold"`),
		bad(one("plans: {gold: {bucket: {rate: 1/s, burst: 1}}}", "overrides: [{caller: a, plan: silver}]"), `6: policy "api": overrides[0].plan is "silver"; want allow, block or gold`),
		bad(one("plans: {gold: {bucket: {rate: 1/s, burst: 0}}}", "overrides: [{caller: a, plan: gold}]"), `5: policy "api": plans.gold.bucket.burst is 0; want 1 to 1000000000`),
		bad(one("overrides:", "  - {caller: a, plan: block}", `  - {key: "1.a", plan: allow}`, "  - {key: 2.kea, plan: allow}"), `7: policy "api": overrides[1] is about the same caller as line 6; want each caller once`, `8: policy "api": overrides[2].key is "2.kea"; want a key's text as logs and the store show it, such as "4.user2.42", each part after its length`),
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range badFiles() {
		_, err := policyfile.Parse("p.yaml", []byte(c.text))
		require.Error(t, err, c.text)
		assert.Equal(t, "p.yaml:"+strings.Join(c.want, "\np.yaml:"), err.Error(), c.text)
	}
}
