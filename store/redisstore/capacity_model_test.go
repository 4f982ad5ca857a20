package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// steppedRedis goes ahead of the script of heartbeats: the last argument is what TIME answers, in milliseconds, and says
// when keys expire.
const steppedRedis = `
local real, now = redis, tonumber(table.remove(ARGV))
for _, key in ipairs(KEYS) do
  local due = real.call('HGET', 'due', key)
  if due and tonumber(due) <= now then real.call('DEL', key) real.call('HDEL', 'due', key) end
end
local function expire(key, after) real.call('HSET', 'due', key, string.format('%.0f', now + after)) end
local redis = {pcall = real.pcall, call = function(command, key, ...)
  local rest = {...}
  if command == 'TIME' then return {string.format('%.0f', math.floor(now / 1000)), string.format('%.0f', now % 1000 * 1000)} end
  if command == 'PEXPIRE' then return expire(key, rest[1]) end
  if command == 'SET' then
    expire(key, rest[3])
    return real.call('SET', key, rest[1])
  end
  if command == 'DEL' then real.call('HDEL', 'due', key) end
  return real.call(command, key, ...)
end}
`

const (
	modelTTL  = 1000 // ms
	floorsKey = "test:{fleet}:floors"
)

// published is a capacity that was in force until some moment.
type published struct {
	capacity int64
	until    int64 // in time that passed
	taken    int64 // had been taken out by instances themselves before
}

// capacityModel remembers all that was ever published, and demands that what is published is the sum of the live
// workers, or half of anything that was in force during the last TTL, less what instances have taken out since: the
// greatest of these.
type capacityModel struct {
	t      *testing.T
	client *redis.Client
	script *redis.Script

	clock   int64 // Redis', in ms
	passed  int64 // the time that passed: a clock that is set back takes none of it away
	lost    int64 // by the clock, when Redis will have forgotten what is published
	exactAt int64 // the time from which on a clock that was set back does not matter any more
	turned  bool  // it was, and there was no heartbeat since

	taken   int64
	now     int64 // what is published
	known   bool  // it is
	history []published

	halved, exact, several int // beats, to see that the test tests
}

func newCapacityModel(t *testing.T, client *redis.Client) *capacityModel {
	script := redis.NewScript(steppedRedis + redisstore.MembersScript())
	require.NoError(t, script.Load(t.Context(), client).Err())
	return &capacityModel{t: t, client: client, script: script, clock: 1_800_000_000_000}
}

func (m *capacityModel) pass(ms int64) { m.clock, m.passed = m.clock+ms, m.passed+ms }

func (m *capacityModel) turnBack(ms int64) { m.clock, m.turned = m.clock-ms, true }

// live returns the workers of those in the hash that are alive by the clock.
func (m *capacityModel) live(members map[string]string) (workers map[string]int64, sum int64) {
	workers = map[string]int64{}
	for id, text := range members {
		parts := strings.Split(text, ":")
		expiry, err := strconv.ParseInt(parts[0], 10, 64)
		require.NoError(m.t, err)
		if expiry <= m.clock {
			continue
		}
		workers[id], err = strconv.ParseInt(parts[1], 10, 64)
		require.NoError(m.t, err)
		sum += workers[id]
	}
	return workers, sum
}

// beat runs the script, for an instance that knows of a capacity, and returns what is published then.
func (m *capacityModel) beat(id string, workers, seen int64, here bool, about string) int64 {
	pipe := m.client.Pipeline()
	before := pipe.HGetAll(m.t.Context(), membersKey)
	cmd := m.script.EvalSha(m.t.Context(), pipe, []string{membersKey, capacityKey, floorsKey, secretKey},
		id, workers, 0, modelTTL, here, m.clock*1000, seen, strings.Repeat("a", 64), m.clock)
	after := pipe.HGetAll(m.t.Context(), membersKey)
	kept, floors := pipe.Get(m.t.Context(), capacityKey), pipe.Get(m.t.Context(), floorsKey)
	_, err := pipe.Exec(m.t.Context())
	if err != redis.Nil { //nolint:errorlint // of floors, which are absent
		require.NoError(m.t, err, about)
	}
	answer, err := cmd.Slice()
	require.NoError(m.t, err, about)
	reply, err := redisstore.ReadBeat(answer)
	require.NoError(m.t, err, about)
	had, _ := m.live(before.Val())
	has, live := m.live(after.Val())
	require.EqualValues(m.t, len(has), reply[0], about)
	require.Equal(m.t, strconv.FormatInt(reply[1], 10), kept.Val(), about)

	m.follow(had[id]-has[id], seen, here)
	floor := int64(0)
	for _, p := range m.history {
		if half := (p.capacity+1)/2 - (m.taken - p.taken); p.until > m.passed-modelTTL {
			floor = max(floor, half)
		}
	}
	require.GreaterOrEqual(m.t, reply[1], max(live, floor), "%s; floors %q", about, floors.Val())
	if m.passed >= m.exactAt {
		require.Equal(m.t, max(live, floor), reply[1], "%s; floors %q", about, floors.Val())
		m.exact++
	}
	if reply[1] > live {
		m.halved++
	}
	if strings.Count(floors.Val(), ":") > 1 {
		m.several++
	}
	m.now, m.known, m.lost = reply[1], true, m.clock+3*modelTTL
	return reply[1]
}

// follow notes what a heartbeat does to the history: its instance took something out, or added to it.
func (m *capacityModel) follow(taken, seen int64, here bool) {
	if m.turned {
		m.turned, m.exactAt = false, m.passed+modelTTL
	}
	if m.known && m.clock >= m.lost {
		m.forget()
	}
	if !m.known && here && seen > 0 {
		m.now, m.known = seen, true
	}
	if m.known {
		m.history = append(m.history, published{capacity: m.now, until: m.passed, taken: m.taken})
	}
	m.taken += max(0, taken)
}

// forget is Redis': it has lost what is published, and what was.
func (m *capacityModel) forget() { m.known, m.history = false, nil }

// TestCapacityFollowsTheModel has instances beat, join, leave, crash and come back while the clock moves and is set.
func TestCapacityFollowsTheModel(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := patient(t, server.URL())
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var halved, exact, several, beats int
	for run := range uint64(15) {
		require.NoError(t, client.FlushAll(t.Context()).Err())
		m := newCapacityModel(t, client)
		beats += playCapacity(m, rand.New(rand.NewPCG(seed, run)), fmt.Sprintf("seed %d, run %d", seed, run))
		halved, exact, several = halved+m.halved, exact+m.exact, several+m.several
	}
	t.Logf("%d beats: %d with more than is alive, %d exactly as the model, %d with several floors", beats, halved, exact, several)
	require.Greater(t, halved, beats/40) // some 5 % of them, by chance
	require.Greater(t, exact, beats/2)
	require.Positive(t, several)
}

// playCapacity makes random moves, and returns how many heartbeats there were.
func playCapacity(m *capacityModel, rnd *rand.Rand, about string) (beats int) {
	type instance struct {
		id            string
		workers, seen int64
		crashed       bool
	}
	var all []*instance
	born := 0
	beat := func(i *instance, here bool) {
		beats++
		about := fmt.Sprintf("%s, beat %d at %d, of %+v, here %v", about, beats, m.passed, *i, here)
		if seen := m.beat(i.id, i.workers, i.seen, here, about); here {
			i.seen = seen
		}
	}
	for range 400 {
		var i *instance
		if len(all) > 0 {
			i = all[rnd.IntN(len(all))]
		}
		switch move := rnd.IntN(100); {
		case i == nil || move < 6 && len(all) < 12:
			i = &instance{id: fmt.Sprint("i", born), workers: 1 + rnd.Int64N(40)}
			born++
			all = append(all, i)
			beat(i, true)
		case move < 16: // joins anew
			i.workers, i.seen, i.crashed = 1+rnd.Int64N(40), 0, false
			beat(i, true)
		case move < 20: // leaves
			all = deleteFrom(all, i)
			beat(i, false)
		case move < 30:
			i.crashed = true
		case move < 33: // most crash
			for _, i := range all {
				i.crashed = i.crashed || rnd.IntN(4) > 0
			}
		case move < 39: // stalled, rather
			i.crashed = false
		case move < 42:
			m.pass([]int64{modelTTL - 1, modelTTL, modelTTL + 1, 2 * modelTTL, 3*modelTTL - 1, 3 * modelTTL, 4 * modelTTL}[rnd.IntN(7)])
		case move < 43:
			m.pass(3_600_000)
		case move < 44:
			m.turnBack(3_600_000)
		case move < 45:
			spoilCapacity(m, rnd)
		default: // those that are well go on
			m.pass(rnd.Int64N(modelTTL / 4))
			for _, i := range all {
				if !i.crashed {
					beat(i, true)
				}
			}
		}
	}
	return beats
}

// spoilCapacity loses data.
func spoilCapacity(m *capacityModel, rnd *rand.Rand) {
	var err error
	switch rnd.IntN(3) {
	case 0:
		err = m.client.FlushAll(m.t.Context()).Err()
		m.forget()
	case 1:
		text := []string{"", "nan", "-5", "1e9", "7.5", " 7", strings.Repeat("9", 16), strings.Repeat("9", 400)}[rnd.IntN(8)]
		err = m.client.Set(m.t.Context(), capacityKey, text, 0).Err()
		m.forget()
	case 2:
		text := []string{"", "x", ":", "5", "-1:-1 1e9:1", strings.Repeat("9", 400) + ":1", "9999999:9999999999999"}[rnd.IntN(7)]
		err = m.client.Set(m.t.Context(), floorsKey, text, 0).Err()
		m.history = nil
	}
	require.NoError(m.t, err)
}

func deleteFrom[T comparable](all []T, one T) (rest []T) {
	for _, x := range all {
		if x != one {
			rest = append(rest, x)
		}
	}
	return rest
}

// TestCapacityHalvesOnceATTL loses nine of ten at once, to the millisecond.
func TestCapacityHalvesOnceATTL(t *testing.T) {
	t.Parallel()
	m := newCapacityModel(t, patient(t, redistest.Start(t).URL()))
	for i := range 10 {
		m.beat(fmt.Sprint("i", i), 10, 0, true, "")
	}
	for i, want := range []int64{100, 50, 25, 13, 10, 10} {
		require.Equal(t, want, m.beat("i0", 10, 0, true, ""), i)
		m.pass(modelTTL - 1)
		require.Equal(t, want, m.beat("i0", 10, 0, true, ""), i)
		m.pass(1)
	}
	require.Zero(t, m.client.Exists(t.Context(), floorsKey).Val())
}

// TestCapacityOfManyThatCrashOneByOne has more floors than are kept: some may bind for longer, none for less long.
func TestCapacityOfManyThatCrashOneByOne(t *testing.T) {
	t.Parallel()
	m := newCapacityModel(t, patient(t, redistest.Start(t).URL()))
	m.exactAt = 1 << 60
	const crash = 150
	for i := range crash { // each once
		m.pass(2)
		m.beat(fmt.Sprint("crash", i), 2, 0, true, "")
	}
	survive := func() {
		m.pass(4)
		m.beat("survivor", 10, 0, true, fmt.Sprint("at ", m.passed))
		require.Less(t, m.client.StrLen(t.Context(), floorsKey).Val(), int64(2000))
	}
	for m.now > 10 {
		require.Less(t, m.passed, int64(20*modelTTL), "%d left", m.now)
		survive()
	}
	// 310 to 155 when they expire, 78, 39, 20, 10: about five TTLs, twice that if each lasted as long as it may.
	t.Logf("%d ms", m.passed)
	require.Less(t, m.passed, int64(crash*2+modelTTL+10*modelTTL+100))
	for m.exactAt = m.passed + 2*modelTTL; m.passed < m.exactAt; {
		survive()
	}
	require.Zero(t, m.client.Exists(t.Context(), floorsKey).Val())
}
